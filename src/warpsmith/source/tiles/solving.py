"""From how an array is filled to what is in it: expressions rewritten over the array's subscripts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warpsmith.source.polynomial import Polynomial


def subscript(place: int) -> str:
    """The atom that stands for a subscript of the array."""
    return f"#{place}"


class Solution:
    """Expressions over what varies while the tile is filled, rewritten over its subscripts; None where that is impossible."""

    def __init__(self, subscripts: Sequence[Polynomial], varying: re.Pattern[str]) -> None:
        self._varying = varying
        self._steps: list[tuple[str, int, Polynomial]] = []  # (atom, its factor, subscript minus the rest)
        for place, index in enumerate(subscripts):
            candidates = []
            for atom in index.atoms:
                factor = index.coefficient(atom)
                shared = any(other.mentions(atom) for at, other in enumerate(subscripts) if at != place)
                if varying.search(atom) and factor is not None and factor.terms.keys() == {()} and not shared:
                    candidates.append((abs(factor.terms[()]), atom, factor.terms[()]))
            if candidates:
                _, atom, number = min(candidates)
                rest = index - Polynomial.atom(atom) * Polynomial.constant(number)
                self._steps.append((atom, number, Polynomial.atom(subscript(place)) - rest))

    def __call__(self, value: Polynomial) -> Polynomial | None:
        for atom, number, replacement in self._steps:
            factor = value.coefficient(atom)
            if factor is None or any(f % number for f in factor.terms.values()):
                return None
            share = Polynomial({m: f // number for m, f in factor.terms.items()})
            value = value.without(atom) + share * replacement
        return None if any(self._varying.search(atom) for atom in value.atoms) else value
