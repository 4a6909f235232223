"""Kernels that leave out a barrier and work on hardware all the same: they must give the hardware's numbers here too."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

from warpsmith.core.hardware import Language
from warpsmith.devices.base import LaunchError

BLOCKS = 3


def reduced(kernel: str, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """(what the kernel wrote, what each block was given)"""
    values = np.random.default_rng(threads).integers(0, 100, (BLOCKS, threads)).astype(np.int32)
    return launch(kernel, [np.zeros(BLOCKS, np.int32), values], grid=BLOCKS, block=threads), values


@pytest.mark.parametrize("threads", [32, 96, 256])
@pytest.mark.parametrize("overwrite", ["s[t] = x[t] ^ best;", "if (t == 0) s[0] = -1;", "if (x[t] > 10) { s[t] = -1; }"])
def test_a_result_read_by_all_is_overwritten_without_a_barrier(threads: int, overwrite: str) -> None:
    source = f"""
    __global__ void k(int* out, const int* x) {{
      __shared__ int s[256];
      const int t = threadIdx.x;
      int sum = 0;
      for (int round = 0; round < 4; ++round) {{
        s[t] = t == 0 ? round + 1 : 0;
        __syncthreads();
        const int best = s[0];
        {overwrite}
        sum += best;
        __syncthreads();
      }}
      atomicAdd(&out[blockIdx.x], sum);
    }}"""
    out, _ = reduced(source, threads)
    np.testing.assert_array_equal(out, 10 * threads)


TAIL = """
__global__ void k(int* out, const int* x) {{
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  {}
  if (t == 0) out[blockIdx.x] = s[0];
}}"""


@pytest.mark.parametrize(
    "tail",
    [
        "if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }",
        (
            "if (t < 32) s[t] += s[t + 32]; if (t < 16) s[t] += s[t + 16]; if (t < 8) s[t] += s[t + 8];"
            "if (t < 4) s[t] += s[t + 4]; if (t < 2) s[t] += s[t + 2]; if (t < 1) s[t] += s[t + 1];"
        ),
        "for (int d = 32; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; }",
    ],
    ids=["lines", "guards", "loop"],
)
def test_the_last_warp_reduces_without_barriers(tail: str) -> None:
    out, values = reduced(TAIL.format(tail), 64)
    np.testing.assert_array_equal(out, values.sum(1))


@pytest.mark.parametrize("exchange", ["s[31 - t]", "s[t ^ 1]", "*(s + (t + 7) % 32)"])
def test_lanes_of_one_warp_exchange_values_without_a_barrier(exchange: str) -> None:
    source = f"""
    __global__ void k(int* out, const int* x) {{
      __shared__ int s[32];
      const int t = threadIdx.x;
      s[t] = x[t];
      out[t] = {exchange};
    }}"""
    x = np.arange(100, 132, dtype=np.int32)
    lane = np.arange(32)
    other = {"s[31 - t]": 31 - lane, "s[t ^ 1]": lane ^ 1}.get(exchange, (lane + 7) % 32)
    np.testing.assert_array_equal(launch(source, [np.zeros(32, np.int32), x], block=32), x[other])


def test_a_thread_reading_back_its_own_values_needs_no_warp() -> None:
    source = """
    __device__ int twice(int* s, int t) { s[t] = 2 * s[t]; return s[t]; }
    __global__ void k(int* out) {
      __shared__ int s[65];
      const int t = threadIdx.y * blockDim.x + threadIdx.x;
      s[t] = t;
      out[t] = twice(s, t);
    }"""
    arguments = [np.zeros(65, np.int32)]
    # Where warps matter, a block of this shape is launched as one row.
    assert compile_kernel(source, arguments, block=(5, 13)).device_data["flat"] is False
    np.testing.assert_array_equal(launch(source, arguments, block=(5, 13)), 2 * np.arange(65))


OPENCL = """
kernel void k(global int* out, global const int* x, int n, local LOCAL int* s) {
  const int t = get_local_id(0), i = get_global_id(0);
  BODY
}"""
OPENCL_TAIL = """
  s[t] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }
  if (t == 0) out[i] = s[0];
"""


def run_opencl(body: str, qualifier: str = "") -> tuple[np.ndarray, np.ndarray]:
    """(what 2 blocks of 64 threads wrote, the 100 numbers they were given)"""
    x = np.random.default_rng(1).integers(0, 100, 100).astype(np.int32)
    source = OPENCL.replace("LOCAL", qualifier).replace("BODY", body)
    arguments = [np.full(128, -1, np.int32), x, np.int32(100)]
    return launch(source, arguments, grid=2, block=64, shared_bytes=512, language=Language.OPENCL), x


@pytest.mark.parametrize("qualifier", ["", "volatile"])
def test_opencl_the_last_warp_reduces_without_barriers(qualifier: str) -> None:
    out, x = run_opencl(OPENCL_TAIL, qualifier)
    assert (out[0], out[64]) == (x[:64].sum(), x[64:].sum())


def test_opencl_threads_return_before_a_barrier() -> None:
    out, x = run_opencl("if (i >= n) return; s[t] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); out[i] = s[min(63, n - 1 - i + t) - t];")
    np.testing.assert_array_equal(out, np.concatenate([x[:64][::-1], x[64:][::-1], np.full(28, -1)]))


def test_opencl_a_result_read_by_all_is_overwritten_without_a_barrier() -> None:
    out, _ = run_opencl(
        "int sum = 0; for (int r = 1; r < 5; ++r) { s[t] = t ? 0 : r; barrier(CLK_LOCAL_MEM_FENCE); const int best = s[0];"
        "s[t] = -1; sum += best; barrier(CLK_LOCAL_MEM_FENCE); } out[i] = sum;"
    )
    np.testing.assert_array_equal(out, 10)


def test_opencl_threads_that_disagree_about_a_barrier_fail_the_launch() -> None:
    with pytest.raises(LaunchError, match=r"disagree about reaching a barrier: branch at line 4"):
        run_opencl(
            "for (int j = t; j < n; j += 64) { s[t] = j; barrier(CLK_LOCAL_MEM_FENCE); out[i] = s[0]; } barrier(CLK_LOCAL_MEM_FENCE);"
        )


def test_opencl_without_races_is_left_to_the_runtime() -> None:
    body = "s[t] = i < n ? x[i] : 0; barrier(CLK_LOCAL_MEM_FENCE); out[i] = s[63 - t];"
    source = OPENCL.replace("LOCAL", "").replace("BODY", body)
    arguments = [np.zeros(128, np.int32), np.zeros(100, np.int32), np.int32(100)]
    binary = compile_kernel(source, arguments, grid=2, block=64, shared_bytes=512, language=Language.OPENCL)
    assert binary.entry == "k"
