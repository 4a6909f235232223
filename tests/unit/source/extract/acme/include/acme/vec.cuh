#pragma once

#include "math.cuh"

namespace acme {

/**
 * \brief A few values that are loaded at once.
 */
template <typename T, int N>
struct alignas(sizeof(T) * N) Vec {
  T data[N];

  ACME_DEVICE T& operator[](int i) { return data[i]; }
  ACME_DEVICE const T& operator[](int i) const { return data[i]; }

  // What it holds, for people.
  std::string text() const {
    std::string result;
    for (int i = 0; i < N; ++i) result += std::to_string(data[i]);
    return result;
  }

  static void check(const torch::Tensor& tensor);
};

template <typename T, int N>
ACME_DEVICE Vec<T, N> operator+(const Vec<T, N>& a, const Vec<T, N>& b) {
  Vec<T, N> sum;
  for (int i = 0; i < N; ++i) sum[i] = a[i] + b[i];
  return sum;
}

struct Other {};

ACME_DEVICE Other operator+(const Other& a, const Other&) { return a; }

}  // namespace acme
