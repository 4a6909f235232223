"""A run verified again, what was exported of it, and what becomes of that when somebody edits it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpsmith.cli.verify import is_kernel


def test_a_run_its_export_and_what_was_edited(
    warpsmith: Callable[..., Any],
    recorded: Callable[..., str],
    environment: dict[str, str],
    small_guide_kernel: Path,
    tmp_path: Path,
):
    own = {"BLOCK": 128, "ITEMS": 4}
    run = recorded(small_guide_kernel, general={"BLOCK": 64, "ITEMS": 2}, per_workload={"large": own})
    drawn = [json.loads(warpsmith("verify", "last", "--seeds", 1, "--json").stdout)["seeds"] for _ in range(2)]
    assert drawn[0] != drawn[1], "nobody knows them before"
    environment["WARPSMITH_INPUT_SEED"] = "1001"
    done = warpsmith("verify", "last", "--seeds", 2, "--json")
    assert "verify" in done.stderr, "progress goes to stderr"
    found = json.loads(done.stdout)
    assert (found["run"], found["passed"]) == (run, True)
    first, second = found["seeds"]
    assert first == 1001, "unless they are to be those of an earlier verification"
    assert found["configurations"] == [
        {"name": "original", "config": {"BLOCK": 256, "ITEMS": 1}},
        {"name": "general", "config": {"BLOCK": 64, "ITEMS": 2}},
        {"name": "for large", "config": own},
    ]
    kinds = {(c["configuration"], c["workload"], c["kind"], c["seed"]) for c in found["checks"]}
    assert len(kinds) == 3 * 2 * 2
    assert ("original", "odd", "heldout", second) in kinds
    assert {check["outcome"] for check in found["checks"]} == {"passed"}

    shipped = tmp_path / "shipped"
    warpsmith("export", "last", "--format", "header", "--no-verify", "-o", shipped)
    header = shipped / "scale.tuned.h"
    general, behind, large = header.read_text().partition("namespace scale_tuned { namespace for_large {")
    assert 'extern "C++" __global__ void scale(' in large
    header.write_text(general + behind + large.replace("factor * in[i]", "factor * in[i] + 1"))
    edited = warpsmith("verify", shipped, "--seeds", 1, expect=1).stdout
    assert "general: scale.tuned.h\n  large: passed on seeds 1001" in edited
    wrong = "for large: scale.tuned.h\n  large: FAILED on seed 1001: out: 40000 of 40000 elements differ, worst at ["
    assert wrong in edited
    assert "1 failed: 4 passed, 1 skipped" in edited

    kernel = small_guide_kernel / "scale.cu"
    kernel.write_text(kernel.read_text() + "// edited\n")
    assert "the kernel's files changed since run" in warpsmith("verify", expect=2).stderr


def test_mistakes(warpsmith: Callable[..., Any], tmp_path: Path):
    assert "no run" in warpsmith("verify", "nothing", expect=2).stderr
    assert "there is no export.json" in warpsmith("verify", f"{tmp_path}/", expect=2).stderr


def test_a_bare_name_is_a_runs_first_then_a_kernels(
    recorded: Callable[..., str], small_guide_kernel: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(small_guide_kernel.parent)
    monkeypatch.setenv("WARPSMITH_HOME", str(small_guide_kernel.parent / "home"))
    assert is_kernel("scale")
    assert is_kernel("rope")
    assert not is_kernel("nothing")
    run = recorded(small_guide_kernel, general={"BLOCK": 64, "ITEMS": 2})
    assert run.startswith("scale")
    assert not is_kernel("scale")
    assert is_kernel("scale/")


def test_a_kernel_as_it_is(
    warpsmith: Callable[..., Any], environment: dict[str, str], small_guide_kernel: Path, monkeypatch: pytest.MonkeyPatch
):
    environment |= {"WARPSMITH_RACECHECK": "on", "WARPSMITH_INPUT_SEED": "1001"}
    source = small_guide_kernel / "scale.cu"
    exchanged = "__shared__ float s[1024]; s[threadIdx.x] = in[i]; out[i] = factor * s[threadIdx.x] + 0 * s[threadIdx.x ^ 1];"
    text = source.read_text()
    assert "out[i] = factor * in[i];" in text
    source.write_text(text.replace("out[i] = factor * in[i];", f"{{ {exchanged} }}"))
    monkeypatch.chdir(small_guide_kernel.parent)
    shown = warpsmith("verify", small_guide_kernel.name, "--seeds", 1, expect=1).stdout
    assert "scale: as it is on cpu" in shown
    assert "large: passed on seeds 1001" in shown
    assert "racecheck: FAILED: shared memory 's': thread" in shown
