"""Compiles modules that only workers import: a confined worker cannot write `__pycache__`, and would parse them each time.

(If it could, its bytecode would run unconfined in the next tuner.)
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import py_compile
from functools import cache
from pathlib import Path

# What devices import and the tuner does not; installers that do not compile (uv) leave it to the first import.
_PACKAGES = ("pyopencl", "pytools", "attr")


@cache
def keep_compiled() -> None:
    """Once per process; takes a few milliseconds if everything is compiled. Warpsmith's modules may be edited; others only
    appear.
    """
    _compile(Path(__file__).parents[1])
    for name in _PACKAGES:
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None and not Path(found.origin).with_name("__pycache__").is_dir():
            _compile(Path(found.origin).parent)


def _compile(folder: Path) -> None:
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".py"):
                _compile_file(f"{place}/{name}")


def _compile_file(source: str) -> None:
    compiled = importlib.util.cache_from_source(source)
    with contextlib.suppress(OSError):  # not ours to write, or gone meanwhile
        if not os.path.exists(compiled) or os.stat(compiled).st_mtime < os.stat(source).st_mtime:  # noqa: PTH110, PTH116 - 400 times
            py_compile.compile(source, quiet=2)
