"""The launch as the source's own arithmetic sees it: how many threads a block has along an axis, as polynomials.

A strided loop may step by `blockDim.x`, by `kThreads`, or by 256: the launch says whether that is the number of its threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.refactor import preconditions
from warpsmith.refactor.base import Subject
from warpsmith.refactor.writing import cast
from warpsmith.source import Loop, Names, Polynomial, Tree
from warpsmith.source.threads import spelled
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Geometry:
    """`extents` has what `blockDim.x` and so on are, for the axes along which the launch names only numbers and parameters."""

    extents: dict[str, Polynomial]

    @classmethod
    def of(cls, subject: Subject, names: Names) -> Geometry:
        known: dict[str, Polynomial] = {}
        for axis, text in zip(_AXES, (*subject.variant.block, "1", "1"), strict=False):
            if Expression.parse(text).names <= {t.name for t in subject.variant.tunables}:
                known[f"blockDim.{axis}"] = _polynomial(text, names)
        return cls(known)

    def polynomial(self, node: Node, names: Names) -> Polynomial:
        return self.resolved(Polynomial.of(node, names))

    def resolved(self, polynomial: Polynomial) -> Polynomial:
        """With the block's extents put in."""
        total = Polynomial.constant(0)
        for monomial, factor in polynomial.terms.items():
            product = Polynomial.constant(factor)
            for atom in monomial:
                product = product * self.extents.get(atom, Polynomial.atom(atom))
            total = total + product
        return total

    def thread_share(self, loop: Loop, names: Names) -> Polynomial | None:
        """The part of the loop's start that tells threads apart, when it runs from 0 to the step exclusive; else None.

        Then each thread has the steps of its own remainder, and every `step` elements in a row are done by different threads.
        """
        if loop.step is None:
            return None
        start, step = self.polynomial(loop.start, names), self.polynomial(loop.step, names)
        share, threads = Polynomial.constant(0), Polynomial.constant(1)
        for place, axes in (("threadIdx", "blockDim"), ("blockIdx", "gridDim")):
            for axis in _AXES:
                if place == "blockIdx" and not step.mentions(f"gridDim.{axis}"):
                    continue  # blocks may differ in where they start, and how does not matter
                factor = start.coefficient(f"{place}.{axis}")
                if factor is not None and not factor.terms:
                    continue
                if factor is None or factor != threads:
                    return None
                share = share + factor * Polynomial.atom(f"{place}.{axis}")
                threads = threads * self.resolved(Polynomial.atom(f"{axes}.{axis}"))
        for part, parts in _parts(start):
            if start.coefficient(part) == threads:
                share = share + threads * Polynomial.atom(part)
                threads = threads * parts
        return share if share.mentions("threadIdx") and threads == step else None

    def base(self, loop: Loop, share: Polynomial, names: Names) -> Node | None:
        """Where the first thread starts: what is added to the share, None for 0, and the whole start when it is no such sum."""
        start = unwrapped(loop.start)
        if self.polynomial(start, names) == share:
            return None
        if start.type == "binary_expression" and text_of(field(start, "operator")) == "+":
            left, right = field(start, "left"), field(start, "right")
            if self.polynomial(right, names) == share:
                return left
            if self.polynomial(left, names) == share:
                return right
        return start


def block_extent(subject: Subject, name: str) -> str:
    """Of the block along an axis as the source can say it: by numbers and parameters where the launch does, else by its name."""
    text, language = preconditions.axis(subject.variant.block, name), subject.source.language
    known = {t.name for t in subject.variant.tunables}
    plain = re.search(r"\w\s*\(|[^\w\s+*/()-]", text) is None and Expression.parse(text).names <= known
    return text if plain else cast(language, "int", spelled(f"blockDim.{name}", language))


def is_rest(loop: Loop, names: Names) -> bool:
    """Whether the loop does what whole packs or steps of its range leave: from `n - n % k`, or from `n / k * k`, to n."""
    bound = re.escape(str(Polynomial.of(loop.bound, names)))
    divided = re.compile(rf"\(.*(?<![\w.]){bound}(?![\w.]).*[/%]|\({bound}[/%]")
    return any(divided.match(atom) for atom in Polynomial.of(loop.start, names).atoms)


def _parts(start: Polynomial) -> Iterator[tuple[str, Polynomial]]:
    """Remainders in a sum, as in `blockIdx.x % SPLIT * blockDim.x`, with the number of values that each takes."""
    for atom in sorted(start.atoms):
        found = re.fullmatch(r"\(blockIdx\.[xyz]%(\w+)\)", atom)
        if found:
            yield atom, Polynomial.constant(int(found[1])) if found[1].isdigit() else Polynomial.atom(found[1])


def _polynomial(text: str, names: Names) -> Polynomial:
    parsed = Tree(f"int extent = {text};", names.source.language)
    return Polynomial.of(next(field(n, "value") for n in of_kind(parsed.root, "init_declarator")), names)
