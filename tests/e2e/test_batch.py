"""A folder of kernels from the command line: killed with -9 and resumed; a kernel that does not compile costs only itself."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVALUATIONS = 4


def _evaluated(home: Path) -> int:
    try:
        with sqlite3.connect(f"file:{home / 'runs.sqlite'}?mode=ro", uri=True, timeout=10) as connection:
            return int(connection.execute("SELECT count(*) FROM evaluations").fetchone()[0])
    except sqlite3.OperationalError:  # not there yet
        return 0


def test_a_folder_is_tuned_killed_and_resumed(
    command: Callable[..., list[str]],
    environment: dict[str, str],
    home: Path,
    tmp_path: Path,
    as_json: Callable[..., Any],
    warpsmith: Callable[..., Any],
    small_guide_kernel: Path,
):
    environment["WARPSMITH_REPORT"] = "on"
    folder = tmp_path / "kernels"
    shutil.copytree(small_guide_kernel, folder / "good")
    shutil.copytree(small_guide_kernel, folder / "group" / "broken")
    source = folder / "group" / "broken" / "scale.cu"
    source.write_text(source.read_text().replace("factor", "undeclared", 2).replace("undeclared", "factor", 1))
    shutil.copytree(small_guide_kernel, folder / "misspelt")
    toml = folder / "misspelt" / "kernel.toml"
    toml.write_text(toml.read_text().replace("[launch]", "[lunch]"))

    assert "too few for 2 kernels" in warpsmith("tune", folder, "-n", 3, expect=2).stderr
    assert "--warm takes one kernel" in warpsmith("tune", folder, "--warm", "last", expect=2).stderr

    tune = command("tune", folder, "--evaluations", EVALUATIONS)
    process = subprocess.Popen(tune, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 900
    while _evaluated(home) < 2:
        assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = _evaluated(home)
    killed = as_json("show", "last")
    assert (killed["status"], killed["evaluations"]) == ("killed", kept)

    whole = as_json("resume", expect=1)
    assert whole["batch"] == killed["batch"]
    assert whole["status"] == "finished"
    good, broken, misspelt = whole["kernels"]
    assert good["general"]["verified"]
    assert good["evaluations"] == EVALUATIONS, "it had the other's share, too"
    assert "compile" in broken["error"]["message"]
    assert "lunch" in misspelt["error"]["message"]
    assert as_json("show", good["run"])["general"] == good["general"]

    page = Path(whole["report"]).read_text()
    assert f'href="../../runs/{good["run"]}/report.html"' in page
    assert (Path(whole["report"]).parent / ".." / ".." / "runs" / good["run"] / "report.html").is_file()
    assert broken["error"]["message"].split("\n")[0][:20] in page
    moved = tmp_path / "elsewhere" / "summary.html"
    assert warpsmith("report", whole["batch"], "-o", moved).stdout.strip() == str(moved)
    shown = warpsmith("show", whole["batch"]).stdout
    assert shown.count("failed") == 2
    listed = as_json("show")
    assert [(b["batch"], b["kernels"]) for b in listed["batches"]] == [(whole["batch"], 3)]
