"""`sweeps`: a softmax's sum beside the maximum that it is relative to, in one sweep, or after it in another.

Exposes SWEEPS. 0 as it was: a step raises the maximum and corrects the sum, so the row is read once for both and every element
costs an exponential that depends on the step before. 1: the maximum first, by comparing, then the sum relative to the maximum of
all threads; where a later loop computes the same exponentials again for what it stores, they are left in the output and found
there.

Precondition: the loop carries a maximum and a sum of exponentials relative to it and nothing else
(`source.online_softmax.running_sums`); it reads nothing that the kernel writes; what it ranges over does not change until the
sum is used. For the output as the place between the sweeps: `source.online_softmax.kept_results`. Sums are made of other
roundings: within the tolerance, not bit for bit.
Constraints: none.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, present, require, require_readable
from warpsmith.refactor.writing import FreeNames, removed
from warpsmith.source import Edit, KernelSource, Loop, Names, loops_of
from warpsmith.source.dataflow import reads_inputs_only
from warpsmith.source.effects import may_change
from warpsmith.source.online_softmax.kept_results import KeptResult, kept_result, meaning
from warpsmith.source.online_softmax.running_sums import RunningSum, running_sum
from warpsmith.source.statements import text_between, with_pragma
from warpsmith.source.tree import field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


_NUMBER = re.compile(r"-\s*(?:INFINITY|HUGE_VALF|FLT_MAX|[\d.]+(?:[eE][+-]?\d+)?[fF]?)")
_MAXIMUM = re.compile(r"(?:::|std::)?f?maxf?")


class Sweeps:
    name = "sweeps"
    summary = "online softmax (sum with the running maximum), or two-pass softmax with exponentials kept in the output"
    stage = Stage.RESTRUCTURE
    priority = 10  # before what rewrites strided loops: it adds one
    concerns = frozenset({Concern.BALANCE, Concern.LOCALITY, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, source = names_of(subject), subject.source
    loops = list(loops_of(source.body, names))
    outer = [loop for loop in loops if not any(is_within(loop.node, other.body) for other in loops)]
    found = present(
        next((f for loop in outer if (f := running_sum(loop, names)) is not None), None),
        "no loop carries a running maximum and a sum of exponentials relative to it",
    )
    loop = found.loop
    steady = _is_steady(loop, found.statement, names)
    require(steady, f"the range of the loop over {loop.variable} may change before {found.sum} is used", loop.node)
    inputs = reads_inputs_only(loop.body, names, subject.kernel)
    require(inputs, f"the loop over {loop.variable} reads memory that the kernel may write", loop.node)
    kept = _kept(found, outer, names)
    edits = [removed(source.tree, with_pragma(node)) for node in found.summing]
    edits += _comparisons(found, names)
    edits.append(Edit(found.use.start_byte, found.use.end_byte, found.sum))
    begin = source.tree.line_start(found.statement)
    sweep = _again(found, source) if kept is None else _keeping(found, kept, source)
    edits += [Edit(begin, begin, sweep), *(_reading(kept, source) if kept is not None else ())]
    between = "" if kept is None else ", which stay in the output until they are scaled"
    meant = f"0: the sum is relative to a running maximum · 1: the maximum first, then exponentials{between}"
    choice = Tunable(fresh_name(subject, "SWEEPS"), (0, 1), 0, meant, source.line_of(loop.node))
    return Rewrite(subject.variant, choice, {1: replace(subject.variant, text=source.edited(*edits))})


def _comparisons(found: RunningSum, names: Names) -> list[Edit]:
    """The maximum by comparing, one instruction where `fmaxf` takes more to pass over what is not a number.

    Comparing passes over that, too, as long as the maximum itself is a number, and it begins as one.
    """
    declared = next((n for n in of_kind(found.loop.body, "identifier") if text_of(n) == found.maximum), None)
    begins = names.definition(declared).value if declared is not None else None
    if begins is None or _NUMBER.fullmatch(text_of(begins)) is None:
        return []
    edits = []
    for call in of_kind(found.loop.body, "call_expression"):
        arguments = field(call, "arguments").named_children
        known = [a for a in arguments if text_of(a) in {found.maximum, found.higher}]
        others = [names.source.text_of(a) for a in arguments if a not in known]
        if _MAXIMUM.fullmatch(text_of(field(call, "function"))) and len(known) == len(others) == 1:
            name = text_of(known[0])
            edits.append(Edit(call.start_byte, call.end_byte, f"({others[0]} > {name} ? {others[0]} : {name})"))
    return edits


def _is_steady(loop: Loop, until: Node, names: Names) -> bool:
    """Whether the loop would do the same steps right before `until`, which stands after it in the same block."""
    assert loop.node.parent is not None  # the block
    between = [c for c in loop.node.parent.named_children if loop.node.start_byte <= c.start_byte <= until.start_byte]
    local = {text_of(n) for d in of_kind(loop.node, "declaration") for n in of_kind(d, "identifier")}
    header = [node for node in (loop.start, loop.bound, loop.step) if node is not None]
    used = {text_of(n) for part in header for n in of_kind(part, "identifier")}
    used |= {text_of(n) for d in of_kind(loop.body, "declaration") for n in of_kind(d, "identifier")} - local
    return not any(may_change(name, node, names) for name in used for node in between)


def _kept(found: RunningSum, loops: list[Loop], names: Names) -> KeptResult | None:
    """A later loop over the same steps that computes the step's one exponential again for what it stores."""
    if len(found.terms) != 1:
        return None
    term, loop = found.terms[0], found.loop
    inner = meaning(term.minuend, loop, names)
    called = text_of(term.call.children[0])
    wanted = f"{called} ({inner}-{found.top} )"
    for other in loops:
        same = _header(other) == _header(loop) and other.node.parent == loop.node.parent
        if same and other.node.start_byte > found.statement.end_byte and _is_steady(loop, other.node, names):
            kept = kept_result(wanted, other, names)
            if kept is not None and _is_known_before(kept, found.statement, names):
                return kept
    return None


