"""The standard headers, ours and libc++'s: what device code uses compiles and runs, with and without the include."""

from __future__ import annotations

import numpy as np
import pytest

HEADERS = """
algorithm array bit cassert cfloat climits cmath concepts cstddef cstdint cstdio cstdlib cstring functional initializer_list
limits numbers numeric optional tuple type_traits utility assert.h float.h limits.h math.h stdbool.h stddef.h stdint.h stdio.h stdlib.h
string.h iostream fstream sstream iomanip string vector map set unordered_map memory chrono random thread mutex stdexcept exception
sys/time.h unistd.h time.h ctime cctype cuda_runtime.h cuda.h cuda_runtime_api.h device_launch_parameters.h cuda_fp16.h cuda_bf16.h
cuda_fp8.h cooperative_groups.h cooperative_groups/reduce.h vector_types.h vector_functions.h math_constants.h device_functions.h
cub/cub.cuh cub/block/block_reduce.cuh cub/block/block_scan.cuh cub/block/block_radix_sort.cuh cub/block/block_load.cuh cuComplex.h complex
thrust/complex.h cuda/std/complex cuda/atomic cuda/cmath cuda/functional cuda/std/span atomic bitset charconv immintrin.h malloc.h pthread.h
sys/mman.h wchar.h fcntl.h dlpack/dlpack.h nv/target bits/stdc++.h cub/device/device_reduce.cuh sm_60_atomic_functions.h nvml.h
"""


