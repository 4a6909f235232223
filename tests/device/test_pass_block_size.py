"""Block sizes on the CPU device: more and fewer threads than the launch had give the same results, at odd sizes too."""

from __future__ import annotations

from pathlib import Path

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.block_size import BlockSize

_TREE = """
// A partial sum for each block, by a tree in shared memory with an element for each thread.
__global__ void k(float* sums, const float* x, int n) {
  __shared__ float s[128];
  const int tid = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + tid;
  s[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (tid < half) s[tid] += s[tid + half];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(sums, s[0]);
}
"""
_TREE_TOML = """
[arguments]
sums = { dtype = "f32", shape = [1], role = "inout", init = "zeros" }
x    = { dtype = "f32", shape = ["n"], role = "in", init = "ones" }
n    = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(n, 128)"]
block = [128]
[workloads]
odd = { n = 5003 }
"""


@pytest.mark.parametrize(("name", "block"), [("silu_and_mul", 8), ("reduction", 512)])
def test_bundled_kernel_is_right_on_odd_sizes(name: str, block: int, pool: CompilePool):
    kernel, variant = original(name)
    made = rewritten(BlockSize(), kernel, variant, pool.describe().limits).variant
    workloads = [w for w in kernel.heldout_workloads if w.name != "vocab-128k"]
    Runner(pool, kernel, variant, workloads).check([(made, {"BLOCK": block})])


def test_a_tree_whose_array_grows_with_the_block(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _TREE, _TREE_TOML)
    made = rewritten(BlockSize(), kernel, variant, pool.describe().limits).variant
    Runner(pool, kernel, variant).check([(made, {"BLOCK": 8}), (made, {"BLOCK": 512})])


def test_by_conjecture_a_tree_that_begins_with_half_of_the_number_follows(workshop: Path, pool: CompilePool):
    source = _TREE.replace("blockIdx.x * blockDim.x", "blockIdx.x * 128").replace("blockDim.x / 2", "64")
    kernel, variant = foreign(workshop, source, _TREE_TOML)
    made = rewritten(BlockSize(), kernel, variant, pool.describe().limits).variant
    assert [tunable.name for tunable in made.tunables if tunable.assumes] == ["BLOCK"]
    Runner(pool, kernel, variant).check([(made, {"BLOCK": 8}), (made, {"BLOCK": 128}), (made, {"BLOCK": 512})])
