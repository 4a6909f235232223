"""The terminal. Text from users, compilers and servers is printed literally, without interpreting markup."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

BAR_WIDTH = 24


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Not an error, and not ours to end the program for: `cli.ending` knows what it means."""
        raise BrokenPipeError


def terminal(*, stderr: bool = False, width: int | None = None, soft_wrap: bool = False) -> Console:
    return _Terminal(stderr=stderr, width=width, soft_wrap=soft_wrap, markup=False, emoji=False)


def words(template: str) -> TextColumn:
    """A column of a progress bar."""
    return TextColumn(template, markup=False)


@dataclass(frozen=True, slots=True)
class StepBar:
    """How many steps are done, and which one it is: a bar on a terminal, the lines that the caller finds worth it elsewhere."""

    label: str
    _bar: Progress
    _task: TaskID

    def show(self, done: int, of: int, what: str, *, line: str | None) -> None:
        self._bar.update(self._task, completed=done, total=of, description=what)
        if line is not None and not self._bar.console.is_terminal:
            self.say(f"{self.label:<9} {done}/{of}  {line}")

    def say(self, line: str) -> None:
        self._bar.console.print(line, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def step_bar(label: str) -> Iterator[StepBar]:
    """Goes away at the end, and when something is raised."""
    columns = (words(f"{label:<9}"), BarColumn(bar_width=BAR_WIDTH), MofNCompleteColumn(), TimeRemainingColumn())
    console = terminal(stderr=True)
    shown = Progress(*columns, words("{task.description}"), console=console, disable=not console.is_terminal, transient=True)
    with shown as bar:
        yield StepBar(label, bar, bar.add_task("", total=None))
