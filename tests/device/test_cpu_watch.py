"""Watched kernels: races that no output shows are told, with thread, line and variable; what is in order is not."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from cpu_support import found_by_checkers, request

from warpsmith.core.hardware import Language

THREADS = 64


def found_in(
    body: str,
    *,
    grid: int = 1,
    block: tuple[int, ...] = (THREADS,),
    before: str = "",
    language: Language = Language.CUDA,
    shared_bytes: int = 0,
) -> str:
    """What is said of a kernel with `out`, `in` (a number for each thread of the grid) and `t`, its thread's index; "" if nothing."""
    head = "__global__ void k(int* out, const int* in)"
    thread = "threadIdx.x"
    if language is Language.OPENCL:
        head, thread = "__kernel void k(__global int* out, __global const int* in)", "get_local_id(0)"
    source = f"{before}\n{head} {{ const int t = {thread};\n{body}\n}}"
    values = np.random.default_rng(0).permutation(grid * THREADS).astype(np.int32) + 1
    arguments = [np.zeros_like(values), values]
    asked = request(source, arguments, grid=grid, block=block, language=language, shared_bytes=shared_bytes)
    found = found_by_checkers(replace(asked, watched=True), arguments)
    assert "memcheck" not in found, found
    return found.get("racecheck", "")


SHARED = "__shared__ int s[64]; s[t] = in[t];"


ORDERLY = [
    f"{SHARED} __syncthreads(); out[t] = s[63 - t];",
    f"{SHARED} out[t] = s[t];",  # a thread's own
    "__shared__ int any; if (in[t] > 3) any = 1; __syncthreads(); out[t] = any;",  # all write the same
    f"{SHARED} __syncwarp(); out[t] = s[t ^ 1];",
    (
        f"{SHARED} for (int i = 1; i < 64; i *= 2) {{ __syncthreads(); const int x = s[(t + i) % 64]; __syncthreads(); s[t] += x; }}"
        "out[t] = s[t];"
    ),
    (
        "__shared__ int bins[8]; if (t < 8) bins[t] = 0; __syncthreads(); atomicAdd(&bins[in[t] % 8], 1);"
        "__syncthreads(); out[t] = bins[t % 8];"
    ),
    "__shared__ short s[64][2]; s[t][0] = in[t]; s[t][1] = 1; __syncthreads(); out[t] = s[63 - t][t & 1];",
    "extern __shared__ int d[]; d[t] = in[t]; __syncthreads(); out[t] = d[63 - t];",
    f"if (in[t] > 60) return; {SHARED} __syncthreads(); out[t] = s[t];",
]


def test_what_is_in_order_is_let_be() -> None:
    assert found_in(" __syncthreads();\n".join(f"{{ {body} }}" for body in ORDERLY), shared_bytes=256) == ""


# What was read is handed on, and only who has it overwrites the place: the second half of many reductions over a block.
HANDED_ON = [
    "for (int i = 16; i; i /= 2) x = max(x, __shfl_xor_sync(0xffffffffu, x, i));",
    "x = __shfl_down_sync(0xffffffffu, x, 1);",
    "x = __any_sync(0xffffffffu, x > 3);",
    "x = __ballot_sync(0xffffffffu, x > 3);",
    "x = __reduce_max_sync(0xffffffffu, x);",
]


@pytest.mark.parametrize("meeting", HANDED_ON)
@pytest.mark.parametrize("warps", [1, 2])
def test_a_shuffle_or_a_vote_orders_the_lanes_of_its_warp_and_no_others(meeting: str, warps: int) -> None:
    body = f"{SHARED} __syncthreads(); int x = s[t];\nif (t < {32 * warps}) {{ {meeting} if (t % 32 == 1) s[0] = x + t; }}"
    found = found_in(f"{body} __syncthreads(); out[t] = s[0];")
    assert "thread 0 reads byte 0 at line 3, thread 1 " not in found
    assert ("thread 33 writes it" in found) == (warps == 2)


