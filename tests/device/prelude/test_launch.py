"""launch.h: where a thread is, the block's barriers and votes, shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.core.hardware import Language
from warpsmith.devices.base import LaunchError

COORDINATES = """
__global__ void k(unsigned* out) {
  const dim3 size = blockDim;
  const uint3 thread = threadIdx;
  const auto block = blockIdx;
  const unsigned in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block_id = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned* row = out + (block_id * size.x * size.y * size.z + in_block) * 12;
  row[0] = thread.x, row[1] = thread.y, row[2] = thread.z;
  row[3] = block.x, row[4] = block.y, row[5] = block.z;
  row[6] = blockDim.x, row[7] = blockDim.y, row[8] = blockDim.z;
  row[9] = gridDim.x, row[10] = gridDim.y, row[11] = gridDim.z;
  WARP
}
"""


@pytest.mark.parametrize("warp", ["", "if (__all_sync(0xffffffffu, 0)) out[0] = 9;"], ids=["three-dimensions", "flattened"])
@pytest.mark.parametrize(("grid", "block"), [((2, 3, 2), (5, 3, 4)), ((3, 1, 1), (64, 1, 1)), ((1, 2, 1), (32, 2, 3))])
def test_coordinates(run, grid, block, warp):
    blocks, threads = np.prod(grid), np.prod(block)
    out = np.full((blocks, threads, 12), 77, np.uint32)
    run(COORDINATES.replace("WARP", warp), out, grid=grid, block=block)
    thread = np.stack(np.unravel_index(np.arange(threads), block[::-1])[::-1], -1)
    index = np.stack(np.unravel_index(np.arange(blocks), grid[::-1])[::-1], -1)
    assert (out[..., 0:3] == thread[None]).all()
    assert (out[..., 3:6] == index[:, None]).all()
    assert (out[..., 6:9] == block).all()
    assert (out[..., 9:12] == grid).all()


@pytest.mark.parametrize("threads", [32, 48, 7, 256])
def test_block_votes(run, threads):
    out = np.zeros((threads, 6), np.int32)
    source = """
    __global__ void k(int* out) {
      int* row = out + threadIdx.x * 6;
      row[0] = __syncthreads_count(threadIdx.x % 3 == 0);
      row[1] = __syncthreads_or(threadIdx.x == 5);
      row[2] = __syncthreads_or(0);
      row[3] = __syncthreads_and(threadIdx.x < 1000);
      row[4] = __syncthreads_and(threadIdx.x != 5);
      row[5] = __syncthreads_count(2);
    }"""
    run(source, out, block=(threads, 1, 1))
    assert (out == [-(-threads // 3), 1, 0, 1, 0, threads]).all()


def test_static_and_dynamic_shared_memory(run):
    x = np.arange(96, dtype=np.float32)
    out = np.zeros_like(x)
    source = """
    template <class T> __device__ T* buffer() { __shared__ T values[96]; return values; }
    __global__ void k(const float* x, float* out) {
      extern __shared__ float reversed[];
      float* copy = buffer<float>();
      copy[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      reversed[blockDim.x - 1 - threadIdx.x] = copy[threadIdx.x] + buffer<int>()[0] * 0;
      __syncthreads();
      out[threadIdx.x] = reversed[threadIdx.x];
    }"""
    run(source, x, out, block=(96, 1, 1), shared_bytes=96 * 4)
    assert (out == x[::-1]).all()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("assert(x[threadIdx.x] < 30);", "assert"),
        ("if (x[threadIdx.x] >= 30) __trap();", "trap"),
        ("if (x[threadIdx.x] >= 30) __builtin_trap();", "trap"),
        ("if (x[threadIdx.x] >= 30) abort();", "trap"),
    ],
)
def test_failures_in_the_kernel_are_reported_with_their_line(run, statement, reason):
    source = f"#include <cassert>\n__global__ void k(int* x) {{\n\n{statement}\n}}"
    run(source, np.arange(30, dtype=np.int32), block=(30, 1, 1))
    with pytest.raises(LaunchError, match=rf"{reason}.*line 4"):
        run(source, np.arange(32, dtype=np.int32))


def test_ndebug_silences_assert_only(run):
    run("#define NDEBUG\n#include <assert.h>\n__global__ void k(int* x) { assert(*x > 0); }", np.zeros(1, np.int32))


def test_macros_of_each_language(run):
    out = np.zeros(3, np.int32)
    source = """
    #if defined(__CUDACC__) && __CUDA_ARCH__ == 800 && !defined(__HIPCC__)
    #define LANGUAGE 1
    #elif defined(__HIPCC__) && defined(__HIP_DEVICE_COMPILE__) && defined(__HIP_PLATFORM_AMD__) && !defined(__CUDA_ARCH__)
    #define LANGUAGE 2
    #else
    #define LANGUAGE 0
    #endif
    __global__ void __launch_bounds__(32, 2) k(int* __restrict__ out) {
      register int language = LANGUAGE;
      printf("silent %d\\n", language);
      out[0] = language; out[1] = warpSize; out[2] = __CHAR_BIT__;
    }"""
    run(source, out, block=(1, 1, 1))
    assert out.tolist() == [1, 32, 8]
    run(source, out, block=(1, 1, 1), language=Language.HIP)
    assert out.tolist() == [2, 32, 8]
