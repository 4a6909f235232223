"""Replaces a function with the tuned kernel; unsupported calls still go to that function."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

from .tuned import Tuned

Reading: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], "tuple[dict[str, Any], dict[str, Any]] | None"]
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NOTHING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)  # nothing that a kernel could be given


@dataclass(frozen=True)
class Replacement:
    """`function` is where it is found (`package.module.function`).

    `arguments` has, by the kernel's name, the name of the function's parameter. Parameters must have the value that `where`
    says; those that are nothing to the kernel, their default otherwise.
    """

    kernel: Tuned
    function: str
    arguments: Mapping[str, str]
    where: Mapping[str, Any]
    returns: tuple[str, ...]
    _readings: dict[Any, Reading] = field(default_factory=dict, init=False, compare=False, repr=False)

    def around(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Called in the function's place; `original` is the function."""
        given = self.reading(original)(args, kwargs)
        if given is None:
            return original(*args, **kwargs)
        whole = self.kernel.attempt(*given)
        if isinstance(whole, str):
            return original(*args, **kwargs)
        found = tuple(whole[name] for name in self.returns)
        return found[0] if len(found) == 1 else found or None

    def original(self) -> Callable[..., Any]:
        """The function as it is now. Raises TypeError where it does not fit."""
        place, _, name = self.function.rpartition(".")
        try:
            found: Callable[..., Any] = getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError) as error:
            raise TypeError(self._said("", f"is not an importable function: {error}")) from error
        self.reading(found)
        return found

    def install(self) -> None:
        """Replace the function where it is defined and wherever it was imported. Raises TypeError where it does not fit."""
        original = self.original()
        if self.kernel in getattr(original, "warpsmith_kernels", ()):
            return

        @functools.wraps(original)
        def tuned(*args: Any, **kwargs: Any) -> Any:
            return self.around(original, *args, **kwargs)

        # Other packages may stand in for the same function, each for another dtype.
        tuned.warpsmith_kernels = (*getattr(original, "warpsmith_kernels", ()), self.kernel)  # type: ignore[attr-defined]
        place, _, name = self.function.rpartition(".")
        setattr(sys.modules[place], name, tuned)
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType):
                for called in [word for word, value in list(vars(module).items()) if value is original]:
                    setattr(module, called, tuned)

    def reading(self, original: Callable[..., Any]) -> Reading:
        """Reads the kernel's tensors and numbers from a call; None where another parameter asks for what the kernel does not do.

        Raises TypeError where the function cannot give them.
        """
        found = self._readings.get(original)
        if found is None:
            try:
                signature = inspect.signature(original)
            except ValueError as error:  # of something that is not written in Python
                raise TypeError(self._said("", f"has no readable signature: {error}")) from error
            found = self._readings[original] = self._reading(signature)
        return found

    def _reading(self, signature: inspect.Signature) -> Reading:
        kernel, theirs = self.kernel.planner, signature.parameters
        ours = [*(operand.name for operand in kernel.operands), *(number.name for number in kernel.numbers)]
        names = {name: self.arguments.get(name, name) for name in ours}
        optional = {o.name for o in kernel.operands if o.is_output} | {n.name for n in kernel.numbers if not n.is_size}
        misnamed = [name for name in (*self.arguments.values(), *self.where) if name not in theirs]
        lacking = [name for name, there in names.items() if there not in theirs and name not in optional]
        if misnamed or lacking:
            raise TypeError(self._said(signature, f"has no parameter {', '.join(misnamed or lacking)}"))
        operands = {o.name: names[o.name] for o in kernel.operands if names[o.name] in theirs}
        numbers = {n.name: names[n.name] for n in kernel.numbers if names[n.name] in theirs}
        used = {*operands.values(), *numbers.values()}
        rest = {name: one for name, one in theirs.items() if name not in used and one.kind not in _NOTHING}
        expected = {**{name: one.default for name, one in rest.items()}, **self.where}
        if free := [name for name, value in expected.items() if value is inspect.Parameter.empty]:
            raise TypeError(self._said(signature, f"has no default for {', '.join(free)}: `where` can fix a value"))

        by_place = [name for name, one in theirs.items() if one.kind in _BY_PLACE]
        defaults = {name: one.default for name, one in theirs.items() if one.default is not inspect.Parameter.empty}
        count = sum(one.kind not in _NOTHING for one in theirs.values())

        def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
            said = {**defaults, **dict(zip(by_place, args, strict=False)), **kwargs}
            if len(said) != count or len(args) > len(by_place):
                return None  # what only a function with more parameters takes, or none at all does
            for name, value in expected.items():
                found = said.get(name)
                if found is not value and not (isinstance(found, type(value)) and found == value):
                    return None
            tensors = {name: said.get(there) for name, there in operands.items()}
            return tensors, {name: said.get(there) for name, there in numbers.items()}

        return read

    def _said(self, signature: inspect.Signature | str, what: str) -> str:
        return f"{self.function}{signature} {what} (see [replaces] in the kernel.toml of {self.kernel.name})"
