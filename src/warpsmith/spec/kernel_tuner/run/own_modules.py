"""Imports modules next to a script, which are traced like the script.

Looked up by name: where a folder has hidden entries, a confined worker may read the others but not list them.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


class OwnModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`compiled` takes a module's text, path and name."""

    def __init__(self, folder: Path, compiled: Callable[[str, str, str], CodeType]) -> None:
        self._folder = folder
        self._compiled = compiled

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002 - part of the protocol
    ) -> importlib.machinery.ModuleSpec | None:
        name = fullname.rpartition(".")[2]
        for folder in [self._folder] if path is None else [Path(p) for p in path if Path(p).is_relative_to(self._folder)]:
            package = folder / name / "__init__.py"
            file = package if package.is_file() else folder / f"{name}.py"
            if file.is_file():
                spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(file), is_package=file is package)
            elif (folder / name).is_dir() and importlib.machinery.PathFinder.find_spec(fullname, path) is None:
                spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            else:
                continue
            if spec.submodule_search_locations is not None:
                spec.submodule_search_locations.append(str(folder / name))
            spec.has_location = file.is_file()
            return spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        file = str(module.__spec__.origin)
        names: dict[str, Any] = vars(module)
        exec(self._compiled(Path(file).read_text(errors="replace"), file, module.__name__), names)  # noqa: S102 - confined
