"""What a source keeps from launch to launch, and what only looks like it."""

import pytest

from warpsmith.core.hardware import Language
from warpsmith.refactor.allowed.persistence import persistent_variables


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__device__ int launches = 0;", {"launches"}),
        ("__device__ float kept[1024], other;", {"kept"}),
        ("static __device__ unsigned int seen;", {"seen"}),
        ("__managed__ int seen;", {"seen"}),
        ("__constant__ float table[4] = {1, 2, 3, 4};", {"table"}),
        ("__device__ __align__(16) float4 kept[8];", {"kept"}),
        ("__device__ const float* where;", {"where"}),
        ("__device__ std::pair<int, int> kept;", {"kept"}),
        ("__global__ void k() { static int calls; ++calls; }", {"calls"}),
        ("#define KEEP __device__\nKEEP int launches;", {"launches"}),
        ("#define KEEP(x) __device__ int x\nKEEP(launches);", {"KEEP"}),
        ("__device__ struct { int n; } memo;", {"memo"}),
        ("__device__ struct Memo { int n; } memo;", {"memo"}),
        ("struct Memo { int n; }; __device__ struct Memo memo;", {"memo"}),
        ("__device__ union { int n; float x; } memo;", {"memo"}),
        ("__device__ int done(0);", {"done"}),
        ("__device__ int done{0};", {"done"}),
        ("constexpr int a = 1, b = 2; __device__ int done(a * b);", {"done"}),
        ("__global__ void k() { static int calls(0); ++calls; }", {"calls"}),
        ("__device__ decltype(1) seen;", {"seen"}),
        ("__device__ std::array<std::array<int, 2>, 2> kept;", {"kept"}),
        ("__device__ const float pi = 3.14f;", set()),
        ("__device__ const float pi(3.14f);", set()),
        ("static struct Pair { int a, b; };", set()),
        ("static __device__ float twice(float); __device__ float twice(float x) { return 2 * x; }", set()),
        ("struct Add { __device__ Add() : n(0) {} int n; __device__ int get() const { return n; } };", set()),
        ("static constexpr int kLanes = 4; __device__ constexpr float table[2] = {1, 2};", set()),
        ("__device__ __forceinline__ float twice(float x) { return 2 * x; }", set()),
        ("template <int N> static __device__ float sum(const float (&x)[N]);", set()),
        ("__global__ void __launch_bounds__(256) k(float* x) { __shared__ float tile[32]; static __shared__ int n; }", set()),
        ("struct Add { __device__ float operator()(float a, float b) const { return a + b; } };", set()),
        ("// __device__ int launches;\n", set()),
    ],
)
def test_cuda(source, names):
    assert persistent_variables(source, Language.CUDA) == names


def test_opencl_where_the_word_mostly_stands_before_pointers():
    source = "__kernel void k(__global float* x) { __global float* y = x; local float t[4]; }\n"
    assert not persistent_variables(source, Language.OPENCL)
    assert persistent_variables("global int calls;\n" + source, Language.OPENCL) == {"calls"}
    assert persistent_variables("int calls;\n" + source, Language.OPENCL) == {"calls"}
    assert persistent_variables(source + "struct Memo { int n; } memo;\n", Language.OPENCL) == {"memo"}
    assert persistent_variables(source.replace("{ ", "{ static global int calls; "), Language.OPENCL) == {"calls"}
    assert not persistent_variables(source.replace("{ ", "{ static constant int table[2] = {1, 2}; "), Language.OPENCL)


def test_opencl_outside_functions():
    source = """
    constant float weights[4] = {1, 2, 3, 4};
    typedef struct { float x, y; } Point;
    enum { LANES = 4 };
    static float length2(Point p) { float sum = p.x * p.x; return sum + p.y * p.y; }
    __attribute__((reqd_work_group_size(64, 1, 1))) kernel void k(global float* x) { x[0] = weights[0]; }
    """
    assert not persistent_variables(source, Language.OPENCL)
