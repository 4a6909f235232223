"""`unroll`: how often loops are unrolled.

Exposes: the `#pragma unroll` of the innermost loops, one that stands there already or a new one.
Precondition: the loop counts up to a bound, stands on lines of its own, has a few trips at least, and does not index an array in
registers (such a loop must stay unrolled), meet a barrier, do the rest of another loop, or go from tile to tile around loops.
Parameters: UNROLL_<VARIABLE>, at most four; loops with the same header follow the same one. The default is the pragma as it
stands, or none. A CPU is offered less. Constraints: a compiler may unroll by any number, but there are limits to copies of what
branches, and loops are unrolled from within.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.geometry import is_rest
from warpsmith.refactor.loops.copies import branch_rules
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, on_workloads, unreadable
from warpsmith.source import Edit, Loop, LoopKind, Names, Tree, loops_of
from warpsmith.source.conditionals import definitions
from warpsmith.source.effects import waits
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_PARAMETERS = 4
_FEWEST_TRIPS = 3
_FEWEST_STRIDED = 8  # a copy of a tile in a few steps is not worth a parameter
_FACTORS = (1, 2, 4)
# A CPU runs ahead by itself: of matmul_opencl and convolution_opencl the other factors were within 4 % of this one or slower,
# and copies of an outer loop 5 to 12 % slower.
_FACTORS_OF_CPUS = (4,)
# Trips up to which a loop that its author unrolls altogether stays so there: rolled up, convolution_opencl was 9 % slower.
_WHOLE_ON_CPUS = 16
_MOST_WHOLE = 32  # trips up to which unrolling a loop altogether is tried
_PRAGMA = re.compile(r"#\s*pragma\s+unroll(?:\s+\(?(\d+)\)?)?\s*")


class Unroll:
    name = "unroll"
    summary = "unroll factors of the innermost loops"
    stage = Stage.DECORATE
    concerns = frozenset({Concern.PARALLELISM, Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        source = subject.source
        if (unclear := unreadable(source)) is not None:
            return unclear
        names = Names(source, [t.name for t in subject.variant.tunables], subject.kernel)
        tunables: list[Tunable] = []
        edits: list[Edit] = []
        chosen: dict[int, Tunable] = {}
        loops: list[tuple[Loop, Tunable]] = []
        for group in _groups(source.tree, _worthwhile(subject, list(_candidates(subject, names))))[:_MOST_PARAMETERS]:
            tunable = _tunable(subject, names, group[0], {t.name for t in tunables})
            if len(tunable.values) == 1:
                continue
            tunables.append(tunable)
            edits += [_edit(source.tree, loop, tunable) for loop in group]
            chosen |= {loop.node.start_byte: tunable for loop in group}
            loops += [(loop, tunable) for loop in group]
        if not tunables:
            return Declined("no loop has a free unroll factor: all are short, index register arrays, or contain barriers")
        variant = subject.variant
        rules = (*variant.rules, *_from_within(loops), *branch_rules(subject, names, chosen))
        return Rewrite(replace(variant, text=source.edited(*edits), tunables=(*variant.tunables, *tunables), rules=rules))


def _from_within(loops: list[tuple[Loop, Tunable]]) -> Iterator[Rule]:
    """Loops are unrolled from within: copies of a loop that remains one take a compiler long and give it nothing to overlap."""
    found: set[tuple[str, str]] = set()
    for outer, of_outer in loops:
        for inner, of_inner in loops:
            whole = 0 if inner.pragma is not None and of_inner.default == 0 else inner.trips
            nested = of_outer != of_inner and is_within(inner.node, outer.body)
            if not nested or whole not in of_inner.values or (of_outer.name, of_inner.name) in found:
                continue
            found.add((of_outer.name, of_inner.name))
            reason = (
                f"the loop over {outer.variable} is unrolled only if the loop over {inner.variable} inside it is fully unrolled"
            )
            yield Rule(f"{of_outer.name} == {of_outer.default} or {of_inner.name} == {whole}", reason)


def _candidates(subject: Subject, names: Names) -> Iterator[Loop]:
    for body in subject.source.reached():
        if body.has_error:
            continue
        loops = list(loops_of(body, names, assigned=True))
        for loop in loops:
            trips = _trips(subject, names, loop)
            if trips is not None and trips < (_FEWEST_TRIPS if loop.kind is LoopKind.COUNTED else _FEWEST_STRIDED):
                continue
            if not _stands_alone(subject, loop) or is_rest(loop, names) or waits(loop.body, names):
                continue
            if _goes_over_loops(loop, loops, names) or _indexes_registers(loop, names):
                continue
            if any(_unrolls(loop, other) or _unrolls(other, loop) for other in loops):
                continue
            yield loop


def _worthwhile(subject: Subject, loops: Sequence[Loop]) -> list[Loop]:
    """On a CPU, no loop around another one of them, and none of a few steps that stand there one by one already."""
    if subject.limits.has_banked_scratchpad:
        return list(loops)
    inner = [loop for loop in loops if not any(is_within(other.node, loop.body) for other in loops)]
    return [loop for loop in inner if not _is_whole(subject.source.tree, loop)]


def _is_whole(tree: Tree, loop: Loop) -> bool:
    return loop.pragma is not None and _stated(tree, loop) == 0 and loop.trips is not None and loop.trips <= _WHOLE_ON_CPUS


def _groups(tree: Tree, loops: Sequence[Loop]) -> list[list[Loop]]:
    """Loops with the same header, and the same pragma, together; the most deeply nested first."""
    found: dict[str, list[Loop]] = {}
    for loop in loops:
        header = tree.data[loop.node.start_byte : loop.body.start_byte].decode()
        found.setdefault(" ".join(f"{tree.text_of(loop.pragma) if loop.pragma else ''} {header}".split()), []).append(loop)
    return sorted(found.values(), key=lambda group: -max(map(_depth, group)))


def _depth(loop: Loop) -> int:
    return sum(a.type in LOOPS for a in ancestors(loop.node))


def _stands_alone(subject: Subject, loop: Loop) -> bool:
    """Whether a directive may be put before it, and no other one than `#pragma unroll` stands there."""
    tree = subject.source.tree
    parent, before = loop.node.parent, (loop.pragma or loop.node).prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    if parent is None or parent.type != "compound_statement" or tree.line_start(loop.node) == loop.node.start_byte != 0:
        return False
    if loop.pragma is not None and _PRAGMA.fullmatch(tree.text_of(loop.pragma)) is None:
        return False
    return before is None or (before.type != "preproc_call" and not _may_unroll(subject, tree.text_of(before)))


def _may_unroll(subject: Subject, before: str) -> bool:
    """Whether it is an `#if` with a pragma in it, other than `#ifdef UNROLL` of a name that nobody defines."""
    if not before.startswith("#") or "pragma" not in before:
        return False
    found = re.match(r"#\s*ifdef\s+(\w+)\s", before)
    known = {*definitions(subject.source.text, subject.kernel.defines).live, *subject.kernel.defines}
    return found is None or found[1] in known or "#else" in before


def _indexes_registers(loop: Loop, names: Names) -> bool:
    """Whether its variable indexes a thread's own array, directly or inside a pack: rolled up, that would live in memory."""
    for access in of_kind(loop.body, "subscript_expression"):
        indices = access.child_by_field_name("indices")
        if indices is None or not any(text_of(n) == loop.variable for n in of_kind(indices, "identifier")):
            continue
        array: Node = unwrapped(field(access, "argument"))
        while array.type == "subscript_expression":
            array = unwrapped(field(array, "argument"))
        if array.type == "field_expression":
            return True
        declarator = names.definition(array).node if array.type == "identifier" else None
        if declarator is not None and any(True for _ in of_kind(declarator, "array_declarator")):
            declaration = declarator.parent
            if declaration is None or not is_shared(declaration, names.source):
                return True
    return False


