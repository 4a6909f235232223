"""Measured results by configuration number, with the columns that every prediction needs, updated incrementally.

A search of ten thousand evaluations asks ten thousand times: what is done for each result there is would be most of its cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from warpsmith.core.arrays import Array

_ROOM = 64


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured configuration: what the model sees of it, its log time, its variance, and how much slower it was expected."""

    row: Array
    log: float
    variance: float = 0.0
    expected: float = 0.0


class Observations(Mapping[int, Observation]):
    """In the order in which they came; one that comes again takes the place of the first."""

    def __init__(self, results: Iterable[tuple[int, Observation]] = ()) -> None:
        self._results: list[Observation] = []
        self._places: dict[int, int] = {}
        self._columns = np.zeros((3, _ROOM))
        self.numbers: list[int] = []
        for number, result in results:
            self.add(number, result)

    def add(self, number: int, result: Observation) -> None:
        place = self._places.setdefault(number, len(self.numbers))
        if place == len(self.numbers):
            self.numbers.append(number)
            self._results.append(result)
        self._results[place] = result
        if place >= self._columns.shape[1]:
            self._columns = np.concatenate([self._columns, np.zeros_like(self._columns)], axis=1)
        self._columns[:, place] = result.log, result.variance, result.expected

    def place(self, number: int) -> int | None:
        return self._places.get(number)

    @property
    def logs(self) -> Array:
        return self._columns[0, : len(self)]

    @property
    def variances(self) -> Array:
        return self._columns[1, : len(self)]

    @property
    def expected(self) -> Array:
        return self._columns[2, : len(self)]

    def __getitem__(self, number: int) -> Observation:
        return self._results[self._places[number]]

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: object) -> bool:
        return number in self._places
