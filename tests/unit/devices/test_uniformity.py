"""Divergence, worked out on IR that clang made; needs the compiler, no device."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.devices.cpu import clang
from warpsmith.devices.cpu.entry import ENTRY
from warpsmith.devices.cpu.frontend import device_ir
from warpsmith.devices.cpu.ir.function import Function
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.uniformity import Uniformity

SOURCE = """
__device__ int twice(int x) {{ return 2 * x; }}
__device__ void set(int& x, int value) {{ x = value; }}
struct Box {{ int low, high; __device__ bool holds(int x) const {{ return low <= x && x < high; }} }};
__global__ void k(float* o, const int* a, int n) {{
  __shared__ int s[32];
  int t = threadIdx.x, b = blockIdx.x;
  {prepare}
  if ({condition}) __syncthreads();
}}"""

CASES = {
    "n > 3": ("", "n > 3", False),
    "block index": ("int x = b * blockDim.x + gridDim.y;", "x > n", False),
    "thread index": ("int x = b * blockDim.x + t;", "x > n", True),
    "memory at a uniform address": ("", "a[b] > 1", False),
    "memory at the thread's address": ("", "a[t] > 1", True),
    "shared memory at a uniform address": ("s[t] = t; __syncthreads();", "s[0] > 1", False),
    "through a function": ("int x = twice(n);", "x > 1", False),
    "through a function, thread": ("int x = twice(t);", "x > 1", True),
    "through a reference": ("int x; set(x, n);", "x > 1", False),
    "through a reference, thread": ("int x; set(x, t);", "x > 1", True),
    "another variable's reference": ("int x = n, y; set(y, t);", "x > 1", False),
    "method": ("Box box{1, n};", "box.holds(b)", False),
    "method, thread": ("Box box{1, n};", "box.holds(t)", True),
    "lambda capture": ("auto f = [&](int x) { return x > n; };", "f(b)", False),
    "lambda capture, thread": ("auto f = [&](int x) { return x > t; };", "f(b)", True),
    "assigned under a thread's branch": ("int x = 0; if (t > 3) x = 1;", "x", True),
    "assigned under a uniform branch": ("int x = 0; if (n > 3) x = 1;", "x", False),
    "counted in a thread's loop": ("int x = 0; for (int i = 0; i < t; ++i) ++x;", "x > 2", True),
    "counted in a uniform loop": ("int x = 0; for (int i = 0; i < n; ++i) ++x;", "x > 2", False),
    "atomic": ("int x = atomicAdd((int*)a, 1);", "x == 0", True),
    "ballot": ("unsigned x = __ballot_sync(~0u, n > 1);", "x", True),
    "array": ("int x[4] = {1, 2, n, b};", "x[n & 3] > 1", False),
    "array with a thread's element": ("int x[4] = {1, 2, n, t};", "x[1] > 1", True),
    "both": ("", "n > 3 && t > 3", True),
    "conditional expression": ("int x = t > 3 ? 1 : 2;", "x == 1", True),
}


def _uniformity(prepare: str, condition: str) -> Uniformity:
    parameters = (ParameterType("o", DType.F32, True), ParameterType("a", DType.I32, True), ParameterType("n", DType.I32, False))
    source = SOURCE.format(prepare=prepare, condition=condition)
    asked = CompileRequest(source, Path("kernel.cu"), Language.CUDA, "k", parameters, Geometry((1, 1, 1), (32, 1, 1)))
    module = device_ir(asked)
    module.keep_reachable([ENTRY])
    module.inline_everything([ENTRY])
    inlined = Module(clang.inlined(module.text).output.decode())
    function = Function.parse(inlined.functions[ENTRY])
    function.hoist_casts_of_allocas()
    return Uniformity(function, frozenset())


@pytest.mark.parametrize(("prepare", "condition", "divergent"), CASES.values(), ids=CASES.keys())
def test_a_barrier_under_a_condition(prepare: str, condition: str, divergent: bool) -> None:
    assert bool(_uniformity(prepare, condition).troubled) is divergent