# Which of two accesses comes first follows from how the device runs them.
RACES = {
    f"{SHARED}\nout[t] = s[63 - t];": r"shared memory 's': thread \d+ (writes|reads) byte \d+ at line [34], thread \d+ (reads|writes) it at line",
    f"{SHARED} __syncthreads(); const int x = s[63 - t];\ns[t] = x;\n__syncthreads(); out[t] = s[t];": "at line [34], .* at line [34], no barrier",
    "__shared__ int last; last = in[t]; __syncthreads(); out[t] = last;": "'last': thread 0 writes byte 0 at line 3, thread 1 writes it",
    f"{SHARED} out[t] = s[t ^ 1];": "at line 3, thread",  # lanes of a warp, which a CPU keeps in step
    "__shared__ int bins[8]; if (t < 8) bins[t] = 0; atomicAdd(&bins[in[t] % 8], 1); __syncthreads(); out[t] = bins[t % 8];": "'bins'",
    "__shared__ int sum; if (t == 0) sum = 0; atomicAdd(&sum, 1); __syncthreads(); out[t] = sum;": "'sum': thread 0 writes byte 0",
    "__shared__ int n; if (t == 0) n = 0; __syncthreads(); atomicAdd(&n, in[t]); out[t] = n;": "'n': thread .* byte 0",
    # This one the device mends, since GPUs mostly win it: a barrier is put between.
    f"{SHARED} __syncthreads(); const int best = s[0]; s[t] = best + t; __syncthreads(); out[t] = s[t];": "reads byte 0",
    "extern __shared__ int d[]; d[t] = in[t]; out[t] = d[63 - t];": "shared memory 'extern'",
    "struct Pair { int a, b; }; __shared__ Pair p[64]; Pair own = {in[t], t}; p[t] = own; p[63 - t] = own; out[t] = t;": "'p': .* writes it",
    "out[t / 2] = in[t];": "'a0': thread 0 writes byte 0 at line 3, thread 1 writes it at line 3, no barrier between",
}


@pytest.mark.parametrize("body", RACES)
def test_a_missing_barrier_is_told(body: str) -> None:
    found = found_in(body, shared_bytes=256)
    assert re.search(RACES[body], found), found


def test_blocks_that_write_the_same_place_differently_race_whatever_barriers_there_are() -> None:
    found = found_in("__syncthreads(); if (t == 0) out[0] = in[blockIdx.x];", grid=4)
    assert re.search(
        r"'a0': thread 0 of block \d writes byte 0 .* thread 0 of block \d writes it .* nothing orders the blocks", found
    )


def test_blocks_that_hand_over_behind_a_fence_do_not() -> None:
    ticket = "__device__ int arrived; __device__ int dummy;"
    body = """
    __shared__ bool last; out[blockIdx.x * 64 + t] = in[t]; __threadfence(); __syncthreads();
    if (t == 0) last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    __syncthreads();
    if (last) { const int theirs = out[(t * 64 + t) % (gridDim.x * 64)]; __syncthreads(); out[t] = theirs; }"""
    assert found_in(body, grid=3, before=ticket) == ""


def test_storage_of_a_block_primitive_that_is_used_again_too_soon() -> None:
    body = """
    typedef cub::BlockReduce<int, 64> Reduce; __shared__ typename Reduce::TempStorage room;
    const int sum = Reduce(room).Sum(in[t]); {between}
    const int most = Reduce(room).Reduce(in[t], cub::Max()); if (t == 0) out[0] = sum + most;"""
    include = "#include <cub/cub.cuh>"
    assert found_in(body.replace("{between}", "__syncthreads();"), before=include) == ""
    assert "shared memory 'room'" in found_in(body.replace("{between}", ""), before=include)


@pytest.mark.parametrize(("barrier", "told"), [("", "shared memory 's': thread"), ("barrier(CLK_LOCAL_MEM_FENCE);", "")])
def test_opencl(barrier: str, told: str) -> None:
    body = f"const int u = t + 16 * get_local_id(1); __local int s[64]; s[u] = in[u]; {barrier} out[u] = s[u ^ 1];"
    found = found_in(body, language=Language.OPENCL, block=(16, 4))
    assert found == "" if not told else told in found
