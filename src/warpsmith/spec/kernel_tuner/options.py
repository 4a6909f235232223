"""Compiler options: those that kernel.toml can express, and the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.configuration import Value
from warpsmith.core.file_names import is_folder


@dataclass(frozen=True, slots=True)
class CompilerOptions:
    defines: dict[str, Value]
    include_dirs: tuple[str, ...]
    left: tuple[str, ...]  # `-std=c++11`, `-O3`: devices have their own

    @property
    def note(self) -> str:
        return f"compiler options that are not kept: {' '.join(self.left)}"


def options_of(written: Iterable[str], folder: Path) -> CompilerOptions:
    """`-D` and `-I`; folders are relative to the file that names them."""
    defines: dict[str, Value] = {}
    folders, left = [], []
    for option in written:
        found = re.fullmatch(r"-([DI])\s*([^\0]+)", option)
        name, _, value = found[2].partition("=") if found is not None else ("", "", "")
        if found is not None and found[1] == "D" and name.isidentifier():
            defines[name] = define_value(value or "1")
        elif found is not None and found[1] == "I" and is_folder(folder / found[2]):
            folders.append(found[2])
        else:
            left.append(option)
    return CompilerOptions(defines, tuple(folders), tuple(left))


def define_value(text: str) -> Value:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text
