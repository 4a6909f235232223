"""A run's space as its record tells it, without the device: the limits of what was compiled for too are in it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.run import RunHeader, RunRecord
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.afterwards.explain import importance_entry, mattered, searched_space

KERNEL = """
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
[launch]
grid = [1]
block = ["BLOCK"]
[workloads]
w = { n = 32 }
[parameters]
BLOCK = { values = [32, 512], default = 32 }
"""
LARGE = Limits(1024, 1024, 1024, 64, 49152, 32, 2)


def test_limits_of_targets_are_in_the_explanation(tmp_path: Path):
    (tmp_path / "k.cu").write_text(
        "#ifndef BLOCK\n#define BLOCK 32\n#endif\n__global__ void k(float* out) { out[threadIdx.x] = 1.0f; }\n"
    )
    (tmp_path / "kernel.toml").write_text(KERNEL)
    alone = {"limits": asdict(LARGE)}  # as runs of earlier versions noted it
    beside = {**alone, "also": {"small": asdict(replace(LARGE, max_threads_per_block=256))}}
    wide = Configuration.of({"BLOCK": 512})
    kernel = load_kernel(tmp_path)
    assert wide in searched_space(_record(alone), kernel)
    (violation,) = searched_space(_record(beside), kernel).explain(wide)
    assert "small" in str(violation)
    assert "512" in str(violation)
    assert "256" in str(violation)


def _record(device_info: dict[str, object]) -> RunRecord:
    header = RunHeader("k", "kernel.toml", "", "cpu", "none", "gp", 0, {}, device_info)
    return RunRecord("k-1", header, 0.0, 0.0, "finished", None)


def test_of_several_forms_the_fastest_is_explained_alone():
    space = space_of_values({"FORM": (0, 1), "A": (1, 2, 4, 8, 16), "B": (1, 2, 3, 4)}, "FORM == 1 or A == 1")
    known = [_measured({"FORM": 1, "A": a, "B": b}, 0.1 * a) for a in (1, 2, 4, 8, 16) for b in (1, 2, 3, 4)]
    known += [_measured({"FORM": 0, "A": 1, "B": b}, 5.0 * b) for b in (1, 2, 3, 4)]
    found, form = mattered(space, known)
    assert form == 1
    assert [effect.name for effect in found.parameters] == ["A", "B"]
    assert found.parameters[0].share > 0.9
    assert found.measured == 20
    assert importance_entry(found, form)["form"] == 1
    plain = space_of_values({"A": (1, 2, 4, 8, 16), "B": (1, 2, 3, 4)}, "1 == 1")
    assert mattered(plain, [])[1] is None


def space_of_values(values: dict[str, tuple[int, ...]], rule: str) -> Space:
    one = Expression.parse(1)
    parameters = tuple(Parameter(name, each, each[0]) for name, each in values.items())
    rules = (Constraint(Expression.parse(rule), "as the test wants it"),)
    return Space.build(parameters, rules, Launch((one,), (one,), Expression.parse(0)), (Workload("w", {}),), LARGE)


def _measured(values: dict[str, int], score: float) -> Evaluation:
    verdict = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))
    return Evaluation(Configuration.of(values), Measured(verdict, (WorkloadTime("w", 1.0, score, (score, score), 9),), score))
