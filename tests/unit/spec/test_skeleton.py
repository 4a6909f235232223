"""`warpsmith init`: the skeleton tells what the source tells, and loads as it is."""

from __future__ import annotations

import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.spec.kernel import Role
from warpsmith.spec.load import load_kernel
from warpsmith.spec.skeleton import skeleton

CUDA = """\
#include <cuda_fp16.h>
namespace ns {
__constant__ float taps[17];
__device__ float helper(float x) { return x; }

template <typename T, int BLOCK_SIZE, bool FAST = true>
__global__ void __launch_bounds__(128) scale_kernel(
    T* __restrict__ out, const T* in, float4 const* wide, unsigned char *bytes,
    float* __restrict__ acc, int n, float alpha, bool flip) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[i] = in[i] * T(alpha); acc[i] += 1.0f; }
  consume(bytes);
}
}
extern "C" __global__ void other(int64_t rows, size_t cols, double x[]) { x[threadIdx.y] = blockIdx.z; }
"""
OPENCL = """\
float helper(float x) { return x; }
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void blur(__global const uchar4* restrict src, __global float *dst, __local float* tile,
          __constant float* taps, const int width, uint height)
{
  dst[get_global_id(1) * width + get_global_id(0)] = src[0].x * taps[0];
}
kernel void second(global half* a) { a[0] = 1; }
"""


@pytest.fixture
def made(tmp_path):
    def make(name, text, kernel=None):
        source = tmp_path / name
        source.write_text(text)
        text = skeleton(source, kernel)
        (tmp_path / "kernel.toml").write_text(text)
        return text, load_kernel(tmp_path)

    return make


def described(kernel):
    return [(a.name, a.dtype.value, a.role.value if hasattr(a, "role") else str(a.value)) for a in kernel.arguments]


def test_a_cuda_template(made):
    text, kernel = made("k.cu", CUDA, "scale_kernel")
    assert kernel.entry == "ns::scale_kernel<float, 256, true>"
    assert described(kernel) == [
        ("out", "f32", "out"),
        ("in", "f32", "in"),
        ("wide", "f32", "in"),
        ("bytes", "u8", "inout"),
        ("acc", "f32", "inout"),
        ("n", "i32", "n"),
        ("alpha", "f32", "1.0"),
        ("flip", "bool", "False"),
    ]
    assert [str(e) for e in kernel.launch.grid] == ["ceildiv(n, 128)"]
    assert [str(e) for e in kernel.launch.block] == ["128"]
    assert kernel.launch.shared_bytes.evaluate({}) == 512
    assert [(c.name, c.dtype, str(c.shape[0])) for c in kernel.constants] == [("taps", DType.F32, "17")]
    assert "FILL IN: the instance to tune" in text
    (line,) = [line for line in text.splitlines() if line.startswith("bytes ")]
    assert '"out" if every element is only written' in line


def test_a_plain_kernel_of_two_dimensions(made):
    _, kernel = made("k.cu", CUDA, "other")
    assert kernel.entry == "other"
    assert described(kernel) == [("rows", "i64", "rows"), ("cols", "u64", "cols"), ("x", "f64", "out")]
    assert [str(e) for e in kernel.launch.block] == ["16", "16"]
    assert [str(e) for e in kernel.launch.grid] == ["ceildiv(rows, 16)", "ceildiv(cols, 16)", "cols"]


def test_opencl(made):
    text, kernel = made("k.cl", OPENCL, "blur")
    assert kernel.language is Language.OPENCL
    assert described(kernel) == [
        ("src", "u8", "in"),
        ("dst", "f32", "out"),
        ("taps", "f32", "in"),
        ("width", "i32", "width"),
        ("height", "u32", "height"),
    ]
    # A __local parameter has a size and no value: it belongs to the launch, and devices refuse it among the arguments.
    assert kernel.launch.shared_bytes.evaluate({}) == 4 * 16 * 16
    assert "__local tile" in text
    _, second = made("k.cl", OPENCL, "second")
    assert described(second) == [("a", "f16", "out")]


def test_another_suffix_gets_its_language_written_down(made):
    _, kernel = made("k.cpp", "__global__ void k(float* a) { a[threadIdx.x] = 0; }")
    assert kernel.language is Language.CUDA


def test_what_cannot_be_told_is_marked(made):
    text, kernel = made("k.cu", "struct P { int a; };\n__global__ void k(P p, Thing* t, float** pp) {}")
    assert "P by value" in text
    assert "the dtype of Thing" in text
    assert "pointer to pointers" in text
    assert all(a.role is Role.IN for a in kernel.buffers)


def test_a_definition_counts_and_not_its_declaration(made):
    _, kernel = made("k.cu", "__global__ void k(float* a);\n__global__ void k(float* a) { a[0] = 1; }")
    assert described(kernel) == [("a", "f32", "out")]


def test_several_kernels_are_listed_with_their_lines(tmp_path):
    (tmp_path / "k.cu").write_text(CUDA)
    with pytest.raises(InputError, match="2 kernels") as caught:
        skeleton(tmp_path / "k.cu")
    assert "ns::scale_kernel (line 7)" in caught.value.message
    assert "other (line 16)" in caught.value.message
    assert "--kernel" in caught.value.hint


def test_a_kernel_that_is_not_there(tmp_path):
    (tmp_path / "k.cu").write_text(CUDA)
    with pytest.raises(InputError, match="no kernel 'othr'") as caught:
        skeleton(tmp_path / "k.cu", "othr")
    assert "other" in caught.value.hint
    (tmp_path / "none.cu").write_text("int main() {}")
    with pytest.raises(InputError, match="no kernel found"):
        skeleton(tmp_path / "none.cu")
    with pytest.raises(InputError, match="no such file"):
        skeleton(tmp_path / "missing.cu")


def test_a_kernel_far_down_a_long_file(tmp_path):
    source = tmp_path / "long.cu"
    source.write_text("//\n" * 3000 + "__global__ void a(int n) {}\n__global__ void b(int n) {}\n")
    for _ in range(12):
        with pytest.raises(InputError, match=r"b \(line 3002\)"):
            skeleton(source)
