"""`direct_reads`: tiles in shared memory, or direct reads from global memory.

Exposes: shared arrays that are filled from a buffer and then only read (`source.tiles.staged`).
Precondition: where each element comes from follows from its subscripts; the buffer is only read; what its address is made of has
the same value where the tile is read. An element that the original did not load counts as what the original puts there instead.
Parameter: STAGE, one value for each choice of tiles; on a CPU, of two that a loop fills anew in each step, one at most.
Constraints: only the tiles that are left must fit in shared memory.

Caches and wide vector loads can make a tile a detour; where elements are used often, it pays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import names_of, unreadable
from warpsmith.refactor.tiles.addresses import loaded, read_only, require_visible, source_pointer
from warpsmith.refactor.writing import removed
from warpsmith.source import Edit, KernelSource, Names
from warpsmith.source.arrays import arrays_of
from warpsmith.source.dataflow import declarators
from warpsmith.source.statements import with_pragma
from warpsmith.source.tiles.loaded import NotATile
from warpsmith.source.tiles.staged import Tile, shared_tiles, tile_of
from warpsmith.source.tree import LOOPS, ancestors, field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_BARRIER = re.compile(r"(?:__syncthreads\s*\(\s*\)|barrier\s*\([^()]*\)|work_group_barrier\s*\([^()]*\))\s*;")
_MOST_TILES = 2  # forms double with each


class DirectReads:
    name = "direct_reads"
    summary = "tiles in shared memory, or direct reads from global memory"
    stage = Stage.RESTRUCTURE
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM, Concern.TRAFFIC})
    priority = 30

    def apply(self, subject: Subject) -> Answer:
        source, variant = subject.source, subject.variant
        if (unclear := unreadable(source)) is not None:
            return unclear
        names = names_of(subject)
        arrays = list(shared_tiles(names))
        if not arrays:
            return Declined("the kernel has no shared array of a fixed size")
        tiles, reasons = [], []
        for array in arrays:
            try:
                tile = tile_of(array, names, read_only(subject))
                require_visible(subject, tile, tile.reads)
                tiles.append(tile)
            except NotATile as found:
                reasons.append(Declined(found.reason, source.line_of(found.node)))
        if not tiles:
            return reasons[0]
        tiles = tiles[:_MOST_TILES]
        most = 1 if not subject.limits.has_banked_scratchpad and _multiplied(tiles) else len(tiles)
        chosen = [c for count in range(1, most + 1) for c in combinations(tiles, count)]
        name = fresh_name(subject, "STAGE")
        words = [
            f"{n}: {' and '.join(t.array.name for t in some)} straight from global memory" for n, some in enumerate(chosen, 1)
        ]
        line = source.line_of(tiles[0].array.declarator)
        choice = Tunable(name, tuple(range(len(chosen) + 1)), 0, " · ".join(["0: tiles in shared memory", *words]), line)
        every = len(tiles) == len(arrays) and not _shares_elsewhere(source)
        alternatives = {
            value: replace(
                variant,
                text=_direct(subject, some, drop_barriers=every and len(some) == len(tiles)),
                rules=_rules(subject, names, some),
            )
            for value, some in enumerate(chosen, 1)
        }
        return Rewrite(variant, choice, alternatives)


def _multiplied(tiles: list[Tile]) -> bool:
    """Whether they are filled anew together, step by step, as the factors of a product are: each element is used by a row of
    threads, or by a column of them. Then one of them in shared memory is what the tile is for. With none, matmul's best found on
    the CPU device was 3.6 times as fast as the original against 6.2 with one (0.2 at odd edges), and searches stayed there.
    """
    around = [next((a for a in ancestors(tile.copies[0]) if a.type in LOOPS), None) for tile in tiles]
    return len(tiles) > 1 and around[0] is not None and all(loop == around[0] for loop in around)


def _shares_elsewhere(source: KernelSource) -> bool:
    return any(re.search(r"__shared__|\b__local\b|__shfl|__syncwarp", source.text_of(body)) for body in source.reached()[1:])


def _rules(subject: Subject, names: Names, gone: tuple[Tile, ...]) -> tuple[Rule, ...]:
    """Of the shared arrays, only those that are left must fit; where their sizes are not known, what was said of all stays."""
    rules = subject.variant.rules
    others = tuple(rule for rule in rules if "shared_bytes_per_block" not in rule.expression)
    left = [a for a in arrays_of(names) if a.is_shared and a.declarator not in [tile.array.declarator for tile in gone]]
    sizes = [(a.elements(names), names.size_of(a.element)) for a in left]
    if len(others) == len(rules) or subject.variant.shared != "0" or any(None in size for size in sizes):
        return rules
    if not left:
        return others
    total = tidy(" + ".join(f"{size} * {elements}" for elements, size in sizes))
    listed = " and ".join(array.name for array in left)
    return (*others, Rule(f"{total} <= static_shared_bytes_per_block", f"{listed} must fit in shared memory"))


def _direct(subject: Subject, tiles: tuple[Tile, ...], *, drop_barriers: bool) -> str:
    source = subject.source
    edits: list[Edit] = []
    for tile in tiles:
        name, declaration = source_pointer(subject, tile)
        edits += [Edit(r.start_byte, r.end_byte, _load(source.language, tile, r, name)) for r in tile.reads]
        first, *others = tile.copies
        gone = removed(source.tree, with_pragma(first))
        edits.append(replace(gone, text=f"{source.tree.indentation(first)}{declaration}  // in place of {tile.array.name}\n"))
        edits += [removed(source.tree, with_pragma(copy)) for copy in others]
    edits += _undeclared(source, [tile.array.declarator for tile in tiles])
    if drop_barriers:
        for node in of_kind(source.body, "expression_statement"):
            inside = any(e.start <= node.start_byte < e.end for e in edits)
            if _BARRIER.fullmatch(text_of(node)) and not inside:
                edits.append(removed(source.tree, [node]))
    return source.edited(*edits)


def _undeclared(source: KernelSource, gone: list[Node]) -> Iterator[Edit]:
    for declaration in dict.fromkeys(array.parent for array in gone):
        assert declaration is not None
        all_of_it = declarators(declaration)
        left = [source.text_of(declarator) for declarator in all_of_it if declarator not in gone]
        if left:
            yield Edit(all_of_it[0].start_byte, all_of_it[-1].end_byte, ", ".join(left))
        else:
            yield removed(source.tree, [declaration])


def _load(language: Language, tile: Tile, read: Node, pointer: str) -> str:
    signed = "(int)({})" if language is Language.OPENCL else "static_cast<int>({})"
    subscripts: list[str] = []
    node = read
    while node.type == "subscript_expression":
        # As ints, differences may be negative, as in the original's int variables: built-in names are unsigned.
        subscripts.insert(0, signed.format(text_of(field(node, "indices").named_children[0])))
        node = field(node, "argument")
    return loaded(language, tile, subscripts, pointer)
