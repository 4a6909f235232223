"""`serial_warps`: a thread does what a warp did, its lanes one after the other in loops.

Exposes SERIAL_WARPS: 0 as it was; 1: blocks have a thread for each warp; 2: a block is one warp, and so one thread. What lanes do
between two exchanges is a loop over them; values that outlast such a loop are arrays of 32; shuffles read another lane's element,
and loops of shuffles become a tree over the array. What is the same in all lanes is done once. Loops whose steps lanes take in
turns go through memory in order. A CPU's compiler then makes vectors along lanes or steps, and exchanges cost nothing.

Precondition: a CPU; blocks are made of whole warps along x, or have one dimension; lanes exchange values, or wait for each other,
only where all of them come.
Conjectured: that lanes depend on each other only where they exchange values, that what a function of the file exchanges is the
same in all lanes, and that results do not depend on how many threads a block has.
Constraints: blocks have whole warps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.lanes.common import LANES
from warpsmith.refactor.lanes.differing import Block
from warpsmith.refactor.lanes.functions import serial_functions
from warpsmith.refactor.lifting.rules import WHOLE_WARPS
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.pointers import overlapping
from warpsmith.refactor.preconditions import (
    answered,
    names_of,
    on_workloads,
    require,
    require_free_block,
    require_readable,
    those_that_can,
)
from warpsmith.source import Edit
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import of_kind


class SerialWarps:
    name = "serial_warps"
    summary = "a thread does what a warp did, lane after lane"
    stage = Stage.RESTRUCTURE
    priority = 200  # last, for it is another kernel that it makes, with few choices left
    apart = True
    concerns = frozenset({Concern.PARALLELISM, Concern.COALESCING, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant = subject.source, subject.variant
    require(not subject.limits.has_banked_scratchpad, "the lanes of a GPU's warps work side by side already")
    require(source.language is not Language.OPENCL and subject.limits.warp_size == LANES, f"warps are not of {LANES} lanes")
    require_free_block(source)
    together = teamwork(source)
    require(not together.library and not together.lanes, f"the kernel {together.described()}")
    forms = list(those_that_can((_of_warps, _of_one), lambda form: form(subject)))
    choice = Tunable(
        fresh_name(subject, "SERIAL_WARPS"),
        (0, *(number for number, _ in forms)),
        0,
        "1: a thread does what a warp did, lane after lane · 2: the same, and a block is one warp",
        source.line_of(source.function),
        assumes="lanes of a warp meet only where they exchange values, what a function exchanges is the same for all of them, "
        "and results do not depend on how many threads a block has",
    )
    return Rewrite(variant, choice, dict(forms))


def _of_warps(subject: Subject) -> tuple[int, Variant]:
    """A thread for each warp."""
    variant, threads = subject.variant, subject.variant.block[0]
    require(teamwork(subject.source).exchanges, "no lanes exchange values")
    values = on_workloads(subject, threads)
    whole = all(n % LANES == 0 for n in values)
    require(whole or len(variant.block) == 1, f"rows of {threads} threads are not whole warps")
    block = Block.WARPS if tidy(threads) != str(LANES) else Block.ONE if len(variant.block) == 1 else Block.ROWS
    made = replace(
        variant,
        text=subject.source.edited(*serial_functions(names_of(subject), block), *_apart(subject)),
        block=(tidy(f"({threads}) / {LANES}" if whole else f"ceildiv({threads}, {LANES})"), *variant.block[1:]),
        rules=(*variant.rules, Rule(f"({threads}) % {LANES} == 0", WHOLE_WARPS)) if whole else variant.rules,
    )
    return 1, made


def _of_one(subject: Subject) -> tuple[int, Variant]:
    """A thread for each block."""
    variant, threads = subject.variant, subject.variant.block[0]
    require(all(extent == "1" for extent in variant.block[1:]), "the block has several dimensions")
    require(tidy(threads) != str(LANES), "a block is a warp already")
    require(max(on_workloads(subject, threads)) > 1, "a block is one thread already")
    is_chosen = bool(Expression.parse(threads).names & {t.name for t in variant.tunables})
    rules = (Rule(f"({threads}) <= {LANES}", "a block is a warp, which a thread does"),) if is_chosen else ()
    made = replace(
        variant,
        text=subject.source.edited(*serial_functions(names_of(subject), Block.ONE), *_apart(subject)),
        block=(f"ceildiv({threads}, {LANES})" if is_chosen else "1",),  # what is chosen so has an effect, by the rule
        rules=(*variant.rules, *rules),
    )
    return 2, made


def _apart(subject: Subject) -> Iterator[Edit]:
    """Buffers do not overlap: without that word no loop over lanes that reads and writes becomes vectors."""
    for parameter in overlapping(subject):
        name = list(of_kind(parameter.node, "identifier"))[-1]
        yield Edit(name.start_byte, name.start_byte, "__restrict__ ")
