"""Substitutes for modules that scripts import: Kernel Tuner records, CuPy is NumPy, command lines are empty.

Other missing modules stay missing: values from them are unknown.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import math
import random
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from warpsmith.spec.kernel_tuner.run.unknown import Unknown

_MOST_DRAWN = 1 << 22
_OF_ARRAYS = {"asnumpy": np.asarray, "get_array_module": lambda *_: np}


class StandIn(ModuleType):
    """Has the given attributes; all others are unknown."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np, name, Unknown(0)) if self.__name__.startswith("cupy") else Unknown(0)


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of these names and all their submodules."""

    def __init__(self, contents: dict[str, dict[str, Any]]) -> None:
        self._contents = contents

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:  # noqa: ARG002
        is_one = fullname.partition(".")[0] in self._contents
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if is_one else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._contents[module.__name__.partition(".")[0]])


def install(tune_kernel: Callable[..., Any]) -> None:
    """Installed for the whole process, which only runs scripts."""
    kernel_tuner = {
        "tune_kernel": tune_kernel,
        "run_kernel": lambda *_, **__: Unknown(0),
        "TunablePrecision": lambda _name, array, *_, **__: array,
    }
    sys.meta_path.insert(0, StandInFinder({"kernel_tuner": kernel_tuner, "cupy": _OF_ARRAYS}))
    argparse.ArgumentParser.parse_args = _defaults  # type: ignore[method-assign,assignment]
    argparse.ArgumentParser.parse_known_args = lambda self, *_, **__: (_defaults(self), [])  # type: ignore[method-assign,assignment]
    # The same script must give the same kernel.toml: uninitialised memory must not show.
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - which is what scripts draw from
    drawing = np.random.default_rng
    np.random.default_rng = lambda seed=None: drawing(0 if seed is None else seed)
    for name in ("rand", "randn", "random", "random_sample", "uniform", "normal", "standard_normal"):
        setattr(np.random, name, _repeated(getattr(np.random, name)))
    vars(np).update(empty=np.zeros, empty_like=np.zeros_like)


def _repeated(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draws a few million numbers and repeats them beyond that: the fill is inferred from the first ones."""

    def drawn(*args: Any, **kwargs: Any) -> Any:
        shape = kwargs.get("size", args if draw.__name__ in {"rand", "randn"} else None)
        lengths = [shape] if isinstance(shape, int | np.integer) else shape
        if not isinstance(lengths, tuple | list) or math.prod(map(int, lengths)) <= _MOST_DRAWN:
            return draw(*args, **kwargs)
        some = draw(_MOST_DRAWN) if "size" not in kwargs else draw(*args, **{**kwargs, "size": _MOST_DRAWN})
        return np.resize(some, lengths)

    return drawn


def _defaults(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> argparse.Namespace:
    """Defaults of an empty command line; required options are unknown."""
    found = argparse.Namespace()
    for action in parser._actions:  # noqa: SLF001 - there is no other way to list them
        if action.dest in {"help", argparse.SUPPRESS}:
            continue
        default = action.default
        if isinstance(default, str):
            default = parser._get_value(action, default)  # noqa: SLF001
        elif default is None and action.required:
            default = action.choices[0] if isinstance(action.choices, list | tuple) else Unknown(0)
        setattr(found, action.dest, default)
    return found
