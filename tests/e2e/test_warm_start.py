"""From one run to the next: warm starts as people give them, killed and resumed; and what a run says about its parameters."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpsmith.record.store import Store

WriteCache = Callable[..., Path]
COLD = 15  # as few as say something about parameters
EVALUATIONS = 9


def test_from_a_cold_run_to_a_warm_one_that_is_killed(
    warpsmith: Callable[..., Any],
    as_json: Callable[..., Any],
    command: Callable[..., list[str]],
    environment: dict[str, str],
    home: Path,
    small_guide_kernel: Path,
    tmp_path: Path,
):
    environment["WARPSMITH_SHARED"] = str(tmp_path / "shared")
    cold = as_json("tune", small_guide_kernel, "--evaluations", COLD, "--strategy", "random", "--warm", "auto")
    assert cold["warm"] == [], "nothing was known yet"
    _found_by_a_colleague(cold["run"], as_json, environment, small_guide_kernel, tmp_path / "colleague")
    _which_parameters_mattered(cold, warpsmith, as_json, tmp_path / "importance")

    arguments = command("tune", small_guide_kernel, "--warm", "last", "--seed", 7, "--evaluations", EVALUATIONS)
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = _killed_after(4, process, home, cold["run"])
    source = {"source": cold["run"], "kernel": "scale", "device": "cpu", "evaluations": COLD, "measured": COLD, "found": COLD}
    unfinished = as_json("show", "last")
    assert unfinished["warm"] == [source]
    assert unfinished["general"] is None
    _forget(home, cold["run"])

    resumed = warpsmith("resume", "last", "--json")
    assert f"{COLD} evaluations of scale" in " ".join(resumed.stderr.split()), "it goes on from them too"
    result = json.loads(resumed.stdout)
    assert result["run"] == unfinished["run"]
    assert result["warm"] == [source], "kept with the run: the source itself is gone"
    assert result["status"] == "finished"
    with Store(home / "runs.sqlite") as store:
        after = store.evaluations(result["run"])
    assert after[: len(before)] == before
    assert len({e.configuration for e in after}) == len(after) == EVALUATIONS, "the baseline counts; nothing twice"
    assert dict(after[0].configuration) == result["baseline"]["config"]
    shown = " ".join(warpsmith("show", "last").stdout.split())
    assert f"Started warm from {COLD} evaluations of scale on cpu" in shown

    few = as_json("show", "last", "--importance", "--output", tmp_path / "plots")
    assert few["importance"] == {"measured": 9, "needed": 15, "form": None, "r2": None, "parameters": [], "pairs": []}
    assert not (tmp_path / "plots").exists()
    assert "too few results (9 measured, 15 needed)" in warpsmith("show", "last", "--importance").stdout
    (small_guide_kernel / "scale.cu").write_text((small_guide_kernel / "scale.cu").read_text() + "// changed\n")
    assert "changed since" in warpsmith("show", "last", "--importance", expect=2).stderr


def _found_by_a_colleague(run: str, as_json: Callable[..., Any], environment: dict[str, str], kernel: Path, home: Path) -> None:
    own = environment["WARPSMITH_HOME"]
    environment["WARPSMITH_HOME"] = str(home)
    [source] = as_json("tune", kernel, "--warm", "auto", "--evaluations", 2)["warm"]
    assert (source["source"], source["measured"]) == (f"auto: {run}", COLD)
    environment["WARPSMITH_HOME"] = own


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--warm", "nothing"), ("no run 'nothing'", "no such file")),
        (("--warm", "last"), ("no run 'last'",)),
        (("--warm", "{cache}"), ("block, padding, tile against BLOCK, ITEMS",)),
        (("--warm", "{cache}", "--strategy", "local"), ("'local' cannot start from an earlier run", "gp")),
    ],
)
def test_mistakes_end_with_code_2_and_leave_no_run(
    warpsmith: Callable[..., Any],
    as_json: Callable[..., Any],
    small_guide_kernel: Path,
    write_cache: WriteCache,
    arguments: tuple[str, ...],
    words: tuple[str, ...],
):
    cache = str(write_cache())
    done = warpsmith("tune", small_guide_kernel, *(argument.replace("{cache}", cache) for argument in arguments), expect=2)
    for word in words:
        assert word in done.stderr
    assert as_json("show") == {"runs": [], "batches": []}


def _which_parameters_mattered(
    run: dict[str, Any], warpsmith: Callable[..., Any], as_json: Callable[..., Any], folder: Path
) -> None:
    found = as_json("show", "last", "--importance", "--output", folder)
    entry = found.pop("importance")
    assert found == run
    assert (entry["measured"], entry["failed"], entry["predicted"], entry["sampled"]) == (COLD, 0, 30, False)
    assert {effect["name"] for effect in entry["parameters"]} == {"BLOCK", "ITEMS"}
    for effect in entry["parameters"]:
        assert 0 <= effect["share"] <= 1
        assert effect["best"]["slowdown"] == 1.0 <= effect["worst"]["slowdown"]
    assert [pair["parameters"] for pair in entry["pairs"]] == [["BLOCK", "ITEMS"]]
    assert {path.name for path in folder.iterdir()} == {"importance.svg", "importance.png"}
    shown = warpsmith("show", "last", "--importance").stdout
    for words in ("which parameters mattered", "R²"):  # on a busy machine that may be all that can be said
        assert words in shown
    assert "--importance" in warpsmith("show", "last", "--output", folder, expect=2).stderr


def _killed_after(count: int, process: subprocess.Popen[bytes], home: Path, other: str) -> list[Any]:
    """The evaluations recorded by the run that is not `other`, once its process is dead."""
    deadline = time.monotonic() + 900
    with Store(home / "runs.sqlite") as store:
        while (run := store.find("last").run) == other or len(store.evaluations(run)) < count:
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
        process.wait()
        return store.evaluations(run)


def _forget(home: Path, run: str) -> None:
    connection = sqlite3.connect(home / "runs.sqlite")
    with connection:
        for table in ("evaluations", "runs"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
    connection.close()
