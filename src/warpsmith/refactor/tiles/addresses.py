"""Polynomials of the source's arithmetic written as C, and tiles' addresses with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.names import fresh_name
from warpsmith.source import Polynomial
from warpsmith.source.threads import spelled
from warpsmith.source.tiles.loaded import NotATile
from warpsmith.source.tiles.solving import subscript
from warpsmith.source.tiles.staged import Tile
from warpsmith.spec.kernel import Buffer, Role

if TYPE_CHECKING:
    from tree_sitter import Node

LAUNCH_NAME = re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")
_LOCAL = re.compile(r"\b([A-Za-z_]\w*)@(\d+)")


def read_only(subject: Subject) -> frozenset[str]:
    """By kernel.toml's roles: every argument is a buffer of its own, so one that is `in` is written by nobody."""
    pairs = zip(subject.source.parameters, subject.kernel.arguments, strict=False)
    return frozenset(p.name for p, a in pairs if isinstance(a, Buffer) and a.role is Role.IN)


def require_visible(subject: Subject, tile: Tile, places: Iterable[Node]) -> None:
    """What the address and the guards are made of must mean the same in these places."""
    polynomials = [tile.address, *(side for g in tile.guards for side in (g.left, g.right))]
    for place in places:
        for name, start in _LOCAL.findall(" ".join(map(str, polynomials))):
            if not subject.source.scopes.means(name, int(start), place):
                raise NotATile(
                    f"{name}, which locates the source of {tile.array.name}, is not available where it would be used", place
                )


def source_pointer(subject: Subject, tile: Tile) -> tuple[str, str]:
    """The name of a pointer to where the block's part of the buffer begins, and its declaration."""
    name = fresh_name(subject, f"{tile.array.name}_source")
    writer = SumWriter(subject.source.language, {})
    offset = writer.wide(Polynomial({m: f for m, f in tile.address.terms.items() if not _is_own(m)}))
    kind = f"const __global {tile.array.element}*" if subject.source.language is Language.OPENCL else "const auto*"
    return name, f"{kind} {name} = {tile.buffer} + {offset};"


def loaded(language: Language, tile: Tile, subscripts: list[str], pointer: str) -> str:
    """An element of the tile as it comes from the buffer, or what stands for one that does not exist.

    `subscripts` are signed, and may stand in a product.
    """
    writer = SumWriter(language, {subscript(place): text for place, text in enumerate(subscripts)})
    value = _element(writer, Polynomial({m: f for m, f in tile.address.terms.items() if _is_own(m)}), len(subscripts), pointer)
    if not tile.guards:
        return value
    guards = " && ".join(f"{writer.plain(g.left)} {g.operator} {writer.plain(g.right)}" for g in tile.guards)
    return f"({guards} ? {value} : {tile.fill})"


def _element(writer: SumWriter, address: Polynomial, places: int, pointer: str) -> str:
    """Where a row begins, and the element's place in it: of two sums that compilers keep apart, the first is the same for all
    lanes and steps of a row. Each row costs one product, whatever its length is made of.
    """
    rows: list[tuple[int, Polynomial]] = []
    for place in range(places):
        length = address.coefficient(subscript(place))
        if length is None or any(_is_own(m) or factor < 0 for m, factor in length.terms.items()):  # unsigned, it could wrap
            return f"{pointer}[{writer.wide(address)}]"
        if length.atoms:
            rows.append((place, length))
    if not rows:
        return f"{pointer}[{writer.wide(address)}]"
    column = address
    for place, length in rows:
        column = column - Polynomial.atom(subscript(place)) * length
    start = " + ".join(writer.row(subscript(place), length) for place, length in rows)
    return f"({pointer} + {start})[{writer.wide(column)}]" if column.terms else f"{pointer}[{start}]"


def _is_own(monomial: tuple[str, ...]) -> bool:
    """Whether it depends on a subscript of the tile, rather than on the block alone."""
    return any(atom.startswith("#") for atom in monomial)


class SumWriter:
    """Polynomials as C. Built-in names are unsigned: as ints, differences may be negative, as in the original's int variables."""

    def __init__(self, language: Language, subscripts: dict[str, str]) -> None:
        self._language = language
        self._subscripts = subscripts
        opencl = language is Language.OPENCL
        self._int = "(int)({})" if opencl else "static_cast<int>({})"
        self._long = "(long)({})" if opencl else "static_cast<long long>({})"

    def plain(self, value: Polynomial) -> str:
        return self._sum(value, self._product)

    def wide(self, value: Polynomial) -> str:
        """With products of several names in 64 bits."""
        return self._sum(value, self._wide_product)

    def row(self, number: str, length: Polynomial) -> str:
        """Where it begins, in 64 bits: `number * length`."""
        text = self.wide(length)
        return f"{self._long.format(self._atom(number))} * {text if len(length.terms) == 1 else f'({text})'}"

    def _wide_product(self, monomial: tuple[str, ...]) -> str:
        if len(monomial) < 2:
            return self._product(monomial)
        first, *others = monomial
        return f"{self._long.format(self._atom(first))} * {self._product(tuple(others))}"

    def _sum(self, value: Polynomial, product: Callable[[tuple[str, ...]], str]) -> str:
        text = ""
        for monomial, factor in sorted(value.terms.items(), key=lambda term: (-term[1], term[0])):
            size = abs(factor)
            part = str(size) if not monomial else product(monomial) if size == 1 else f"{product(monomial)} * {size}"
            text += f" {'-' if factor < 0 else '+'} {part}" if text else f"-{part}" if factor < 0 else part
        return text or "0"

    def _product(self, monomial: tuple[str, ...]) -> str:
        return " * ".join(self._atom(atom) for atom in monomial)

    def _atom(self, atom: str) -> str:
        if atom in self._subscripts:
            return self._subscripts[atom]
        plain = _LOCAL.sub(r"\1", atom)
        return LAUNCH_NAME.sub(lambda m: self._int.format(spelled(m.group(), self._language)), plain)
