"""`split_grid`: several blocks share the loop that was one block's.

Exposes: how many blocks do the steps of a block-stride loop, `i = threadIdx.x; i < n; i += blockDim.x`. Each takes every SPLIT-th
step of the block: `blockIdx.x` becomes `blockIdx.x / SPLIT`, and `blockIdx.x % SPLIT` says which steps are its own. A grid of few
rows then fills the device.

Precondition: threads do not work together; a step carries nothing to the next, writes to places of its own (the address follows
the loop's variable) and reads nothing that other steps write; outside these loops nothing is written.
Parameter: SPLIT, 1 as it was; 0 gives each step of the longest loop a block of its own, so that there is nothing left to loop
over. Constraints: none; a block without steps does nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.mapping.one_step import OneStepEach, one_step_each, shared_header
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, require, require_readable
from warpsmith.refactor.writing import FreeNames, operand
from warpsmith.source import Edit, KernelSource, Loop, Names, Polynomial, loops_of
from warpsmith.source.effects import is_invariant, leaves
from warpsmith.source.independence import dependence
from warpsmith.source.threads import all_launch_uses, launch_uses, spelled, teamwork
from warpsmith.source.tree import is_within, of_kind

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = (2, 4, 8)


class SplitGrid:
    name = "split_grid"
    summary = "several blocks share the iterations of a block-stride loop"
    stage = Stage.RESTRUCTURE
    priority = 60  # after the passes that choose how rows are mapped, before those that only rewrite loops
    concerns = frozenset({Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _split(subject))


def _split(subject: Subject) -> Answer:
    require_readable(subject)
    source, names = subject.source, names_of(subject)
    team = teamwork(source)
    require(team.none, f"the kernel {team.described()}")
    require(team.waits is None, f"blocks may wait for each other ({team.waits})")
    loops = _shared_loops(subject, names)
    require(loops, "the kernel has no block-stride loop")
    block_uses = _block_uses(source, names)
    for loop in loops:
        reason = _objection(loop, names)
        require(reason is None, f"the loop over {loop.variable}: {reason}", loop.node)
    reason = dependence(loops, names)
    require(reason is None, f"{reason}", loops[0].node)
    values = _values(subject, names, loops)
    require(values, "no workload has iterations for more than one block", loops[0].node)

    name = fresh_name(subject, "SPLIT")
    part = f"{spelled('blockIdx.x', source.language)} % {name}"
    edits = [_divided(source, node, name) for node in block_uses]
    edits += [edit for loop in loops for edit in shared_header(source, loop, part, name)]
    alternatives = dict.fromkeys(values, replace(subject.variant, text=source.edited(*edits), grid=_grid(subject, name)))
    meaning = "blocks that share the iterations of a block-stride loop"
    tiled = _tiled(subject, block_uses)
    if tiled is not None:
        rules = (*subject.variant.rules, *tiled.rules)
        alternatives[0] = replace(subject.variant, text=tiled.text, grid=_grid(subject, tiled.blocks), rules=rules)
        meaning += "; 0: one per iteration"
    choice = Tunable(name, (1, *alternatives), 1, meaning, source.line_of(loops[0].node))
    return Rewrite(subject.variant, choice, alternatives)


def _tiled(subject: Subject, block_uses: list[Node]) -> OneStepEach | None:
    """In two goes, since blocks may be asked for inside the loops that are written anew."""
    source = subject.source
    count = FreeNames(source.text).take("steps")
    text = source.edited(*(_divided(source, node, count) for node in block_uses))
    divided = Subject(subject.kernel, subject.limits, replace(subject.variant, text=text))
    names = names_of(divided)
    return one_step_each(divided, names, _shared_loops(divided, names), count)


def _grid(subject: Subject, factor: str) -> tuple[str, ...]:
    return (f"{operand(axis(subject.variant.grid, 'x'))} * {factor}", *subject.variant.grid[1:])


def _shared_loops(subject: Subject, names: Names) -> list[Loop]:
    """Loops whose steps the block's threads share, the outermost ones."""
    geometry = Geometry.of(subject, names)
    found: list[Loop] = []
    for loop in loops_of(subject.source.body, names):
        share = geometry.thread_share(loop, names)
        inside = any(is_within(loop.node, outer.node) for outer in found)
        if share is not None and not share.mentions("blockIdx.x") and not inside:
            found.append(loop)
    return found


def _block_uses(source: KernelSource, names: Names) -> list[Node]:
    """Where the kernel itself asks for its block; Unmet where another function does, or where it asks how many there are."""
    everywhere, here = all_launch_uses(source, names), launch_uses(source.body, names)
    for name in ("gridDim.x", "gridDim.*", "blockIdx.*", "get_global_id.x", "get_global_id.*", "get_global_size.x"):
        place = next(iter(everywhere.get(name, ())), None)
        require(place is None, f"the kernel uses {name}, whose value would change", place)
    uses = here.get("blockIdx.x", [])
    require(len(uses) == len(everywhere.get("blockIdx.x", [])), "a called function uses the block index")
    return uses


def _objection(loop: Loop, names: Names) -> str | None:
    assert loop.step is not None
    if loop.changes_variable(names):
        return "its body changes its variable"
    if leaves(loop.body) or any(True for _ in of_kind(loop.body, "return_statement")):
        return "an iteration can leave it"
    if not is_invariant(loop.step, loop.body, names) or Polynomial.of(loop.step, names).mentions("blockIdx.x"):
        return "cannot prove that its stride is loop-invariant and grid-uniform"
    return None


def _values(subject: Subject, names: Names, loops: list[Loop]) -> tuple[int, ...]:
    """As many blocks as the longest loop has steps for, with the fewest threads a block may be given."""
    steps = 0
    for loop in loops:
        assert loop.step is not None
        bound, step = names.expression(loop.bound), names.expression(loop.step) or "warp_size"
        if bound is None:
            return _VALUES
        steps = max(steps, *on_workloads(subject, f"ceildiv({bound}, max({step}, 1))"))
    return tuple(v for v in _VALUES if v <= steps)


def _divided(source: KernelSource, node: Node, name: str) -> Edit:
    text = f"{source.text_of(node)} / {name}"
    alone = node.parent is not None and node.parent.type in {"init_declarator", "argument_list", "parenthesized_expression"}
    return Edit(node.start_byte, node.end_byte, text if alone else f"({text})")
