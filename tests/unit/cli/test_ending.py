"""How commands end when something goes wrong: a short word on stderr, an object on stdout with --json, an exit code."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.results import typed

from warpsmith.api import tuning
from warpsmith.cli import ending, main
from warpsmith.cli.app import app
from warpsmith.cli.ending import as_exit_code, heed_signals, write_what_the_terminal_can
from warpsmith.cli.options import print_json
from warpsmith.core.errors import InputError, Location, Stopped, UnavailableError
from warpsmith.record.run import RunHeader, Status
from warpsmith.record.store import Store
from warpsmith.tuning.budget import Budget

HEADER = RunHeader("k", "k/kernel.toml", "f", "cpu", "none", "local", 3, {"evaluations": 5}, {"limits": {}})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def _handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def called(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    monkeypatch.setattr(sys, "argv", ["warpsmith", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("no such thing", location=Location(Path("k.toml"), 3), hint="try another"), 2, "k.toml:3: no such thing"),
        (OSError(errno.ENOSPC, "No space left on device", "/full/x"), 3, "/full/x: no space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 3, "/x: permission denied"),
        (OSError(errno.EFBIG, "File too large"), 3, "hint: check the file size limit: `ulimit -f`"),
        (sqlite3.OperationalError("odd"), 3, "cannot be used: odd"),
        (ValueError("a bug"), 1, "Traceback"),
        (KeyboardInterrupt(), 130, "stopped"),
        (Stopped(signal.SIGTERM), 143, "stopped"),
        (Stopped(signal.SIGHUP), 129, "stopped"),
    ],
)
def test_every_end_has_its_code_its_word_and_its_object(error, code, said, capsys):
    assert as_exit_code(error, is_json=False) == code
    plain = capsys.readouterr()
    assert said in plain.err + "Traceback" * (code == 1)
    assert plain.out == ""
    assert as_exit_code(error, is_json=True) == code
    both = capsys.readouterr()
    assert both.err == plain.err
    told = json.loads(both.out)["error"]
    assert list(told) == ["message", "hint", "file", "line", "column", "exit_code"]
    assert told["exit_code"] == code


def test_a_reader_who_left_is_no_error(capsys):
    assert as_exit_code(BrokenPipeError(errno.EPIPE, "Broken pipe"), is_json=True) == 0
    assert capsys.readouterr() == ("", "")


def test_a_run_that_was_stopped_says_how_to_go_on(home, capsys):
    with Store(home / "runs.sqlite") as store:
        run = store.begin(HEADER)
        store.finish(run, Status.INTERRUPTED)
    assert as_exit_code(Stopped(run=run), is_json=True) == 130
    told = capsys.readouterr()
    assert told.err == f"stopped; everything measured so far is kept\nhint: `warpsmith resume {run}` continues it\n"
    assert json.loads(told.out)["run"] == run
    assert json.loads(told.out)["status"] == "interrupted"


def test_a_terminal_that_went_with_the_signal_is_not_what_is_told(capsys):
    error = OSError(errno.EIO, "Input/output error")
    error.__context__ = Stopped(signal.SIGHUP)
    assert as_exit_code(error, is_json=False) == 129


def test_signals_that_end_programs_stop_them_unless_they_are_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    heed_signals(["tune", "k"])
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, "as `nohup` asks for"
    with pytest.raises(Stopped) as stop:
        signal.raise_signal(signal.SIGTERM)
    assert stop.value.exit_code == 143
    assert isinstance(stop.value, KeyboardInterrupt), "so that whatever heeds Ctrl-C heeds it"


def test_who_presses_ctrl_c_twice_means_it_once(monkeypatch):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
    monkeypatch.setattr(ending, "_PATIENCE_S", 1000.0)  # however long a busy machine takes until the next line
    heed_signals(["tune", "k"])
    with pytest.raises(Stopped):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGHUP)  # terminals that are closed may send both
    monkeypatch.setattr(ending, "_PATIENCE_S", 0.0)
    with pytest.raises(Stopped) as stop:
        signal.raise_signal(signal.SIGTERM)
    assert stop.value.exit_code == 143, "what hangs can be stopped once more"


def test_a_run_that_is_stopped_over_its_report_is_named(monkeypatch, capsys):
    monkeypatch.setattr(tuning, "report_run", lambda run: signal.raise_signal(signal.SIGTERM))
    heed_signals(["tune", "k"])
    with pytest.raises(Stopped) as stop:
        tuning._with_report(typed(run="k-1"), lambda event: None, wanted=True)
    assert as_exit_code(stop.value, is_json=False) == 143
    assert "`warpsmith resume k-1` continues it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "no-such-run"), "no run 'no-such-run'"),
        (("tune",), "Missing argument"),
        ((), "No such option: --json"),
        (("tune", "rope", "--seed", "-1"), "--seed"),
        (("replay", "nowhere.json"), "cannot be read"),
    ],
)
def test_json_tells_errors_too(arguments, message, monkeypatch, capsys):
    assert called(monkeypatch, *arguments, "--json") == 2
    told = json.loads(capsys.readouterr().out)["error"]
    assert message in told["message"]
    assert told["exit_code"] == 2


def test_a_home_that_is_a_file_is_the_environments(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "file"))
    assert called(monkeypatch, "tune", "rope") == 3
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.parametrize("command", ["templatize", "compare", "replay", "extract", "show"])
def test_an_output_folder_that_is_a_file_is_bad_input(command, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    arguments = {"extract": ("x.cu", "--kernel", "k"), "show": ("last", "--importance")}.get(command, ("rope",))
    assert called(monkeypatch, command, *arguments, "-o", tmp_path / "file" / "below") == 2
    assert f"{tmp_path / 'file'}: this is a file" in capsys.readouterr().err


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_a_full_disk_behind_stdout(json_option, home):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "warpsmith", "show", *json_option]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("error: no space left on device\n")
    assert "Exception ignored" not in done.stderr


def test_a_pipe_that_is_closed_early(home):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "warpsmith", "show"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # the latter is what Python has for the locale C
def test_a_terminal_without_greek_gets_the_nearest_of_ascii(errors, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=errors)
    monkeypatch.setattr(sys, "stdout", stream)
    write_what_the_terminal_can()
    stream.write("12 µs × 3 λ\n")
    stream.flush()
    assert stream.buffer.getvalue() == b"12 us x 3 ?\n"


def test_bytes_of_a_name_that_are_no_letters_are_written_as_they_are(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    write_what_the_terminal_can()
    stream.write(os.fsdecode(b"\xff/x") + "µ\n")
    stream.flush()
    assert stream.buffer.getvalue() == b"\xff/x\xc2\xb5\n"


def test_json_has_no_nan_and_no_infinity(capsys):
    print_json({"a": [float("nan"), (1.5, float("-inf"))], "b": {"c": float("inf"), "d": True}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, [1.5, None]], "b": {"c": None, "d": True}}


def test_a_home_whose_name_is_no_text(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WARPSMITH_HOME", os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    assert called(monkeypatch, "show") == 2
    assert "\\xff is not valid text in this locale" in capsys.readouterr().err


def test_the_list_of_commands_is_not_cut_off(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert called(monkeypatch, "--help") == 0
    listed = capsys.readouterr().out.partition("Commands:")[2].strip().splitlines()
    assert len(listed) == len(app.registered_commands), "one line each"
    assert [line for line in listed if "..." in line] == []


def test_the_help_of_tune_names_its_budget(monkeypatch, capsys):
    assert called(monkeypatch, "tune", "--help") == 0
    assert f"({Budget().evaluations} per kernel unless --time is given)" in " ".join(capsys.readouterr().out.split())


def test_an_output_folder_where_nobody_may_write(tmp_path, monkeypatch):
    from warpsmith.core.output_folder import require_output_folder

    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UnavailableError, match="is not writable"):
        require_output_folder(tmp_path / "new" / "folder")
