"""What is published of kernel.toml and of results is what is read and written."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.results import figures, stored

from warpsmith.api import json_schema
from warpsmith.record.result import read_result
from warpsmith.spec.bundled import bundled_names, bundled_path

KERNEL = Draft202012Validator(json_schema("kernel"))
RESULT = Draft202012Validator(json_schema("result"))
ROOT = Path(__file__).parents[3]
FILES = [*(bundled_path(name) for name in bundled_names()), *sorted((ROOT / "benchmarks").rglob("kernel.toml"))]
RECORDED = ROOT / "tests" / "unit" / "record" / "data"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_kernel_toml_is_valid(file: Path):
    KERNEL.validate(tomllib.loads(file.read_text()))


@pytest.mark.parametrize("subject", ["kernel", "result"])
def test_schemas_are_schemas(subject: str):
    Draft202012Validator.check_schema(json_schema(subject))


def test_toml_has_no_null():
    assert '"null"' not in json.dumps(json_schema("kernel")).replace('"null": {', "")


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("kernel", "sorce", "a.cu"),
        ("kernel", "language", "c"),
        ("kernel", "entry", ""),
        ("launch", "grid", ["n", "n", "n", "n"]),
        ("launch", "block", []),
        ("reference", "rtol", 1),
        ("arguments", "out", {"dtype": "float", "shape": ["n"]}),
        ("arguments", "out", {"dtype": "f32", "shape": ["n"], "role": "output"}),
        ("arguments", "out", {"dtype": "f32", "shape": ["n"], "init": "rand"}),
        ("workloads", "small", {"n": "many"}),
        ("parameters", "BLOCK", {"values": [], "default": 1}),
    ],
)
def test_mistakes_are_no_kernel(table: str, key: str, value: object):
    found = tomllib.loads(bundled_path("silu_and_mul").read_text())
    KERNEL.validate(found)
    found.setdefault(table, {})[key] = value
    assert not KERNEL.is_valid(found)


@pytest.mark.parametrize("init", ["zeros", {"python": "inputs.py:slots"}, {"kind": "uniform", "low": 0, "high": "n"}])
def test_short_and_long_forms_are_both_valid(init: object):
    found = tomllib.loads(bundled_path("silu_and_mul").read_text())
    found["arguments"]["x"] = {"dtype": "f32", "shape": "n", "init": init}
    found["launch"]["grid"] = 4
    KERNEL.validate(found)


@pytest.mark.parametrize("name", ["template", "direct"])
def test_recorded_results_are_valid(name: str):
    RESULT.validate(json.loads((RECORDED / f"result_{name}.json").read_text()))


@pytest.mark.parametrize("changes", [{}, {"general": None, "baseline": None}])
def test_results_of_earlier_versions_are_valid_when_they_are_shown(changes: dict[str, object]):
    RESULT.validate(json.loads(json.dumps(read_result(stored(**changes)).as_json())))


@pytest.mark.parametrize(
    "changes", [{"general": {**figures(), "ci95": [1.0]}}, {"seed": "1"}, {"general": {"config": {}}}, {"evaluations": None}]
)
def test_damage_is_no_result(changes: dict[str, object]):
    assert not RESULT.is_valid({**read_result(stored()).as_json(), **changes})


def test_an_interval_may_be_open():
    RESULT.validate({**read_result(stored()).as_json(), "general": {**figures(), "ci95": [1.0, None]}})
