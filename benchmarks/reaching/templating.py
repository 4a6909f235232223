"""What the passes make of a kernel's text: no device tries anything, so these are the parameters that the rules propose."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.errors import WarpsmithError
from warpsmith.core.hardware import Limits
from warpsmith.refactor.drafting.application import apply_passes
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.registry import load_passes
from warpsmith.spec.load import load_kernel

GPU = Limits(1024, 1024, 1024, 64, 49152, 32, 108)


_HINTS = frozenset({"unroll", "launch_bounds", "read_only"})  # passes that nearly always apply, and seldom matter


class OutOfTimeError(BaseException):
    """Not an Exception: a pass that fails is one that did not apply, and this is not the pass's fault."""


@dataclass(frozen=True, slots=True)
class Made:
    """`counted` are the parameters but for hints to the compiler. `problem` is why there is nothing to count."""

    parameters: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    problem: str | None = None


def made_of(folder: Path, deadline_s: int) -> Made:
    started = time.process_time()
    try:
        with within(deadline_s):
            draft = apply_passes(Draft.of(load_kernel(folder), GPU), load_passes())
    except OutOfTimeError:
        return Made(problem=f"templating takes more than {deadline_s} s", seconds=deadline_s)
    except WarpsmithError as error:
        return Made(problem=error.message.splitlines()[0])
    done = draft.applications
    return Made(
        tuple(draft.origins),
        tuple(name for name, origin in draft.origins.items() if origin not in _HINTS),
        tuple(each.name for each in done if each.applied),
        tuple((each.name, each.reason) for each in done if each.reason is not None),
        time.process_time() - started,
    )


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises OutOfTimeError in this thread, the main one, when this process has computed for so long: others may be busy, too."""

    def stop(_signal: int, _frame: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def kind_of(reason: str) -> str:
    """The reason without the names, numbers and texts of one kernel: equal for refusals that have the same cause."""
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "…", reason.splitlines()[0])
    text = re.sub(r"\b(?=\w*[A-Z_0-9])\w*[a-z0-9_]*\b(?:(?:\.|->|::)\w+)*(?:\[[^\]]*\])*", "…", text)
    return re.sub(r"…(?:[\s,]+…)+", "…", text)[:140]
