// Complex numbers under all their names: std::complex, thrust::complex, cuda::std::complex. For both sides, unlike libc++'s own.
#pragma once

#include "warpsmith/push_macros.h"

namespace std {
inline namespace __1 {
template <class T> class complex {
  T re, im;

 public:
  using value_type = T;
  WARPSMITH_METHOD constexpr complex(const T& real = T(), const T& imag = T()) : re(real), im(imag) {}
  template <class U> WARPSMITH_METHOD constexpr complex(const complex<U>& other) : re((T)other.real()), im((T)other.imag()) {}
  WARPSMITH_METHOD constexpr T real() const { return re; }
  WARPSMITH_METHOD constexpr T imag() const { return im; }
  WARPSMITH_METHOD constexpr void real(T value) { re = value; }
  WARPSMITH_METHOD constexpr void imag(T value) { im = value; }
  WARPSMITH_METHOD constexpr complex& operator=(const T& value) { re = value; im = T(); return *this; }
  WARPSMITH_METHOD constexpr complex& operator+=(const complex& z) { re += z.re; im += z.im; return *this; }
  WARPSMITH_METHOD constexpr complex& operator-=(const complex& z) { re -= z.re; im -= z.im; return *this; }
  WARPSMITH_METHOD constexpr complex& operator*=(const complex& z) { return *this = {re * z.re - im * z.im, re * z.im + im * z.re}; }
  // Scaled by the larger part, so that squares neither overflow nor vanish.
  WARPSMITH_METHOD complex& operator/=(const complex& z) {
    const T scale = T(1) / (fabs(z.re) + fabs(z.im));
    const T a = re * scale, b = im * scale, c = z.re * scale, d = z.im * scale, size = T(1) / (c * c + d * d);
    return *this = {(a * c + b * d) * size, (b * c - a * d) * size};
  }
  WARPSMITH_METHOD constexpr complex& operator*=(const T& value) { re *= value; im *= value; return *this; }
  WARPSMITH_METHOD constexpr complex& operator/=(const T& value) { re /= value; im /= value; return *this; }
};

#define WARPSMITH_COMPLEX(symbol)                                                                                               \
  template <class T> WARPSMITH_METHOD constexpr complex<T> operator symbol(complex<T> x, const complex<T>& y) { return x symbol##= y; } \
  template <class T> WARPSMITH_METHOD constexpr complex<T> operator symbol(complex<T> x, const type_identity_t<T>& y) {         \
    return x symbol##= complex<T>(y);                                                                                           \
  }                                                                                                                             \
  template <class T> WARPSMITH_METHOD constexpr complex<T> operator symbol(const type_identity_t<T>& x, const complex<T>& y) {  \
    return complex<T>(x) symbol##= y;                                                                                           \
  }
WARPSMITH_COMPLEX(+) WARPSMITH_COMPLEX(-) WARPSMITH_COMPLEX(*) WARPSMITH_COMPLEX(/)
#undef WARPSMITH_COMPLEX
template <class T> WARPSMITH_METHOD constexpr complex<T> operator+(const complex<T>& z) { return z; }
template <class T> WARPSMITH_METHOD constexpr complex<T> operator-(const complex<T>& z) { return {-z.real(), -z.imag()}; }
template <class T> WARPSMITH_METHOD constexpr bool operator==(const complex<T>& x, const complex<T>& y) {
  return x.real() == y.real() && x.imag() == y.imag();
}
template <class T> WARPSMITH_METHOD constexpr bool operator==(const complex<T>& x, const type_identity_t<T>& y) {
  return x.real() == y && x.imag() == T();
}

template <class T> WARPSMITH_METHOD constexpr T real(const complex<T>& z) { return z.real(); }
template <class T> WARPSMITH_METHOD constexpr T imag(const complex<T>& z) { return z.imag(); }
template <class T> WARPSMITH_METHOD constexpr complex<T> conj(const complex<T>& z) { return {z.real(), -z.imag()}; }
template <class T> WARPSMITH_METHOD constexpr T norm(const complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <class T> WARPSMITH_METHOD T abs(const complex<T>& z) { return hypot(z.real(), z.imag()); }
template <class T> WARPSMITH_METHOD T arg(const complex<T>& z) { return atan2(z.imag(), z.real()); }
template <class T> WARPSMITH_METHOD complex<T> polar(const T& size, const T& angle = T()) {
  return {size * cos(angle), size * sin(angle)};
}
template <class T> WARPSMITH_METHOD complex<T> exp(const complex<T>& z) { return polar(exp(z.real()), z.imag()); }
template <class T> WARPSMITH_METHOD complex<T> log(const complex<T>& z) { return {log(abs(z)), arg(z)}; }
template <class T> WARPSMITH_METHOD complex<T> sqrt(const complex<T>& z) {
  const T size = abs(z), a = sqrt((size + fabs(z.real())) / 2);
  if (a == T()) return {T(), z.imag()};
  const T b = fabs(z.imag()) / (2 * a);
  return z.real() >= T() ? complex<T>(a, copysign(b, z.imag())) : complex<T>(b, copysign(a, z.imag()));
}
template <class T> WARPSMITH_METHOD complex<T> pow(const complex<T>& z, const complex<T>& power) {
  return z == complex<T>() ? complex<T>() : exp(power * log(z));
}
template <class T> WARPSMITH_METHOD complex<T> pow(const complex<T>& z, const type_identity_t<T>& power) {
  return pow(z, complex<T>(power));
}
template <class T> WARPSMITH_METHOD complex<T> sin(const complex<T>& z) {
  return {sin(z.real()) * cosh(z.imag()), cos(z.real()) * sinh(z.imag())};
}
template <class T> WARPSMITH_METHOD complex<T> cos(const complex<T>& z) {
  return {cos(z.real()) * cosh(z.imag()), -sin(z.real()) * sinh(z.imag())};
}
template <class T> WARPSMITH_METHOD complex<T> sinh(const complex<T>& z) {
  return {sinh(z.real()) * cos(z.imag()), cosh(z.real()) * sin(z.imag())};
}
template <class T> WARPSMITH_METHOD complex<T> cosh(const complex<T>& z) {
  return {cosh(z.real()) * cos(z.imag()), sinh(z.real()) * sin(z.imag())};
}
}  // namespace __1
inline namespace literals {
inline namespace complex_literals {
WARPSMITH_METHOD constexpr complex<double> operator""i(long double x) { return {0.0, (double)x}; }
WARPSMITH_METHOD constexpr complex<float> operator""if(long double x) { return {0.0f, (float)x}; }
}  // namespace complex_literals
}  // namespace literals
}  // namespace std

#include "warpsmith/pop_macros.h"
