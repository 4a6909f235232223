"""Runtime of a rewritten script: performs its calls, operators and assignments, and traces them."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np

from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.kernel_tuner.run.tracing import TracedFloat, TracedInt, Tracing, plain
from warpsmith.spec.kernel_tuner.run.unknown import Unknown, unknown_in

_Function = TypeVar("_Function", bound=Callable[..., Any])

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
}  # fmt: skip
_IN_PLACE = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "<<=": operator.ilshift, ">>=": operator.irshift, "&=": operator.iand,
}  # fmt: skip
_ALL_SIGNS = _SIGNS | _IN_PLACE
_PLAIN = (int, float, str)
_CONTAINERS = (list, dict, set, tuple, str)
_KEEPING = frozenset({"__main__", "builtins", "collections", "functools", "itertools", "operator", "math"})
_MAX_REASON = 100


class Runtime:
    """One for a script and its own modules. `site` is the call in progress, `conditions` the lines of unknown ones."""

    caught = (Exception, SystemExit)

    def __init__(self) -> None:
        self.nodes: list[ast.AST] = []
        self.functions: dict[CodeType, ast.FunctionDef | ast.Lambda] = {}
        self.entered: set[ast.AST] = set()
        self.conditions: list[int] = []
        self.tracing = Tracing()
        self.modules = set(_KEEPING)
        self.site: ast.Call | None = None
        self.takes_every_branch = False  # that tunes

    def call(self, line: int, index: int, function: Any, *args: Any, **kwargs: Any) -> Any:
        node = self.nodes[index]
        assert isinstance(node, ast.Call)
        if isinstance(function, Unknown):
            return function if function.line else Unknown(line, function.reason)
        inputs = [getattr(function, "__self__", None), *args, *kwargs.values()]
        if not self._keeps(function):
            args, kwargs = tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}
        before, self.site = self.site, node
        try:
            result = function(*args, **kwargs)
        except self.caught:
            found = unknown_in(inputs)
            if found is None:
                raise
            return Unknown(line, found.reason)
        finally:
            self.site = before
        if isinstance(result, np.ndarray) and result.dtype == object and unknown_in(inputs) is not None:
            return Unknown(line)
        return self.tracing.carried(function, inputs, result, line)

    def operate(self, line: int, sign: str, left: Any, right: Any) -> Any:
        if type(left) in _PLAIN and type(right) in _PLAIN:
            return _ALL_SIGNS[sign](left, right)
        result = _ALL_SIGNS[sign](_number(left), _number(right))
        if isinstance(result, np.integer) and type(result) is not np.int64:
            result = _not_wrapped(result, sign.removesuffix("="), left, right)
        return self.tracing.operated(sign.removesuffix("="), left, right, result, line)

    def attribute(self, line: int, owner: Any, name: str) -> Any:
        if not isinstance(owner, np.ndarray):
            return getattr(owner, name)
        if name == "shape":
            return tuple(self.tracing.traced(n) for n in self.tracing.shape_of(owner))
        if name in {"get", "cpu", "cuda", "numpy"}:
            return lambda *_, **__: owner  # CuPy's and PyTorch's arrays have these
        return self.tracing.carried(getattr, [owner], getattr(owner, name), line)

    def truth(self, line: int, value: Any, tunes: bool) -> bool:
        if isinstance(value, Unknown):
            self.conditions.append(line)
            return tunes
        return bool(value) or (tunes and self.takes_every_branch)

    def named(self, line: int, name: str, value: Any, others: Sequence[str]) -> Any:
        """A number read from a dictionary, such as a parameter's largest value, is not named after the variable."""
        if isinstance(value, int | np.integer) and others and not self.tracing.is_traced(value):
            frame = sys._getframe(1)  # noqa: SLF001 - the script's
            if any(isinstance(frame.f_locals.get(other, frame.f_globals.get(other)), dict) for other in others):
                return value
        if isinstance(value, Unknown) and not value.line:
            return Unknown(line, value.reason)
        return self.tracing.named(name, value, line)

    def mapping(self, line: int, value: Any) -> Mapping[str, Any]:
        """What `**value` passes; an unknown value gets a name that Python cannot have."""
        return value if isinstance(value, Mapping) else {"**": value if isinstance(value, Unknown) else Unknown(line)}

    def function(self, line: int, index: int) -> Callable[[_Function], _Function]:  # noqa: ARG002 - all are asked with a line
        """Records how a function is written."""

        def noted(found: _Function) -> _Function:
            node = self.nodes[index]
            assert isinstance(node, ast.FunctionDef | ast.Lambda)
            if isinstance(found, FunctionType):
                self.functions[found.__code__] = node
            return found

        return noted

    def enter(self, line: int, index: int) -> None:  # noqa: ARG002
        self.entered.add(self.nodes[index])

    def unknown(self, line: int) -> Unknown:
        return Unknown(line)

    def failed(self, line: int) -> Unknown:
        """The value that this line's failed statement was to give. Called while its error is handled."""
        error = sys.exc_info()[1]
        said = on_one_line(str(error))[:_MAX_REASON]
        return Unknown(line, f"{type(error).__name__}: {said}" if said else type(error).__name__)

    def _keeps(self, function: Any) -> bool:
        """Whether the operation treats a traced number like an int and passes it on."""
        owner = getattr(function, "__self__", None)
        return isinstance(owner, _CONTAINERS) or getattr(function, "__module__", None) in self.modules


def _not_wrapped(result: Any, sign: str, left: Any, right: Any) -> Any:
    """As in NumPy 1, which many scripts were written for: an int32 times an int does not overflow the product."""
    exact = _SIGNS[sign](int(left), int(right)) if isinstance(left, int) != isinstance(right, int) else int(result)
    return np.int64(exact) if exact != int(result) and abs(exact) < 2**63 else result


def _number(value: Any) -> Any:
    return plain(value) if isinstance(value, TracedInt | TracedFloat) else value
