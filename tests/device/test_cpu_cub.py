"""The less common collectives of cub, on a block whose last warp is short, against NumPy; what is missing of it is refused."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

from warpsmith.core.errors import UnsupportedFeature

THREADS = 40
X = np.random.default_rng(5).integers(-50, 50, 3 * THREADS).astype(np.int32)
ONE, TWO, THREE = (X[: items * THREADS].astype(int) for items in (1, 2, 3))
START = 1000
PRELUDE = f"""
#include <cub/cub.cuh>
constexpr int B = {THREADS};
struct Running {{
  int sum;
  __device__ int operator()(int block) {{ const int old = sum; sum += block; return old; }}
}};
struct Most {{ __device__ int operator()(int a, int b) const {{ return a > b ? a : b; }} }};
struct Minus {{ __device__ int operator()(int a, int b) const {{ return a - b; }} }};
struct Less {{ __device__ bool operator()(int a, int b) const {{ return a < b; }} }};
"""


def run(body: str, rows: int) -> np.ndarray:
    """Row r of the result is what the kernel put into `o + r * 3 * B`."""
    source = f"{PRELUDE}__global__ void k(int* o, const int* x) {{ const int t = threadIdx.x, R = 3 * B; {body} }}"
    return launch(source, [np.zeros((rows, 3 * THREADS), np.int32), X], block=THREADS)


def test_block_scans() -> None:
    out = run(
        """
        using S = cub::BlockScan<int, B>;
        __shared__ S::TempStorage s;
        int v[3] = {x[3 * t], x[3 * t + 1], x[3 * t + 2]}, all, one;
        Running running = {1000};
        S(s).ExclusiveSum(x[t], one, running); __syncthreads();
        o[t] = one;
        Most most;
        S(s).ExclusiveScan(v, v, -7, most, all);
        cub::StoreDirectBlocked(t, o + R, v);
        o[B + t] = all; o[2 * B + t] = t == 0 ? running.sum : 0;""",
        2,
    )
    sums = START + np.cumsum(ONE)
    np.testing.assert_array_equal(out[0, : 2 * THREADS + 1], [*(sums - ONE), *[THREE.max()] * THREADS, sums[-1]])
    np.testing.assert_array_equal(out[1], np.maximum.accumulate([-7, *THREE[:-1]]))


def test_neighbours_histograms_and_sorting() -> None:
    out = run(
        """
        int v[2] = {x[2 * t], x[2 * t + 1]}, w[2], places[2] = {2 * t, 2 * t + 1}, one = -1;
        using Shuffle = cub::BlockShuffle<int, B>;
        using Difference = cub::BlockAdjacentDifference<int, B>;
        using Histogram = cub::BlockHistogram<unsigned char, B, 2, 16>;
        using Sort = cub::BlockMergeSort<int, B, 2, int>;
        __shared__ Shuffle::TempStorage a; __shared__ Difference::TempStorage b; __shared__ Histogram::TempStorage c; __shared__ Sort::TempStorage d;
        __shared__ int bins[16];
        Shuffle(a).Offset(x[t], one, -2); o[t] = one; __syncthreads();
        Shuffle(a).Rotate(x[t], one, 3); o[B + t] = one;
        Difference(b).SubtractLeft(v, w, Minus()); cub::StoreDirectBlocked(t, o + R, w); __syncthreads();
        Difference(b).SubtractRight(v, w, Minus()); cub::StoreDirectBlocked(t, o + 2 * R, w);
        unsigned char byte[2] = {(unsigned char)(v[0] & 15), (unsigned char)(v[1] & 15)};
        Histogram(c).Histogram(byte, bins); __syncthreads();
        if (t < 16) o[3 * R + t] = bins[t];
        Sort(d).Sort(v, places, Less()); cub::StoreDirectBlocked(t, o + 4 * R, v); cub::StoreDirectBlocked(t, o + 5 * R, places);""",
        6,
    )
    np.testing.assert_array_equal(out[0, : 2 * THREADS], [-1, -1, *ONE[:-2], *np.roll(ONE, -3)])
    pairs = 2 * THREADS
    np.testing.assert_array_equal(out[1, :pairs], [TWO[0], *np.diff(TWO)])
    np.testing.assert_array_equal(out[2, :pairs], [*-np.diff(TWO), TWO[-1]])
    np.testing.assert_array_equal(out[3, :16], np.bincount(TWO & 15, minlength=16))
    order = np.argsort(TWO, kind="stable")
    np.testing.assert_array_equal(out[4:, :pairs], [TWO[order], order])


def test_warps_and_iterators() -> None:
    out = run(
        """
        using W = cub::WarpScan<int>;
        __shared__ W::TempStorage s[2];
        int one, all;
        W(s[t / 32]).ExclusiveSum(x[t], one, all);
        o[t] = one; o[B + t] = all; o[2 * B + t] = W(s[t / 32]).Broadcast(x[t], 3);
        o[R + t] = cub::ShuffleUp<16>(x[t], 3, 0, ~0u); o[R + B + t] = cub::LaneId() + 100 * cub::WarpId();
        cub::TransformInputIterator<int, Most, cub::CountingInputIterator<int>>* unused = nullptr;
        o[R + 2 * B + t] = cub::CountingInputIterator<int>(5)[t] + cub::ThreadLoad<cub::LOAD_LDG>(x + t) + (unused != nullptr);""",
        2,
    )
    warps = np.split(ONE, [32])
    sums, alls, thirds = (
        np.concatenate(parts) for parts in zip(*((np.cumsum(w) - w, w * 0 + w.sum(), w * 0 + w[3]) for w in warps), strict=True)
    )
    np.testing.assert_array_equal(out[0], [*sums, *alls, *thirds])
    threads = np.arange(THREADS)
    up = np.where(threads % 16 >= 3, ONE[threads - 3], ONE)
    np.testing.assert_array_equal(out[1], [*up, *(threads % 32 + threads // 32 * 100), *(5 + threads + ONE)])


def test_the_rest_is_refused_by_name() -> None:
    source = "#include <cub/cub.cuh>\n__global__ void k(float* o) {\n  cub::WarpMergeSort<float, 4>::TempStorage s;\n}"
    with pytest.raises(UnsupportedFeature, match="this part of cub") as refused:
        compile_kernel(source, [np.zeros(1, np.float32)])
    assert refused.value.location is not None
    assert refused.value.location.line == 3


def test_what_lies_behind_temporary_storage_is_aligned_as_vectors_are() -> None:
    kinds = [
        "BlockLoad<float, 64, 4>",
        "BlockStore<float, 64, 4>",
        "BlockReduce<float, 96>",
        "BlockScan<int, 96>",
        "WarpReduce<float>",
    ]
    sizes = "".join(f"  o[{i}] = sizeof(cub::{kind}::TempStorage) % 16;\n" for i, kind in enumerate(kinds))
    source = f"#include <cub/cub.cuh>\n__global__ void k(int* o) {{\n{sizes}}}"
    np.testing.assert_array_equal(launch(source, [np.ones(5, np.int32)], block=1), 0)
