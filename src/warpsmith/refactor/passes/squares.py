"""`squares`: one thread does a whole block's elements, square by square, where reads and writes run along different axes.

Exposes SQUARES: 1 does so, with squares of SIDE x SIDE. In a transposition neighbours in the input are not neighbours in the
output, so either the reads or the writes of threads in a row are far apart. A square has runs of both, and squares side by side
fill a cache line before the next one is begun. For devices whose threads are steps of a core's loop: the block becomes one
thread, and the grid is the parallelism.

Precondition: threads have nothing to do with each other (`refactor.elements`), or only share tiles that `direct_reads` can do
without; one access to memory runs along x and another along y.
Constraints: the block is a whole number of lines wide and of squares high.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.elements import Elements, elements
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.preconditions import Unmet, answered, axis, names_of, present, require, require_readable
from warpsmith.refactor.writing import FreeNames, operand
from warpsmith.source import Names, Polynomial
from warpsmith.source.reaching import ReachingNames
from warpsmith.source.statements import indent_unit, line_at
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import field, of_kind

if TYPE_CHECKING:
    from tree_sitter import Node

_SIDES = (4, 8)
_LINE = 16  # elements of four bytes in a cache line
_ONE = Polynomial.constant(1)


class Squares:
    name = "squares"
    summary = "a block's elements square by square in one thread, where reads and writes run along different axes"
    stage = Stage.RESTRUCTURE
    priority = 29  # before `direct_reads`, whose form it starts from where there is a tile
    concerns = frozenset({Concern.COALESCING, Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    before, subject = subject.variant, _without_tiles(subject)
    names, source, variant = names_of(subject), subject.source, subject.variant
    found = elements(subject, names)
    turned = present(_turned(subject, names), "no access to memory runs along threadIdx.y beside one along threadIdx.x")
    width, height = (_extent(subject, name) for name in "xy")
    side = fresh_name(subject, "SIDE")
    high = height if found.rows is None else present(names.expression(found.rows.bound), "a block's rows are not known")
    rules = [*_multiple(width, str(_LINE), "a strip of squares is a cache line wide")]
    rules += _multiple(high, side, "a block is whole squares high")
    rules += _multiple(high, height, "every thread takes the same number of rows")
    line = source.line_of(turned) if variant is before else None
    tunable = Tunable(side, _SIDES, _SIDES[0], "side of the squares that a thread does one after the other", line)
    made = replace(
        variant,
        text=_written(found, names, (width, high), side),
        block=("1",),
        rules=(*variant.rules, *rules),
        tunables=(*variant.tunables, tunable),
    )
    meaning = "0: a thread for each element of a row · 1: one thread does a block's elements, square by square"
    choice = Tunable(fresh_name(subject, "SQUARES"), (0, 1), 0, meaning, line)
    return Rewrite(before, choice, {1: made})


def _without_tiles(subject: Subject) -> Subject:
    if not teamwork(subject.source).shared:
        return subject
    answer = DirectReads().apply(subject)
    if isinstance(answer, Declined):
        raise Unmet(f"the kernel uses shared memory, and cannot do without: {answer.reason}")
    return Subject(subject.kernel, subject.limits, answer.alternatives[max(answer.alternatives)], subject.parameters)


def _turned(subject: Subject, names: Names) -> Node | None:
    """An access along y, where there is one along x as well."""
    reaching = ReachingNames(subject.source, names.parameters, subject.kernel)
    runs: dict[str, Node] = {}
    for access in of_kind(subject.source.body, "subscript_expression"):
        index = Polynomial.of(field(access, "indices").named_children[0], reaching)
        along = {a: index.coefficient(f"threadIdx.{a}") for a in "xy"}
        for one, other in (("x", "y"), ("y", "x")):
            far = along[other]
            if along[one] == _ONE and far is not None and far.terms and far != _ONE:
                runs.setdefault(one, access)
    return runs.get("y") if "x" in runs else None


def _extent(subject: Subject, name: str) -> str:
    """Of the block, as the source and kernel.toml both can say it."""
    require(axis(subject.variant.block, "z") == "1", "the block has three dimensions")
    text = axis(subject.variant.block, name)
    known = Expression.parse(text).names <= {t.name for t in subject.variant.tunables}
    require(known and re.search(r"[^\w\s*+]", text) is None, f"the block's extent along {name}, {text}, is no fixed number")
    return text


def _multiple(extent: str, unit: str, reason: str) -> Iterator[Rule]:
    if extent.isdigit() and unit.isdigit():
        require(int(extent) % int(unit) == 0, f"{extent} is no multiple of {unit}: {reason}")
    elif extent != unit:
        yield Rule(f"{operand(extent)} % {operand(unit)} == 0", reason)


def _written(found: Elements, names: Names, extents: tuple[str, str], side: str) -> str:
    source, free = found.subject.source, FreeNames(found.subject.source.text)
    strip, turn, square, down, along, at_x, at_y = map(free.take, ("strip", "turn", "square", "down", "along", "at_x", "at_y"))
    opencl = source.language is Language.OPENCL
    kind = "size_t" if opencl else "unsigned int"  # as the names that they stand for
    high = axis(found.subject.variant.block, "y")
    values = {"threadIdx.x": at_x, "threadIdx.y": at_y, "blockDim.x": operand(extents[0]), "blockDim.y": operand(high)}
    for number, name in enumerate("xy"):
        place = f"get_group_id({number}) * {values[f'blockDim.{name}']} + {values[f'threadIdx.{name}']}"
        values[f"get_global_id.{name}"] = f"({place})"
    inner = [f"const {kind} {at_x} = {strip} * {_LINE} + {square} * {side} + {along};"]
    if found.rows is None:
        inner.append(f"const {kind} {at_y} = {turn} * {side} + {down};")
    else:
        inner += [f"const {kind} {at_y} = {down};", f"const {found.rows.type} {found.rows.variable} = {turn} * {side};"]
    inner += found.each(names, values)
    loops = [
        (f"int {strip} = 0; {strip} < {operand(extents[0])} / {_LINE}; ++{strip}", ""),
        (f"int {turn} = 0; {turn} < {operand(extents[1])} / {side}; ++{turn}", ""),
        (f"int {square} = 0; {square} < {_LINE} / {side}; ++{square}", "#pragma unroll"),
        (f"int {down} = 0; {down} < {side}; ++{down}", "#pragma unroll"),
        (f"int {along} = 0; {along} < {side}; ++{along}", "#pragma unroll"),
    ]
    unit = indent_unit(source.function, source.body, source.tree)
    lines = [*found.once(), f"// One thread does all of the block, {_LINE} columns at a time, in squares of {side} x {side}."]
    for depth, (header, pragma) in enumerate(loops):
        lines += [*([pragma] if pragma else []), f"{unit * depth}for ({header}) {{"]
    lines += [line_at(line, unit * len(loops)) for line in inner]
    lines += [f"{unit * depth}}}" for depth in reversed(range(len(loops)))]
    data = source.tree.data
    return f"{data[: found.start].decode()}\n" + "\n".join(line_at(line, unit) for line in lines) + data[found.end :].decode()
