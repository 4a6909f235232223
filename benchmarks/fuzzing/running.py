"""Feeds inputs to parsers in a process of their own, and finds what must not be: tracebacks, hangs, deaths, growing memory."""

from __future__ import annotations

import gc
import os
import pickle
import random
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

from benchmarks.fuzzing.mutations import mutated
from benchmarks.fuzzing.parsers import Parser
from warpsmith.core.errors import WarpsmithError

LONGEST_S = 10.0
_GIVEN_UP_S = 120.0  # on a busy machine ten seconds of work may take long; code that heeds no signal is killed then
_MEMORY_BYTES = 6 << 30


class Hung(BaseException):
    """No answer after `LONGEST_S` of work."""


@dataclass
class Finding:
    """`place` is where it was: findings at one place are one."""

    parser: str
    number: int
    seed: str
    kind: str
    place: str
    trace: str
    data: bytes


@dataclass
class Account:
    inputs: int = 0
    values: int = 0
    refused: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0
    memory_after_mib: list[float] = field(default_factory=list)  # of the process, at the end of each tenth
    findings: list[Finding] = field(default_factory=list)


def feed(parser: Parser, count: int, seed: int) -> Account:
    """So many mutated inputs. The child is replaced when one of them ends it."""
    account = Account()
    first = 0
    while first < count:
        first = _in_child(parser, first, count, seed, account)
    return account


def one_input(parser: Parser, number: int, seed: int) -> tuple[str, bytes]:
    """The name of the real input and what was made of it: the same for the same numbers."""
    rng = random.Random(f"{seed} {parser.name} {number}")
    name = rng.choice(sorted(parser.seeds))
    return name, parser.mutate(parser.seeds[name], rng) if parser.mutate else mutated(
        parser.seeds[name], rng, parser.words, parser.others
    )


def answer(parser: Parser, name: str, data: bytes, place: Path) -> tuple[str, str, str]:
    """What became of one input: kind, place, traceback. `value` and `refused` are the two that are right."""
    try:
        parser.feed(data, name, place)
    except (WarpsmithError, *parser.answers):
        return "refused", "", ""
    except Hung as error:
        return "hang", _place_of(error), traceback.format_exc()
    except Exception as error:  # noqa: BLE001 - the very thing that is looked for
        return type(error).__name__, _place_of(error), _short(traceback.format_exc())
    return "value", "", ""


def _in_child(parser: Parser, first: int, count: int, seed: int, account: Account) -> int:
    """Runs inputs from `first` on; the number to go on with."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(parser, range(first, count), seed, writing)
    os.close(writing)
    at = first
    with os.fdopen(reading, "rb") as stream:
        for kind, what in _messages(stream, child):
            if kind == "begun":
                at = what
            else:
                _note(account, parser, at, seed, what)
    _, status = os.waitpid(child, 0)
    if status:
        name, data = one_input(parser, at, seed)
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        account.inputs += 1
        account.findings.append(Finding(parser.name, at, name, "death", how, how, data))
    return at + 1


def _child(parser: Parser, numbers: Iterable[int], seed: int, writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _hung)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, os.fdopen(writing, "wb") as stream:
        place = Path(folder)
        parser.prepare(place)
        for number in numbers:
            pickle.dump(("begun", number), stream)
            stream.flush()
            name, data = one_input(parser, number, seed)
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
            try:
                found = answer(parser, name, data, place)
            except Hung as error:  # between two lines of `answer`
                found = ("hang", _place_of(error), traceback.format_exc())
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            took = time.process_time() - began
            if number % 50 == 0:
                gc.collect()
            pickle.dump(("ended", (found, took, _resident_mib())), stream)
        stream.flush()
    os._exit(0)


def _messages(stream: IO[bytes], child: int) -> Iterator[tuple[str, object]]:
    while True:
        if not select.select([stream], [], [], _GIVEN_UP_S)[0]:
            os.kill(child, signal.SIGKILL)
        try:
            yield pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):
            return


def _note(account: Account, parser: Parser, number: int, seed: int, what: object) -> None:
    (kind, place, trace), took, memory = what  # type: ignore[misc]
    account.inputs += 1
    account.seconds += took
    account.longest_s = max(account.longest_s, took)
    account.memory_after_mib.append(memory)
    if kind == "value":
        account.values += 1
    elif kind == "refused":
        account.refused += 1
    else:
        name, data = one_input(parser, number, seed)
        account.findings.append(Finding(parser.name, number, name, kind, place, trace, data))


def _hung(_number: int, _frame: FrameType | None) -> None:
    raise Hung


def _place_of(error: BaseException) -> str:
    """The innermost lines of ours that it came through."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "warpsmith" in f.filename and "/benchmarks/" not in f.filename
    ]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames[-1:-3:-1])


def _short(trace: str) -> str:
    return trace if len(trace) < 6000 else trace[:2000] + "\n…\n" + trace[-3000:]


def _resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
