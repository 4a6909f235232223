"""`tile_rows`: how threads distribute the elements of a tile that they load into shared memory.

Exposes: tiles that are filled from a buffer (`source.tiles.staged`). With COPY, threads along y take rows of the tile's part of
the buffer, threads along x neighbouring elements of a row, the same number of steps for all; then what is left of a row.
Precondition: the threads of a block fill all of the tile, and barriers keep that apart from its uses (`tiles.filling`): then
it does not matter who fills what.
Parameter: COPY, 0 as it was. Constraints: none.

Sixteen bytes a thread, from one number that is divided into row and column, is what a GPU likes; a machine that runs neighbouring
threads as the lanes of a vector wants neighbouring elements, and no divisions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.geometry import block_extent
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, names_of, require, require_readable, those_that_can
from warpsmith.refactor.tiles.addresses import loaded, read_only, require_visible, source_pointer
from warpsmith.refactor.tiles.filling import Filling
from warpsmith.refactor.writing import FreeNames, cast, operand, removed
from warpsmith.source import Edit, Names, Polynomial
from warpsmith.source.statements import with_pragma
from warpsmith.source.threads import spelled
from warpsmith.source.tiles.loaded import NotATile
from warpsmith.source.tiles.solving import subscript
from warpsmith.source.tiles.staged import Tile, shared_tiles, tile_of

if TYPE_CHECKING:
    from warpsmith.source.arrays import Array

_WORDS = ("tile_column", "tile_row", "layer", "outer_layer")


class TileRows:
    name = "tile_rows"
    summary = "tiles are filled row by row, adjacent threads with adjacent elements"
    stage = Stage.RESTRUCTURE
    priority = 50  # after `direct_reads`, which may have no tile left; before what looks for strided loops
    concerns = frozenset({Concern.COALESCING, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names = names_of(subject)
    tiles = those_that_can(shared_tiles(names), lambda array: _tile(subject, names, array))
    require(tiles, "the kernel has no shared array of a fixed size")
    free = FreeNames(subject.variant.text)
    edits = [edit for tile in tiles for edit in _refilled(subject, tile, free)]
    listed = " and ".join(tile.array.name for tile in tiles)
    meaning = f"which threads fill {listed}. 0: unchanged · 1: threads along y take rows, along x adjacent elements"
    line = subject.source.line_of(tiles[0].copies[0])
    choice = Tunable(fresh_name(subject, "COPY"), (0, 1), 0, meaning, line, likely=(1,))
    return Rewrite(subject.variant, choice, {1: replace(subject.variant, text=subject.source.edited(*edits))})


def _tile(subject: Subject, names: Names, array: Array) -> Tile:
    dimensions = len(array.extents)
    require(1 < dimensions < 5, f"{array.name} has {dimensions} dimensions: only two to four are supported", array.declarator)
    try:
        tile = tile_of(array, names, read_only(subject))
    except NotATile as why:
        raise Unmet(why.reason, why.node) from None
    require_visible(subject, tile, tile.copies)
    filling = Filling(subject, names, tile)
    filling.require_apart()
    filling.require_whole()
    return tile


def _refilled(subject: Subject, tile: Tile, free: FreeNames) -> list[Edit]:
    tree = subject.source.tree
    first, *others = tile.copies
    blanks = tree.indentation(first)
    pointer, declaration = source_pointer(subject, tile)
    lines = [declaration, *_loops(subject, tile, pointer, free)]
    text = "\n".join(line if line.startswith("#") else f"{blanks}{line}" for line in lines) + "\n"
    return [replace(removed(tree, with_pragma(first)), text=text), *(removed(tree, with_pragma(copy)) for copy in others)]


def _loops(subject: Subject, tile: Tile, pointer: str, free: FreeNames) -> list[str]:
    source, language = subject.source, subject.source.language
    extents = [source.text_of(extent) for extent in tile.array.extents]
    inner, outer = _axes(tile)
    called = {place: free.take(word) for place, word in zip((inner, *reversed(outer)), _WORDS, strict=False)}
    step, across, column, row = free.take("step"), free.take("across"), called[inner], called[outer[-1]]
    width, height = (block_extent(subject, name) for name in "xy")
    x, y = (cast(language, "int", spelled(f"threadIdx.{name}", language)) for name in "xy")
    length, end = operand(extents[inner]), extents[inner]
    element = tile.array.name + "".join(f"[{called[place]}]" for place in sorted(called))
    fill = f"{element} = {_bare(loaded(language, tile, [called[place] for place in sorted(called)], pointer))};"
    loops = [f"for (int {called[p]} = 0; {called[p]} < {extents[p]}; ++{called[p]}) {{" for p in outer[:-1]]
    loops.append(f"for (int {row} = {y}; {row} < {extents[outer[-1]]}; {row} += {height}) {{")
    steps = [
        "#pragma unroll",
        f"for (int {step} = 0; {step} < {length} / {across}; ++{step}) {{",
        f"  const int {column} = {step} * {across} + {x};",
        f"  {fill}",
        "}",
        f"if ({length} % {across} != 0) {{  // what is left of a row",
        f"  for (int {column} = {length} - {length} % {across} + {x}; {column} < {end}; {column} += {across}) {{",
        f"    {fill}",
        "  }",
        "}",
    ]
    depth = "  " * len(loops)
    return [
        f"const int {across} = {width};",
        *(f"{'  ' * n}{line}" for n, line in enumerate(loops)),
        *(line if line.startswith("#") else depth + line for line in steps),
        *(f"{'  ' * n}}}" for n in reversed(range(len(loops)))),
    ]


def _axes(tile: Tile) -> tuple[int, list[int]]:
    """The subscript that runs along x, whose neighbours are neighbours in the buffer, and the others: the last runs along y."""
    places = range(len(tile.array.extents))
    neighbours = (p for p in reversed(places) if tile.address.coefficient(subscript(p)) == Polynomial.constant(1))
    inner = next(neighbours, places[-1])
    return inner, [p for p in places if p != inner]


def _bare(text: str) -> str:
    return text[1:-1] if " ? " in text else text
