"""Sums in other shapes on the CPU device: sweeps of a softmax, elements in place of packs, several accumulators."""

from __future__ import annotations

import pytest
from pass_support import Runner, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.base import Pass, Rewrite, Subject
from warpsmith.refactor.passes.narrow_loads import NarrowLoads
from warpsmith.refactor.passes.sweeps import Sweeps
from warpsmith.refactor.passes.whole_steps import WholeSteps


@pytest.mark.parametrize(("name", "transform", "choice"), [("softmax", Sweeps(), "SWEEPS"), ("reduction", NarrowLoads(), "LOAD")])
def test_right_on_odd_sizes(pool: CompilePool, name: str, transform: Pass, choice: str):
    kernel, variant = original(name)
    limits = pool.describe().limits
    other = rewritten(transform, kernel, variant, limits).alternatives[1]
    whole = WholeSteps().apply(Subject(kernel, limits, other))
    assert isinstance(whole, Rewrite)
    several = {choice: 1, "ITEMS": 4, "ACCUMULATORS": 2}
    Runner(pool, kernel, variant, kernel.heldout_workloads).check([(other, {choice: 1}), (whole.alternatives[4], several)])
