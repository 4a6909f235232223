"""`step_lanes`: the 32 lanes of a warp share each step of a loop whose steps the threads of a block took in turns.

    for (int t = threadIdx.x; t < tokens; t += blockDim.x) {
      float dot = 0;
      for (int d = 0; d < size; ++d) dot += q[d] * keys[t * size + d];
      scores[t] = dot;
    }

Exposes STEP_LANES: 1 as it was; 32: a warp does a step, and its lanes take turns in the inner loop, whose steps lie side by side
in memory: neighbours read neighbours. What it collects is put together by shuffles. Everything else of a step all lanes do alike,
and the first one alone stores it, or adds it to what the thread collects.

Precondition: a block of one dimension, and a block-stride loop that all its threads come to, whose steps ask for no thread and
change nothing outside but what they collect; in it a loop to share, as for `row_lanes`.
Conjectured: that steps do not depend on each other through memory, nor results on which thread does a step.
Constraints: blocks have whole warps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.lifting.rules import WHOLE_WARPS
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import (
    Unmet,
    answered,
    axis,
    names_of,
    on_workloads,
    require,
    require_readable,
    those_that_can,
)
from warpsmith.refactor.rows.lane_loops import LANES, by_the_first, is_of_block, shared_loops, written_loop
from warpsmith.refactor.writing import FreeNames, cast, operand
from warpsmith.source import Edit, Loop, LoopKind, Names, Polynomial, loops_of
from warpsmith.source.accumulators import combination
from warpsmith.source.independence import carried
from warpsmith.source.threads import launch_uses, teamwork
from warpsmith.source.tree import ancestors, condition_of, is_within, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LANE = f"threadIdx.x % {LANES}"


class StepLanes:
    name = "step_lanes"
    summary = "the lanes of a warp share each iteration of a block-stride loop"
    stage = Stage.RESTRUCTURE
    priority = 10
    concerns = frozenset({Concern.COALESCING, Concern.PARALLELISM, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    require(source.language is not Language.OPENCL and subject.limits.warp_size == LANES, f"warps do not have {LANES} lanes")
    require(all(axis(variant.block, name) == "1" for name in "yz"), "the block has several dimensions")
    threads = variant.block[0]
    require(all(n % LANES == 0 for n in on_workloads(subject, threads)), f"blocks of {threads} threads are not whole warps")
    outer = [o for o in loops_of(source.body, names) if o.kind is LoopKind.BLOCK_STRIDE and o.axis == "x"]
    require(outer, "the kernel has no block-stride loop")
    free = FreeNames(source.text)
    done = those_that_can(outer, lambda loop: (loop, [*_edits(loop, names, free)]))
    choice = Tunable(
        fresh_name(subject, "STEP_LANES"),
        (1, LANES),
        1,
        "lanes of a warp that share an iteration of a block-stride loop",
        source.line_of(done[0][0].node),
        likely=(LANES,) if subject.limits.has_banked_scratchpad else (),  # on a CPU shuffles may cost more than gathers
        assumes=f"iterations of the loops inside the one at line {', '.join(str(source.line_of(loop.node)) for loop, _ in done)} "
        "are independent, and results do not depend on which thread executes an iteration",
    )
    made = replace(
        variant,
        text=source.edited(*(edit for _, edits in done for edit in edits)),
        rules=(*variant.rules, Rule(f"({threads}) % {LANES} == 0", WHOLE_WARPS)),
    )
    return Rewrite(variant, choice, {LANES: made})


def _edits(outer: Loop, names: Names, free: FreeNames) -> Iterator[Edit]:
    source = names.source
    inner = shared_loops(outer.body, names)
    require(inner, "no inner loop has iterations that access adjacent elements", outer.node)
    require(not outer.changes_variable(names), "the body changes the loop's variable", outer.node)
    together = teamwork(source)
    for node in (*together.barriers, *together.exchanges):
        require(not is_within(node, outer.body), "the loop body contains a barrier", node)
    _require_no_thread(outer, names)
    shared = {text_of(use) for use in _identifiers(outer.body) if is_of_block(use, names)}
    collected = set(carried(outer, names)) - shared
    for name in sorted(collected):
        require(combination(name, outer.body), f"{name} is carried between iterations", outer.node)
    kind = " ".join(word for word in outer.type.split() if word != "const")
    start, warp = text_of(outer.start), cast(source.language, kind, f"threadIdx.x / {LANES}")
    if Polynomial.of(outer.start, names) != Polynomial.atom("threadIdx.x"):
        warp = f"{operand(start)} - {cast(source.language, kind, 'threadIdx.x')} + {warp}"
    yield Edit(outer.start.start_byte, outer.start.end_byte, warp)
    if outer.step is not None:
        yield Edit(outer.step.start_byte, outer.step.end_byte, cast(source.language, kind, f"blockDim.x / {LANES}"))
    for loop in inner:
        yield from written_loop(loop, names, free, f"({_LANE})")
    yield from by_the_first(outer.body, names, inner, _LANE, collected)


def _require_no_thread(outer: Loop, names: Names) -> None:
    """All lanes of a warp come to the loop, and do the same in a step."""
    uses = (n for name, nodes in launch_uses(outer.body, names).items() if name.startswith("threadIdx") for n in nodes)
    asked = next(uses, None)
    require(asked is None, "the loop body uses the thread index", asked)
    for around in ancestors(outer.node):
        condition = condition_of(around)
        if condition is not None and _is_of_thread(condition, names):
            raise Unmet("cannot prove that all threads reach the loop", around)
    for use in _identifiers(outer.body):
        found = names.definition(use)
        outside = found.node is not None and not is_within(found.node, outer.node)
        if outside and found.value is not None and _is_of_thread(found.value, names):
            raise Unmet(f"{text_of(use)} distinguishes threads in the loop body", use)


def _is_of_thread(node: Node, names: Names) -> bool:
    return any(name.startswith("threadIdx") for name in launch_uses(node, names)) or Polynomial.of(node, names).mentions(
        "threadIdx.x"
    )


def _identifiers(node: Node) -> Iterator[Node]:
    if node.type == "identifier":
        yield node
    for child in node.named_children:
        yield from _identifiers(child)
