"""`squares`: a matrix that is turned, square by square in the registers of one thread for each part of it.

Exposes SQUARES: 1 does so, a thread for DEEP rows of WIDE elements. In a transposition neighbours in the input are not neighbours
in the output, so either the reads or the writes of threads in a row are far apart. A square has runs of both, and what fills
cache lines is written past the caches. For devices whose threads are steps of a core's loop: the grid is the parallelism.

Precondition: the kernel turns a matrix and does nothing else (`tiles.turned`), by threads that have nothing to do with each
other, or only share tiles that `direct_reads` can do without. Elements have four bytes. Constraints: none.
"""

from __future__ import annotations

import re
from dataclasses import replace

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.preconditions import Unmet, answered, names_of, require, require_free_block, require_readable
from warpsmith.refactor.tiles.addresses import SumWriter
from warpsmith.refactor.tiles.square_code import NAMES, square_code
from warpsmith.refactor.tiles.turned import Turned, turned
from warpsmith.refactor.writing import FreeNames, before_kernel
from warpsmith.source import Edit, Polynomial
from warpsmith.source.statements import indent_unit
from warpsmith.source.threads import teamwork

_WIDE = (128, 512, 1024, 2048)
_DEEP = (64, 256, 512, 1024)  # whole cache lines, of 16 elements
_TYPES = frozenset({"float", "int", "unsigned", "unsigned int", "int32_t", "uint32_t"})


class Squares:
    name = "squares"
    summary = "a matrix transposed in register squares, one thread per part"
    stage = Stage.RESTRUCTURE
    priority = 29  # before `direct_reads`, whose form it starts from where there is a tile
    concerns = frozenset({Concern.COALESCING, Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    require_free_block(subject.source)
    require(subject.source.language is not Language.OPENCL, "squares are written in C++")
    before, subject = subject.variant, _without_tiles(subject)
    names = names_of(subject)
    found = turned(subject, names)
    wide, deep = fresh_name(subject, "WIDE"), fresh_name(subject, "DEEP")
    tunables = (
        Tunable(wide, _WIDE, 1024, "columns of the matrix per thread"),
        Tunable(deep, _DEEP, 512, "rows of the matrix per thread"),
    )
    grid = (f"ceildiv({found.c.expression}, {wide})", f"ceildiv({found.r.expression}, {deep})", *subject.variant.grid[2:])
    made = replace(
        subject.variant,
        text=_written(subject, found, {"WIDE": wide, "DEEP": deep, "T": _element(subject, found)}),
        grid=grid,
        block=("1",),
        # What shaped the blocks before shapes nothing here.
        rules=(),
        tunables=tunables,
    )
    meaning = "0: one thread per element of a row · 1: one thread transposes a part of the matrix, square by square"
    line = subject.source.line_of(found.store) if subject.variant is before else None
    return Rewrite(before, Tunable(fresh_name(subject, "SQUARES"), (0, 1), 0, meaning, line), {1: made})


def _without_tiles(subject: Subject) -> Subject:
    if not teamwork(subject.source).shared:
        return subject
    answer = DirectReads().apply(subject)
    if isinstance(answer, Declined):
        raise Unmet(f"the kernel uses shared memory that cannot be removed: {answer.reason}")
    return Subject(subject.kernel, subject.limits, answer.alternatives[max(answer.alternatives)], subject.parameters)


def _element(subject: Subject, found: Turned) -> str:
    """The type of the elements, which is the same on both sides."""
    source = subject.source
    bare = {p.name: re.sub(r"\b(?:const|__restrict__|__restrict|restrict)\b|\*", " ", p.type).strip() for p in source.parameters}
    kinds = {" ".join(source.bindings.get(bare[name], bare[name]).split()) for name in (found.to, found.source)}
    require(len(kinds) == 1 and kinds <= _TYPES, f"elements are {' and '.join(sorted(kinds))}, not four bytes of one type")
    return kinds.pop()


def _written(subject: Subject, found: Turned, known: dict[str, str]) -> str:
    source, free = subject.source, FreeNames(subject.variant.text)
    called = {name: known.get(name) or free.take(name) for name in NAMES}
    writer, unit = SumWriter(source.language, {}), indent_unit(source.function, source.body, source.tree)
    to, at = (_pointer(name, start, writer) for name, start in ((found.to, found.to_start), (found.source, found.from_start)))
    sizes = (found.to_stride, found.from_stride, found.r.value, found.c.value)
    call = f"{called['turn_part']}({to}, {at}, {', '.join(map(writer.wide, sizes))});"
    body = source.body
    return source.edited(
        before_kernel(source, square_code(called)), Edit(body.start_byte, body.end_byte, f"{{\n{unit}{call}\n}}")
    )


def _pointer(name: str, start: Polynomial, writer: SumWriter) -> str:
    return f"{name} + {writer.wide(start)}" if start.terms else name
