"""Detects uninitialised values that reach an output: the launch is repeated with other initial contents and must give the same
result.

Shared memory, the threads' own variables and the outputs begin with one repeated byte, different in each launch. Outputs that
differ depend on it; elements that nobody wrote have the byte itself and are ignored here. Filling only some variables
differently identifies the variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch
from warpsmith.devices.cpu.watch.findings import variable_name

# A large and a small number of any type, false and true, and nothing: no maximum, minimum, sum or test is the same with all.
_BYTES = (0x7B, 0xFA, 0x00)
_OTHER_BIT = 1  # by which outputs begin with another byte than variables: what was copied to them shows
_ALL = 1 << 20
_SUFFIX = re.compile(r"(?:\.i\d*|\.n\d*|(?<=\D)\d+)*$")  # what compilers put behind a variable's name


@dataclass(frozen=True, slots=True)
class Fill:
    """The initial byte of the variables from `begin` to `end`, and of the others (`hooks.FILL`). Outputs come last."""

    byte: int
    other: int
    begin: int = 0
    end: int = _ALL

    @classmethod
    def first(cls) -> Self:
        return cls(_BYTES[0], _BYTES[0])

    @property
    def words(self) -> tuple[int, int, int, int]:
        spread = 0x0101010101010101
        return self.byte * spread, self.other * spread, self.begin, self.end

    def of(self, number: int) -> int:
        return self.byte if self.begin <= number < self.end else self.other


class Uninitialised:
    """For one launch: `prepare` before it, `found` after it, which launches again."""

    def __init__(self, watch: Watch, arguments: Sequence[memoryview | bytes | None]) -> None:
        self._watch = watch
        buffers = {i: arguments[i] for i in watch.written}
        self._data: dict[int, Array] = {
            i: np.frombuffer(buffer, np.uint8) for i, buffer in buffers.items() if isinstance(buffer, memoryview)
        }
        # Outputs have no initial contents: what is in them is the fill's.
        self._before = {i: data.copy() for i, data in self._data.items() if i not in watch.outputs}

    def prepare(self, fill: Fill) -> None:
        for i, data in self._data.items():
            if i in self._before:
                np.copyto(data, self._before[i])
            else:
                data.fill(self._in_output(i, fill))

    def found(self, launch: Callable[[Fill], list[str]], known: Sequence[str], *, thorough: bool) -> list[str]:
        """`launch` returns the findings; `known` are those of the first time. `thorough` takes another launch."""
        first = self._results()

        def told(fill: Fill) -> list[str]:
            self.prepare(fill)
            wrong = [problem for problem in launch(fill) if not known]
            return wrong or list(self._different(first, fill))

        for byte in _BYTES[1 : None if thorough else 2]:
            problems = told(Fill(byte, _BYTES[0]))
            if problems and not told(Fill.first()):  # else it does not come to the same with the same contents, either
                variable = self._narrowed(byte, lambda fill: bool(told(fill)))
                return [f"{problem}, which depends on {variable} before it is written" for problem in problems]
        return []

    def _results(self) -> dict[int, Array]:
        return {i: data.copy() for i, data in self._data.items()}

    def _different(self, first: dict[int, Array], fill: Fill) -> Iterator[str]:
        for i, data in self._data.items():
            differs = first[i] != data
            if i not in self._before:
                differs &= (first[i] != self._in_output(i, Fill.first())) | (data != self._in_output(i, fill))
            places = np.flatnonzero(differs)
            if places.size:
                size = self._watch.sizes[i]
                yield f"{self._watch.arguments[i]!r}: element {places[0] // size} (of {len(np.unique(places // size))})"

    def _narrowed(self, byte: int, depends: Callable[[Fill], bool]) -> str:
        """In words: a variable that alone changes the result; all if it takes several."""
        begin, end = 0, self._count
        while end - begin > 1:
            middle = (begin + end) // 2
            if depends(Fill(byte, _BYTES[0], begin, middle)):
                end = middle
            elif depends(Fill(byte, _BYTES[0], middle, end)):
                begin = middle
            else:
                return "memory"
        return self._name(begin)

    @property
    def _count(self) -> int:
        return hooks.MAX_SHARED + len(self._watch.variables) + len(self._watch.arguments)

    def _in_output(self, argument: int, fill: Fill) -> int:
        return fill.of(hooks.MAX_SHARED + len(self._watch.variables) + argument) ^ _OTHER_BIT

    def _name(self, number: int) -> str:
        watch = self._watch
        if number < hooks.MAX_SHARED:
            return f"shared memory {variable_name(watch.shared[number])!r}"
        if (number := number - hooks.MAX_SHARED) < len(watch.variables):
            return f"the variable {_SUFFIX.sub('', watch.variables[number].lstrip('%'))!r}"
        return f"the output {watch.arguments[number - len(watch.variables)]!r}"
