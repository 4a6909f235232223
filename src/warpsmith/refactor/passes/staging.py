"""`staging`: where a row waits between two passes over it: shared memory, global memory, or the threads' registers.

Exposes: shared arrays in which each thread keeps elements for itself only (`source.kept_rows`).
Precondition for reading again: the same values are stored to global memory, or were loaded from there, in the step that keeps
them, unrounded, and nobody writes there later (`source.same_values`). For registers: the number of steps follows from
kernel.toml, and the elements of a step are a constant number.
Parameter: KEEP, 0 as it was, 1 read again, else registers for so many steps. Constraints: registers need a fixed number of steps,
so a row may have no more for any workload.

Shared memory that nobody shares limits how many blocks run at a time, and which rows fit at all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable, Variant
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, names_of, require, require_readable
from warpsmith.refactor.rows.register_row import STEPS, Registers, steps_rule, strided_loops, with_fixed_steps
from warpsmith.refactor.writing import FreeNames, cast, removed
from warpsmith.source import Edit, Loop, Names
from warpsmith.source.arrays import Array, arrays_of
from warpsmith.source.dataflow import declarators
from warpsmith.source.kept_rows import KeptRow, NotKept, Use, kept_row
from warpsmith.source.same_values import Twin, twin_of
from warpsmith.source.statements import text_between
from warpsmith.source.tree import is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


class Staging:
    name = "staging"
    summary = "a row staged between passes over it: in shared memory, reread from global memory, or in registers"
    stage = Stage.RESTRUCTURE
    priority = 80  # before what rewrites the loops over a row, after passes whose alternatives should survive the limit on forms
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM, Concern.TRAFFIC})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names = names_of(subject)
    strided = strided_loops(subject, names)
    row = _row(subject, names, strided)
    name = fresh_name(subject, "KEEP")
    alternatives: dict[int, Variant] = {}
    refused: list[NotKept | Unmet] = []
    for values, made in (((1,), _read_again), (STEPS, _in_registers)):
        try:
            variant = made(subject, names, row, name)
            alternatives |= dict.fromkeys(values, variant)
        except (NotKept, Unmet) as why:
            refused.append(why)
    if not alternatives:
        raise Unmet("; ".join(why.reason for why in refused), row.statement)
    meaning = f"where {row.array.name} is staged. 0: shared memory"
    meaning += " · 1: reread from global memory" if 1 in alternatives else ""
    meaning += " · otherwise registers, for so many iterations" if STEPS[0] in alternatives else ""
    choice = Tunable(name, (0, *alternatives), 0, meaning, subject.source.line_of(row.array.declarator))
    return Rewrite(subject.variant, choice, alternatives)


def _row(subject: Subject, names: Names, strided: list[Loop]) -> KeptRow:
    """The first array that is kept so; else the reason of the first."""
    body = subject.source.body
    arrays = [a for a in arrays_of(names) if a.is_shared and is_within(a.declarator, body)]
    require(arrays, "the kernel declares no shared array")
    reasons: list[Unmet] = []
    for array in arrays:
        try:
            _require_alone(subject, array, names)
            return kept_row(array, names, strided)
        except NotKept as why:
            reasons.append(Unmet(why.reason, why.node))
    raise reasons[0]


def _require_alone(subject: Subject, array: Array, names: Names) -> None:
    declaration = array.declarator.parent
    if declaration is None or len(declarators(declaration)) != 1 or len(array.extents) > 1:
        raise NotKept(f"{array.name} is declared together with others, or is not one-dimensional", array.declarator)
    others = [a for a in arrays_of(names) if a.is_dynamic and a.declarator != array.declarator]
    if array.is_dynamic and (others or subject.source.text.count("extern __shared__") != 1):
        raise NotKept(f"{array.name} is not the only array in dynamic shared memory", array.declarator)


def _without_array(subject: Subject, row: KeptRow) -> tuple[Edit, str]:
    """The deletion of its declaration, and the bytes of shared memory that the launch then needs."""
    declaration = row.array.declarator.parent
    assert declaration is not None
    return removed(subject.source.tree, [declaration]), "0" if row.array.is_dynamic else subject.variant.shared


def _read_again(subject: Subject, names: Names, row: KeptRow, _name: str) -> Variant:
    source, twin, free = subject.source, twin_of(row, names), FreeNames(subject.variant.text)
    gone, shared = _without_array(subject, row)
    alone = row.statement.parent is not None and row.statement.parent.type == "compound_statement"
    written = removed(source.tree, [row.statement])
    edits = [gone, written if alone else Edit(row.statement.start_byte, row.statement.end_byte, "{}")]
    copies: dict[int, str] = {}
    for use in row.reads:
        _require_visible(twin, use, names)
        again = _target(subject, row, twin.target, use)
        if twin.member is not None:
            start = use.loop.body.start_byte
            if start not in copies and use.loop.body.type == "compound_statement":
                copies[start] = free.take(f"{row.array.name}_again")
                edits.append(_copy(subject, use.loop, twin, copies[start], again))
            owner = text_of(next(of_kind(twin.member, "identifier")))
            again = copies.get(start, again) + _target(subject, row, twin.member, use).removeprefix(owner)
        edits.append(Edit(use.element.start_byte, use.element.end_byte, cast(source.language, row.array.element, again)))
    return replace(subject.variant, text=source.edited(*edits), shared=shared)


def _require_visible(twin: Twin, use: Use, names: Names) -> None:
    scopes = names.source.scopes
    for node in of_kind(twin.target, "identifier"):
        here, there = scopes.declaration(text_of(node), node), scopes.declaration(text_of(node), use.element)
        if names.definition(node).is_fixed and here != there:
            raise NotKept(f"{text_of(node)} refers to another variable where the row is read", use.element)


def _target(subject: Subject, row: KeptRow, node: Node, use: Use) -> str:
    """The expression of the step that keeps the row, as it reads in a step of another loop."""
    renamed = {row.write.loop.variable: use.loop.variable}
    if row.write.lane is not None and use.lane is not None:
        renamed[row.write.lane.variable] = use.lane.variable
    names = [n for n in of_kind(node, "identifier") if text_of(n) in renamed]
    edits = [Edit(n.start_byte, n.end_byte, renamed[text_of(n)]) for n in names]
    return text_between(subject.source.tree, node.start_byte, node.end_byte, edits)


def _copy(subject: Subject, loop: Loop, twin: Twin, name: str, value: str) -> Edit:
    """Loads all of a step's elements at once, at the beginning of the step."""
    inside = loop.body.children[0].end_byte
    blanks = subject.source.tree.indentation(loop.node) + "  "
    kind = re.sub(r"\bconst\b\s*", "", twin.type)
    return Edit(inside, inside, f"\n{blanks}const {kind} {name} = {value};  // what this thread's step above had")


def _in_registers(subject: Subject, names: Names, row: KeptRow, name: str) -> Variant:
    source, variant, lanes = subject.source, subject.variant, row.write.lane
    if lanes is not None and not _is_constant(lanes.bound, names):
        raise Unmet(f"the number of elements per iteration, {text_of(lanes.bound)}, is not constant", lanes.node)
    rule, step = steps_rule(row.write.loop, subject, names, name), FreeNames(variant.text).take("step")
    size = "" if lanes is None else f"[{source.text_of(lanes.bound)}]"
    gone, shared = _without_array(subject, row)
    edits = [gone]
    for use in (row.write, *row.reads):
        lane = "" if use.lane is None else f"[{use.lane.variable}]"
        edits.append(Edit(use.element.start_byte, use.element.end_byte, f"{row.array.name}[{step}]{lane}"))
    registers = Registers(f"{row.array.element} {row.array.name}[{name}]{size}", name, step)
    text = with_fixed_steps(subject, names, edits, row.loops, registers)
    return replace(variant, text=text, shared=shared, rules=(*variant.rules, rule))


def _is_constant(node: Node, names: Names) -> bool:
    expression = names.expression(node)
    return expression is not None and set(re.findall(r"[A-Za-z_]\w*", expression)) <= names.parameters
