"""Polynomials with integer coefficients over named atoms, in one canonical form: equal values have equal terms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

Monomial: TypeAlias = tuple[str, ...]  # atoms in order, repeated for powers; () is the constant


@dataclass(frozen=True)
class Polynomial:
    """No term has the factor 0."""

    terms: Mapping[Monomial, int]

    @classmethod
    def constant(cls, value: int) -> Self:
        return cls({(): value} if value else {})

    @classmethod
    def atom(cls, name: str) -> Self:
        return cls({(name,): 1})

    @property
    def atoms(self) -> frozenset[str]:
        return frozenset(a for monomial in self.terms for a in monomial)

    def mentions(self, atom: str) -> bool:
        """Whether the atom occurs, alone or inside a canonical text."""
        return any(re.search(rf"(?<![\w.@]){re.escape(atom)}(?![\w@])", a) for a in self.atoms)

    def coefficient(self, atom: str) -> Self | None:
        """The coefficient of the atom if this is linear in it, else None."""
        found: dict[Monomial, int] = {}
        for monomial, factor in self.terms.items():
            if monomial.count(atom) > 1:
                return None
            if atom in monomial:
                found[tuple(a for a in monomial if a != atom)] = factor
            elif type(self)({monomial: 1}).mentions(atom):
                return None
        return type(self)(found)

    def without(self, atom: str) -> Self:
        return type(self)({m: f for m, f in self.terms.items() if atom not in m})

    def divided(self, atoms: Monomial, factor: int = 1) -> Self | None:
        """Divided by a product of atoms and a number; None if there is a remainder."""
        found: dict[Monomial, int] = {}
        for monomial, times in self.terms.items():
            rest = list(monomial)
            if times % factor or any(rest.count(atom) < atoms.count(atom) for atom in atoms):
                return None
            for atom in atoms:
                rest.remove(atom)
            found[tuple(rest)] = times // factor
        return type(self)(found)

    def __add__(self, other: Self) -> Self:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return type(self)({m: f for m, f in terms.items() if f})

    def __sub__(self, other: Self) -> Self:
        return self + type(self)({m: -f for m, f in other.terms.items()})

    def __mul__(self, other: Self) -> Self:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                product = tuple(sorted((*left, *right)))
                terms[product] = terms.get(product, 0) + a * b
        return type(self)({m: f for m, f in terms.items() if f})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and dict(self.terms) == dict(other.terms)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, factor in sorted(self.terms.items()):
            product = "*".join(monomial)
            parts.append(str(factor) if not monomial else product if factor == 1 else f"{factor}*{product}")
        return "+".join(parts)
