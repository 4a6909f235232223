"""What a source keeps from launch to launch, and what only looks like it."""

import pytest

from warpsmith.core.hardware import Language
from warpsmith.refactor.persistence import persistent_variables


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
        ("__device__ const float pi = 3.14f;", set()),
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
