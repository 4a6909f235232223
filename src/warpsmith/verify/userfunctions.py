"""Python functions that kernel.toml names (`file.py:function`): loads them, and calls them with the arguments they ask for.

They are the user's own code and run in this process; their errors become an `InputError` at the line that raised.
"""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import keyword
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from warpsmith.core.errors import InputError, Location

UserFunction: TypeAlias = Callable[..., Any]


def load_function(file: Path, name: str) -> UserFunction:
    try:
        stamp = file.stat().st_mtime_ns
    except OSError:
        raise InputError(f"no file {str(file)!r} for the function {name!r}", hint="paths are relative to kernel.toml") from None
    module = _load_module(file.resolve(), stamp)
    function = getattr(module, name, None)
    if not callable(function):
        public = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        near = difflib.get_close_matches(name, public, n=1) or public
        raise InputError(f"no function {name!r}", location=Location(file), hint=f"it has: {', '.join(near) or 'none'}")
    return function  # type: ignore[no-any-return] # a module's attribute


def asked_for(function: UserFunction) -> frozenset[str] | None:
    """Parameter names in its signature; None for all available (`**kwargs`)."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(name for p in parameters for name in (p.name, p.name.removesuffix("_")))


def call_by_name(function: UserFunction, file: Path, available: Mapping[str, Any]) -> Any:
    """Call with those of `available` that the signature asks for, or all of them for `**kwargs`.

    A name that is a Python keyword (`in`) may be asked for with an underscore behind it (`in_`).
    """
    name = getattr(function, "__name__", "function")
    require_known(function, file, available)
    given: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given = {**available, **given}
        elif (key := _key_of(parameter, available)) is not None:
            given[parameter.name] = available[key]
    try:
        with np.errstate(all="ignore"):  # an overflow to infinity is the oracle's answer, not a remark to the user
            return function(**given)
    except Exception as error:
        raise InputError(f"{name}() raised {_described(error)}", location=_innermost(error, file)) from error


def require_known(function: UserFunction, file: Path, available: Collection[str]) -> None:
    """Raises InputError if it asks for an unknown name."""
    for parameter in inspect.signature(function).parameters.values():
        is_any = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if not is_any and parameter.default is parameter.empty and _key_of(parameter, available) is None:
            raise InputError(
                f"{getattr(function, '__name__', 'function')}() asks for {parameter.name!r}, which does not exist",
                location=Location(file, function.__code__.co_firstlineno if hasattr(function, "__code__") else None),
                hint=f"it may ask for: {', '.join(available)}",
            )


def _key_of(parameter: inspect.Parameter, available: Collection[str]) -> str | None:
    key = parameter.name
    if key not in available and key.endswith("_") and keyword.iskeyword(key[:-1]):
        key = key[:-1]
    by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    return key if by_name and key in available else None


@lru_cache(maxsize=32)
def _load_module(file: Path, stamp: int) -> ModuleType:
    """Load the file. `stamp` gives an edited file a new cache entry."""
    spec = importlib.util.spec_from_file_location(f"warpsmith_user_{file.stem}_{stamp}", file)
    if spec is None or spec.loader is None:
        raise InputError("this is not a Python file", location=Location(file))
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))  # so that it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"loading it raised {_described(error)}", location=_innermost(error, file)) from error
    finally:
        sys.path.remove(str(file.parent))
    return module


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _innermost(error: Exception, file: Path) -> Location:
    """The deepest traceback line in the user's own file, above NumPy's frames."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return Location(file, error.lineno, error.offset)
    resolved = str(file.resolve())
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == resolved]
    return Location(file, lines[-1] if lines else None)
