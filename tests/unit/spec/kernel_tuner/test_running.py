"""A script is run where it can do no harm; where it cannot be run, it is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpsmith.isolation import landlock
from warpsmith.isolation.confinement import confinement_report
from warpsmith.spec.kernel_tuner import running
from warpsmith.spec.kernel_tuner.problem import ScriptNumber
from warpsmith.spec.kernel_tuner.recording import RecordedCall, Recording

pytestmark = pytest.mark.skipif(not confinement_report().is_complete, reason="this system cannot confine")

CALL = "tune_kernel('add', 'add.cu', n, [x], {'block_size_x': [32, 64]})\n"
HEAD = "import numpy as np\nfrom kernel_tuner import tune_kernel\nn = 1000\nx = np.ones(n)\n"


def recorded(folder: Path, script: str) -> Recording:
    (folder / "tune.py").write_text(script)
    return running.recorded(folder / "tune.py", script)


def only(recording: Recording) -> RecordedCall:
    (call,) = recording.calls
    assert not recording.is_read, recording.problem
    return call


def sizes(call: RecordedCall) -> list[object]:
    return [extent.value if isinstance(extent, ScriptNumber) else extent for extent in call.size]


def test_a_script_reads_its_folder_and_touches_nothing_else(tmp_path: Path):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (own / "data.txt").write_text("77")
    (other / "secret.txt").write_text("secret")
    script = f"""
import os, socket, subprocess
from kernel_tuner import tune_kernel
def happens(act):
    try:
        act()
    except Exception:
        return 0
    return 1
found = {{
    "other": [happens(lambda: open({str(other / "secret.txt")!r}).read())],
    "written": [happens(lambda: open("new.txt", "w"))],
    "removed": [happens(lambda: os.remove("data.txt"))],
    "network": [happens(lambda: socket.create_connection(("127.0.0.1", 9)))],
    "process": [happens(lambda: subprocess.run(["true"]))],
}}
tune_kernel("add", "add.cu", int(open("data.txt").read()), [], found)
"""
    call = only(recorded(own, script))
    assert {p.name: p.values for p in call.parameters} == dict.fromkeys(
        ("other", "written", "removed", "network", "process"), (0,)
    )
    assert sizes(call) == [77]


def test_modules_beside_it_and_empty_command_lines(tmp_path: Path):
    (tmp_path / ".hidden").mkdir()  # so that the folder cannot be listed
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "numbers.py").write_text("from . import other\nfour = other.four\n")
    (tmp_path / "lib" / "other.py").write_text("four = 4\n")
    (tmp_path / "common.py").write_text(
        "import nowhere\nimport numpy as np\ndef inputs(n):\n    return np.zeros((n, 4), np.float32)\n"
    )
    script = """
import argparse
from common import inputs
from lib.numbers import four
import kernel_tuner as kt
parser = argparse.ArgumentParser()
parser.add_argument("device")
parser.add_argument("-n", type=int, default="300")
parser.add_argument("-t", required=True, choices=["double", "float"])
args = parser.parse_args()
count = args.n
kt.tune_kernel(args.device, "add.cu", count, [inputs(count), inputs(four).get()], {}, defines={"T": args.t})
"""
    call = only(recorded(tmp_path, script))
    assert call.arguments is not None
    assert (call.kernel_name, sizes(call), call.defines) == (None, [300], {"T": "double"})
    assert [[getattr(e.term, "name", e.term) for e in a.shape or ()] for a in call.arguments] == [["count", 4], ["four", 4]]


def test_functions_that_nobody_calls_are_called(tmp_path: Path):
    script = HEAD + "class Tests:\n    def test(self, fixture, n=7):\n        tune(fixture, n)\ndef tune(x, n):\n    " + CALL
    call = only(recorded(tmp_path, script))
    assert sizes(call) == [7]
    assert call.arguments is not None
    assert call.arguments[0].shape is None


def test_restrictions_that_only_running_tells(tmp_path: Path):
    script = HEAD + "def fits(p):\n    for k in (3, 5):\n        if p['block_size_x'] % k == 2: return False\n    return True\n"
    call = only(recorded(tmp_path, script + CALL.replace("})", "}, restrictions=[fits, lambda p: p['block_size_x'] > n])")))
    assert [c.text for c in call.conditions] == ["block_size_x == 64", "block_size_x > 1000"]


def test_a_source_that_is_read_stays_a_file(tmp_path: Path):
    (tmp_path / "add.cu").write_text("__global__ void add(double *x) {}\n")
    source = only(recorded(tmp_path, HEAD + "source = open('add.cu').read()\n" + CALL.replace("'add.cu'", "source"))).source
    assert (Path(str(source.file)).name, source.text) == ("add.cu", None)


def test_a_source_in_another_folder_is_named_though_it_cannot_be_read(tmp_path: Path):
    (tmp_path / "own").mkdir()
    (tmp_path / "add.cu").write_text("__global__ void add(double *x) {}\n")
    script = HEAD + "with open('../add.cu') as file:\n    source = file.read()\n" + CALL.replace("'add.cu'", "source")
    assert only(recorded(tmp_path / "own", script)).source.file == "../add.cu"


def test_a_branch_that_tunes_is_taken_where_no_other_way_leads_there(tmp_path: Path):
    script = HEAD + "import os\nif os.path.exists('results.json'):\n    n = 2000\n    " + CALL
    assert sizes(only(recorded(tmp_path, script))) == [2000]


def test_the_same_script_gives_the_same_record(tmp_path: Path):
    script = HEAD + "x = np.random.default_rng().uniform(size=n)\n" + CALL
    assert recorded(tmp_path, script) == recorded(tmp_path, script)


ENDLESS = "while True:\n    try:\n        while True: y = 1\n    except {caught}:\n        pass\n"


def test_what_was_recorded_before_time_was_up_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "_SECONDS", 3.0)
    found = recorded(tmp_path, HEAD + CALL + ENDLESS.format(caught="Exception"))
    assert only(found).kernel_name == "add"
    assert "too long" in str(found.problem)


def test_a_statement_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "_SECONDS", 3.0)
    call = only(recorded(tmp_path, HEAD + "def load():\n    while True: y = 1\nx = load()\n" + CALL))
    assert call.arguments is not None
    assert call.arguments[0].place == "tune.py:7 (TimeoutError: it takes too long)"


@pytest.mark.parametrize(
    ("end", "why"),
    # An endless loop catches what ends it, unless that comes while the loop is between two of its steps.
    [(ENDLESS.format(caught="BaseException"), "no answer|takes too long"), ("import os\nos.abort()\n", "SIGABRT")],
)
def test_a_script_that_cannot_be_run_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, why: str):
    monkeypatch.setattr(running, "_SECONDS", 3.0)
    monkeypatch.setattr(running, "_GRACE_S", 1.0)
    found = recorded(tmp_path, HEAD + end + CALL)
    assert found.is_read
    assert re.search(why, str(found.problem))
    (call,) = found.calls
    assert (call.kernel_name, sizes(call), call.source.file) == ("add", [1000], "add.cu")
    assert [(p.name, p.values) for p in call.parameters] == [("block_size_x", (32, 64))]
    assert call.arguments is not None
    assert call.arguments[0].place == "tune.py:4"


def test_where_workers_cannot_be_confined_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    found = recorded(tmp_path, HEAD + CALL)
    assert found.is_read
    assert "Landlock" in str(found.problem)
    assert [sizes(call) for call in found.calls] == [[1000]]
