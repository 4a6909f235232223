"""Traces which variables a number or an array's length was computed from while a script runs.

An integer carries its term (`spec.host.terms`) in a subclass of int. NumPy's scalars and arrays cannot carry one, so a table
has theirs. A term whose value differs from the traced value is dropped.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpsmith.spec.host.expressions import ceiling, converted
from warpsmith.spec.host.terms import Root, SizeTerm, has_floats, is_a, length, product, replaced, roots
from warpsmith.spec.kernel_tuner.problem import ScriptNumber, ScriptOrigin
from warpsmith.spec.kernel_tuner.run.terms import term_of_operation

_AXES = ("x", "y", "z")
_MAX_TERM = 200
_MAX_ITEMS = 8  # of a tuple that is a shape
_DOWN, _UP = (int, math.floor, math.trunc, np.floor, np.trunc), (math.ceil, np.ceil)


class TracedInt(int):
    term: SizeTerm


class TracedFloat(float):
    """A quotient, which may later be rounded to an integer."""

    term: SizeTerm


@dataclass(frozen=True, slots=True)
class KnownArray:
    array: weakref.ref[Any]
    shape: tuple[SizeTerm, ...]
    line: int


@dataclass
class Tracing:
    origins: dict[Root, ScriptOrigin] = field(default_factory=dict)
    _arrays: dict[int, KnownArray] = field(default_factory=dict)
    _scalars: dict[int, tuple[Any, SizeTerm]] = field(default_factory=dict)

    # ── lookup ──

    def term_of(self, value: Any) -> SizeTerm | None:
        """A plain integer is its own term."""
        if isinstance(value, TracedInt | TracedFloat):
            return value.term
        if type(value) is int:
            return value
        if isinstance(value, np.generic):
            known = self._scalars.get(id(value))
            return known[1] if known is not None else int(value) if isinstance(value, np.integer) else None
        return None

    def array(self, value: Any) -> KnownArray | None:
        known = self._arrays.get(id(value))
        return known if known is not None and known.array() is value else None

    def shape_of(self, value: np.ndarray[Any, Any]) -> tuple[ScriptNumber, ...]:
        known = self.array(value)
        terms = known.shape if known is not None and len(known.shape) == value.ndim else value.shape
        return tuple(ScriptNumber(extent, term) for extent, term in zip(value.shape, terms, strict=True))

    def traced(self, number: ScriptNumber) -> Any:
        return self._with(number.value, number.term)

    def is_traced(self, value: Any) -> bool:
        term = self.term_of(value)
        return term is not None and not isinstance(term, int)

    # ── propagation ──

    def named(self, name: str, value: Any, line: int) -> Any:
        """A plain integer is named after its variable, a tuple's after their axis."""
        if type(value) is int or isinstance(value, np.integer):
            return value if value < 0 or self.is_traced(value) else self._with(value, self._root(name, int(value), line))
        if type(value) in {tuple, list} and 1 < len(value) <= len(_AXES) and all(_is_whole(item) for item in value):
            items = [self.named(f"{name}_{axis}", item, line) for axis, item in zip(_AXES, value, strict=False)]
            if type(value) is tuple:
                return tuple(items)
            value[:] = items
        return value

    def operated(self, sign: str, left: Any, right: Any, result: Any, line: int) -> Any:
        if isinstance(result, np.ndarray):
            return self.noted(result, (left, right), line)
        if not (self.is_traced(left) or self.is_traced(right)):
            return result
        first, second = self.term_of(left), self.term_of(right)
        if first is None or second is None or not isinstance(result, int | float | np.number):
            return result
        return self._with(result, term_of_operation(sign, first, second, is_negative=left < 0))

    def carried(self, function: Any, inputs: Sequence[Any], result: Any, line: int) -> Any:
        """A call's result: lengths and numbers equal to one of its inputs are taken to be that input."""
        if isinstance(result, np.ndarray):
            return self.noted(result, inputs, line)
        if type(result) not in {int, float} and not isinstance(result, np.integer | np.floating):
            return result
        known = list(self._numbers(inputs))
        if all(isinstance(term, int) for _, term in known):
            return result
        if len(known) == 1 and has_floats(known[0][1]):
            rounded = converted(known[0][1], is_float=False) if function in _DOWN else None
            return self._with(result, ceiling(known[0][1]) if function in _UP else rounded)
        if float(result).is_integer():
            return self._with(result, _matching(int(result), known))
        return result

    def noted(self, array: np.ndarray[Any, Any], inputs: Sequence[Any], line: int) -> np.ndarray[Any, Any]:
        """Each length is the next number of the same value among the inputs, or else the product of all."""
        if self.array(array) is None:
            left = [pair for pair in self._numbers(inputs) if not has_floats(pair[1])]
            everything = list(left)
            terms: list[SizeTerm] = []
            for extent in array.shape:
                found = next((pair for pair in left if pair[0] == extent), None)
                if found is not None:
                    left.remove(found)
                term = found[1] if found is not None else _matching(extent, everything)
                terms.append(term if term is not None and self._gives(term, extent) else extent)
            self._arrays[id(array)] = KnownArray(weakref.ref(array), tuple(terms), line)
        return array

    def _numbers(self, inputs: Sequence[Any], depth: int = 2) -> Iterator[tuple[float, SizeTerm]]:
        for value in inputs:
            if isinstance(value, np.ndarray):
                known = self.array(value)
                yield from zip(value.shape, known.shape if known is not None else (), strict=False)
            elif isinstance(value, list | tuple) and depth and len(value) <= _MAX_ITEMS:
                yield from self._numbers(value, depth - 1)
            elif not isinstance(value, bool | np.bool_) and (term := self.term_of(value)) is not None:
                yield float(value), term

    def _with(self, value: Any, term: SizeTerm | None) -> Any:
        if term is None or isinstance(term, int) or length(term) > _MAX_TERM or not self._gives(term, value):
            return value
        if isinstance(value, np.generic):
            self._scalars[id(value)] = (value, term)
            return value
        traced = TracedInt(value) if isinstance(value, int) else TracedFloat(value)
        traced.term = term
        return traced

    def _gives(self, term: SizeTerm, value: float) -> bool:
        if has_floats(term):
            return True  # until it is rounded
        return replaced(term, {root: self.origins[root].value for root in roots(term)}) == value

    def _root(self, name: str, value: int, line: int) -> Root:
        root = Root(name, line)
        while root in self.origins and self.origins[root].value != value:  # the same line again, with another number
            root = Root(name, root.place + 100_000)
        self.origins[root] = ScriptOrigin(value, line)
        return root


def plain(value: Any) -> Any:
    """Plain values for libraries: NumPy infers other types from a subclass of int."""
    if isinstance(value, TracedInt):
        return int(value)
    if isinstance(value, TracedFloat):
        return float(value)
    if type(value) in {tuple, list} and len(value) <= _MAX_ITEMS and any(isinstance(v, TracedInt | TracedFloat) for v in value):
        return type(value)(map(plain, value))
    return value


def _matching(value: int, known: Sequence[tuple[float, SizeTerm]]) -> SizeTerm | None:
    same = next((term for number, term in known if number == value and not isinstance(term, int)), None)
    if same is not None or not known or len(known) > _MAX_ITEMS:
        return same
    whole = [term for _, term in known if not has_floats(term) and not is_a(term, "over")]
    return product(*whole) if math.prod(number for number, _ in known) == value else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
