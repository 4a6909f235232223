"""warp.h: shuffles, votes, matches and reductions, against a model of a warp in NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from warpsmith.core.hardware import Language

TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
    "short": np.int16,
    "unsigned char": np.uint8,
    "half": np.float16,
    "__nv_bfloat16": ml_dtypes.bfloat16,
}
INCLUDES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


def source_lane(kind: str, lane: np.ndarray, argument: int, width: int) -> np.ndarray:
    """Where each lane reads from: PTX's rules for shfl with a segment of `width` lanes."""
    first, last = lane & ~(width - 1), lane | (width - 1)
    match kind:
        case "idx":
            return first | (argument & (width - 1))
        case "up":
            return np.where(lane - argument >= first, lane - argument, lane)
        case "down":
            return np.where(lane + argument <= last, lane + argument, lane)
        case "xor":
            return np.where(lane ^ argument <= last, lane ^ argument, lane)
    raise AssertionError(kind)


FEW = [("idx", 3, 32), ("up", 1, 32), ("down", 5, 8), ("xor", 16, 32), ("xor", 5, 16)]
NAMES = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "xor": "__shfl_xor_sync"}


def every(kind):
    """Apart for each kind: how long the runtime builds grows with more than the number of shuffles."""
    return [(kind, argument, width) for argument in (0, 1, 5, 16, 31) for width in (32, 16, 2)]


@pytest.mark.parametrize(
    ("ctype", "cases"),
    [*(pytest.param("int", every(kind), id=f"int {kind}") for kind in NAMES), *((c, FEW) for c in TYPES if c != "int")],
)
def test_shuffles_of_every_type_and_width(run, ctype, cases):
    threads = 64
    x = (np.arange(threads) * 3 + 1).astype(TYPES[ctype])
    out = np.zeros((len(cases), threads), x.dtype)
    calls = "\n".join(
        f"out[{row} * {threads} + threadIdx.x] = {NAMES[kind]}(0xffffffffu, value, {argument}, {width});"
        for row, (kind, argument, width) in enumerate(cases)
    )
    run(
        f"{INCLUDES}__global__ void k(const {ctype}* x, {ctype}* out) {{ {ctype} value = x[threadIdx.x]; {calls} }}",
        x,
        out,
        block=(threads, 1, 1),
    )
    lane = np.arange(32)
    for row, case in enumerate(cases):
        expected = x.reshape(-1, 32)[:, source_lane(case[0], lane, case[1], case[2])].ravel()
        assert (out[row] == expected).all(), case


@pytest.mark.parametrize("width", [32, 8])
def test_amounts_that_differ_from_lane_to_lane(run, width):
    amount = np.random.default_rng(0).integers(0, 32, 64).astype(np.int32)
    out = np.zeros((4, 64), np.int32)
    calls = " ".join(f"out[{row * 64} + i] = {name}(~0u, i, amount[i], {width});" for row, name in enumerate(NAMES.values()))
    run(f"__global__ void k(const int* amount, int* out) {{ const int i = threadIdx.x; {calls} }}", amount, out, block=(64, 1, 1))
    for row, kind in enumerate(NAMES):
        for start in (0, 32):
            lane, own = np.arange(32), amount[start : start + 32]
            expected = [source_lane(kind, lane, int(own[i]), width)[i] + start for i in range(32)]
            assert out[row, start : start + 32].tolist() == expected, kind


def test_amounts_known_only_when_it_runs(run):
    x = np.random.default_rng(1).integers(0, 1000, 64).astype(np.int32)
    out = np.zeros((3, 64), np.int32)
    code = """
    __global__ void k(const int* x, int* out, int first, int lane) {
      int sum = x[threadIdx.x], most = sum;
      for (int step = first; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      for (int step = first; step > 0; step >>= 1) most = max(most, __shfl_down_sync(~0u, most, step));
      out[threadIdx.x] = sum; out[64 + threadIdx.x] = __shfl_sync(~0u, most, 0); out[128 + threadIdx.x] = __shfl_sync(~0u, most, lane);
    }"""
    run(code, x, out, np.int32(16), np.int32(32), block=(64, 1, 1))
    warps = x.reshape(2, 32)
    assert (out[0].reshape(2, 32) == warps.sum(1, keepdims=True)).all()
    assert (out[1:].reshape(2, 2, 32) == warps.max(1)[None, :, None]).all()


def test_pairs_travel_whole(run):
    out = np.zeros((2, 64), np.float16)
    code = (
        INCLUDES
        + """
    __global__ void k(half2* out) {
      const half2 own = __floats2half2_rn(threadIdx.x, threadIdx.x + 100.0f);
      out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, own, 3);
      const __nv_bfloat162 other = __floats2bfloat162_rn(threadIdx.x, threadIdx.x + 1.0f);
      const __nv_bfloat162 moved = __shfl_down_sync(0xffffffffu, other, 4);
      out[32 + threadIdx.x] = __floats2half2_rn(__low2float(moved), __high2float(moved));
    }"""
    )
    run(code, out)
    lane = np.arange(32)
    assert (out[0].reshape(32, 2) == np.stack([lane ^ 3, (lane ^ 3) + 100], -1)).all()
    moved = np.where(lane + 4 < 32, lane + 4, lane)
    assert (out[1].reshape(32, 2) == np.stack([moved, moved + 1], -1)).all()


