"""Warps of 32 lanes for every shape of block, in divergent code, with lanes gone, and without any warp intrinsic."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

SIZE = 1024
INDEX = np.arange(SIZE)
LANE = INDEX % 32
VALUES = np.random.default_rng(1).standard_normal(SIZE).astype(np.float32)
WARPS = VALUES.reshape(-1, 32)

HEAD = """
__device__ __noinline__ float sum_of_odd_lanes(float v) {
  for (int m = 16; m > 1; m /= 2) v += __shfl_xor_sync(0xaaaaaaaa, v, m);
  return v;
}
__global__ void k(float* o, const float* a) {
  const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int i = blockIdx.x * (blockDim.x * blockDim.y * blockDim.z) + t;
  const int lane = t & 31;
"""
SUM = "float v = a[i]; for (int m = 16; m; m /= 2) v += __shfl_xor_sync(~0u, v, m); o[i] = v;"


def run(body: str, block: int | tuple[int, ...] = 256) -> np.ndarray:
    threads = int(np.prod(block))
    return launch(f"{HEAD}{body}}}", [np.full(SIZE, -7, np.float32), VALUES], grid=SIZE // threads, block=block)


@pytest.mark.parametrize("block", [32, 256, 1024, (64, 4), (16, 16), (8, 8), (4, 4, 16), (2, 64, 2), (1, 32)])
def test_warps_follow_the_linear_index(block: int | tuple[int, ...]) -> None:
    np.testing.assert_allclose(run(SUM, block), np.repeat(WARPS.sum(1), 32), rtol=1e-4, atol=1e-4)


def test_only_blocks_that_need_it_are_flattened() -> None:
    arguments = [np.zeros(SIZE, np.float32), VALUES]
    with_warps, without = f"{HEAD}{SUM}}}", f"{HEAD} o[i] = a[i]; }}"
    flat = {block: compile_kernel(with_warps, arguments, block=block).device_data["flat"] for block in [(64, 4), (16, 16), (48,)]}
    assert flat == {(64, 4): False, (16, 16): True, (48,): False}
    assert compile_kernel(without, arguments, block=(16, 16)).device_data["flat"] is False


def test_the_last_warp_may_be_partial() -> None:
    body = (
        "float v = a[i]; for (int m = 16; m; m /= 2) { float u = __shfl_down_sync(~0u, v, m); if (t + m < 48) v += u; } o[i] = v;"
    )
    out = run(body, 48)[: 21 * 48].reshape(21, 48)
    blocks = VALUES[: 21 * 48].reshape(21, 48)
    np.testing.assert_allclose(out[:, 32], blocks[:, 32:].sum(1), rtol=1e-4, atol=1e-4)


def _added_to_neighbour(rounds: int, values: np.ndarray) -> np.ndarray:
    for _ in range(rounds):
        values = values + np.append(values[1:], values[31])
    return values


DIVERGENT = {
    "shuffle in half a warp": (
        "float v = a[i]; if (lane < 16) for (int m = 8; m; m /= 2) v += __shfl_xor_sync(0xffff, v, m); o[i] = v;",
        np.where(LANE < 16, np.repeat(WARPS[:, :16].sum(1), 32), VALUES),
    ),
    "loop whose length depends on the warp": (
        "float v = a[i]; for (int r = 0; r < t / 32; ++r) v += __shfl_down_sync(~0u, v, 1); o[i] = v;",
        np.concatenate([_added_to_neighbour(warp % 8, values) for warp, values in enumerate(WARPS)]),
    ),
    "shuffle after a loop whose length depends on the lane": (
        "float v = lane; for (int r = 0; r < lane % 4; ++r) v += 1; o[i] = __shfl_sync(~0u, v, 3);",
        np.full(SIZE, 6),
    ),
    "shuffle after a branch by lane": (
        "float v = lane; if (lane & 1) v *= 10; o[i] = __shfl_xor_sync(~0u, v, 1);",
        np.where(LANE % 2 == 0, (LANE + 1) * 10, LANE - 1),
    ),
    "shuffle in a conditional expression": (
        "float v = lane; o[i] = lane < 16 ? __shfl_sync(0xffffu, v, 3) : 5.f;",
        np.where(LANE < 16, 3, 5),
    ),
    "ballot with lanes gone": (
        "if (lane >= 20) { o[i] = 0; return; } o[i] = __popc(__ballot_sync(0xfffff, a[i] > 0));",
        np.where(LANE < 20, np.repeat((WARPS[:, :20] > 0).sum(1), 32), 0),
    ),
    "active lanes": ("o[i] = lane % 3 == 0 ? __popc(__activemask()) : -1;", np.where(LANE % 3 == 0, 11, -1)),
    "votes on both sides of a branch": (
        """if (lane < 10) o[i] = 2 * __all_sync(0x3ff, lane < 10) + __any_sync(0x3ff, lane == 3);
           else o[i] = __any_sync(~0x3ffu, lane == 3);""",
        np.where(LANE < 10, 3, 0),
    ),
    "ballot loop over distinct keys": (
        """int key = lane % 5; unsigned left = ~0u; int rounds = 0; bool done = false;
           while (left) {
             int leader = __ffs(left) - 1;
             int common = __shfl_sync(~0u, key, leader);
             left &= ~__ballot_sync(~0u, key == common);
             ++rounds;
             if (key == common && !done) { o[i] = rounds; done = true; }
           }""",
        LANE % 5 + 1,
    ),
    "a function of its own, called by some lanes": (
        "o[i] = lane % 2 ? sum_of_odd_lanes(a[i]) : 0.f;",
        np.where(LANE % 2 == 1, np.repeat(WARPS[:, 1::2].sum(1), 32), 0),
    ),
    "__syncwarp between shared accesses": (
        """__shared__ float s[256];
           s[t] = a[i]; __syncwarp();
           float v = s[t ^ 1]; __syncwarp();
           s[t] = 2 * v; __syncwarp();
           o[i] = s[t ^ 3];""",
        2 * VALUES[INDEX ^ 2],
    ),
    "__syncwarp in half a warp": (
        "__shared__ float s[256]; o[i] = 0; if (lane < 16) { s[t] = a[i]; __syncwarp(0xffff); o[i] = s[t ^ 5]; }",
        np.where(LANE < 16, VALUES[INDEX ^ 5], 0),
    ),
}


@pytest.mark.parametrize(("body", "expected"), DIVERGENT.values(), ids=DIVERGENT.keys())
def test_divergent_code(body: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(run(body), expected, rtol=1e-4, atol=1e-4)


WARP_SYNCHRONOUS = {
    "volatile array": """
        volatile __shared__ float s[256];
        s[t] = a[i];
        __syncthreads();
        if (lane < 16) { s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }
        __syncthreads();
        o[i] = s[t & ~31];""",
    "volatile pointer": """
        __shared__ float s[256];
        s[t] = a[i];
        __syncthreads();
        volatile float* v = s;
        if (lane < 16) { v[t] += v[t + 16]; v[t] += v[t + 8]; v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1]; }
        o[i] = v[t & ~31];""",
}


@pytest.mark.parametrize("body", WARP_SYNCHRONOUS.values(), ids=WARP_SYNCHRONOUS.keys())
def test_warp_synchronous_code_without_any_barrier(body: str) -> None:
    np.testing.assert_allclose(run(body), np.repeat(WARPS.sum(1), 32), rtol=1e-4, atol=1e-4)


def test_classic_reduction_whose_last_warp_is_unrolled() -> None:
    source = """
    __device__ void last_warp(volatile float* v, int t) {
      v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8]; v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1];
    }
    __global__ void k(float* o, const float* a) {
      extern __shared__ float s[];
      int t = threadIdx.x;
      s[t] = a[blockIdx.x * blockDim.x + t];
      __syncthreads();
      for (int m = blockDim.x / 2; m > 32; m >>= 1) { if (t < m) s[t] += s[t + m]; __syncthreads(); }
      if (t < 32) last_warp(s, t);
      if (t == 0) o[blockIdx.x] = s[0];
    }"""
    out = launch(source, [np.zeros(4, np.float32), VALUES], grid=4, block=256, shared_bytes=1024)
    np.testing.assert_allclose(out, VALUES.reshape(4, 256).sum(1), rtol=1e-4, atol=1e-4)
