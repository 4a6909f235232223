"""The journey of a new user, from the guide's kernel to a recorded result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_from_source_to_result(
    warpsmith: Callable[..., Any], as_json: Callable[..., Any], guide_kernel: Path, monkeypatch: pytest.MonkeyPatch
):
    assert "fine" in warpsmith("check", guide_kernel).stdout

    space = as_json("space", guide_kernel, "--why", "BLOCK=1024 ITEMS=16")
    assert space["feasible"] == 30
    assert space["violations"] == []

    monkeypatch.chdir(guide_kernel.parent)
    done = warpsmith("tune", guide_kernel.name, "--evaluations", 8, "--seed", 3, "--also-compile", "sm_90,gfx942", "--json")
    assert "baseline" in done.stderr, "progress goes to stderr"
    result = json.loads(done.stdout)
    assert result["kernel"] == "scale"
    assert result["status"] == "finished"
    assert sum(result["evaluations"].values()) == result["evaluations"]["Measured"] == 8
    baseline, general = result["baseline"], result["general"]
    assert baseline["config"] == {"BLOCK": 256, "ITEMS": 1}
    assert baseline["speedup"] == 1.0
    assert general["verified"] is True
    assert general["ci95"][0] <= general["speedup"] <= general["ci95"][1]
    assert general["speedup"] >= 1.0 or general["config"] == baseline["config"]
    assert 0 < general["roofline_fraction"] < 3
    assert set(result["per_workload"]) == {"large"}
    assert set(result["heldout"]) == {"odd"}
    found = result["uncertain"] or general
    odd = result["evidence"]["odd_shapes"]
    assert (odd is None) is (found["config"] == baseline["config"])
    assert all(shape["passed"] for shape in odd or ()), "the guide's kernel checks its bounds"
    assert result["template"]["certificate"]["level"] == "tokens"
    assert result["template"]["parameters"]["ITEMS"]["default"] == 1
    assert result["template"]["path"] == str(guide_kernel / "scale.cu")
    assert [target["target"] for target in result["also_compile"]] == ["sm_90", "gfx942"]
    for target in result["also_compile"]:
        assert target["original"]["registers"] > 0
        assert general["config"] in [entry["config"] for entry in target["configurations"]]
        assert all(entry["outcome"] == "compiled" and entry["occupancy"] > 0 for entry in target["configurations"])

    monkeypatch.chdir("/")  # a run is found, and finds its kernel, from anywhere
    assert as_json("show", result["run"], "--importance")["importance"] is not None
    assert as_json("show", result["run"]) == result
    assert as_json("resume", result["run"]) == result, "a finished run is not run again"
    assert [run["run"] for run in as_json("show")["runs"]] == [result["run"]]
    listed = as_json("show", "last", "--evaluations")["evaluation_list"]
    assert len(listed) == 8
    assert listed[0]["config"] == baseline["config"], "the original comes first"
    assert listed[1]["times"]["large"]["median_us"] > 0
    rows = warpsmith("show", "last", "--evaluations").stdout.splitlines()[-8:]
    assert all("BLOCK=" in row and "ITEMS=" in row for row in rows), "a row is a line"
    shown = warpsmith("show", "last").stdout
    for word in ("baseline", "general configuration", "held out", "95 % interval", "roofline", "on sm_90:", "regs"):
        assert word in shown


def test_what_stands_in_the_way_is_named(warpsmith: Callable[..., Any], small_guide_kernel: Path, environment: dict[str, str]):
    toml = small_guide_kernel / "kernel.toml"
    toml.write_text(toml.read_text().partition("[parameters]")[0].replace("BLOCK * ITEMS", "256").replace('"BLOCK"', "256"))
    done = warpsmith("tune", small_guide_kernel, "--agent", "none", "--evaluations", 1)
    assert "`--agent rules` refactors it" in done.stderr
    environment["WARPSMITH_HOME"] = "/proc/nobody"
    assert "WARPSMITH_HOME" in warpsmith("tune", small_guide_kernel, "--evaluations", 1, expect=3).stderr


def test_devices(as_json: Callable[..., Any], warpsmith: Callable[..., Any]):
    found = {device["device"]: device for device in as_json("devices")["devices"]}
    cpu = found["cpu"]
    assert cpu["available"]
    assert cpu["languages"] == ["cuda", "hip", "opencl"]
    assert cpu["limits"]["max_threads_per_block"] >= 1024
    assert "cpu" in warpsmith("devices").stdout


def test_init_writes_something_to_fill_in(warpsmith: Callable[..., Any], guide_kernel: Path):
    (guide_kernel / "kernel.toml").unlink()
    warpsmith("init", guide_kernel / "scale.cu")
    text = (guide_kernel / "kernel.toml").read_text()
    assert 'entry = "scale"' in " ".join(text.split())
    assert warpsmith("init", guide_kernel / "scale.cu", expect=2).stderr.count("--force") == 1


@pytest.mark.parametrize(
    ("edit", "code", "words"),
    [
        (("shape = [", "shpae = ["), 2, ("kernel.toml:7:", "shpae", "shape")),
        (('dtype = "f32", shape', 'dtype = "float", shape'), 2, ("kernel.toml:7:", "float", "f32")),
        (('grid = ["ceildiv(n, BLOCK * ITEMS)"]', "grid = [\"__import__('os')\"]"), 2, ("kernel.toml:13:", "__import__")),
        (("default = 256", "default = 100"), 2, ("kernel.toml:21:", "100")),
        (('source = "scale.cu"', 'source = "missing.cu"'), 2, ("kernel.toml:3:", "missing.cu")),
    ],
)
def test_mistakes_are_named_with_their_place(
    warpsmith: Callable[..., Any], guide_kernel: Path, edit: tuple[str, str], code: int, words: tuple[str, ...]
):
    toml = guide_kernel / "kernel.toml"
    text = toml.read_text()
    assert edit[0] in text
    toml.write_text(text.replace(*edit, 1))
    stderr = warpsmith("check", guide_kernel, expect=code).stderr
    for word in words:
        assert word in stderr, stderr


def test_unknown_names_are_answered_with_the_known_ones(warpsmith: Callable[..., Any], guide_kernel: Path):
    assert "fused_add_rmsnorm" in warpsmith("check", "fused_add_rmsnrom", expect=2).stderr
    assert "cpu" in warpsmith("tune", guide_kernel, "--device", "gpu", expect=2).stderr
    assert "local" in warpsmith("tune", guide_kernel, "--strategy", "magic", expect=2).stderr
    assert "no run" in warpsmith("show", "nothing", expect=2).stderr


def test_an_original_that_is_wrong_is_not_tuned(warpsmith: Callable[..., Any], guide_kernel: Path):
    (guide_kernel / "reference.py").write_text("def scale(in_, factor):\n    return factor * in_ + 1\n")
    with (guide_kernel / "kernel.toml").open("a") as file:
        file.write('\n[reference]\npython = "reference.py:scale"\n')
    stderr = warpsmith("tune", guide_kernel, "--evaluations", 3, expect=1).stderr
    assert "the original kernel does not pass" in stderr
    assert "out on large" in stderr


def test_an_original_that_does_not_compile_is_bad_input(warpsmith: Callable[..., Any], guide_kernel: Path):
    source = guide_kernel / "scale.cu"
    source.write_text(source.read_text().replace("factor * in[i]", "factr * in[i]"))
    stderr = warpsmith("tune", guide_kernel, expect=2).stderr
    assert "factr" in stderr
    assert "scale.cu:11" in stderr
