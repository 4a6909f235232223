"""`warpsmith replay` as people run it: tables, JSON, files, mistakes, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WriteCache = Callable[..., Path]


def test_the_table_the_json_and_the_files(
    warpsmith: Callable[..., Any], as_json: Callable[..., Any], write_cache: WriteCache, tmp_path: Path
):
    first = write_cache("conv-A100.json")
    second = write_cache(
        "conv-A4000.json", result=lambda block, tile, padding: "RuntimeFailedConfig" if tile == 3 else float(block)
    )
    arguments = ("replay", first, second, "-s", "random", "-s", "local", "--evaluations", 30, "--seeds", 4)

    shown = warpsmith(*arguments, "--output", tmp_path / "out").stdout
    for words in (
        "average of 2 spaces",
        "conv-A100: some_kernel on Some GPU",
        "24 configurations; 8 of them fail",
        "random",
        "local",
    ):
        assert words in shown
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {
        "trials.csv",
        "summary.json",
        *(f"by-{x}.{kind}" for x in ("evaluations", "time") for kind in ("svg", "png")),
    }
    assert len((tmp_path / "out" / "trials.csv").read_text().splitlines()) == 1 + 2 * 2 * 4 * 24

    found = as_json(*arguments)
    assert {(entry["space"], entry["strategy"]) for entry in found["spaces"]} == {
        (space, strategy) for space in ("conv-A100", "conv-A4000") for strategy in ("random", "local")
    }
    for entry in found["spaces"]:
        assert entry["seeds"] == 4
        assert set(entry["fraction"]) == {"25", "30"}
        assert entry["fraction"]["25"] == 1.0, "the whole space has been seen"

    again = as_json(*arguments, "--jobs", 1)
    for entry in (*found["spaces"], *again["spaces"]):
        del entry["overhead_ms"]
    assert again == found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.json",), ("missing.json", "Kernel Tuner cache")),
        (("{cache}", "--strategy", "magic"), ("'magic'", "local")),
        (("{cache}", "--evaluations", "0"), ("--evaluations must be at least 1, not 0",)),
        (("{cache}", "--strategy", "random", "--warm", "{cache}"), ("'random' cannot start from",)),
    ],
)
def test_mistakes_end_with_code_2(
    warpsmith: Callable[..., Any], write_cache: WriteCache, arguments: tuple[str, ...], words: tuple[str, ...]
):
    cache = str(write_cache())
    done = warpsmith("replay", *(argument.replace("{cache}", cache) for argument in arguments), expect=2)
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("whole_group", [True, False], ids=["from the terminal", "to the process alone"])
def test_ctrl_c_is_clean(
    command: Callable[..., list[str]], environment: dict[str, str], write_cache: WriteCache, whole_group: bool
):
    cache = write_cache(parameters={"a": list(range(60)), "b": list(range(60))}, result=lambda a, b: 1.0 + a + b)
    arguments = command("replay", cache, "-s", "random", "--seeds", 100, "--evaluations", 1000, "--jobs", 2)
    # Where the tests themselves run in the background, interrupts are ignored, and children would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stderr is not None
    heard = process.stderr.readline()
    assert heard.startswith("trials"), heard
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "stopped after" in stderr
    assert "Traceback" not in stderr, stderr
    assert not stdout
    deadline = time.monotonic() + 120  # Python's own helper for shared objects leaves a moment after its parent
    while members := _members(process.pid):
        assert time.monotonic() < deadline, f"left behind: {members}"
        time.sleep(0.02)


def _members(group: int) -> list[str]:
    """The processes of a group that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # gone meanwhile
            continue
        if int(of_group) == group and state not in {"Z", "X"}:
            found.append((entry.parent / "cmdline").read_text().replace("\0", " "))
    return found
