"""Loops over a row with a fixed number of steps, so that what a thread keeps of each can stay in registers.

Used by `passes.staging` and `passes.keep_row`. A subscript that is a constant after unrolling is what lets an array be registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.refactor.base import Rule, Subject, Variant
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.preconditions import Unmet, axis
from warpsmith.refactor.writing import indented, operand, statements_of
from warpsmith.source import Edit, Loop, Names, Polynomial, loops_of, parse_kernel

STEPS = (2, 4, 8, 16)  # more than that are more registers than a thread has to spare


@dataclass(frozen=True, slots=True)
class Registers:
    """`declaration` is of the thread's array; `steps` is the parameter that says how many there are, `step` counts them."""

    declaration: str
    steps: str
    step: str


def strided_loops(subject: Subject, names: Names) -> list[Loop]:
    """Loops that start at the thread's index along x and step by the block's extent in it."""
    geometry, found = Geometry.of(subject, names), []
    for loop in loops_of(subject.source.body, names):
        share = geometry.thread_share(loop, names)
        own = share == Polynomial.atom("threadIdx.x") and geometry.base(loop, share, names) is None
        if own and loop.ends_below:
            found.append(loop)
    return found


def steps_rule(loop: Loop, subject: Subject, names: Names, steps: str) -> Rule:
    """No workload's row may have more steps than there are registers for."""
    bound = names.expression(loop.bound)
    if bound is None:
        raise Unmet("the number of steps of a row cannot be computed from the sizes in kernel.toml", loop.node)
    expression = f"ceildiv({bound}, {axis(subject.variant.block, 'x')}) <= {steps}"
    return Rule(expression, f"a thread stages at most {steps} steps of its row in registers")


def with_fixed_steps(subject: Subject, names: Names, edits: Sequence[Edit], loops: Sequence[Loop], row: Registers) -> str:
    """The text after the edits, which leave all loops in place, with these loops rewritten and the array before the first."""
    variant: Variant = subject.variant
    places = [loop.node.start_byte for loop in loops_of(subject.source.body, names)]
    wanted = sorted(places.index(loop.node.start_byte) for loop in loops)
    source = parse_kernel(subject.source.edited(*edits), subject.kernel.language, variant.entry)
    found = list(loops_of(source.body, Names(source, [t.name for t in variant.tunables], subject.kernel)))
    rewritten = []
    for number, index in enumerate(wanted):
        loop = found[index]
        assert loop.step is not None  # it is strided
        blanks = source.tree.indentation(loop.node)
        start, step = (operand(source.text_of(node)) for node in (loop.start, loop.step))
        lines = [
            *([f"{blanks}{row.declaration};  // the thread's own part of the row"] if number == 0 else []),
            "#pragma unroll",
            f"{blanks}for (int {row.step} = 0; {row.step} < {row.steps}; ++{row.step}) {{",
            f"{blanks}  const {loop.type} {loop.variable} = {start} + {row.step} * {step};",
            f"{blanks}  if ({loop.variable} < {source.text_of(loop.bound)}) {{",
            indented(statements_of(source.tree, loop.body), 2),
            f"{blanks}  }}",
            f"{blanks}}}",
        ]
        begin = source.tree.line_start(loop.pragma or loop.node)
        rewritten.append(Edit(begin, loop.node.end_byte, "\n".join(lines)))
    return source.edited(*rewritten)
