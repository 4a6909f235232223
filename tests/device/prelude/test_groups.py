"""cooperative_groups.h, cub.h: groups, tiles and collectives, in blocks of any shape."""

from __future__ import annotations

import numpy as np
import pytest

GROUPS = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cooperative_groups/scan.h>\nnamespace cg = cooperative_groups;\n"
CUB = "#include <cub/cub.cuh>\n"


@pytest.mark.parametrize("size", [4, 16, 32])
def test_tiles(run, size):
    n = 64
    x = np.random.default_rng(size).integers(0, 50, n).astype(np.int32)
    out = np.zeros((14, n), np.int32)
    code = (
        GROUPS
        + f"""
    __global__ void k(const int* x, int* out) {{
      const cg::thread_block block = cg::this_thread_block();
      const auto tile = cg::tiled_partition<{size}>(block);
      const int i = block.thread_rank(), v = x[i];
      int same = 0, row = 0;
      auto put = [&](int value) {{ out[row++ * {n} + i] = value; }};
      put(tile.thread_rank()); put(tile.size()); put(tile.meta_group_rank()); put(tile.meta_group_size());
      put(cg::reduce(tile, v, cg::plus<int>())); put(cg::reduce(tile, v, cg::greater<int>())); put(cg::reduce(tile, v, cg::less<int>()));
      put(tile.shfl(v, 1)); put(tile.shfl_down(v, 1)); put(tile.shfl_xor(v, 2)); put(tile.any(v == x[0])); put(tile.ballot(v & 1));
      put(cg::inclusive_scan(tile, v)); put(cg::exclusive_scan(tile, v, cg::plus<int>()));
      tile.sync(); block.sync(); (void)same;
    }}"""
    )
    run(code, x, out, block=(n, 1, 1))
    rank, tiles = np.arange(n) % size, x.reshape(-1, size)
    spread = lambda per_tile: np.repeat(per_tile, size)  # noqa: E731
    bits = (tiles & 1).astype(np.int64) @ (1 << np.arange(size, dtype=np.int64))
    expected = [
        rank, np.full(n, size), np.arange(n) // size, np.full(n, n // size),
        spread(tiles.sum(1)), spread(tiles.max(1)), spread(tiles.min(1)),
        spread(tiles[:, 1]), np.where(rank < size - 1, np.roll(x, -1), x), x[np.arange(n) ^ 2], spread((tiles == x[0]).any(1)),
        spread(bits).astype(np.uint32).view(np.int32) if size == 32 else spread(bits),
        np.cumsum(tiles, 1).ravel(), (np.cumsum(tiles, 1) - tiles).ravel(),
    ]  # fmt: skip
    for row, (got, want) in enumerate(zip(out, expected, strict=True)):
        assert (got == np.asarray(want, np.int64).astype(np.uint32).view(np.int32)).all(), row


def test_the_active_lanes_form_a_group(run):
    out = np.full((32, 5), -1, np.int32)
    code = (
        GROUPS
        + """
    __global__ void k(int* out) {
      int* row = out + threadIdx.x * 5;
      if (threadIdx.x % 3 == 0) {
        const auto active = cg::coalesced_threads();
        row[0] = active.size(); row[1] = active.thread_rank(); row[2] = active.shfl((int)threadIdx.x, 2);
        row[3] = cg::reduce(active, (int)threadIdx.x, cg::plus<int>()); row[4] = active.ballot(threadIdx.x > 10);
      }
    }"""
    )
    run(code, out)
    lanes = np.arange(0, 32, 3)
    assert (out[lanes, 0] == len(lanes)).all()
    assert (out[lanes, 1] == np.arange(len(lanes))).all()
    assert (out[lanes, 2] == 6).all()
    assert (out[lanes, 3] == lanes.sum()).all()
    assert (out[lanes, 4] == sum(1 << i for i, lane in enumerate(lanes) if lane > 10)).all()
    assert (np.delete(out, lanes, 0) == -1).all()


