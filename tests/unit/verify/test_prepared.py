import math

import numpy as np
import pytest
from handmade_kernels import buffer, kernel, scalar

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Geometry
from warpsmith.spec.kernel import Reference
from warpsmith.verify.prepared import PreparedWorkload

ARGUMENTS = (
    buffer("x", "f32", "n"),
    buffer("acc", "f32", "n", role="inout"),
    buffer("out", "f16", "n", role="out"),
    scalar("n", "i32", "n"),
    buffer("nothing", "f32", 1, null=True),
)
GEOMETRY = Geometry((1, 1, 1), (1, 1, 1))


@pytest.fixture
def prepared(tmp_path):
    (tmp_path / "r.py").write_text("def ref(x, acc): return {'acc': acc + x, 'out': 2 * x}")
    k = kernel(
        *ARGUMENTS,
        sizes={"n": 100},
        reference=Reference(tmp_path / "r.py", "ref"),
        constants=[buffer("c", "i32", 2, kind="ones")],
    )
    with PreparedWorkload.prepare(k, k.workloads[0], 3, GEOMETRY) as ready:
        yield ready


def launch_right(prepared):
    x = prepared.arena.array("x")
    prepared.arena.array("acc")[:] += x
    prepared.arena.array("out")[:] = 2 * x


def test_a_right_launch_passes(prepared):
    launch_right(prepared)
    verdict = prepared.verdict_after_launch()
    assert verdict.passed
    assert [check.argument for check in verdict.checks] == ["acc", "out"]
    assert 0 < verdict.max_error < 0.01
    assert not prepared.memory_damaged
    assert prepared.constants == {"c": bytes([1, 0, 0, 0, 1, 0, 0, 0])}


def test_what_the_machine_has_no_memory_for_is_said_before_it_is_asked_for():
    large = kernel(buffer("x", "f32", "n"), buffer("out", "f32", "n", role="out"), sizes={"n": 1 << 50})
    with pytest.raises(InputError, match=r"workload 'w' needs 16,777,216.0 GiB of memory, and this machine has"):
        PreparedWorkload.prepare(large, large.workloads[0], 0, GEOMETRY)


def test_no_launch_at_all_fails(prepared):
    verdict = prepared.verdict_after_launch()
    assert [check.passed for check in verdict.checks] == [False, False]


def test_the_second_launch_starts_from_the_first_values(prepared):
    launch_right(prepared)
    launch_right(prepared)  # as if the inout argument had not been restored
    assert prepared.verdict_after_launch().failure.argument == "acc"
    prepared.arena.reset()
    launch_right(prepared)
    assert prepared.verdict_after_launch().passed


def test_damage_fails_even_when_all_values_are_right(prepared):
    launch_right(prepared)
    prepared.arena.array("x")[7] = 0
    verdict = prepared.verdict_after_launch()
    assert not verdict.passed
    assert prepared.memory_damaged
    assert (verdict.failure.argument, verdict.failure.where, verdict.failure.max_error) == ("x", (7,), math.inf)
    assert all(check.passed for check in verdict.checks[1:])


def test_the_tolerance_of_the_reference_wins(prepared):
    out = prepared.kernel.buffers[2]
    assert prepared.tolerance(out) == (1e-2, 1e-3)
    with PreparedWorkload(
        kernel(*ARGUMENTS, sizes={"n": 1}, reference=Reference(rtol=0.5)),
        prepared.workload,
        prepared.inputs,
        prepared.expected,
        geometry=GEOMETRY,
    ) as other:
        assert other.tolerance(out) == (0.5, 1e-3)


def test_outputs_that_zeros_would_pass_for_are_named(prepared):
    assert prepared.passed_by_zeros() == []
    prepared.expected["out"] = prepared.expected["out"] * 1e-6  # of float16, whose tolerance is far above that
    assert prepared.passed_by_zeros() == ["out"]
    prepared.expected["out"] = prepared.expected["out"] * 0
    assert prepared.passed_by_zeros() == [], "who expects zeros is right to pass them"


def test_the_originals_outputs_can_be_the_oracle():
    k = kernel(*ARGUMENTS, sizes={"n": 100})
    with PreparedWorkload.prepare(k, k.workloads[0], 0, GEOMETRY) as prepared:
        with pytest.raises(ValueError, match="no expected outputs yet"):
            prepared.verdict_after_launch()
        launch_right(prepared)
        prepared.adopt_outputs_as_expected()
        assert prepared.verdict_after_launch().passed
        prepared.arena.array("out")[5] += np.float16(1)
        assert prepared.verdict_after_launch().failure.where == (5,)