VOTES = """
__global__ void k(const int* x, unsigned* out) {
  const unsigned all = 0xffffffffu, odd = 0xaaaaaaaau;
  const int value = x[threadIdx.x];
  unsigned* row = out + threadIdx.x * 16;
  row[0] = __ballot_sync(all, value & 1);
  row[1] = __any_sync(all, value == 3);
  row[2] = __all_sync(all, value >= 0);
  row[3] = __all_sync(all, value != 3);
  row[4] = __any_sync(all, value < 0);
  row[5] = __activemask();
  row[6] = __match_any_sync(all, value);
  int same;
  row[7] = __match_all_sync(all, value / 100, &same); row[8] = same;
  row[9] = __match_all_sync(all, value, &same); row[10] = same;
  row[11] = __reduce_add_sync(all, value);
  row[12] = __reduce_max_sync(all, value);
  row[13] = __reduce_min_sync(all, (unsigned)value);
  row[14] = __reduce_xor_sync(all, (unsigned)value);
  row[15] = threadIdx.x % 2 == 1 ? __reduce_add_sync(odd, value) : __ballot_sync(~odd, value & 2);
  __syncwarp();
}"""


@pytest.mark.parametrize("threads", [32, 64, 48, 7])
def test_votes_matches_reductions(run, threads):
    x = np.random.default_rng(threads).integers(0, 8, threads).astype(np.int32)
    out = np.zeros((threads, 16), np.uint32)
    run(VOTES, x, out, block=(threads, 1, 1))
    for start in range(0, threads, 32):
        warp = x[start : start + 32]
        bits = 1 << np.arange(len(warp), dtype=np.uint64)
        present = int(bits.sum())
        got = out[start : start + 32]

        def mask(condition, bits=bits):
            return int(bits[condition].sum())

        assert (got[:, 0] == mask(warp & 1 == 1)).all()
        assert (got[:, 1] == (warp == 3).any()).all()
        assert (got[:, 2] == 1).all()
        assert (got[:, 3] == (warp != 3).all()).all()
        assert (got[:, 4] == 0).all()
        assert (got[:, 5] == present).all()
        assert (got[:, 6] == [mask(warp == v) for v in warp]).all()
        assert (got[:, 7] & present == present).all()
        assert (got[:, 8] == 1).all()
        assert (got[:, 9] == 0).all()
        assert (got[:, 10] == 0).all()
        assert (got[:, 11] == warp.sum()).all()
        assert (got[:, 12] == warp.max()).all()
        assert (got[:, 13] == warp.min()).all()
        assert (got[:, 14] == np.bitwise_xor.reduce(warp)).all()
        assert (got[1::2, 15] == warp[1::2].sum()).all()
        assert (got[0::2, 15] == mask((warp & 2 == 2) & (np.arange(len(warp)) % 2 == 0))).all()


def test_operations_in_divergent_code_see_only_the_lanes_there(run):
    out = np.zeros((32, 3), np.uint32)
    code = """
    __global__ void k(unsigned* out) {
      unsigned* row = out + threadIdx.x * 3;
      if (threadIdx.x < 10) {
        row[0] = __activemask();
        row[1] = __ballot_sync(0x3ffu, threadIdx.x & 1);
        row[2] = __shfl_sync(0x3ffu, threadIdx.x, 7);
      } else {
        row[0] = __activemask();
        row[1] = __any_sync(0xfffffc00u, threadIdx.x < 10);
        row[2] = __shfl_up_sync(0xfffffc00u, threadIdx.x, 1);
      }
    }"""
    run(code, out)
    assert (out[:10] == [0x3FF, 0x2AA, 7]).all()
    assert (out[10:, 0] == 0xFFFFFC00).all()
    assert (out[10:, 1] == 0).all()
    assert (out[11:, 2] == np.arange(10, 31)).all()


@pytest.mark.parametrize("block", [(32, 1, 1), (8, 8, 1), (5, 13, 1), (16, 2, 2), (100, 1, 1)])
def test_warps_follow_the_linear_index_in_every_block_shape(run, block):
    threads = int(np.prod(block))
    x = np.arange(threads, dtype=np.int32)
    out = np.zeros(threads, np.int32)
    code = """
    __global__ void k(const int* x, int* out) {
      const int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      int sum = x[i];
      const int left = blockDim.x * blockDim.y * blockDim.z - i / 32 * 32;
      for (int step = 16; step > 0; step /= 2) {
        const int other = __shfl_down_sync(0xffffffffu, sum, step);
        if (i % 32 + step < left) sum += other;
      }
      out[i] = __shfl_sync(0xffffffffu, sum, 0);
    }"""
    run(code, x, out, block=block)
    expected = [x[i // 32 * 32 : i // 32 * 32 + 32].sum() for i in range(threads)]
    assert (out == expected).all()


def test_a_barrier_of_the_warp_orders_shared_memory(run):
    out = np.zeros(128, np.int32)
    code = """
    __global__ void k(int* out) {
      __shared__ int cell[128];
      for (int round = 0; round < 8; ++round) {
        cell[threadIdx.x] = threadIdx.x * 10 + round;
        __syncwarp();
        out[threadIdx.x] = cell[threadIdx.x ^ 1];
        __syncwarp();
      }
    }"""
    run(code, out, block=(128, 1, 1))
    assert (out == (np.arange(128) ^ 1) * 10 + 7).all()


def test_hip_votes_are_64_bits_wide(run):
    out = np.zeros(32, np.uint64)
    code = "__global__ void k(unsigned long long* out) { out[threadIdx.x] = __ballot(threadIdx.x > 3) + __shfl_xor(threadIdx.x, 1) * 0; }"
    run(code, out, language=Language.HIP)
    assert (out == 0xFFFFFFF0).all()
