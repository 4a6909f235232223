"""Launches executed without a GPU: what they count is what anyone can work out by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from warpsmith.core.counted import LaunchArgument
from warpsmith.core.errors import UnsupportedFeature
from warpsmith.core.hardware import Geometry, Resources
from warpsmith.devices.base import Binary
from warpsmith.devices.cuda.compiling import compile_cubin
from warpsmith.devices.cuda.counting import count
from warpsmith.devices.cuda.execution.loops import Loops
from warpsmith.devices.cuda.target import parse_target

SOURCE = r"""
extern "C" {
__global__ void strided(const float* in, float* out, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * stride];
}
__global__ void banks(float* out, int stride) {
    __shared__ float tile[4096];
    tile[threadIdx.x * stride] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = tile[(threadIdx.x * stride + 32) % 4096];
}
__global__ void rows(const float* in, float* out, int cols) {
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += in[blockIdx.x * cols + i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void divided(const float* in, float* out, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % width, y = i / width;
    out[x * height + y] = in[i];
}
__global__ void gathered(const int* index, const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[index[i]];
}
__global__ void parted(float* out) {
    if (threadIdx.x % 2) atomicAdd(out + threadIdx.x, 1.0f); else out[threadIdx.x + 4096] = 2;
}
__global__ void halves(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1;
}
__device__ float kept[64];
__global__ void divided_values(float* data, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = data[i] / by;
    data[i] = value;
    kept[threadIdx.x] = value;
}
__global__ void clamped(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[max(min(i + 5, n), 8)];
}
__global__ void in_turn(int* out) {
    out[atomicAdd(out, 1)] = 1;
}
__global__ void tensor(unsigned* out) {
    unsigned d0 = 0, d1 = 0;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3},{%4},{%5,%6};"
                 : "=r"(d0), "=r"(d1) : "r"(1), "r"(2), "r"(3), "r"(0), "r"(0));
    out[threadIdx.x] = d0 + d1;
}
}
"""
LOADS = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_{}_pipe_lsu_mem_global_op_st.sum"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


@cache
def cubin(target: str) -> bytes:
    """With all kernels."""
    return compile_cubin(SOURCE, name="kernels.cu", target=target, entry="strided").cubin


def nothing(name: str) -> bytes:
    raise AssertionError(f"nothing depends on {name}")


def counted(
    entry: str,
    blocks: int,
    threads: int,
    *arguments: LaunchArgument,
    contents: Callable[[str], bytes] = nothing,
    target: str = "sm_80",
) -> dict[str, float]:
    geometry = Geometry((blocks, 1, 1), (threads, 1, 1))
    binary = Binary(cubin(target), entry, Resources())
    return dict(count(binary, geometry, arguments, {}, contents, parse_target(target), 1).metrics)


def buffer(name: str, count: int) -> LaunchArgument:
    return LaunchArgument(name, nbytes=4 * count)


def number(value: int) -> LaunchArgument:
    return LaunchArgument("number", scalar=np.int32(value).tobytes().hex())


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (8, 32), (33, 32)])
def test_a_stride_costs_sectors(stride: int, sectors: int) -> None:
    found = counted("strided", 10, 128, buffer("in", 1280 * stride), buffer("out", 1280), number(stride))
    assert found[LOADS.format("requests")] == 40
    assert found[LOADS.format("sectors")] == 40 * sectors
    assert found[STORES.format("sectors")] == 160


@pytest.mark.parametrize(("stride", "wavefronts"), [(1, 1), (2, 2), (3, 1), (32, 32)])
def test_a_stride_costs_wavefronts_of_shared_memory(stride: int, wavefronts: int) -> None:
    found = counted("banks", 3, 64, buffer("out", 192), number(stride))
    assert found[SHARED.format("st")] == 6 * wavefronts
    assert found[SHARED.format("ld")] == 6 * wavefronts


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_what_is_foretold_of_a_loop_is_what_following_it_counts(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 5,000: threads leave the loop at different steps."""
    launch = ("rows", 4, 96, buffer("in", 20_000), buffer("out", 384), number(5000))
    foretold = counted(*launch, target=target)
    monkeypatch.setattr(Loops, "came_by", lambda *_arguments: None)
    followed = counted(*launch, target=target)
    assert foretold == pytest.approx(followed)
    assert followed["smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"] == 20_000


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_indices_are_divided_as_a_gpu_divides_them(target: str) -> None:
    """The sectors of a transposed matrix tell whether quotient and remainder are right."""
    width, height = 37, 64
    found = counted("divided", 37, 64, buffer("in", 2368), buffer("out", 2368), number(width), number(height), target=target)
    i = np.arange(2368)
    sectors = ((i % width) * height + i // width) // 8
    assert found[STORES.format("sectors")] == sum(len(set(warp)) for warp in sectors.reshape(-1, 32))


def test_addresses_that_come_from_memory() -> None:
    index = np.random.default_rng(0).permutation(64).astype(np.int32)
    asked = []

    def contents(name: str) -> bytes:
        asked.append(name)
        return index.tobytes()

    found = counted("gathered", 1, 64, buffer("index", 64), buffer("in", 64), buffer("out", 64), contents=contents)
    assert found[LOADS.format("sectors")] == 8 + sum(len(set(warp)) for warp in (index // 8).reshape(-1, 32))
    assert asked == ["index"], "nothing depends on what is gathered"


def test_threads_that_part_and_blocks_at_the_edge() -> None:
    parted = counted("parted", 1, 64, buffer("out", 8192))
    assert parted[STORES.format("requests")] == 2
    assert parted[STORES.format("sectors")] == 8, "of every sector half is stored to"
    assert parted["l1tex__t_requests_pipe_lsu_mem_atomic.sum"] == 2
    assert parted["smsp__thread_inst_executed_per_inst_executed.ratio"] < 32
    edge = counted("halves", 100, 64, buffer("out", 6400), number(6400 - 40))
    assert edge[STORES.format("requests")] == 199, "the last block's second warp stores nothing"
    assert edge[STORES.format("sectors")] == (6400 - 40) / 8


@pytest.mark.parametrize("blocks", [1, 2, 3, 6])
def test_of_few_blocks_the_last_does_not_stand_for_the_others(blocks: int) -> None:
    """It has a single thread with something to do."""
    threads = 64 * (blocks - 1) + 1
    found = counted("halves", blocks, 64, buffer("out", 64 * blocks), number(threads))
    assert found[STORES.format("requests")] == 2 * (blocks - 1) + 1


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_values_that_decide_nothing_are_not_asked_for(target: str) -> None:
    """Though a division of them has a slow way; and what is written in place, or to a variable, is only counted."""
    found = counted("divided_values", 2, 64, buffer("data", 128), number(3), target=target)
    assert found[LOADS.format("sectors")] == 16
    assert found[STORES.format("sectors")] == 32


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_indices_that_are_clamped(target: str) -> None:
    found = counted("clamped", 1, 64, buffer("in", 64), buffer("out", 64), number(40), target=target)
    places = np.clip(np.arange(64) + 5, 8, 40)
    assert found[LOADS.format("sectors")] == sum(len(set(warp // 8)) for warp in places.reshape(-1, 32))


def test_what_cannot_be_followed_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="depends on the result of an atomic operation"):
        counted("in_turn", 1, 32, buffer("out", 64))
    with pytest.raises(UnsupportedFeature, match=r"HMMA \(tensor cores\)"):
        counted("tensor", 1, 32, buffer("out", 64))
    with pytest.raises(UnsupportedFeature, match="outside of all buffers"):
        counted("strided", 1, 32, buffer("in", 32), buffer("out", 32), number(100_000))