@pytest.mark.parametrize("macros", ["", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"], ids=["plain", "after macros of one letter"])
def test_all_headers_together(run, macros):
    out = np.zeros(1, np.int32)
    includes = "".join(f"#define {letter} float\n" for letter in macros) + "\n".join(
        f"#include <{header}>" for header in HEADERS.split()
    )
    run(
        f"{includes}\nvoid host(std::vector<float>&, const std::string&);\n__global__ void k(int* out) {{ *out = 5; }}",
        out,
        block=(1, 1, 1),
    )
    assert out[0] == 5


@pytest.mark.parametrize(
    "includes",
    ["", "#include <algorithm>\n#include <cmath>\n#include <limits>\n#include <type_traits>\n"],
    ids=["bare", "included"],
)
def test_everyday_std_names_need_no_include(run, includes):
    out = np.zeros(8, np.float64)
    code = (
        includes
        + """
    template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0> __device__ T half_of(T x) { return x / 2; }
    __global__ void k(double* out) {
      out[0] = std::max(3, 4) + std::min(1.5f, 2.5f);
      out[1] = std::numeric_limits<float>::max() > 3e38f;
      out[2] = std::is_same<float, decltype(std::sqrt(2.0f))>::value;
      out[3] = half_of(5.0) + std::exp(0.0f) + std::fabs(-2.0);
      int a = 1, b = 2; std::swap(a, b); out[4] = a * 10 + b;
      out[5] = std::conditional_t<(sizeof(int) > 2), char, double>(65.9);
      out[6] = std::isnan(std::numeric_limits<double>::quiet_NaN()) + std::isinf(-std::numeric_limits<float>::infinity());
      out[7] = std::move(a) + std::floor(2.7) + std::numeric_limits<int>::lowest() / 2147483648.0;
    }"""
    )
    run(code, out, block=(1, 1, 1))
    assert out.tolist() == [5.5, 1, 1, 5.5, 21, 65, 2, 3]


def test_containers_and_algorithms(run):
    out = np.zeros(8, np.float32)
    code = """
    #include <algorithm>
    #include <array>
    #include <functional>
    #include <numeric>
    #include <optional>
    #include <tuple>
    #include <utility>
    struct Add { template <class... A> __device__ float operator()(A... a) const { return (a + ...); } };
    template <class F, std::size_t... I> __device__ float apply(F f, const std::array<float, 4>& v, std::index_sequence<I...>) { return f(v[I]...); }
    __global__ void k(float* out) {
      std::array<float, 4> v{4, 1, 3, 2};
      const auto [low, high] = std::minmax(v[0], v[1]);
      const std::tuple<int, float> t{7, 0.5f};
      const std::pair<float, int> p = std::make_pair(2.0f, 3);
      out[0] = low * 10 + high;
      out[1] = std::get<0>(t) + std::get<1>(t);
      out[2] = p.first * p.second;
      out[3] = apply(Add(), v, std::make_index_sequence<4>());
      out[4] = std::accumulate(v.begin(), v.end(), 0.0f) + std::plus<float>()(1, 2);
      out[5] = *std::max_element(v.begin(), v.end()) + std::clamp(9, 0, 5);
      std::fill(v.begin(), v.end(), 6.0f); out[6] = v[3];
      auto square = [](auto x) { return x * x; };
      out[7] = square(3) + square(0.5f) + std::optional<int>(4).value_or(0) + std::gcd(12, 18);
    }"""
    run(code, out, block=(1, 1, 1))
    assert out.tolist() == [14, 7.5, 6, 10, 13, 9, 6, 19.25]


def test_cuda_std_is_std(run):
    out = np.zeros(32, np.float32)
    source = """
    #include <cuda/std/array>
    #include <cuda/std/cmath>
    #include <cuda/std/cstdint>
    #include <cuda/std/limits>
    #include <cuda/std/tuple>
    #include <cuda/std/type_traits>
    #include <cuda/std/utility>
    #include <cuda_device_runtime_api.h>
    __global__ void k(float* out) {
      static_assert(cuda::std::is_same_v<cuda::std::uint8_t, unsigned char>);
      const cuda::std::array<int, 3> values{1, 2, 3};
      const auto pair = cuda::std::make_tuple(cuda::std::sqrt(4.f), cuda::std::numeric_limits<int>::max());
      out[threadIdx.x] = values[threadIdx.x % 3] + cuda::std::get<0>(pair) + (cuda::std::get<1>(pair) < 0);
    }"""
    run(source, out)
    assert (out == np.arange(32) % 3 + 3).all()


def test_the_samples_vector_helpers(run):
    values = np.random.default_rng(5).uniform(-2, 2, (32, 6)).astype(np.float32)
    out = np.zeros((32, 6), np.float32)
    source = """
    #define T 3
    #include <helper_math.h>
    __global__ void k(float* out, const float* values) {
      const float* v = values + 6 * threadIdx.x;
      float3 p = make_float3(v[0], v[1], v[2]);
      const float3 q = make_float3(make_float2(v[3], v[4]), v[5]);
      const float3 normal = cross(p, q);
      out[6 * threadIdx.x] = normal.z;
      p += 2.0f * q - 1.0f;
      out[6 * threadIdx.x + 1] = dot(make_float4(normalize(p), length(q)), make_float4(q, 1));
      out[6 * threadIdx.x + 2] = clamp(v[0], -0.5f, 0.5f) + lerp(p, q, 0.25f).y;
      const int2 whole = clamp(make_int2(make_float2(9 * v[0], -3)), 0, 4);
      out[6 * threadIdx.x + 3] = 10 * whole.x + whole.y;
      out[6 * threadIdx.x + 4] = fmaxf(p, -q).z;
      out[6 * threadIdx.x + 5] = (make_uint4(7) / make_uint4(2)).w;
    }"""
    run(source, out, values)
    p, q = values[:, :3].astype(float), values[:, 3:].astype(float)
    moved = p + 2 * q - 1
    unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    expected = [
        np.cross(p, q)[:, 2],
        (unit * q).sum(1) + np.linalg.norm(q, axis=1),
        np.clip(p[:, 0], -0.5, 0.5) + (0.75 * moved + 0.25 * q)[:, 1],
        10 * np.clip(np.trunc(9 * p[:, 0]), 0, 4),
        np.maximum(moved, -q)[:, 2],
        np.full(32, 3),
    ]
    np.testing.assert_allclose(out.T, expected, rtol=1e-4, atol=1e-5)
