"""Which code gets a copy without masks, in IR that clang made; needs the compiler, no device. What it computes: tests/device."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.devices.cpu import clang
from warpsmith.devices.cpu.entry import ENTRY
from warpsmith.devices.cpu.frontend import device_ir
from warpsmith.devices.cpu.ir.flow import Flow
from warpsmith.devices.cpu.ir.function import Function
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.whole_rows import copy_whole_rows

SOURCE = """
__device__ float twice(float x) {{ return 2 * x; }}
__global__ void k(float* o, const float* a, int n) {{
  __shared__ float s[1024];
  const int t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  {body}
}}"""

COPIED = {
    "block-stride loop": "for (int j = t; j < n; j += blockDim.x) o[j] = twice(a[j]);",
    "grid-stride loop": "for (int j = i; j < n; j += gridDim.x * blockDim.x) o[j] = a[j];",
    "unsigned guard": "if ((unsigned)i < (unsigned)n) o[i] = a[i];",
    "guard by a quotient": "if (i / 3 < n) o[i] = a[i];",
    "early return by a product": "if (i * 4 >= n) return; o[i] = a[i];",
    "guard before other work": "if (i < n) o[i] = a[i]; o[blockIdx.x] = 1;",
    "guard inside a uniform loop": "for (int r = 0; r < n; ++r) if (i < n) o[r * n + i] = a[i];",
    "guard with a value": "o[i] = i < n ? a[i] : 0.0f;",
}

LEFT_ALONE = {
    "no branch": "o[i] = a[i];",
    "uniform loop": "for (int j = 0; j < n; ++j) o[j * blockDim.x + t] = a[j];",
    "uniform guard": "if (blockIdx.x < n) o[i] = a[i];",
    "the runtime trims it": "if (i < n) o[i] = a[i];",
    "the runtime trims it, early return": "if (i >= n) return; o[i] = a[i];",
    "few threads of every block": "if (t < 16) o[i] = a[i]; o[blockIdx.x] = 1;",
    "one thread": "if (t == 0) o[blockIdx.x] = a[i];",
    "a barrier in the loop": "for (int j = t; j < n; j += blockDim.x) { s[t] = a[j]; __syncthreads(); o[j] = s[0]; }",
    "rows of threads only": "for (int j = threadIdx.y; j < n; j += blockDim.y) o[j * n + t] = a[j];",
    "no memory in it": "float x = 0; for (int j = t; j < n; j += blockDim.x) x += j; o[i] = x;",
    "an end that memory decides": "for (int j = t; j < a[j]; j += blockDim.x) o[j] = a[j];",
    "threads leave one by one": "for (int j = t; j < n; j += blockDim.x) { o[j] = a[j]; if (a[j] > 1) break; }",
    "threads step differently": "for (int j = t; j < n; j += blockDim.x) { o[j] = a[j]; if (a[j] > 1) j += 5; }",
    "inside of what only some do": "if (a[t] > 1) for (int j = t; j < n; j += blockDim.x) o[j] = a[j];",
}


def rewritten(body: str) -> tuple[bool, Function]:
    parameters = (ParameterType("o", DType.F32, True), ParameterType("a", DType.F32, True), ParameterType("n", DType.I32, False))
    source = SOURCE.format(body=body)
    module = device_ir(CompileRequest(source, Path("kernel.cu"), Language.CUDA, "k", parameters, Geometry((1, 1, 1), (32, 1, 1))))
    module.keep_reachable([ENTRY])
    module.inline_everything([ENTRY])
    inlined = Module(clang.inlined(module.text).output.decode())
    function = Function.parse(inlined.functions[ENTRY])
    function.hoist_casts_of_allocas()
    return copy_whole_rows(function, frozenset()), function


@pytest.mark.parametrize("name", COPIED)
def test_gets_a_copy(name: str):
    changed, function = rewritten(COPIED[name])
    assert changed
    copies = [label for label in function.blocks if label.endswith(".whole0")]
    assert copies
    assert set(copies) <= Flow(function).reachable([function.entry])


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_is_left_alone(name: str):
    changed, function = rewritten(LEFT_ALONE[name])
    assert not changed
    assert not any("whole" in line for line in function.lines)


def test_values_are_made_once_and_before_their_use():
    _, function = rewritten(COPIED["block-stride loop"] + "if ((unsigned)i < (unsigned)n) o[i] = i * 2 < n ? a[i] : 0.0f;")
    dominators = Flow(function).dominators()
    homes: dict[str, tuple[str, int]] = {}
    for label, block in function.blocks.items():
        for number, instruction in enumerate(block.instructions):
            if instruction.result is not None:
                assert instruction.result not in homes, instruction.text
                homes[instruction.result] = (label, number)
    for label, block in function.blocks.items():
        for number, instruction in enumerate(block.instructions):
            for operand in instruction.operands if instruction.opcode != "phi" else ():
                if operand in homes and label in dominators:
                    home, place = homes[operand]
                    assert home in dominators[label], instruction.text
                    assert home != label or place < number, instruction.text


def test_a_loop_in_a_guard_gets_a_copy_within_the_copy():
    body = "if (i / 2 >= n) return; for (int j = t; j < n; j += blockDim.x) o[i * n + j] = a[j];"
    _, function = rewritten(body)
    assert any(label.endswith(".whole0.whole1") for label in function.blocks)


def test_the_copies_stay_small():
    many = " ".join(f"if (i / {k} < n) o[{k} * n + i] = a[i] * {k}.0f;" for k in range(2, 400))
    changed, function = rewritten(many)
    assert changed
    assert sum(len(block.instructions) for label, block in function.blocks.items() if label.endswith(".whole0")) <= 2000
