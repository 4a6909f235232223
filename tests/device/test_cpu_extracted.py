"""What extraction writes in the place of PyTorch's headers gives PyTorch's numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from cpu_support import launch

from warpsmith.source.extract import ExtractRequest, extract

LIMITS = """
#include <c10/util/Half.h>
template <typename T> using limits = std::numeric_limits<T>;
template <typename T> __global__ void k(float* out, const float* values, int n) {
  out[0] = limits<T>::max(), out[1] = limits<T>::lowest(), out[2] = limits<T>::min(), out[3] = limits<T>::epsilon();
  for (int i = 0; i < n; ++i) out[4 + i] = static_cast<T>(values[i]) * 1.0f;
  out[4 + n] = limits<c10::Half>::max();
}
"""
VALUES = np.array([0.3, -1.06, 448, 464, 600, 1e-3, 70000, -0.0], np.float32)


def numbers(folder: Path, text: str, entry: str, arguments: list) -> np.ndarray:
    (folder / "source.cu").write_text(text)
    found = extract(ExtractRequest(folder / "source.cu", entry.partition("<")[0], entry))
    return launch(found.source_text, arguments, entry=found.entry, block=1)


def test_small_floats(tmp_path: Path) -> None:
    def of(name: str) -> np.ndarray:
        return numbers(
            tmp_path, LIMITS, f"k<c10::{name}>", [np.zeros(5 + VALUES.size, np.float32), VALUES, np.int32(VALUES.size)]
        )

    e4m3 = [448, -448, 2**-6, 0.125, 0.3125, -1.0, 448, 448, np.nan, 2**-9, np.nan, 0, 65504]
    np.testing.assert_array_equal(of("Float8_e4m3fn"), np.array(e4m3, np.float32))
    e5m2 = [57344, -57344, 2**-14, 0.25, 0.3125, -1.0, 448, 448, 640, 2**-10, np.inf, 0, 65504]
    np.testing.assert_array_equal(of("Float8_e5m2"), np.array(e5m2, np.float32))


COMPLEX = """
#include <c10/util/complex.h>
using Number = c10::complex<float>;
__device__ Number squared(Number z) { return z * z; }
__global__ void k(float* out, float x, float y) {
  Number z(x, y);
  z += squared(z) - Number(1.0f) * 2.0f;
  out[0] = z.real_, out[1] = z.imag();
}
"""


def test_complex_numbers(tmp_path: Path) -> None:
    z = 0.5 + 2j
    z += z * z - 2
    found = numbers(tmp_path, COMPLEX, "k", [np.zeros(2, np.float32), np.float32(0.5), np.float32(2)])
    np.testing.assert_allclose(found, [z.real, z.imag], rtol=1e-6)


PACKED = """
struct Base { float* out; const float* x; int n; };
struct Size { int rows, columns; };
struct P : public Base { Size size; float weights[2]; };
__global__ void k(const P p, int n) {
  if (threadIdx.x < p.n) gpuAtomicAdd(p.out + threadIdx.x, p.x[threadIdx.x] * p.weights[1] + p.size.columns + p.weights[0] * n);
}
"""


def test_structures_in_structures(tmp_path: Path) -> None:
    (tmp_path / "source.cu").write_text(PACKED)
    found = extract(ExtractRequest(tmp_path / "source.cu", "k", unpack=True))
    x = np.arange(32, dtype=np.float32)
    numbers = [np.int32(20), np.int32(3), np.int32(5), np.float32(0.5), np.float32(2)]
    out = launch(found.source_text, [np.ones(32, np.float32), x, *numbers, np.int32(7)], entry=found.entry, block=32)
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 20, 2 * x + 5 + 3.5 + 1, 1))
