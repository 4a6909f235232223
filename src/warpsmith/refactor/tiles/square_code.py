"""The functions that `squares` puts before a kernel: a part of a matrix is turned by one thread, square by square.

Names in capitals are the pass's parameters; T is the elements' type, of four bytes. All of it compiles without us: compilers that
know clang's vectors shuffle squares in registers, others move single elements in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAMES = ("Eight", "Four", "turn_eight", "turn_lines", "turn_square", "turn_part", "T", "WIDE", "DEEP")

_CODE = """\
#ifdef __clang__
// Vectors: from single elements the compiler does not find the shuffles.
typedef T Eight __attribute__((ext_vector_type(8)));
typedef T Four __attribute__((ext_vector_type(4)));

__device__ __forceinline__ void turn_eight(Eight (&row)[8]) {
  Eight two[8];
  Eight four[8];
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    two[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    two[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      four[i + 2 * half] = __builtin_shufflevector(two[i + half], two[i + half + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      four[i + 2 * half + 1] = __builtin_shufflevector(two[i + half], two[i + half + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    row[i] = __builtin_shufflevector(four[i], four[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    row[i + 4] = __builtin_shufflevector(four[i], four[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// 16 rows of 8 elements become 8 whole cache lines: nobody has to read those first, so less memory is moved.
__device__ __forceinline__ void turn_lines(T* to, const T* from, long long to_stride, long long from_stride) {
  Eight upper[8];
  Eight lower[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    __builtin_memcpy(&upper[i], from + i * from_stride, sizeof(Eight));
    __builtin_memcpy(&lower[i], from + (i + 8) * from_stride, sizeof(Eight));
  }
  turn_eight(upper);
  turn_eight(lower);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    __builtin_nontemporal_store(upper[i], reinterpret_cast<Eight*>(to + i * to_stride));
    __builtin_nontemporal_store(lower[i], reinterpret_cast<Eight*>(to + i * to_stride + 8));
  }
}

__device__ __forceinline__ void turn_square(T* to, const T* from, long long to_stride, long long from_stride) {
  Four row[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&row[i], from + i * from_stride, sizeof(Four));
  const Four a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four b = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  row[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  row[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  row[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  row[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
#pragma unroll
  for (int i = 0; i < 4; ++i) __builtin_memcpy(to + i * to_stride, &row[i], sizeof(Four));
}
#else
__device__ __forceinline__ void turn_lines(T* to, const T* from, long long to_stride, long long from_stride) {
#pragma unroll
  for (int c = 0; c < 8; ++c) {
#pragma unroll
    for (int r = 0; r < 16; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

__device__ __forceinline__ void turn_square(T* to, const T* from, long long to_stride, long long from_stride) {
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int r = 0; r < 4; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}
#endif

// The block's DEEP x WIDE elements of a matrix of so many rows and columns. Squares at its edges move inwards: what they share
// with others is written twice, with the same values, and nothing needs to be checked.
__device__ __forceinline__ void turn_part(T* __restrict__ to, const T* __restrict__ from, long long to_stride,
                                          long long from_stride, long long rows, long long cols) {
  const long long top = static_cast<long long>(blockIdx.y) * DEEP;
  const long long left = static_cast<long long>(blockIdx.x) * WIDE;
  const long long bottom = top + DEEP < rows ? top + DEEP : rows;
  const long long right = left + WIDE < cols ? left + WIDE : cols;
  const bool lines = rows % 16 == 0 && to_stride % 16 == 0 && reinterpret_cast<unsigned long long>(to) % 64 == 0;
  if (lines && cols >= 8) {
    for (long long r = top; r < bottom; r += 16) {
      for (long long next = left; next < right; next += 8) {
        const long long c = next < cols - 8 ? next : cols - 8;
        turn_lines(to + c * to_stride + r, from + r * from_stride + c, to_stride, from_stride);
      }
    }
  } else if (rows >= 4 && cols >= 4) {
    for (long long below = top; below < bottom; below += 4) {
      const long long r = below < rows - 4 ? below : rows - 4;
      for (long long next = left; next < right; next += 4) {
        const long long c = next < cols - 4 ? next : cols - 4;
        turn_square(to + c * to_stride + r, from + r * from_stride + c, to_stride, from_stride);
      }
    }
  } else {
    for (long long c = left; c < right; ++c) {
      for (long long r = top; r < bottom; ++r) to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}"""


def square_code(names: Mapping[str, str]) -> str:
    """The functions, each of NAMES called as it says."""
    return re.sub(rf"\b(?:{'|'.join(NAMES)})\b", lambda found: names[found[0]], _CODE)