def test_ranks_in_block_and_grid(run):
    grid, block = (2, 2, 1), (4, 3, 2)
    n = 4 * 24
    out = np.zeros((n, 4), np.int32)
    code = (
        GROUPS
        + """
    __global__ void k(int* out) {
      const auto g = cg::this_grid(); const auto b = cg::this_thread_block();
      int* row = out + g.thread_rank() * 4;
      row[0] = g.thread_rank(); row[1] = g.size(); row[2] = b.thread_rank(); row[3] = b.group_index().y * 10 + b.thread_index().z;
    }"""
    )
    run(code, out, grid=grid, block=block)
    assert (out[:, 0] == np.arange(n)).all()
    assert (out[:, 1] == n).all()
    assert (out[:, 2] == np.arange(n) % 24).all()
    assert (out[:, 3] == np.arange(n) // 48 * 10 + np.arange(n) % 24 // 12).all()


@pytest.mark.parametrize("block", [(32, 1, 1), (100, 1, 1), (8, 6, 2), (256, 1, 1)])
def test_block_collectives(run, block):
    n = int(np.prod(block))
    x = np.random.default_rng(n).integers(-50, 50, n).astype(np.int32)
    out, scans = np.zeros(5, np.int32), np.zeros((4, n), np.int32)
    template = f"int, {block[0]}, cub::BLOCK_REDUCE_WARP_REDUCTIONS, {block[1]}, {block[2]}"
    scan = f"int, {block[0]}, cub::BLOCK_SCAN_RAKING, {block[1]}, {block[2]}"
    code = (
        CUB
        + f"""
    __global__ void k(const int* x, int* out, int* scans) {{
      typedef cub::BlockReduce<{template}> Reduce; typedef cub::BlockScan<{scan}> Scan;
      typedef cub::BlockReduce<cub::KeyValuePair<int, int>, {block[0]}, cub::BLOCK_REDUCE_WARP_REDUCTIONS, {block[1]}, {block[2]}> Arg;
      __shared__ union {{ typename Reduce::TempStorage reduce; typename Scan::TempStorage scan; typename Arg::TempStorage arg; }} temp;
      const int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      const int sum = Reduce(temp.reduce).Sum(x[i]); __syncthreads();
      const int most = Reduce(temp.reduce).Reduce(x[i], cub::Max()); __syncthreads();
      const int few = Reduce(temp.reduce).Sum(x[i], {n} / 2); __syncthreads();
      const auto best = Arg(temp.arg).Reduce(cub::KeyValuePair<int, int>{{i, x[i]}}, cub::ArgMin()); __syncthreads();
      int inclusive, exclusive, total, items[2] = {{x[i], 1}}, sums[2];
      Scan(temp.scan).InclusiveSum(x[i], inclusive); __syncthreads();
      Scan(temp.scan).ExclusiveSum(x[i], exclusive, total); __syncthreads();
      Scan(temp.scan).ExclusiveSum(items, sums); __syncthreads();
      if (i == 0) {{ out[0] = sum; out[1] = most; out[2] = few; out[3] = best.key; out[4] = best.value; }}
      scans[i] = inclusive; scans[{n} + i] = exclusive; scans[{2 * n} + i] = total; scans[{3 * n} + i] = sums[1];
    }}"""
    )
    run(code, x, out, scans, block=block)
    assert out.tolist() == [x.sum(), x.max(), x[: n // 2].sum(), x.argmin(), x.min()]
    running = np.cumsum(x)
    assert (scans == [running, running - x, np.full(n, x.sum()), running + np.arange(n)]).all()


def test_warp_collectives(run):
    n = 64
    x = np.random.default_rng(2).normal(size=n).astype(np.float32)
    out = np.zeros((4, n), np.float32)
    code = (
        CUB
        + """
    __global__ void k(const float* x, float* out) {
      __shared__ typename cub::WarpReduce<float>::TempStorage temp[2];
      __shared__ typename cub::WarpScan<float>::TempStorage scan[2];
      const int i = threadIdx.x; float running, before;
      out[i] = cub::WarpReduce<float>(temp[i / 32]).Sum(x[i]);
      out[64 + i] = cub::WarpReduce<float, 8>(*(typename cub::WarpReduce<float, 8>::TempStorage*)&temp[i / 32]).Reduce(x[i], cub::Max());
      cub::WarpScan<float>(scan[i / 32]).InclusiveSum(x[i], running); out[128 + i] = running;
      cub::WarpScan<float>(scan[i / 32]).ExclusiveSum(x[i], before); out[192 + i] = before;
    }"""
    )
    run(code, x, out, block=(n, 1, 1))
    warps = x.reshape(2, 32)
    np.testing.assert_allclose(out[0, ::32], warps.sum(1), rtol=1e-5)
    np.testing.assert_array_equal(out[1, ::8], x.reshape(-1, 8).max(1))
    np.testing.assert_allclose(out[2].reshape(2, 32), np.cumsum(warps, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out[3].reshape(2, 32), np.cumsum(warps, 1) - warps, rtol=1e-4, atol=1e-5)
