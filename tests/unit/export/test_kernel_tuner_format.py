"""T1 says exactly the space that was searched, T4 every outcome in Kernel Tuner's words, and both can be read back."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import Crashed, Evaluation, Infeasible, LaunchFailed, Measured
from warpsmith.export.expressions import spelled
from warpsmith.export.kernel_tuner import KernelTunerExporter
from warpsmith.export.python_text import Python
from warpsmith.record.foreign import load_recording
from warpsmith.space import space_of
from warpsmith.testing.exporters import LIMITS, awkward_kernel, shipment_of_kernel
from warpsmith.tuning.afterwards.choices import OfTemplate

GENERAL = Configuration.of({"BLOCK": 64, "VEC": 2, "CHECKED": False})


@pytest.fixture
def shipment(tmp_path: Path):
    return shipment_of_kernel(awkward_kernel(tmp_path), GENERAL, {})


@pytest.fixture
def written(shipment, tmp_path: Path):
    def write(about=shipment) -> dict[str, Any]:
        folder = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        KernelTunerExporter().write(about, folder)
        return {file.name: json.loads(file.read_text()) for file in folder.glob("*.json")} | {"folder": folder}

    return write


def configurations(space: dict[str, Any]) -> list[dict[str, Any]]:
    """As Kernel Tuner goes about it: all combinations, then Python's own opinion of the conditions."""
    names = [p["Name"] for p in space["TuningParameters"]]
    rows = itertools.product(*(eval(p["Values"]) for p in space["TuningParameters"]))
    found = (dict(zip(names, row, strict=True)) for row in rows)
    return [c for c in found if all(eval(condition["Expression"], dict(c)) for condition in space["Conditions"])]


def test_there_are_three_files_for_each_tuning_workload(written):
    assert set(written()) == {
        "awkward.x-1.T1.json",
        "awkward.x-1.T4.json",
        "awkward.x-1.cache.json",
        "awkward.x-1-2.T1.json",
        "awkward.x-1-2.T4.json",
        "awkward.x-1-2.cache.json",
        "folder",
    }


def test_t1_has_the_space_that_was_searched(shipment, written):
    t1 = written()["awkward.x-1.T1.json"]
    kernel = shipment.kernel
    space = space_of(kernel, shipment.template, LIMITS)
    assert 0 < len(space) < space.cartesian_size
    assert [Configuration.of(c) for c in configurations(t1["ConfigurationSpace"])] == list(space)
    types = {p["Name"]: (p["Type"], p["Values"]) for p in t1["ConfigurationSpace"]["TuningParameters"]}
    assert types["CHECKED"] == ("int", "[0, 1]")


def test_t1_has_the_launch_and_the_arguments_of_its_workload(shipment, written):
    first, second = (written()[f"awkward.x-1{n}.T1.json"]["KernelSpecification"] for n in ("", "-2"))
    for spec, workload in ((first, shipment.kernel.workloads[0]), (second, shipment.kernel.workloads[1])):
        geometry = shipment.template.launch.geometry({**LIMITS.names(), **workload.sizes, **GENERAL})
        values = dict(GENERAL)
        assert tuple(eval(spec["GlobalSize"][axis], values) for axis in "XY") == geometry.grid[:2]
        assert eval(spec["LocalSize"]["X"], values) == geometry.block[0]
        assert spec["ProblemSize"] == [spec["GlobalSize"]["X"], spec["GlobalSize"]["Y"]]
    out, given, packs = first["Arguments"]
    assert (out["Type"], out["MemoryType"], out["AccessType"], out["Size"]) == ("float", "Vector", "WriteOnly", 4 * 256)
    assert (given["AccessType"], given["FillType"]) == ("ReadOnly", "Random")
    assert (packs["MemoryType"], packs["FillType"], packs["DataSource"]) == ("Scalar", "Script", "d / VEC"), "no one number"
    assert (first["Language"], first["KernelName"], first["KernelFile"]) == ("CUDA", "twice<float, VEC>", "awkward.cu")


def test_t4_has_every_outcome_and_replay_reads_it(shipment, written):
    more = [LaunchFailed("no resources"), Crashed("signal 11")]
    last = {"BLOCK": 128, "CHECKED": True}
    extra = [Evaluation(Configuration.of({**last, "VEC": v}), o, 0.5, 1.7e9) for v, o in zip((1, 2), more, strict=True)]
    about = replace(shipment, evaluations=(*shipment.evaluations, *extra))
    found = written(about)
    results = found["awkward.x-1.T4.json"]["results"]
    failures = ["correctness", "compile", "timeout", "constraints", "runtime", "runtime"]
    assert [r["invalidity"] for r in results] == ["correct", "correct", *failures]
    assert [r["correctness"] for r in results] == [1, 1, 0, 0, 0, 0, 0, 0]
    assert results[0]["measurements"][0] == {"name": "time", "value": 3.5, "unit": "ms"}
    assert results[2]["reason"] == "y on x.1: 1 of 1,024 elements differ"
    for name in ("awkward.x-1.T4.json", "awkward.x-1.cache.json"):
        _reads_back(load_recording(found["folder"] / name), about)


def _reads_back(recording, about):
    assert (recording.device, recording.optimum) == ("some device", 3.5)
    again = {e.configuration: e for e in recording.evaluations}
    inside = [e for e in about.evaluations if not isinstance(e.outcome, Infeasible)]
    assert recording.left_out == 1
    assert set(again) == {e.configuration for e in inside}
    for evaluation in inside:
        read = again[evaluation.configuration]
        assert isinstance(read.outcome, Measured) == isinstance(evaluation.outcome, Measured)
        assert read.seconds == pytest.approx(evaluation.seconds)


def test_without_definitions_the_template_is_the_general_configuration(written):
    text = (written()["folder"] / "awkward.cu").read_text()
    assert "#define VEC 2\n" in text
    assert "#if CHECKED" in text, "and every other one can still be asked for"


def test_hip_kernels_have_no_t1(shipment, written):
    with pytest.raises(InputError, match="no hip kernels"):
        written(replace(shipment, choices=OfTemplate.of(replace(shipment.kernel, language=Language.HIP))))


@pytest.mark.parametrize(
    "text",
    [
        "a / b", "a // b", "a % b", "-a / b", "a - b - c", "a ** 2", "a << 2 | b & c ^ 1", "~a", "ceildiv(a, b)",
        "ceildiv(-a, b)", "round_up(a, b)", "round_down(-a, b)", "divides(b, a)", "is_pow2(a)", "log2(a)", "min(a, b, c)",
        "max(a, b) - abs(-c)", "a < b <= c", "a in (1, 2, 12)", "a not in (b, c)", "a > b and not b == c or c",
        "a if b > c else -b", "int(a / 2.5)", "f / 2", "a / f", "ceildiv(a - b, b + 1) * (c - 1)",
    ],
)  # fmt: skip
def test_expressions_mean_the_same_in_python(text):
    expression = Expression.parse(text)
    for a, b, c in itertools.product((1, 7, 12, 4096), (1, 2, 5), (1, 3)):
        names = {"a": a, "b": b, "c": c, "f": 2.5}
        assert eval(spelled(expression, Python(), {"f"}), dict(names)) == expression.evaluate(names), (names, text)
