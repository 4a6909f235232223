"""vector_types.h, memory.h: size and alignment of the short vectors, cached loads and stores, memcpy; constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType

SCALARS = {
    "char": ("signed char", 1), "uchar": ("unsigned char", 1), "short": ("short", 2), "ushort": ("unsigned short", 2), "int": ("int", 4),
    "uint": ("unsigned int", 4), "long": ("long", 8), "ulong": ("unsigned long", 8), "longlong": ("long long", 8),
    "ulonglong": ("unsigned long long", 8), "float": ("float", 4), "double": ("double", 8),
}  # fmt: skip


def test_vectors_have_cudas_size_alignment_and_element_type(run):
    checks = []
    for name, (element, size) in SCALARS.items():
        for n in (1, 2, 3, 4):
            alignment = min(size * n, 16) if n in (2, 4) else size
            checks.append(f"static_assert(sizeof({name}{n}) == {size * n} && alignof({name}{n}) == {alignment});")
            checks.append(f"static_assert(std::is_same_v<decltype({name}{n}::x), {element}>);")
            checks.append(f"static_assert(std::is_same_v<decltype(make_{name}{n}({', '.join('1234'[:n])})), {name}{n}>);")
    checks.append("static_assert(sizeof(dim3) == 12 && std::is_same_v<decltype(dim3().x), unsigned int>);")
    out = np.zeros(8, np.float32)
    code = (
        "\n".join(checks)
        + """
    __global__ void k(float* out) {
      float4 v = make_float4(1, 2, 3, 4);
      v.y += v.w;
      *(float4*)out = v;
      const double2 d = {5, 6};
      const uchar4 c = make_uchar4(255, 256 + 7, 0, 1);
      const dim3 shape(3, 4), same = shape;
      out[4] = d.x + same.z; out[5] = c.x; out[6] = c.y; out[7] = shape.y;
    }"""
    )
    run(code, out, block=(1, 1, 1))
    assert out.tolist() == [1, 6, 3, 4, 6, 255, 7, 4]


def test_cached_loads_and_stores(run):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros((4, 64), np.float32)
    code = """
    template <class T> __device__ void copy(const T* x, T* out, int i) {
      __stcs(out + i, __ldg(x + i)); __stcg(out + 64 / (sizeof(T) / 4) + i, __ldcs(x + i));
      __stwt(out + 128 / (sizeof(T) / 4) + i, __ldca(x + i)); __stwb(out + 192 / (sizeof(T) / 4) + i, __ldlu(x + i));
    }
    __global__ void k(const float* __restrict__ x, float* __restrict__ out) {
      if (threadIdx.x < 8) copy((const float4*)x, (float4*)out, threadIdx.x);
      else if (threadIdx.x < 16) copy((const float2*)x, (float2*)out, threadIdx.x + 8);
      else copy(x, out, threadIdx.x + 32);
    }"""
    run(code, x, out, block=(32, 1, 1))
    assert (out == x).all()


@pytest.mark.parametrize(
    "body",
    [
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = x[i] * 2.0f;",
        "unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = x[i] * 2.0f;",
        "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = x[i] * 2.0f;",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = x[blockIdx.x * n + i] * 2.0f;",
        "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); out[threadIdx.x] = s[threadIdx.x];",
        "int i = threadIdx.x; float4 v = ((const float4*)x)[i]; v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2; ((float4*)out)[i] = v;",
        "int i = threadIdx.x; const float4 v = __ldg((const float4*)x + i); ((float4*)out)[i] = make_float4(v.x, v.y, v.z, 2 * v.w);",
        "int i = threadIdx.x; float2 v = ((const float2*)x)[i]; v.x += v.y; ((float2*)out)[i] = v;",
    ],
)
def test_unit_strides_and_vectors_reach_the_runtime(run, body):
    """What the tuner lives on: neighbours in memory must not become gathers and scatters."""
    types = (ParameterType("x", DType.F32, True), ParameterType("out", DType.F32, True), ParameterType("n", DType.I32, False))
    code = f"__global__ void k(const float* x, float* out, int n) {{ {body} }}"
    request = CompileRequest(code, Path("k.cu"), Language.CUDA, "k", types, Geometry((4, 1, 1), (64, 1, 1)))
    resources = run.device.compile(request).resources
    assert (resources.gathers or 0, resources.scatters or 0) == (0, 0)
    assert resources.vector_width is not None
    assert resources.vector_width >= 4


def test_memory_functions(run):
    data = np.arange(64, dtype=np.uint8)
    out = np.zeros((4, 64), np.uint8)
    code = """
    #include <cstring>
    __global__ void k(const unsigned char* x, unsigned char* out, int n) {
      memcpy(out, x, 64);
      std::memcpy(out + 64, x, n);
      memset(out + 128, 0xAB, n);
      memcpy(out + 192, x, 64);
      float f = 1.0f; unsigned bits; memcpy(&bits, &f, sizeof bits);
      if (bits != 0x3f800000u) out[0] = 99;
    }"""
    run(code, data, out, np.int32(40), block=(1, 1, 1))
    assert (out[0] == data).all()
    assert (out[1] == np.where(np.arange(64) < 40, data, 0)).all()
    assert (out[2] == np.where(np.arange(64) < 40, 0xAB, 0)).all()
    assert (out[3] == data).all()


def test_the_clock_runs(run):
    out = np.zeros(3, np.int64)
    code = """
    __global__ void k(long long* out, int n) {
      const long long start = clock64();
      long long sum = 0;
      for (int i = 0; i < n; ++i) { sum += i * i % 7; out[2] = sum; __threadfence(); }
      out[0] = clock64() - start; out[1] = clock() != 0;
    }"""
    run(code, out, np.int32(100_000), block=(1, 1, 1))
    assert out[0] > 0
    assert out[1] == 1


def test_device_and_constant_variables_with_initialisers(run):
    out = np.zeros((2, 32), np.float32)
    code = """
    __constant__ float weights[4] = {1, 2, 3, 4};
    __device__ int counter = 7;
    static __device__ const float table[] = {10, 20};
    constexpr float scale = 0.5f;
    __global__ void k(float* out) {
      out[threadIdx.x] = weights[threadIdx.x % 4] * scale + table[threadIdx.x % 2];
      out[32 + threadIdx.x] = counter;
    }"""
    run(code, out)
    lane = np.arange(32)
    assert (out[0] == (lane % 4 + 1) * 0.5 + 10 * (lane % 2 + 1)).all()
    assert (out[1] == 7).all()


def test_hip_vectors_have_operators(run):
    out = np.zeros(4, np.float32)
    code = """#include <hip/hip_runtime.h>
    __global__ void k(float4* out) {
      HIP_DYNAMIC_SHARED(float4, cell)
      float4 a = make_float4(1, 2, 3, 4);
      a += a * 2.0f; a = -a / make_float4(1, 2, 3, 4) + 1.0f;
      cell[hipThreadIdx_x] = a;
      out[hipThreadIdx_x] = cell[hipThreadIdx_x];
    }"""
    run(code, out, block=(1, 1, 1), shared_bytes=16, language=Language.HIP)
    assert out.tolist() == [-2, -2, -2, -2]
