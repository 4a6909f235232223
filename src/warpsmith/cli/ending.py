"""Abnormal ends of commands: the message on stderr, the object of `--json`, the exit code.

Nothing here may fail: the terminal may be gone, the disk full, and stdout closed.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any

import typer

from warpsmith.core.errors import InputError, Stopped, WarpsmithError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_DEFAULT = (signal.SIG_DFL, signal.default_int_handler)
_PATIENCE_S = 3.0  # for which a program that was asked to stop may put down its work
_SERVER = "mcp"  # a program that only waits: it has nothing to put down, and its transport heeds signals in its own way
_PLAIN = {"µ": "u", "×": "x", "·": "-", "–": "-", "…": "...", "²": "2", "→": "->"}
_REPLACING = "warpsmith-plain"


def heed_signals(arguments: Sequence[str]) -> None:
    """Termination signals stop a command like Ctrl-C; signals ignored at start (`nohup`) stay ignored."""
    if arguments and arguments[0] == _SERVER:
        return
    stop = _Stop()
    for number in _SIGNALS:
        # Python calls handlers in the main thread only, and lets only that one set them.
        with contextlib.suppress(ValueError):
            before = signal.getsignal(number)
            if before in _BY_DEFAULT or isinstance(before, _Stop):  # of a call before this one, in the same process
                signal.signal(number, stop)


class _Stop:
    """A second Ctrl-C must not prevent a run from being recorded and from printing how to resume it.

    Where that takes long, something hangs, and whoever asks again means it.
    """

    def __init__(self) -> None:
        self._asked_at: float | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self._asked_at is not None and now - self._asked_at < _PATIENCE_S:
            return
        self._asked_at = now
        raise Stopped(number)


def write_what_the_terminal_can() -> None:
    """Where the encoding lacks a character, the nearest of ASCII is written. (`surrogateescape` is what the locale C has.)"""
    codecs.register_error(_REPLACING, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in {"strict", "backslashreplace", "surrogateescape"}:
            stream.reconfigure(errors=_REPLACING)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """A byte of a file's name that is no letter is written as it is: whoever reads the name finds the file."""
    assert isinstance(error, UnicodeEncodeError), "only writing replaces"
    first = ord(error.object[error.start])
    if 0xDC80 <= first <= 0xDCFF:  # as `os.fsdecode` has such bytes
        return bytes([first - 0xDC00]), error.start + 1
    return _PLAIN.get(error.object[error.start], "?"), error.start + 1


def as_exit_code(error: BaseException, *, is_json: bool) -> int:
    """Says what there is to say of it."""
    if isinstance(error, OSError) and isinstance(error.__context__, KeyboardInterrupt):
        error = error.__context__  # the terminal went with the signal, and a progress bar found out
    match error:
        case SystemExit(code=code):
            return code if isinstance(code, int) else int(code is not None)
        case KeyboardInterrupt():
            stop = error if isinstance(error, Stopped) else Stopped.by(error)
            return _stopped(stop, getattr(error, "__notes__", []), is_json=is_json)
        case BrokenPipeError():
            return 0  # the reader (`| head`) left: not an error
        case _:
            return _failed(error, is_json=is_json)


def discard_what_cannot_be_written() -> None:
    """Python writes what is left in stdout and stderr when it ends, and complains where that fails."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed before the program began, or later
            with contextlib.suppress(AttributeError, OSError, ValueError):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, stream.fileno())
                os.close(nothing)


def _stopped(stop: Stopped, notes: list[str], *, is_json: bool) -> int:
    """`notes` are what the command has to say of it."""
    words = " ".join(["stopped", *notes])
    _say(f"{words}; everything measured so far is kept" if stop.run else words)
    if stop.run:
        _say(f"hint: `warpsmith resume {stop.run}` continues it")
    if is_json:
        _print_json(_unfinished(stop.run) or _entry(words, stop.exit_code))
    return stop.exit_code


def _unfinished(run: str | None) -> dict[str, Any] | None:
    """The run as `show RUN --json` has it."""
    if run is None:
        return None
    from warpsmith import api  # noqa: PLC0415 - who stops a command that has hardly begun does not wait for all of it

    with contextlib.suppress(WarpsmithError, OSError):
        return api.show_run(run) if api.is_batch(run) != run else api.show_batch(run)
    return None


def _failed(error: BaseException, *, is_json: bool) -> int:
    known = _explained(error)
    if known is not None:
        _say(f"error: {known}")
        entry = {"error": known.as_dict()}
    elif (usage := _of_usage(error)) is not None:
        with contextlib.suppress(OSError):
            usage.show()
        entry = _entry(usage.format_message(), int(usage.exit_code))
    else:
        _say("".join(traceback.format_exception(error)).rstrip())
        entry = _entry(f"{type(error).__name__}: {error}", 1)
    if is_json:
        _print_json(entry)
    return int(entry["error"]["exit_code"])


def _explained(error: BaseException) -> WarpsmithError | None:
    from warpsmith.record.faults import explained  # noqa: PLC0415
    from warpsmith.settings import read_settings  # noqa: PLC0415

    try:
        return explained(error, read_settings().database)
    except (RuntimeError, OSError, WarpsmithError) as unknown:  # home folder missing, or not a folder
        return error if isinstance(error, WarpsmithError) else InputError(str(unknown))


def _of_usage(error: BaseException) -> Any:
    """Mistakes in the arguments. Where their class lives changes between versions of typer; what derives from it does not."""
    kind = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    return error if isinstance(error, kind) else None


def _entry(message: str, exit_code: int) -> dict[str, Any]:
    nowhere = dict.fromkeys(("hint", "file", "line", "column"))
    return {"error": {"message": message, **nowhere, "exit_code": exit_code}}


def _print_json(data: dict[str, Any]) -> None:
    from warpsmith.cli.options import print_json  # noqa: PLC0415

    with contextlib.suppress(OSError):
        print_json(data)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # no terminal any more
        print(text, file=sys.stderr, flush=True)  # noqa: T201