def _header(loop: Loop) -> tuple[str, ...]:
    parts = ("" if part is None else text_of(part) for part in (loop.start, loop.bound, loop.step))
    return (loop.type, str(loop.ends_below), *parts)


def _is_known_before(kept: KeptResult, statement: Node, names: Names) -> bool:
    """Whether all that the loop needs up to the value is declared before the sum is used."""
    later = kept.assignment
    for use in of_kind(kept.loop.node, "identifier"):
        declared = names.definition(use).node
        scaled = is_within(use, later) and not is_within(use, kept.value)
        if declared is not None and not scaled and statement.start_byte <= declared.start_byte < kept.loop.node.start_byte:
            return False
    return True


def _again(found: RunningSum, source: KernelSource) -> str:
    """The sum in a loop of its own."""
    tree, loop = source.tree, found.loop
    tops = [
        Edit(n.start_byte, n.end_byte, found.top)
        for term in found.terms
        for n in of_kind(term.call, "identifier")
        if text_of(n) == found.higher
    ]
    blanks = tree.indentation(loop.node)
    lines = [blanks + text_between(tree, loop.node.start_byte, loop.body.start_byte).rstrip() + " {"]
    lines += [f"{blanks}  {tree.text_of(node)}" for node in found.loads]
    for term in found.terms:
        call = text_between(tree, term.call.start_byte, term.call.end_byte, tops)
        if term.lanes is not None:
            lines += [tree.text_of(term.lanes.pragma).strip()] if term.lanes.pragma is not None else []
            head = text_between(tree, term.lanes.node.start_byte, term.lanes.body.start_byte).rstrip()
            lines.append(f"{blanks}  {head} {found.sum} += {call};")
        else:
            lines.append(f"{blanks}  {found.sum} += {call};")
    return "\n".join([*lines, f"{blanks}}}\n\n"])


def _keeping(found: RunningSum, kept: KeptResult, source: KernelSource) -> str:
    """The later loop, with the exponential in place of what it stores, and added to the sum."""
    tree, statement = source.tree, kept.assignment.parent
    assert statement is not None  # of the assignment
    free = FreeNames(source.text).take("kept")
    target = tree.text_of(kept.assignment).partition("=")[0].strip()
    blanks, inner = tree.indentation(kept.loop.node), tree.indentation(statement)
    braced = statement.parent is not None and statement.parent.type == "compound_statement"
    words = [f"const float {free} = {tree.text_of(kept.value)};", f"{found.sum} += {free};", f"{target} = {free};"]
    text = f"\n{inner}".join(words) if braced else f"{{ {' '.join(words)} }}"
    edit = Edit(statement.start_byte, statement.end_byte, text)
    whole = text_between(tree, kept.loop.node.start_byte, kept.loop.node.end_byte, [edit])
    return f"{blanks}{whole}\n\n"


def _reading(kept: KeptResult, source: KernelSource) -> list[Edit]:
    """The later loop finds the exponential where it stores."""
    tree, value = source.tree, kept.value
    target = tree.text_of(kept.assignment).partition("=")[0].strip()
    edits = [Edit(value.start_byte, value.end_byte, target)]
    edits += [removed(tree, with_pragma(node)) for node in kept.spare]
    if kept.pack is not None:
        end = kept.pack.end_byte - 1  # before the semicolon
        edits.append(Edit(end, end, f" = {tree.text_of(kept.place)}"))
    return edits
