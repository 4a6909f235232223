"""The number of threads in a block becomes a parameter where the launch alone decides it.

Precondition, for each axis of the block that is a number (`256`) or capped by one (`min(d / 4, 1024)`): the kernel asks for its
thread's place only to begin loops that step by the block's own extent, to find its place in the grid, to index arrays in shared
memory that have an element for each thread or warp, or to tell the first thread from the others. A kernel that says the number
somewhere itself is left alone: `lift_constants` is for that.

Parameters: BLOCK, or BLOCK_X, BLOCK_Y, BLOCK_Z. The grid follows where blocks lie side by side, shared arrays with an element for
each thread grow with the block, and rules keep warps whole where lanes exchange values.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Literal
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable, assumption
from warpsmith.refactor.extents import tidy, value_at, with_part
from warpsmith.refactor.lifting.blocks import Freedom, follow_bounds, freedom, promised_threads
from warpsmith.refactor.lifting.conjectured import conjectured_block
from warpsmith.refactor.lifting.grids import follow_grid
from warpsmith.refactor.lifting.is_tunable import launch_name_in_data
from warpsmith.refactor.lifting.launches import number_in
from warpsmith.refactor.lifting.linking import AXES
from warpsmith.refactor.lifting.redistribution import Distribution
from warpsmith.refactor.lifting.rules import WHOLE_WARPS, a_warp_at_least, waiting_loops
from warpsmith.refactor.lifting.values import block_sizes, powers_of_two
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import unreadable
from warpsmith.source import Edit, Names
from warpsmith.source.threads import teamwork

_AXIS_VALUES = {"x": (8, 256), "y": (1, 32), "z": (1, 8)}


class BlockSize:
    name = "block_size"
    summary = "the number of threads in a block, where only the launch fixes it"
    stage = Stage.LIFT
    priority = -10  # after lift_constants, which ties the block to the source's own constants
    concerns = frozenset({Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        source = subject.source
        if (unclear := unreadable(source)) is not None:
            return unclear
        reasons: list[str] = []
        for number, axis in enumerate(AXES[: len(subject.variant.block)]):
            answer = _lifted(subject, number, axis)
            if isinstance(answer, Declined):
                guess = conjectured_block(subject, number, axis, answer.reason)
                answer = guess if isinstance(guess, Rewrite) else answer
            if isinstance(answer, Declined):
                reasons.append(f"block.{axis}: {answer.reason}")
            else:
                subject = Subject(subject.kernel, subject.limits, answer.variant)
        if len(reasons) == len(subject.variant.block):
            return Declined("; ".join(reasons))
        return Rewrite(_with_threads_rule(subject).variant)


def _lifted(subject: Subject, number: int, axis: str) -> Answer:
    """One axis of the block."""
    variant, limits = subject.variant, subject.limits
    block = [tidy(extent) for extent in variant.block]
    whole = Expression.parse(block[number])
    literal = number_in(whole)
    if literal is None or not isinstance(literal.value, int):
        return Declined(f"{whole.text} is not a literal number in the launch")
    value = literal.value
    if value == 1:
        return Declined("the block has one thread")
    parameter = fresh_name(subject, "BLOCK" if len(block) == 1 else f"BLOCK_{axis.upper()}")
    names = Names(subject.source, {t.name for t in variant.tunables}, subject.kernel)
    of_warps = _rows_are_warps(subject, block[:number])
    found = freedom(names, axis, parameter, value, limits.warp_size, of_warps=of_warps)
    if found.problem is not None:
        return Declined(found.problem)
    block[number] = with_part(whole, literal, parameter)
    grid = follow_grid(subject, names, found, value, [*block])
    if isinstance(grid, Declined):
        return grid
    shared = _shared(found, variant.shared, value, block)
    if shared is None:
        return Declined(f"cannot express dynamic shared memory ({variant.shared} bytes) in the block's size")
    defaults = {t.name: t.default for t in variant.tunables} | {parameter: value}
    waiting = list(waiting_loops(subject, names, block, defaults))
    unproved = launch_name_in_data(names, f"blockDim.{axis}") or next((w for w in waiting if isinstance(w, str)), None)
    extents = {f"blockDim_{other}": extent for other, extent in zip(AXES, [*block, "1", "1"], strict=False)}
    extents[f"blockDim_{axis}"] = parameter
    unproved = unproved or Distribution(names, axis, grid.blocks, extents, {parameter}).unproved()
    for more in follow_bounds(names, block[0], parameter, value) if len(block) == 1 else ():
        (found.edits if isinstance(more, Edit) else found.rules).append(more)  # type: ignore[arg-type]
    rules = [*found.rules, *grid.rules, *(w for w in waiting if isinstance(w, Rule))]
    # Of several axes, x alone says which lanes share a row; a block of another kind is bounded as a whole.
    if teamwork(subject.source).by_warps and axis == "x" and (len(block) == 1 or value % limits.warp_size == 0):
        rules.insert(0, Rule(f"{parameter} % warp_size == 0", WHOLE_WARPS))
    tunable = _tunable(subject, axis, parameter, value, rules, is_cap=not isinstance(whole.tree, Literal))
    if unproved is not None:
        tunable = replace(tunable, assumes=assumption(parameter, unproved))
    return Rewrite(
        replace(
            variant,
            text=subject.source.edited(*found.edits),
            grid=grid.grid,
            block=tuple(block),
            shared=shared,
            tunables=(*variant.tunables, tunable),
            rules=(*variant.rules, *{rule.expression: rule for rule in reversed(rules)}.values()),
        )
    )


def _rows_are_warps(subject: Subject, before: list[str]) -> bool:
    """Whether the axes before one make up whole warps: where one of them is a parameter, a rule keeps it so."""
    defaults = {t.name: t.default for t in subject.variant.tunables}
    threads = value_at(" * ".join(f"({extent})" for extent in before), defaults) if before else None
    return threads is not None and threads % subject.limits.warp_size == 0


def _shared(found: Freedom, shared: str, value: int, block: list[str]) -> str | None:
    """Dynamic shared memory with an element for each thread: so many bytes more for each."""
    if not found.dynamic_bytes:
        return shared
    together = tidy(f"{found.dynamic_bytes} * {value}")
    return tidy(f"{found.dynamic_bytes} * {found.parameter}") if len(block) == 1 and tidy(shared) == together else None


def _tunable(subject: Subject, axis: str, parameter: str, value: int, rules: list[Rule], *, is_cap: bool) -> Tunable:
    limits = subject.limits
    meaning = ("most threads in a block" if is_cap else "threads in a block") + (
        f" along {axis}" if len(subject.variant.block) > 1 else ""
    )
    if len(subject.variant.block) == 1:
        # Small ones too: forms of the kernel without exchanges may take them, and a rule forbids them to the others.
        values = block_sizes(value, limits)
    else:
        values = tuple(sorted({value, *powers_of_two(*_AXIS_VALUES[axis])}))
    bounds_of_it = [e for rule in rules if (e := Expression.parse(rule.expression)).names == {parameter}]
    allowed = tuple(v for v in values if all(e.evaluate({parameter: v}) for e in bounds_of_it))
    return Tunable(parameter, allowed, value, meaning)


def _with_threads_rule(subject: Subject) -> Subject:
    """Blocks of several axes: at least a warp, and no more than promised, which the values of a single axis cannot ensure."""
    variant = subject.variant
    if len(variant.block) == 1:
        return subject
    threads = tidy(" * ".join(f"({extent})" for extent in variant.block))
    names = Names(subject.source, {t.name for t in variant.tunables}, subject.kernel)
    rules = [a_warp_at_least(threads), *promised_threads(names, variant.block)]
    if teamwork(subject.source).by_warps:
        rules.append(Rule(f"{threads} % warp_size == 0", WHOLE_WARPS))
    return Subject(subject.kernel, subject.limits, replace(variant, rules=(*variant.rules, *rules)))
