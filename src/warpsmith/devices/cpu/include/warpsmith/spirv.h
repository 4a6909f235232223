// The SPIR-V instructions that the prelude is built on, declared under the names that clang's back end lowers.
//
// Warp operations come only from here: each is an OpGroupNonUniform* instruction, an OpControlBarrier of sub-group scope, or a read
// of a sub-group builtin, by which the device knows that it must fix the sub-group size at 32. The one exception is the rotation, a
// function of the runtime's library: whoever calls it has asked `AllEqual` or the lane first.
#pragma once

namespace __warpsmith {
// SPIR-V's scopes and memory semantics, by their numbers in the specification.
inline constexpr int scope_device = 1, scope_block = 2, scope_warp = 3;
inline constexpr int acquire_release = 0x8, block_memory = 0x100, global_memory = 0x200;
inline constexpr int fence_all = acquire_release | block_memory | global_memory;
using ballot_mask = unsigned int __attribute__((ext_vector_type(4)));
}  // namespace __warpsmith

WARPSMITH_EXTERN __attribute__((convergent)) void __spirv_ControlBarrier(int execution, int memory, int semantics);
WARPSMITH_EXTERN __attribute__((convergent)) void __spirv_MemoryBarrier(int memory, int semantics);

WARPSMITH_EXTERN unsigned long __spirv_ReadClockKHR(int scope);

// Any lane's value; a value from a lane that all agree on; the value `delta` lanes further on, around the warp, for an agreed delta.
#define WARPSMITH_SHUFFLES(type)                                                                                                \
  WARPSMITH_EXTERN __attribute__((convergent)) type __spirv_GroupNonUniformShuffle(int scope, type value, unsigned lane);       \
  WARPSMITH_EXTERN __attribute__((convergent)) type __spirv_GroupNonUniformBroadcast(int scope, type value, unsigned lane);     \
  WARPSMITH_EXTERN __attribute__((convergent)) type __spirv_GroupNonUniformRotateKHR(int scope, type value, unsigned delta);
WARPSMITH_SHUFFLES(unsigned int)
WARPSMITH_SHUFFLES(unsigned long)
WARPSMITH_SHUFFLES(float)
WARPSMITH_SHUFFLES(double)
#undef WARPSMITH_SHUFFLES

WARPSMITH_EXTERN __attribute__((convergent)) bool __spirv_GroupNonUniformAllEqual(int scope, unsigned value);
WARPSMITH_EXTERN __attribute__((convergent)) __warpsmith::ballot_mask __spirv_GroupNonUniformBallot(int scope, bool predicate);

// OpenCL.std, for the types that have a CUDA counterpart.
#define WARPSMITH_OCL_1(name)                     \
  WARPSMITH_EXTERN float __spirv_ocl_##name(float);     \
  WARPSMITH_EXTERN double __spirv_ocl_##name(double);
#define WARPSMITH_OCL_2(name)                            \
  WARPSMITH_EXTERN float __spirv_ocl_##name(float, float);     \
  WARPSMITH_EXTERN double __spirv_ocl_##name(double, double);

WARPSMITH_OCL_1(acos) WARPSMITH_OCL_1(acosh) WARPSMITH_OCL_1(asin) WARPSMITH_OCL_1(asinh) WARPSMITH_OCL_1(atan) WARPSMITH_OCL_1(atanh)
WARPSMITH_OCL_1(cbrt) WARPSMITH_OCL_1(cos) WARPSMITH_OCL_1(cosh) WARPSMITH_OCL_1(cospi) WARPSMITH_OCL_1(erf) WARPSMITH_OCL_1(erfc)
WARPSMITH_OCL_1(exp) WARPSMITH_OCL_1(exp2) WARPSMITH_OCL_1(exp10) WARPSMITH_OCL_1(expm1) WARPSMITH_OCL_1(lgamma) WARPSMITH_OCL_1(log)
WARPSMITH_OCL_1(log2) WARPSMITH_OCL_1(log10) WARPSMITH_OCL_1(log1p) WARPSMITH_OCL_1(logb) WARPSMITH_OCL_1(rint) WARPSMITH_OCL_1(round)
WARPSMITH_OCL_1(rsqrt) WARPSMITH_OCL_1(sin) WARPSMITH_OCL_1(sinh) WARPSMITH_OCL_1(sinpi) WARPSMITH_OCL_1(tan) WARPSMITH_OCL_1(tanh)
WARPSMITH_OCL_1(tgamma)
WARPSMITH_OCL_2(atan2) WARPSMITH_OCL_2(copysign) WARPSMITH_OCL_2(fdim) WARPSMITH_OCL_2(fmax) WARPSMITH_OCL_2(fmin)
WARPSMITH_OCL_2(fmod) WARPSMITH_OCL_2(hypot) WARPSMITH_OCL_2(nextafter) WARPSMITH_OCL_2(pow) WARPSMITH_OCL_2(remainder)
#undef WARPSMITH_OCL_1
#undef WARPSMITH_OCL_2

WARPSMITH_EXTERN float __spirv_ocl_fma(float, float, float);
WARPSMITH_EXTERN double __spirv_ocl_fma(double, double, double);
WARPSMITH_EXTERN float __spirv_ocl_ldexp(float, int);
WARPSMITH_EXTERN double __spirv_ocl_ldexp(double, int);
WARPSMITH_EXTERN int __spirv_ocl_ilogb(float);
WARPSMITH_EXTERN int __spirv_ocl_ilogb(double);
WARPSMITH_EXTERN float __spirv_ocl_native_exp2(float);
