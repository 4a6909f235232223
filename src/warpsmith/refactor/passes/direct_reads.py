"""`direct_reads`: tiles in shared memory, or the same elements straight from global memory.

Exposes: shared arrays that are filled from a buffer and then only read (`source.staged`).
Precondition: where each element comes from follows from its subscripts; the buffer is only read; what its address is made of has
the same value where the tile is read. An element that the original did not load counts as what the original puts there instead.
Parameters: STAGE. Constraints: none; less shared memory is used.

Caches and wide vector loads can make a tile a detour; where elements are used often, it pays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.writing import removed, with_pragma
from warpsmith.source import Edit, KernelSource, Names, Polynomial
from warpsmith.source.solving import subscript
from warpsmith.source.staged import NotATile, Tile, shared_tiles, tile_of
from warpsmith.source.threads import spelled
from warpsmith.source.tree import field, of_kind, text_of
from warpsmith.spec.kernel import Buffer, Role

if TYPE_CHECKING:
    from tree_sitter import Node

_BUILTIN = re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")
_LOCAL = re.compile(r"\b([A-Za-z_]\w*)@(\d+)")
_BARRIER = re.compile(r"(?:__syncthreads\s*\(\s*\)|barrier\s*\([^()]*\)|work_group_barrier\s*\([^()]*\))\s*;")
_MOST_TILES = 2  # forms double with each


class DirectReads:
    name = "direct_reads"
    summary = "tiles in shared memory, or the same elements straight from global memory"
    stage = Stage.RESTRUCTURE
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM, Concern.TRAFFIC})
    priority = 30

    def apply(self, subject: Subject) -> Answer:
        source, variant = subject.source, subject.variant
        if source.has_errors():
            return Declined("the grammar does not understand a part of the kernel")
        names = Names(source, [t.name for t in variant.tunables], subject.kernel)
        arrays = list(shared_tiles(names))
        if not arrays:
            return Declined("no shared array of a fixed size in the kernel")
        tiles, reasons = [], []
        for array in arrays:
            try:
                tile = tile_of(array, names, _read_only(subject))
                _require_visible(source, tile)
                tiles.append(tile)
            except NotATile as found:
                reasons.append(Declined(found.reason, source.line_of(found.node)))
        if not tiles:
            return reasons[0]
        tiles = tiles[:_MOST_TILES]
        chosen = [c for count in range(1, len(tiles) + 1) for c in combinations(tiles, count)]
        name = fresh_name(subject, "STAGE")
        words = [
            f"{n}: {' and '.join(t.array.name for t in some)} straight from global memory" for n, some in enumerate(chosen, 1)
        ]
        line = source.line_of(tiles[0].array.declarator)
        choice = Tunable(name, tuple(range(len(chosen) + 1)), 0, " · ".join(["0: tiles in shared memory", *words]), line)
        every = len(tiles) == len(arrays) and not _shares_elsewhere(source)
        alternatives = {
            value: replace(variant, text=_direct(subject, some, drop_barriers=every and len(some) == len(tiles)))
            for value, some in enumerate(chosen, 1)
        }
        return Rewrite(variant, choice, alternatives)


def _read_only(subject: Subject) -> frozenset[str]:
    """By kernel.toml's roles: every argument is a buffer of its own, so one that is `in` is written by nobody."""
    pairs = zip(subject.source.parameters, subject.kernel.arguments, strict=False)
    return frozenset(p.name for p, a in pairs if isinstance(a, Buffer) and a.role is Role.IN)


def _shares_elsewhere(source: KernelSource) -> bool:
    return any(re.search(r"__shared__|\b__local\b|__shfl|__syncwarp", source.text_of(body)) for body in source.reached()[1:])


def _require_visible(source: KernelSource, tile: Tile) -> None:
    """What the address and the guards are made of must mean the same where the tile is read."""
    polynomials = [tile.address, *(side for g in tile.guards for side in (g.left, g.right))]
    for read in tile.reads:
        for name, start in _LOCAL.findall(" ".join(map(str, polynomials))):
            declared = source.scopes.declaration(name, read)
            if declared is None or declared.node.start_byte != int(start):
                raise NotATile(
                    f"{name}, which says where {tile.array.name} comes from, is not known where the tile is read", read
                )


def _direct(subject: Subject, tiles: tuple[Tile, ...], *, drop_barriers: bool) -> str:
    source = subject.source
    edits: list[Edit] = []
    for tile in tiles:
        name, declaration = _pointer(subject, tile)
        edits += [Edit(r.start_byte, r.end_byte, _load(source.language, tile, r, name)) for r in tile.reads]
        first, *others = tile.copies
        gone = removed(source.tree, with_pragma(first))
        edits.append(replace(gone, text=f"{source.tree.indentation(first)}{declaration}\n"))
        edits += [removed(source.tree, with_pragma(copy)) for copy in others]
        array = tile.array.declarator.parent
        edits += [] if array is None else [removed(source.tree, [array])]
    if drop_barriers:
        for node in of_kind(source.body, "expression_statement"):
            inside = any(e.start <= node.start_byte < e.end for e in edits)
            if _BARRIER.fullmatch(text_of(node)) and not inside:
                edits.append(removed(source.tree, [node]))
    return source.edited(*edits)


def _pointer(subject: Subject, tile: Tile) -> tuple[str, str]:
    """The name of a pointer to where the block's part of the buffer begins, and its declaration."""
    name = fresh_name(subject, f"{tile.array.name}_source")
    writer = _Writer(subject.source.language, {})
    offset = writer.wide(Polynomial({m: f for m, f in tile.address.terms.items() if not _is_own(m)}))
    kind = f"const __global {tile.array.element}*" if subject.source.language is Language.OPENCL else "const auto*"
    return name, f"{kind} {name} = {tile.buffer} + {offset};  // in place of {tile.array.name}"


def _is_own(monomial: tuple[str, ...]) -> bool:
    """Whether it depends on a subscript of the tile, rather than on the block alone."""
    return any(atom.startswith("#") for atom in monomial)


def _load(language: Language, tile: Tile, read: Node, pointer: str) -> str:
    subscripts: list[str] = []
    node = read
    while node.type == "subscript_expression":
        subscripts.insert(0, text_of(field(node, "indices").named_children[0]))
        node = field(node, "argument")
    writer = _Writer(language, {subscript(place): text for place, text in enumerate(subscripts)})
    loaded = f"{pointer}[{writer.wide(Polynomial({m: f for m, f in tile.address.terms.items() if _is_own(m)}))}]"
    if not tile.guards:
        return loaded
    guards = " && ".join(f"{writer.plain(g.left)} {g.operator} {writer.plain(g.right)}" for g in tile.guards)
    return f"({guards} ? {loaded} : {tile.fill})"


class _Writer:
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
            return self._int.format(self._subscripts[atom])
        plain = _LOCAL.sub(r"\1", atom)
        return _BUILTIN.sub(lambda m: self._int.format(spelled(m.group(), self._language)), plain)
