"""How an exported package plans a launch: the part of it that needs no PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core.hardware import Resources
from warpsmith.export.pytorch.exporter import most_threads
from warpsmith.export.pytorch.package.description import Configuration, Number, Operand, Pointer, Value
from warpsmith.export.pytorch.package.planning import Gpu, Plan, Planner, parameter_values

LIMITS = {"max_block_z": 64, "shared_bytes_per_block": 49152}
GPU = Gpu("sm_90", {**LIMITS, **{f"max_grid_{axis}": 65535 for axis in "xyz"}})


def planner(value: Value, grid: Callable[[Any], tuple[int, ...]] = lambda s: (s["n"],), **limits: int) -> Planner:
    """Of a sum: what it writes is there for every size, also for 0."""
    configuration = Configuration(
        "general",
        {"sm_90": ("k.cubin", "k")},
        (Pointer("total"), Pointer("x"), value),
        grid,
        lambda _: (64,),
        lambda _: 1024,
        **limits,
    )
    total = Operand("total", "float32", 0, "", lambda _: (), is_written=True, is_output=True)
    x = Operand("x", "float32", 1, "n", lambda s: (s["n"],))
    number = Number("factor", 1.0, is_free=True)
    return Planner((total, x), (number,), lambda shapes: {"n": shapes["x"][0]}, (configuration,))


def passed(value: Value, n: int = 8, **numbers: float) -> Any:
    plan = planner(value).plan({"x": (n,)}, numbers, GPU)
    assert isinstance(plan, Plan), plan
    return parameter_values(plan, {"total": 1, "x": 2}, numbers)[2].value


@given(st.floats())
def test_halves_are_rounded_as_c_does(number: float):
    with np.errstate(over="ignore"):
        bits = int(np.float16(number).view(np.uint16))
    found = passed(Value("f16", "factor"), factor=number)
    assert found == bits or (math.isnan(number) and np.isnan(np.uint16(found).view(np.float16)))


def test_whole_numbers_may_be_computed_with_fractions():
    half = Value("i32", of=lambda s: s["n"] * 0.5)
    assert passed(half) == 4
    assert planner(half).plan({"x": (7,)}, {}, GPU) == "3.5 does not fit in i32"


@pytest.mark.parametrize(
    ("n", "grid", "said"),
    [
        (0, lambda s: (s["n"],), "n is 0, and total is to be written"),
        (8, lambda s: (s["n"] // 16,), "there would be 0 x 1 x 1 blocks"),
        (8, lambda s: (64 // (s["n"] // 16),), "it cannot be launched with these sizes: division by 0"),
        (2**31, lambda _: (1,), "x has more than 2147483647 elements"),
    ],
)
def test_sizes_that_leave_nothing_to_launch_are_left_to_others(n: int, grid: Callable[[Any], tuple[int, ...]], said: str):
    assert planner(Value("f32", "factor"), grid).plan({"x": (n,)}, {}, GPU) == said


def test_a_block_is_no_larger_than_its_machine_code_allows():
    def found(**limits: int) -> Plan | str:
        return planner(Value("f32", "factor"), **limits).plan({"x": (8,)}, {}, GPU)

    assert isinstance(found(most_threads=64, static_shared_bytes=48128), Plan)
    assert found(most_threads=32) == "a block would have 64 x 1 x 1 threads"
    assert found(static_shared_bytes=48129) == "a block would need 49153 bytes of shared memory"


@pytest.mark.parametrize(("used", "most"), [((32, None), 1024), ((33, 512), 512), ((96, None), 640), ((255, None), 256)])
def test_registers_and_launch_bounds_limit_a_block(used: tuple[int, int | None], most: int):
    registers, bound = used
    assert most_threads(Resources(registers=registers, max_threads=bound)) == most
