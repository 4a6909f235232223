"""`keep_row`: a row that is read twice from global memory, kept between the two passes over it.

Exposes ROW: 0 read again, as it was; 1 kept in dynamic shared memory, each thread its own elements; else in registers, for so
many steps. What `staging` takes away where it stands, this puts where it is missing.
Precondition: two strided loops with the same range read the same elements of a buffer that nobody writes, the first of them in
every step (`source.rows_read_twice`); each thread has the same steps in both, so nobody has to wait. For shared memory: the
launch has none yet, and the element's size is known.
Constraints: the row fits in shared memory (the launch says how much), or no workload's row has more steps than registers.

Pays where the row is too long for the caches; otherwise reading it again costs little.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable, Variant
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, names_of, present, require, require_readable
from warpsmith.refactor.rows.register_row import STEPS, Registers, steps_rule, strided_loops, with_fixed_steps
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Names
from warpsmith.source.rows_read_twice import RowReadTwice, row_read_twice
from warpsmith.source.structs import size_expression
from warpsmith.spec.kernel import Buffer, Role


class KeepRow:
    name = "keep_row"
    summary = "a row that is read twice: reread from global memory, or staged in shared memory or registers"
    stage = Stage.RESTRUCTURE
    priority = 95  # after what rewrites strided loops: one kept row is worth less than whole steps are
    concerns = frozenset({Concern.LOCALITY, Concern.TRAFFIC})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, source = names_of(subject), subject.source
    strided = strided_loops(subject, names)
    require(strided, "the kernel has no block-stride loop")
    pairs = zip(source.parameters, subject.kernel.arguments, strict=False)
    inputs = frozenset(p.name for p, a in pairs if isinstance(a, Buffer) and a.role is Role.IN)
    row = present(row_read_twice(names, strided, inputs), "no input row is read in two loops over the same range")
    name = fresh_name(subject, "ROW")
    alternatives: dict[int, Variant] = {}
    refused: list[Unmet] = []
    for values, made in (((1,), _in_shared_memory), (STEPS, _in_registers)):
        try:
            alternatives |= dict.fromkeys(values, made(subject, names, row, name))
        except Unmet as why:
            refused.append(why)
    if not alternatives:
        raise refused[0]
    words = {1: " · 1: staged in shared memory", STEPS[0]: " · otherwise in registers, for so many iterations"}
    meaning = "a row that is read twice. 0: reread from global memory" + "".join(w for v, w in words.items() if v in alternatives)
    choice = Tunable(name, (0, *alternatives), 0, meaning, source.line_of(row.again[0][1]))
    return Rewrite(subject.variant, choice, alternatives)


def _edits(subject: Subject, row: RowReadTwice, array: str, first: str, again: str) -> list[Edit]:
    """Where it is first read it is kept, too; `first` and `again` are subscripts, the latter with the other loop's variable."""
    loaded = subject.source.text_of(row.first)
    edits = [Edit(row.first.start_byte, row.first.end_byte, f"({array}[{first}] = {loaded})")]
    return edits + [Edit(n.start_byte, n.end_byte, f"{array}[{again.format(o.variable)}]") for o, n in row.again]


def _in_shared_memory(subject: Subject, names: Names, row: RowReadTwice, _name: str) -> Variant:
    source, variant = subject.source, subject.variant
    require(source.language is not Language.OPENCL, "OpenCL has no shared memory whose size the launch decides", row.first)
    require(variant.shared == "0" and "extern __shared__" not in source.text, "the launch has dynamic shared memory already")
    size = present(size_expression(row.pointee, names), f"the size of {row.pointee} is unknown", row.first)
    count = present(
        names.expression(row.loop.bound), "the length of a row cannot be computed from the sizes in kernel.toml", row.loop.node
    )
    array = FreeNames(variant.text).take("kept_row")
    begin = source.tree.line_start(row.loop.pragma or row.loop.node)
    blanks = source.tree.indentation(row.loop.node)
    declared = f"{blanks}extern __shared__ {row.pointee} {array}[];  // each thread reads only what it wrote: nobody waits\n"
    edits = [Edit(begin, begin, declared), *_edits(subject, row, array, row.loop.variable, "{}")]
    return replace(variant, text=source.edited(*edits), shared=tidy(f"{size} * ({count})"))


def _in_registers(subject: Subject, names: Names, row: RowReadTwice, name: str) -> Variant:
    variant, free = subject.variant, FreeNames(subject.variant.text)
    array, step = free.take("kept_row"), free.take("step")
    rule = steps_rule(row.loop, subject, names, name)
    registers = Registers(f"{row.pointee} {array}[{name}]", name, step)
    text = with_fixed_steps(subject, names, _edits(subject, row, array, step, step), row.loops, registers)
    return replace(variant, text=text, rules=(*variant.rules, rule))
