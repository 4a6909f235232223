"""Passes by name: in the order they are applied, and an answer for a name that is not there."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from refactor_support import Failing, Naming

from warpsmith.core.errors import InputError
from warpsmith.refactor.base import Stage
from warpsmith.refactor.registry import GROUP, in_order, load_passes


def test_stages_come_in_order() -> None:
    stages = [transform.stage for transform in load_passes()]
    assert stages == sorted(stages)
    assert {Stage.LIFT, Stage.RESTRUCTURE, Stage.DECORATE} == set(stages)
    assert {transform.name for transform in load_passes()} == {entry.name for entry in entry_points(group=GROUP)}


def test_inside_a_stage_priority_decides_then_the_name() -> None:
    first, second, third = Naming(name="zz"), Naming(name="aa"), Naming(name="bb")
    first.priority = -1
    assert [transform.name for transform in in_order([third, Failing(), second, first])] == ["zz", "aa", "bb", "failing"]


def test_named_passes_only_and_each_once() -> None:
    assert [transform.name for transform in load_passes(["unroll", "lift_constants", "unroll"])] == ["lift_constants", "unroll"]


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no pass 'unrol'; there are: .*unroll") as caught:
        load_passes(["unrol"])
    assert caught.value.hint == "did you mean 'unroll'?"
