"""What kernel sources may look like: entries, parameter types, memory spaces, files with host code, HIP."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from cpu_support import compile_kernel, launch

from warpsmith.core.hardware import Language
from warpsmith.devices.base import CompileError, LaunchError

OUT = np.zeros(64, np.float32)
RAMP = np.arange(64, dtype=np.float32)


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        ("__global__ void k(float* o) { o[threadIdx.x] = 3; }", "k"),
        ('extern "C" __global__ void k(float* o) { o[threadIdx.x] = 3; }', "k"),
        ("static __global__ void __launch_bounds__(64) k(float* __restrict__ o) noexcept { o[threadIdx.x] = 3; }", "k"),
        ("template <class T, int N> __global__ void k(T* o) { o[threadIdx.x] = N; }", "k<float, 3>"),
        ("namespace a::b { template <class T> __global__ void k(T* o) { o[threadIdx.x] = 3; } }", "a::b::k<float>"),
        ("namespace { __global__ void k(float* o) { o[threadIdx.x] = 3; } }", "k"),
        (
            "struct X { enum { v = 3 }; }; template <class P> __global__ void k(float* o) { o[threadIdx.x] = P::v; }",
            "k<X>",
        ),
    ],
)
def test_entries(source: str, entry: str) -> None:
    np.testing.assert_array_equal(launch(source, [OUT], entry=entry), 3)


@pytest.mark.parametrize(
    ("parameters", "expression", "arguments", "expected"),
    [
        ("float* o, const float* p", "p[threadIdx.x]", [RAMP], RAMP),
        ("float* o, volatile const float* p", "p[threadIdx.x]", [RAMP], RAMP),
        ("float* o, const uchar4* p", "p[threadIdx.x].y", [np.arange(256, dtype=np.uint8)], np.arange(1, 256, 4)),
        ("float* o, const float* p", "p == nullptr", [None], 1),
        ("float* o, Mode m, bool b, long n, double d", "(m == Mode::B) + 10 * b + 100 * n + 1000 * d",
         [np.int32(1), np.bool_(1), np.int64(2), np.float64(3)], 3211),
        ("float* o, size_t n, double d", "n + 1000 * d", [np.int32(2), np.float32(3)], 3002),
        ("float* o, Pair p", "p.a + p.b", [np.float32([2, 3]).view(np.uint64)[0]], 5),
        ("float* o, __half h, __nv_bfloat16 b, const __half* p", "__half2float(h) + __bfloat162float(b) + __half2float(p[1])",
         [np.float16(1.5), ml_dtypes.bfloat16(2.5), np.full(4, 3, np.float16)], 7),
    ],
)  # fmt: skip
def test_parameters(parameters: str, expression: str, arguments: list, expected) -> None:
    source = f"""
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    enum class Mode : int {{ A, B }};
    struct Pair {{ float a, b; }};
    __global__ void k({parameters}) {{ o[threadIdx.x] = {expression}; }}"""
    np.testing.assert_allclose(launch(source, [OUT, *arguments]), np.broadcast_to(expected, 64))


def test_a_structure_by_value_is_given_as_its_bytes() -> None:
    source = """
    struct P { float scale[3]; int n; double shift; };
    template <class A> struct Two { A first, second; };
    __global__ void k(float* o, P p, Two<long long> q) { o[threadIdx.x] = p.scale[threadIdx.x % 3] * p.n + p.shift + q.second; }"""
    raw = np.array([((1, 2, 3), 5, 0.5)], np.dtype([("scale", "f4", 3), ("n", "i4"), ("shift", "f8")]))
    out = launch(source, [OUT, np.frombuffer(raw.tobytes(), np.uint8).copy(), np.array([7, 9], np.int64)])
    np.testing.assert_array_equal(out, (np.arange(64) % 3 + 1) * 5 + 9.5)
    with pytest.raises(CompileError, match=r"parameter 2 \('a1'\) is a structure in the kernel; give a buffer with its bytes"):
        compile_kernel(source, [OUT, np.float32(1), np.array([7, 9], np.int64)])


@pytest.mark.parametrize("amount", [0, 5, 31, 32, 40])
def test_shifts_by_too_much_shift_everything_out(amount: int) -> None:
    source = """
    __global__ void k(int* o, int n) {
      const int t = threadIdx.x;
      const int values[] = {(int)(1u << n), (int)(0xffffffffu >> n), (-5 - t) >> n, (int)(1u << (n & 31))};
      o[t] = values[t % 4];
    }"""
    values = [2**amount % 2**32, (2**32 - 1) >> amount, None, 2 ** (amount % 32)]
    expected = [(-5 - t) >> amount if t % 4 == 2 else values[t % 4] for t in range(64)]
    out = launch(source, [np.zeros(64, np.int32), np.int32(amount)])
    np.testing.assert_array_equal(out, np.array(expected, np.int64).astype(np.uint32).view(np.int32))


def test_parameters_that_do_not_fit_are_named() -> None:
    source = "__global__ void k(float* o, int n) { o[0] = n; }"
    with pytest.raises(CompileError, match=r"does not take 3 parameters; it takes \(float \*, int\)"):
        compile_kernel(source, [OUT, np.int32(1), np.int32(1)])
    with pytest.raises(CompileError, match=r"parameter 2 \('a1'\) is not a pointer"):
        compile_kernel(source, [OUT, RAMP])
    with pytest.raises(CompileError, match=r"parameter 1 \('a0'\) is a pointer"):
        compile_kernel(source, [np.int32(1), np.int32(1)])
    with pytest.raises(CompileError, match=r"not in the source.*'other'"):
        compile_kernel(source, [OUT], entry="other")
    with pytest.raises(CompileError, match="name one instance"):
        compile_kernel("template <class T> __global__ void k(T* o) {}", [OUT])


@pytest.mark.parametrize(
    "declarations",
    [
        "extern __shared__ float s[];",
        "extern __shared__ __align__(16) unsigned char raw[]; float* s = reinterpret_cast<float*>(raw);",
        "extern __shared__ float s[]; extern __shared__ int same[]; if (threadIdx.x == 0) same[0] = 1; __syncthreads();",
        "SharedMemory<float> memory; float* s = memory;",
        "float* s = file_scope;",
    ],
)
def test_dynamic_shared_memory(declarations: str) -> None:
    source = f"""
    extern __shared__ float file_scope[];
    template <class T> struct SharedMemory {{
      __device__ operator T*() {{ extern __shared__ int bytes[]; return (T*)bytes; }}
    }};
    template <class T> __global__ void k(T* o, const T* a) {{
      {declarations}
      s[threadIdx.x] = a[threadIdx.x];
      __syncthreads();
      o[threadIdx.x] = s[63 - threadIdx.x];
    }}"""
    np.testing.assert_array_equal(launch(source, [OUT, RAMP], entry="k<float>", shared_bytes=256), RAMP[::-1])


def test_shared_memory_in_functions_called_twice_and_in_template_instances() -> None:
    source = """
    template <int N> __device__ float rotated(float v) {
      __shared__ float s[64];
      s[threadIdx.x] = v;
      __syncthreads();
      float r = s[(threadIdx.x + N) % 64];
      __syncthreads();
      return r;
    }
    __global__ void k(float* o, const float* a) {
      float v = a[threadIdx.x];
      o[threadIdx.x] = rotated<1>(v) + 100 * rotated<2>(v) + 10000 * rotated<1>(2 * v);
    }"""
    expected = 20001 * np.roll(RAMP, -1) + 100 * np.roll(RAMP, -2)
    np.testing.assert_allclose(launch(source, [OUT, RAMP]), expected)


def test_constants_and_device_variables() -> None:
    source = """
    __constant__ float c[3];
    namespace inner { __constant__ int d; }
    __constant__ float set[2] = {1, 2};
    __device__ int counter = 5;
    __device__ float table[1 << 20];
    __global__ void k(float* o) {
      table[threadIdx.x * 1000] = 1;
      float mine = table[threadIdx.x * 1000] + table[threadIdx.x * 1000 + 1];
      o[threadIdx.x] = c[0] + c[1] + c[2] + inner::d + set[1] + counter + mine;
    }"""
    constants = {"c": np.float32([1, 2, 3]), "inner::d": np.int32([10])}
    np.testing.assert_array_equal(launch(source, [OUT], constants=constants), 6 + 10 + 2 + 5 + 1)
    with pytest.raises(LaunchError, match="16 bytes do not fit __constant__ c of 12 bytes"):
        launch(source, [OUT], constants={**constants, "c": np.float32([1, 2, 3, 4])})


def test_parameters_of_a_template_come_as_macros() -> None:
    source = "#ifndef N\n#define N 1\n#endif\n__global__ void k(float* o) { o[threadIdx.x] = N + FLAG; }"
    np.testing.assert_array_equal(launch(source, [OUT], defines={"N": 5, "FLAG": True}), 6)


def test_users_macros_may_have_any_name() -> None:
    names = re.findall(r"\w+", "T N R A F I V i n p0 out count size bytes type value address_space scalar pointer signature")
    macros = "".join(f"#define {name} 3\n" for name in names)
    source = f"{macros}template <int X> __global__ void k(float* o) {{ o[threadIdx.x] = X + c[0]; }}"
    source = source.replace("template", "__constant__ float c[1];\ntemplate")
    constants = {"c": np.float32([2])}
    np.testing.assert_array_equal(launch(source, [OUT], entry="k<N>", constants=constants, defines={"size_x": 1}), 5)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("float l[2048]; for (int j = 0; j < 2048; ++j) l[j] = j; o[t] = l[(t * 37) % 2048];", (np.arange(64) * 37) % 2048),
        ("double d = a[t]; o[t] = (d + 1e15) - 1e15;", RAMP),
        ("__shared__ unsigned long long c; if (!t) c=0; __syncthreads(); atomicAdd(&c, t*1ull<<40); __syncthreads(); o[t]=c>>40;",
         2016),
        ("__shared__ float c; if (t == 0) c = 0; __syncthreads(); atomicAdd(&c, a[t]); __syncthreads(); o[t] = c;", 2016),
        ("\n#if __CUDA_ARCH__ >= 700\n o[t] = 1;\n#else\n o[t] = 2;\n#endif\n", 1),
        ("auto twice = [&](float x) { return 2 * x; }; o[t] = apply<plus_one>(twice(a[t]));", 2 * RAMP + 1),
    ],
)  # fmt: skip
def test_bodies(body: str, expected) -> None:
    source = f"""
    typedef float (*Function)(float);
    __device__ float plus_one(float x) {{ return x + 1; }}
    template <Function f> __device__ float apply(float x) {{ return f(x); }}
    __global__ void k(float* o, const float* a) {{ const int t = threadIdx.x; {body} }}"""
    np.testing.assert_allclose(launch(source, [OUT, RAMP]), np.broadcast_to(expected, 64), rtol=1e-6)


def test_grids_of_three_dimensions() -> None:
    source = """__global__ void k(int* o) {
      int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      o[block * 8 + threadIdx.y * 4 + threadIdx.x] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z + 1000 * threadIdx.y;
    }"""
    out = launch(source, [np.zeros((4, 3, 2, 2, 4), np.int32)], grid=(2, 3, 4), block=(4, 2))
    z, y, x, row, _ = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 10 * y + 100 * z + 1000 * row)


MIXED = """
#include <torch/extension.h>
#include <iostream>
#include <vector>
#include <cstdio>
#include <cuda_runtime.h>
#include <cublas_v2.h>
using namespace std;
#define CHECK(x) { cudaError_t e = x; if (e != cudaSuccess) { printf("%s", cudaGetErrorString(e)); exit(1); } }
#define DEVICE_INLINE __device__ __forceinline__
DEVICE_INLINE float two() { return 2; }
__global__ void k(float* o) { o[threadIdx.x] = two(); }
static double now() { struct timeval tv; gettimeofday(&tv, 0); return tv.tv_sec; }
std::vector<float> results(10);
template <typename T> void launch_it(T* p) { k<<<1, 64>>>(p); CHECK(cudaGetLastError()); }
template void launch_it<float>(float*);
torch::Tensor forward(torch::Tensor x) { return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
class App { public: App(); void run(); private: std::string name; };
void App::run() { some_host_function_nobody_declared(); }
struct Both { float x; __host__ __device__ float get() const { return x; } void print() { cout << x << endl; } };
int main(int argc, char** argv) {
#if defined(VERBOSE)
  cout << "verbose" << endl;
#endif
  vector<int> v; float* p; CHECK(cudaMalloc(&p, 4)); launch_it(p);
  return 0;
}
"""


def test_a_file_with_host_code_compiles_as_it_is() -> None:
    np.testing.assert_array_equal(launch(MIXED, [OUT]), 2)


def test_errors_keep_their_line_in_a_file_with_host_code() -> None:
    with pytest.raises(CompileError, match=r"kernel.cu:11: use of undeclared identifier 'three'"):
        compile_kernel(MIXED.replace("return 2;", "return three();"), [OUT])


def test_users_headers_are_found_beside_the_source(tmp_path: Path) -> None:
    (tmp_path / "twice.cuh").write_text("__device__ float twice(float x) { return 2 * x; }\n")
    source = '#include "twice.cuh"\n__global__ void k(float* o, const float* a) { o[threadIdx.x] = twice(a[threadIdx.x]); }'
    np.testing.assert_array_equal(launch(source, [OUT, RAMP], folder=tmp_path), 2 * RAMP)
    with pytest.raises(CompileError, match=r"kernel.cu:1: 'twice.cuh' file not found"):
        compile_kernel(source, [OUT, RAMP])


def test_hip() -> None:
    source = """
    #include <hip/hip_runtime.h>
    __global__ void k(float* o, const float* a) {
      HIP_DYNAMIC_SHARED(float, s)
      s[threadIdx.x] = a[threadIdx.x];
      __syncthreads();
    #if defined(__HIPCC__) && !defined(__CUDACC__)
      o[threadIdx.x] = s[63 - threadIdx.x];
    #endif
    }"""
    np.testing.assert_array_equal(launch(source, [OUT, RAMP], language=Language.HIP, shared_bytes=256), RAMP[::-1])


def test_small_parts_of_libraries_and_of_the_language() -> None:
    """Placement new, memmove and memcmp, thrust's pairs and function objects, the types of cuFFT, instructions for dynamic programming."""
    source = """
    #include <cufft.h>
    #include <new>
    #include <thrust/extrema.h>
    #include <thrust/functional.h>
    #include <thrust/pair.h>
    #include <thrust/tuple.h>
    struct Point { float x; __device__ Point(float x) : x(x) {} };
    __global__ void k(float* o, int n) {
      __shared__ alignas(Point) char memory[sizeof(Point)];
      new (memory) Point(n);
      o[0] = ((Point*)memory)->x;
      char text[8] = "abcdef";
      memmove(text + 1, text, 5);
      o[1] = text[2]; o[2] = memcmp(text, "aabcde", 6) == 0 && memcmp(text, "aabcdz", 6) < 0;
      auto pair = thrust::make_pair(n, 2.5f);
      thrust::tuple<int, float> tuple(n, pair.second);
      o[3] = thrust::get<1>(tuple) + thrust::max(n, 9) + thrust::plus<int>()(n, 1) + thrust::minimum<>()(n, 3.5f);
      cufftComplex z = {1, 2}; cufftDoubleReal r = 3;
      o[4] = cuCmulf(z, z).y + r;
      bool first;
      o[5] = __viaddmax_s32(n, n, 5) + 100 * __vimax3_s32(1, n, 3) + 1000 * __vimin_s32_relu(-4, n);
      o[6] = __vibmax_s32(n, 5, &first) + 10 * first + 100 * (int)__vimin3_u32(n, 6u, 8u) + 1000 * __viaddmax_s32(0x7fffffff, n, -1);
    }"""
    out = launch(source, [np.zeros(7, np.float32), np.int32(7)], block=1)
    np.testing.assert_array_equal(out, [7, ord("b"), 1, 2.5 + 9 + 8 + 3.5, 7, 14 + 700, 7 + 10 + 600 - 1000])


def test_functions_of_sub_groups_in_opencl_c() -> None:
    source = """
    kernel void k(global int* o, local int* s) {
      s[get_local_id(0)] = get_sub_group_size();
      barrier(CLK_LOCAL_MEM_FENCE);
      o[get_local_id(0)] = sub_group_reduce_add(1) == s[0] && get_sub_group_local_id() < s[1];
    }"""
    out = launch(source, [np.zeros(64, np.int32)], language=Language.OPENCL, shared_bytes=256)
    np.testing.assert_array_equal(out, 1)


DEPENDENT = """
template <class To, class From> struct vec_cast {{
  template <int n> __device__ static void cast(To* to, const From* from) {{ for (int i = 0; i < n; ++i) to[i] = (To)from[i]; }}
  {overload}
  static constexpr int width = 4;
}};
template <class To, class From> __device__ void copied(To* to, const From* from) {{
  if (vec_cast<To, From>::width < 8 && vec_cast<To, From>::width > 2)
    vec_cast<To, From>::cast<4>(to, from);
}}
__global__ void k(float* out, const int* in) {{ copied<float, int>(out + 4 * threadIdx.x, in + 4 * threadIdx.x); }}
"""


@pytest.mark.parametrize("overload", ["", "template <int n> __device__ static void cast(To* to) {}"])
def test_the_keyword_template_may_be_left_out_as_with_nvidias_compiler(overload: str) -> None:
    values = np.arange(64, dtype=np.int32)
    found = launch(DEPENDENT.format(overload=overload), [np.zeros(64, np.float32), values], block=16)
    np.testing.assert_array_equal(found, values)


DEPENDENT_MEMBER = """
template <int threads> struct Difference {
  float scale;
  template <int n> __device__ void left(float (&in)[n], float (&out)[n]) { for (int i = 1; i < n; ++i) out[i] = scale * (in[i] - in[i - 1]); }
  template <int n> __device__ void left(float (&in)[n], float (&out)[n], float before) { left(in, out); out[0] = before; }
};
template <int n, int threads> __global__ void k(float* out, const float* in) {
  float from[n], to[n] = {};
  for (int i = 0; i < n; ++i) from[i] = in[n * threadIdx.x + i];
  Difference<threads>{2}
      .left<n>(from, to);
  for (int i = 0; i < n; ++i) out[n * threadIdx.x + i] = to[i];
}
"""


def test_nor_need_it_stand_after_a_dot() -> None:
    values = np.arange(64, dtype=np.float32) ** 2
    found = launch(DEPENDENT_MEMBER, [np.zeros(64, np.float32), values], block=16, entry="k<4, 16>").reshape(-1, 4)
    np.testing.assert_array_equal(found[:, 1:], 2 * np.diff(values.reshape(-1, 4)))
