#pragma once

#include <acme/config.h>

#include <limits>

namespace acme {

namespace details {

/// \brief The least value a maximum can start from.
template <typename T>
struct lowest {
  static constexpr T value = std::numeric_limits<T>::lowest();
};

template <>
struct lowest<__half> {
  static constexpr float value = -65504.0f;
};

}  // namespace details

namespace math {

inline constexpr float kPi = 3.14159265f;
inline constexpr float kUnused = 2.71828f;

ACME_DEVICE float square(float x) { return x * x; }

// The overload for whole numbers.
ACME_DEVICE int square(int x) { return x * x; }

ACME_HOST_DEVICE constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }

// Three functions of one pattern.
#define ACME_UNARY(NAME, EXPRESSION) \
  ACME_DEVICE float NAME##_of(float x) { return EXPRESSION; }

ACME_UNARY(half, x * 0.5f)
ACME_UNARY(twice, x * 2.0f)

#undef ACME_UNARY

// For the host only: a kernel cannot call it.
inline std::string describe(float x) { return std::to_string(square(x)); }

}  // namespace math

typedef enum { PLAIN, SQUARED } Mode;

}  // namespace acme
