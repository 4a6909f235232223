"""One run of a script, from its first line to its last call of `tune_kernel`."""

from __future__ import annotations

import ast
import builtins
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from warpsmith.spec.kernel_tuner.conditions import Known
from warpsmith.spec.kernel_tuner.recording import RecordedCall, Recording
from warpsmith.spec.kernel_tuner.run.describing import value_of
from warpsmith.spec.kernel_tuner.run.recorder import Recorder
from warpsmith.spec.kernel_tuner.run.rewriting import HELPER, mentions, on_the_way, rewritten
from warpsmith.spec.kernel_tuner.run.runtime import Runtime
from warpsmith.spec.kernel_tuner.run.site import PARAMETERS, CallSite
from warpsmith.spec.kernel_tuner.run.space import Written
from warpsmith.spec.kernel_tuner.run.standins import install
from warpsmith.spec.kernel_tuner.run.unknown import Unknown

_MOST_FILES = 1000
_MOST_CHOICES = 1000
_SOURCES = frozenset({".cu", ".cuh", ".hip", ".cl", ".opencl"})


class TimeIsUpError(BaseException):
    """Not an Exception, so that the script's handlers do not catch it."""


class ScriptRun:
    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        self._text = text
        self._tree = ast.parse(text)
        self._runtime = Runtime()
        self._calls: dict[tuple[int, str], RecordedCall] = {}
        self._opened: list[str] = []
        self._problem: str | None = None
        setattr(builtins, HELPER, self._runtime)
        install(self._tune_kernel)
        self._runtime.modules |= {"kernel_tuner", __name__}
        sys.addaudithook(self._note_file)

    def recording(self) -> Recording:
        return Recording(tuple(self._calls.values()), self._problem)

    def run(self) -> None:
        """Run again, entering every branch that has a call, if the first run had none."""
        try:
            self._run()
            if not self._calls:
                self._runtime.takes_every_branch = True
                self._run()
        except TimeIsUpError:
            self._problem = "it was interrupted: it took too long"
        except BaseException as error:  # noqa: BLE001 - of a script anything may come
            self._problem = f"{type(error).__name__}: {error}"

    def _run(self) -> None:
        module = ModuleType("__main__")
        module.__file__ = str(self._file)
        sys.modules["__main__"] = module
        exec(self.compiled(self._text, str(self._file), "__main__"), vars(module))  # noqa: S102 - confined, for that
        for function in list(self._not_called(vars(module))):
            self._call(function)

    def compiled(self, text: str, path: str, name: str) -> CodeType:
        self._runtime.modules.add(name)
        tree = rewritten(ast.parse(text), self._runtime.nodes)
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code

    # ── functions that were not called: tests, choices of a command line ──

    def _not_called(self, names: dict[str, Any]) -> Iterator[Callable[..., Any]]:
        """The last first: later functions call earlier ones."""
        values = list(names.values())[::-1]
        on_the_way_there = on_the_way(self._tree)
        members = [v for c in values if isinstance(c, type) and c.__module__ == "__main__" for v in vars(c).values()]
        for value in (*members, *values):
            node = self._runtime.functions.get(value.__code__) if isinstance(value, FunctionType) else None
            if node is not None and node not in self._runtime.entered and mentions(node, on_the_way_there):
                yield value

    def _call(self, function: Any) -> None:
        code = function.__code__
        required = code.co_argcount - len(function.__defaults__ or ())
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        missing = {name: Unknown(code.co_firstlineno) for name in named if name not in (function.__kwdefaults__ or {})}
        with contextlib.suppress(*self._runtime.caught):  # it does not come to the call then
            function(*(Unknown(code.co_firstlineno) for _ in range(required)), **missing)

    # ── the substitute for Kernel Tuner ──

    def _tune_kernel(self, *args: Any, **kwargs: Any) -> tuple[Unknown, Unknown]:
        site = self._runtime.site
        line = site.lineno if site is not None else 0
        values = dict(zip(PARAMETERS, args, strict=False)) | kwargs
        key = (line, str(values.get("kernel_name")) if isinstance(values.get("kernel_name"), str) else "")
        if site is not None and key not in self._calls:
            conditions = [at for at in dict.fromkeys(self._runtime.conditions) if at <= line]
            notes = [f"FILL IN: the condition of {self._file.name}:{at} could not be followed" for at in conditions]
            call = CallSite(self._file.name, self._tree, site, notes)
            recorder = Recorder(call, self._runtime.tracing, self._written, self._file_of, self._unread())
            self._calls[key] = recorder.recorded(values)
        return Unknown(line), Unknown(line)

    def _written(self, value: Any) -> Written | None:
        node = self._runtime.functions.get(value.__code__) if isinstance(value, FunctionType) else None
        if node is None:
            return None
        cells = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=False))

        def resolve(written: ast.expr) -> Known | None:
            try:
                names = {name: cell.cell_contents for name, cell in cells.items()}
                code = compile(ast.Expression(ast.fix_missing_locations(written)), "<condition>", "eval")
                return _known(eval(code, value.__globals__, names))  # noqa: S307 - confined, for that
            except Exception:  # noqa: BLE001 - whatever the script's own code raises
                return None

        return node, resolve

    # ── files ──

    def _note_file(self, event: str, args: tuple[Any, ...]) -> None:
        is_read = event == "open" and isinstance(args[0], str) and not args[0].endswith((".py", ".pyc"))
        if is_read and len(self._opened) < _MOST_FILES:
            self._opened.append(args[0])

    def _unread(self) -> str | None:
        """The last source that it tried to open and could not, because its folder is not accessible."""
        names = [name for name in self._opened if Path(name).suffix in _SOURCES]
        return names[-1] if names and not _can_be_read(names[-1]) else None

    def _file_of(self, text: str) -> str | None:
        """Of the files that the script opened, the one with this text."""
        return next((name for name in list(dict.fromkeys(self._opened)) if _has_text(name, text)), None)


def _can_be_read(name: str) -> bool:
    try:
        with Path(name).open("rb"):
            return True
    except OSError:
        return False


def _has_text(name: str, text: str) -> bool:
    try:
        # A character has at most four bytes; a data file may be as large as memory.
        is_possible = Path(name).is_file() and len(text) <= Path(name).stat().st_size <= 4 * len(text)
        return is_possible and Path(name).read_text(encoding="utf-8", errors="replace") == text
    except (OSError, ValueError):
        return False


def _known(value: Any) -> Known | None:
    if isinstance(value, list | tuple | set | range) and len(value) <= _MOST_CHOICES:
        items = [value_of(item) for item in value]
        return [item for item in items if item is not None] if None not in items else None
    return value_of(value)
