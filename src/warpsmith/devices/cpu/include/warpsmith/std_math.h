// namespace std's view of the math functions.
#pragma once

namespace std {
inline namespace __1 {
#define WARPSMITH_USING(name) using ::name; using ::name##f;
WARPSMITH_USING(acos) WARPSMITH_USING(acosh) WARPSMITH_USING(asin) WARPSMITH_USING(asinh) WARPSMITH_USING(atan) WARPSMITH_USING(atanh)
WARPSMITH_USING(atan2) WARPSMITH_USING(cbrt) WARPSMITH_USING(ceil) WARPSMITH_USING(copysign) WARPSMITH_USING(cos) WARPSMITH_USING(cosh)
WARPSMITH_USING(erf) WARPSMITH_USING(erfc) WARPSMITH_USING(exp) WARPSMITH_USING(exp2) WARPSMITH_USING(expm1) WARPSMITH_USING(fabs)
WARPSMITH_USING(fdim) WARPSMITH_USING(floor) WARPSMITH_USING(fma) WARPSMITH_USING(fmax) WARPSMITH_USING(fmin) WARPSMITH_USING(fmod)
WARPSMITH_USING(frexp) WARPSMITH_USING(hypot) WARPSMITH_USING(ilogb) WARPSMITH_USING(ldexp) WARPSMITH_USING(lgamma)
WARPSMITH_USING(llrint) WARPSMITH_USING(llround) WARPSMITH_USING(log) WARPSMITH_USING(log10) WARPSMITH_USING(log1p) WARPSMITH_USING(log2)
WARPSMITH_USING(logb) WARPSMITH_USING(lrint) WARPSMITH_USING(lround) WARPSMITH_USING(modf) WARPSMITH_USING(nan) WARPSMITH_USING(nearbyint)
WARPSMITH_USING(nextafter) WARPSMITH_USING(pow) WARPSMITH_USING(remainder) WARPSMITH_USING(remquo) WARPSMITH_USING(rint)
WARPSMITH_USING(round) WARPSMITH_USING(scalbln) WARPSMITH_USING(scalbn) WARPSMITH_USING(sin) WARPSMITH_USING(sinh) WARPSMITH_USING(sqrt)
WARPSMITH_USING(tan) WARPSMITH_USING(tanh) WARPSMITH_USING(tgamma) WARPSMITH_USING(trunc)
#undef WARPSMITH_USING
using ::abs;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::isnormal;
using ::isunordered;
using ::labs;
using ::llabs;
using ::signbit;
}  // namespace __1
}  // namespace std
