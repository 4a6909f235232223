"""The gate from the command line: what is accepted passes, what became wrong does not; the hooks that need no GPU."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
WINNER = {"BLOCK": 128, "ITEMS": 2}


@pytest.fixture
def folder(tmp_path: Path, small_guide_kernel: Path) -> Path:
    folder = tmp_path / "kernels"
    shutil.copytree(small_guide_kernel, folder / "scale")
    return folder


def test_stored_winners_are_accepted_and_missed(
    folder: Path,
    tmp_path: Path,
    recorded: Callable[..., str],
    warpsmith: Callable[..., Any],
    as_json: Callable[..., Any],
):
    baseline, junit, markdown = (tmp_path / name for name in ("accepted.json", "gate.xml", "gate.md"))
    gate = ("gate", folder, "--baseline", baseline)
    assert "baseline file not found" in warpsmith(*gate, expect=2).stderr

    run = recorded(folder / "scale", general=WINNER)
    warpsmith("export", run, "-o", folder / "scale" / "tuned", "--no-verify")
    accepted = as_json(*gate, "--update", "--target", "sm_90")
    assert accepted["updated"] == ["scale/tuned"]
    (winner,) = accepted["winners"]
    outcomes = {check["check"]: check["outcome"] for check in winner["checks"]}
    assert outcomes["verify"] == "passed"
    assert outcomes["time"] == outcomes["compiled: sm_90"] == "new"
    figures = json.loads(baseline.read_text())["winners"]["scale/tuned"]
    assert figures["config"] == WINNER
    (device,) = figures["devices"].values()
    assert {name: len(logs) for name, logs in device["speedup_logs"].items()} == {"large": 2}, "one of each process"
    assert figures["targets"]["sm_90"]["registers"] > 0

    next((folder / "scale" / "tuned").glob("*.cu")).unlink()
    accepted = json.loads(baseline.read_text())
    accepted["winners"]["gone"] = accepted["winners"]["scale/tuned"]
    baseline.write_text(json.dumps(accepted))
    failed = as_json(*gate, "--no-time", "--junit", junit, "--markdown", markdown, expect=1)
    said = {w["winner"]: [(c["outcome"], c["message"]) for c in w["checks"]] for w in failed["winners"]}
    ((outcome, message),) = said["scale/tuned"]
    assert (outcome, "is missing" in message) == ("failed", True)
    assert said["gone"] == [("failed", "it is in the baseline file, but no longer stored here")]
    assert [suite.get("failures") for suite in ET.parse(junit).getroot()] == ["1", "1"]
    assert "2 of 2 stored winners fail" in markdown.read_text()


def _entries() -> dict[str, str]:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    return dict(re.findall(r"^- id: (\S+)\n(?:  .*\n)*?  entry: (.*)$", text, re.MULTILINE))


def test_the_hook_of_check_tells_the_file_that_is_wrong(folder: Path, environment: dict[str, str]):
    shutil.copytree(folder / "scale", folder / "misspelt")
    wrong = folder / "misspelt" / "kernel.toml"
    wrong.write_text(wrong.read_text().replace("[launch]", "[lunch]"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    command = [*shlex.split(_entries()["warpsmith-check"]), str(wrong)]
    done = subprocess.run(command, env={**environment, "PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "lunch" in done.stdout + done.stderr


def test_hooks_and_action_name_options_that_exist(warpsmith: Callable[..., Any]):
    texts = [*_entries().values(), (ROOT / "integrations" / "github-action" / "action.yml").read_text()]
    assert len(texts) == 4
    known = {name: warpsmith(name, "--help").stdout for name in ("check", "verify", "gate")}
    for text in texts:
        for command in re.findall(r"\bwarpsmith (check|verify|gate)\b", text):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
                assert option in known[command] or option == "--quiet", f"{command} {option}"
