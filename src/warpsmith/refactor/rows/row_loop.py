"""The loop over neighbouring rows that `passes.rows_per_block` puts around a kernel's body: written here, and taken off again.

Taken off, the body is that of one row, and whoever wants the rows in another order (`passes.joined_rows`) writes a loop of its
own for the same parameter. What is recognised is what was written, to the letter: rows of another's loop may need each other.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.rows.block_loop import BlockLoop
from warpsmith.refactor.writing import cast
from warpsmith.source import Edit
from warpsmith.source.dataflow import is_in_inner_loop
from warpsmith.source.statements import Piece, at_margin, line_at, pieces_of, text_between
from warpsmith.source.threads import spelled
from warpsmith.source.tree import Tree, field, of_kind, text_of
from warpsmith.spec.kernel import Scalar

_HEAD = re.compile(r"for \(int (?P<step>\w+) = 0; (?P=step) < (?P<here>\w+); \+\+(?P=step)\)")
_NUMBER = re.compile(r"const (?:unsigned int|size_t) (?P<block>\w+) = \S+ \* (?P<name>\w+) \+ (?P<step>\w+);")
_GRID = re.compile(r"ceildiv\((?P<rows>.*), (?P<name>\w+)\)", re.DOTALL)


class OneRow(NamedTuple):
    """The form without the loop, and the parameter that says how many rows the loop had."""

    variant: Variant
    name: str


def row_loop(loop: BlockLoop, name: str, count: str | None) -> Variant:
    """The form whose blocks do `name` rows each, one after the other."""
    variant, step, here = loop.subject.variant, loop.free.take("step"), loop.free.take("rows_here")
    text = loop.text(
        [_comment(name), *rows_here(loop.subject, here, name, count)],
        f"int {step} = 0; {step} < {here}; ++{step}",
        f"blockIdx.x * {name} + {step}",
    )
    return replace(variant, text=text, grid=rows_grid(variant.grid, name, count))


def rows_here(subject: Subject, here: str, name: str, count: str | None) -> list[str]:
    """Declares how many rows a block has: as many as the parameter says, but for the last one, which has what is left."""
    language = subject.source.language
    if count:
        rest = f"{cast(language, 'int', count)} - {cast(language, 'int', f'blockIdx.x * {name}')}"
        return [f"const int {here} = min({name}, {rest});"]
    lacking = cast(language, "int", "gridDim.y")
    return [
        "// The grid has gridDim.y - 1 layers of blocks too many: as many as the last block has rows too few.",
        "if (blockIdx.y > 0) return;",
        f"const int {here} = blockIdx.x + 1 < gridDim.x ? {name} : {name} + 1 - {lacking};",
    ]


def rows_grid(grid: tuple[str, ...], name: str, count: str | None) -> tuple[str, ...]:
    blocks = f"ceildiv({grid[0]}, {name})"
    return (blocks, *grid[1:]) if count else (blocks, f"1 + {blocks} * {name} - ({grid[0]})")


def count_argument(subject: Subject) -> str | None:
    """The scalar parameter that is the number of blocks along x, by kernel.toml; None when there is none."""
    wanted = tidy(subject.variant.grid[0])
    for parameter, argument in zip(subject.source.parameters, subject.kernel.arguments, strict=False):
        if isinstance(argument, Scalar) and argument.dtype.is_whole and tidy(argument.value.text) == wanted:
            return parameter.name
    return None


def one_row(subject: Subject) -> OneRow | None:
    """None where the form is not a loop that `row_loop` made."""
    source, grid = subject.source, subject.variant.grid
    tree, pieces = source.tree, pieces_of(source.body, source.tree)
    rows = _GRID.fullmatch(grid[0])
    if not rows or not pieces or pieces[-1].node.type != "for_statement":
        return None
    *before, loop = pieces
    body = field(loop.node, "body")
    head = _HEAD.fullmatch(_squeezed(text_between(tree, loop.node.start_byte, body.start_byte)))
    inner = pieces_of(body, tree)
    number = _NUMBER.fullmatch(_squeezed(text_of(inner[0].node))) if inner else None
    jumps = any(not is_in_inner_loop(n, body) for n in of_kind(body, "continue_statement"))
    if not head or not number or jumps or number["step"] != head["step"] or number["name"] != rows["name"]:
        return None
    name = rows["name"]
    original = (rows["rows"], *grid[1:])
    count = count_argument(_with_grid(subject, original))
    original = original if count else original[:1]
    lines = rows_here(subject, head["here"], name, count)
    introduction = before[-sum(not line.startswith("//") for line in lines) :]
    written = _squeezed(text_between(tree, introduction[0].start, introduction[-1].end)) if introduction else ""
    if rows_grid(original, name, count) != grid or written != spelled(" ".join([_comment(name), *lines]), source.language):
        return None
    text = _cut(subject, introduction[0], loop, _without_wait(inner[1:], tree), number["block"])
    return OneRow(replace(subject.variant, text=text, grid=original), name)


def _comment(name: str) -> str:
    return f"// A block does what {name} blocks did, one after the other."


def _with_grid(subject: Subject, grid: tuple[str, ...]) -> Subject:
    return Subject(subject.kernel, subject.limits, replace(subject.variant, grid=grid), subject.parameters)


def _without_wait(pieces: list[Piece], tree: Tree) -> list[Piece]:
    last = text_between(tree, pieces[-1].start, pieces[-1].end) if pieces else ""
    return pieces[:-1] if "before shared memory is written again" in last else pieces


def _cut(subject: Subject, first: Piece, loop: Piece, own: list[Piece], block: str) -> str:
    """The file with the row's own statements in place of the loop."""
    tree, language = subject.source.tree, subject.source.language
    place = spelled("blockIdx.x", language)
    uses = (n for p in own for n in of_kind(p.node, "identifier") if text_of(n) == block)
    edits = [Edit(n.start_byte, n.end_byte, place) for n in uses]
    indent = tree.indentation(loop.node)
    text = "\n".join(line_at(line, indent) for piece in own for line in at_margin(piece, tree, edits))
    if language is Language.OPENCL:
        text = text.replace(f"({place} * get_local_size(0) + get_local_id(0))", "get_global_id(0)")
    return f"{tree.data[: first.start].decode()}\n{text}{tree.data[loop.end :].decode()}"


def _squeezed(text: str) -> str:
    return " ".join(text.split())
