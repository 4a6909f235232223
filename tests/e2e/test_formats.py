"""What `warpsmith export` writes for others, on a recorded run, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_what_was_tried_goes_to_other_tuners_and_comes_back(
    warpsmith: Callable[..., Any], as_json: Callable[..., Any], recorded: Callable[..., str], guide_kernel: Path, tmp_path: Path
):
    recorded(guide_kernel, general={"BLOCK": 64, "ITEMS": 2}, per_workload={"large": {"BLOCK": 128, "ITEMS": 4}})
    found = as_json("export", "--format", "kernel-tuner", "--no-verify", "-o", tmp_path / "shared")
    assert found["files"] == ["scale.cu", "scale.large.T1.json", "scale.large.T4.json", "scale.large.cache.json"]
    again = as_json("replay", tmp_path / "shared" / "scale.large.T4.json", "-s", "random", "--evaluations", 2, "--seeds", 2)
    assert again["recordings"][0]["configurations"] == 2
    assert "there are: header, kernel-tuner, source, torch" in warpsmith("export", "--format", "elf", expect=2).stderr
