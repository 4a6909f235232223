"""Watched launches in a worker, block by block: how blocks that pass each other results are told from those that race for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench_support import buffer, candidate, make_kernel, prepare

from warpsmith.compile.pool import CompilePool
from warpsmith.measure.watching import WATCHED_CHECKS, watch

# The last block that comes adds up what the others left.
TICKET = """
__device__ unsigned int arrived;
__global__ void k(const float* x, float* out, float* partial) {
    __shared__ bool last;
    const int t = threadIdx.x;
    if (t == 0) partial[blockIdx.x] = x[blockIdx.x];
    BEFORE
    if (t == 0) last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && t < gridDim.x) out[t] = partial[t];
}
"""
# Each block waits for the one before.
CHAIN = """
__device__ volatile int ready[64];
__global__ void k(const float* x, float* out, float* partial) {
    if (threadIdx.x == 0) {
        float sum = x[blockIdx.x];
        if (blockIdx.x > 0) { while (ready[blockIdx.x - 1] == 0) {} __threadfence(); sum += partial[blockIdx.x - 1]; }
        partial[blockIdx.x] = sum;
        BEFORE
        ready[blockIdx.x] = 1;
    }
    __syncthreads();
    if (threadIdx.x == 1) out[blockIdx.x] = x[blockIdx.x];
}
"""
LOCK = """
__device__ int lock;
__global__ void k(const float* x, float* out, float* partial) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence();
        partial[0] += x[blockIdx.x];
        BEFORE
        atomicExch(&lock, 0);
        out[blockIdx.x] = 1;
    }
}
"""
OWN = "out[blockIdx.x] = x[blockIdx.x]; "
EVERYBODY = f"{OWN} if (threadIdx.x == 5) partial[7] = x[blockIdx.x];"


@pytest.fixture(scope="module")
def pool() -> Iterator[CompilePool]:
    with CompilePool("cpu", cache_dir=None) as pool:
        yield pool


def raced(pool: CompilePool, source: str, size: int = 1280) -> str:
    kernel = make_kernel(
        buffer("x", "f32"), buffer("out", "f32", role="out"), buffer("partial", "f32", role="inout"), sizes=(size,)
    )
    [workload] = prepare(kernel)
    with workload:
        found = watch("cpu", candidate(pool, kernel, source, watched=True), [workload])
    assert found.keys() == set(WATCHED_CHECKS)
    assert all(report.failure is None for report in found.values())
    assert not found["memcheck"].problems
    assert not found["initcheck"].problems
    return "".join(found["racecheck"].problems)


@pytest.mark.parametrize(
    ("source", "before"),
    [
        (TICKET, "__threadfence();"),
        (TICKET, "__syncthreads(); if (t == 0) __threadfence();"),
        (CHAIN, "__threadfence();"),
        (LOCK, "__threadfence();"),
    ],
)
def test_blocks_that_pass_results_behind_a_fence_do_not_race(pool: CompilePool, source: str, before: str) -> None:
    assert raced(pool, source.replace("BEFORE", before)) == ""


@pytest.mark.parametrize(
    ("source", "before"),
    [
        (TICKET, ""),
        (TICKET.replace("if (t == 0) partial", "__threadfence(); if (t == 0) partial"), ""),  # too early
        (CHAIN, ""),
        (LOCK, ""),
        (TICKET, "__threadfence(); if (t == 5) partial[7] = x[blockIdx.x];"),  # some other place
    ],
)
def test_without_they_do_whatever_other_fences_there_are(pool: CompilePool, source: str, before: str) -> None:
    found = raced(pool, source.replace("BEFORE", before))
    assert "'partial': thread" in found
    assert "nothing orders the blocks" in found