def _goes_over_loops(loop: Loop, loops: list[Loop], names: Names) -> bool:
    """Whether it goes from tile to tile, with loops over each: what there is to overlap, these have already."""
    strides = loop.kind is LoopKind.COUNTED and loop.step is not None and names.value(loop.step) != 1
    return strides and any(is_within(other.node, loop.body) for other in loops)


def _unrolls(inner: Loop, outer: Loop) -> bool:
    """Whether the inner loop is all there is in the outer one and does the steps that this one leaps over: unrolled by hand."""
    statements = [c for c in outer.body.named_children if c.type not in {"comment", "preproc_call"}]
    alone = outer.body.type == "compound_statement" and statements == [inner.node]
    return alone and outer.step is not None and any(text_of(n) == text_of(inner.bound) for n in of_kind(outer.step, "identifier"))


def _trips(subject: Subject, names: Names, loop: Loop) -> int | None:
    """The most trips on any workload with all parameters at their defaults, where that can be computed."""
    if loop.trips is not None:
        return loop.trips
    bound = names.expression(loop.bound)
    first = names.expression(loop.start) if loop.kind is LoopKind.COUNTED else "0"
    step = "1" if loop.step is None else names.expression(loop.step)
    if bound is None or first is None or step is None:
        return None
    with suppress(Unmet):
        return max(on_workloads(subject, f"ceildiv(({bound}) - ({first}), max({step}, 1))"))
    return None


def _tunable(subject: Subject, names: Names, loop: Loop, taken: set[str]) -> Tunable:
    wanted, number = f"UNROLL_{loop.variable.upper()}", 1
    name = wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    trips = _trips(subject, names, loop)
    factors = [f for f in (_FACTORS if subject.limits.has_banked_scratchpad else _FACTORS_OF_CPUS) if trips is None or f < trips]
    stated = _stated(subject.source.tree, loop)
    if loop.pragma is None and loop.trips is not None and loop.trips <= _MOST_WHOLE:
        factors.append(loop.trips)
    values = tuple(sorted({stated, *factors}))
    as_it_is = "" if stated else "; 0: completely" if loop.pragma is not None else "; 0: the compiler decides"
    meaning = f"unroll factor of the loop over {loop.variable}{as_it_is}"
    return Tunable(fresh_name(subject, name), values, stated, meaning, subject.source.line_of(loop.node))


def _stated(tree: Tree, loop: Loop) -> int:
    """The number in the pragma; 0 for one without, and for none."""
    found = _PRAGMA.fullmatch(tree.text_of(loop.pragma)) if loop.pragma is not None else None
    return int(found[1]) if found is not None and found[1] else 0


def _edit(tree: Tree, loop: Loop, tunable: Tunable) -> Edit:
    if loop.pragma is None:
        start = tree.line_start(loop.node)
        return Edit(start, start, _chosen(tunable, {v: f"#pragma unroll {v}" for v in tunable.values if v != 0}) + "\n")
    stands = tree.text_of(loop.pragma)
    others = {v: f"#pragma unroll {v}" for v in tunable.values if v != tunable.default}
    text = _chosen(tunable, {tunable.default: stands.rstrip(), **others})
    return Edit(loop.pragma.start_byte, loop.pragma.end_byte, text + stands[len(stands.rstrip()) :])


def _chosen(tunable: Tunable, pragmas: Mapping[int, str]) -> str:
    """One branch a value: nvcc's preprocessor leaves a macro in a pragma as it is, which its compiler then does not know."""
    branches = [f"if {tunable.name} == {value}\n{pragma}\n" for value, pragma in pragmas.items()]
    return "#" + "#el".join(branches) + "#endif"
