"""`serial_warps`: a thread does what a warp did, its lanes one after the other in loops.

Exposes SERIAL_WARPS: 0 as it was; 1: blocks have a thread for each warp; 2: a block is one warp, and so one thread; 3: one thread
does the block's warps one after the other, where these neither share memory nor wait for each other. What lanes do between two
exchanges is a loop over them; values that outlast such a loop are arrays of 32; shuffles read another lane's element, and loops
of shuffles become a tree over the array. What is the same in all lanes is done once. Loops whose steps lanes take in turns go
through memory in order; where lanes only collect in them, a step's neighbours collect beside each other, too. A CPU's compiler
then makes vectors along lanes or steps, and exchanges cost nothing.

Precondition: a CPU; blocks are made of whole warps along x, or have one dimension; lanes exchange values, or wait for each other,
only where all of them come. For a thread each warp, the kernel exchanges values or asks for a thread's warp or lane.
Conjectured: that lanes depend on each other only where they exchange values, that what a function of the file exchanges is the
same in all lanes, and that results do not depend on how many threads a block has.
Constraints: blocks have whole warps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.lanes.common import LANES
from warpsmith.refactor.lanes.differing import Block
from warpsmith.refactor.lanes.functions import serial_functions
from warpsmith.refactor.lifting.rules import WHOLE_WARPS
from warpsmith.refactor.mapping.thread_loop import thread_loop
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
from warpsmith.source import Edit, KernelSource, Names
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import field, of_kind, text_of, unwrapped


class SerialWarps:
    name = "serial_warps"
    summary = "a thread does the work of a warp, lane after lane"
    stage = Stage.RESTRUCTURE
    priority = 200  # last, for it is another kernel that it makes, with few choices left
    apart = True
    concerns = frozenset({Concern.PARALLELISM, Concern.COALESCING, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant = subject.source, subject.variant
    require(not subject.limits.has_banked_scratchpad, "the lanes of a GPU's warps already run in parallel")
    require(source.language is not Language.OPENCL and subject.limits.warp_size == LANES, f"warps do not have {LANES} lanes")
    require_free_block(source)
    together = teamwork(source)
    require(not together.library and not together.lanes, f"the kernel {together.described()}")
    forms = list(those_that_can((_of_warps, _of_one, _in_turn), lambda form: form(subject)))
    choice = Tunable(
        fresh_name(subject, "SERIAL_WARPS"),
        (0, *(number for number, _ in forms)),
        0,
        "1: a thread does the work of a warp, lane after lane · 2: the same, with one warp per block"
        " · 3: one thread does the work of all warps of a block",
        source.line_of(source.function),
        assumes="lanes of a warp synchronise only where they exchange values, "
        "functions that exchange values return warp-uniform results, "
        "and results do not depend on the number of threads in a block",
    )
    return Rewrite(variant, choice, dict(forms))


def _of_warps(subject: Subject) -> tuple[int, Variant]:
    """A thread for each warp."""
    variant, threads = subject.variant, subject.variant.block[0]
    by_warps = bool(teamwork(subject.source).exchanges) or _tells_warps_apart(subject.source, names_of(subject))
    require(by_warps, "lanes do not exchange values, and the kernel does not use a thread's warp or lane index")
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


def _tells_warps_apart(source: KernelSource, names: Names) -> bool:
    """Whether the kernel divides the thread's place by a warp's width."""
    for node in of_kind(source.body, "binary_expression"):
        sign, width = text_of(field(node, "operator")), names.value(field(node, "right"))
        if (sign in {"/", "%"} and width == LANES) or (sign, width) in {(">>", LANES.bit_length() - 1), ("&", LANES - 1)}:
            left = unwrapped(field(node, "left"))
            value = names.definition(left).value if left.type == "identifier" else left
            if value is not None and "threadIdx.x" in text_of(value):
                return True
    return False


def _of_one(subject: Subject) -> tuple[int, Variant]:
    """A thread for each block."""
    variant, threads = subject.variant, subject.variant.block[0]
    require(all(extent == "1" for extent in variant.block[1:]), "the block has several dimensions")
    require(tidy(threads) != str(LANES), "a block is already one warp")
    require(max(on_workloads(subject, threads)) > 1, "a block is already one thread")
    chosen = [t for t in variant.tunables if t.name in Expression.parse(threads).names]
    # Where no value of the parameters gives blocks of one warp, they are there for more than the block, and have an effect.
    is_chosen = any(all(count <= LANES for count in _with(subject, chosen, pick)) for pick in (min, max)) if chosen else False
    # A parameter that is the extent may be that of arrays too, which all lanes use.
    sign = "==" if threads in {t.name for t in chosen} else "<="
    rules = (Rule(f"({threads}) {sign} {LANES}", "a block must be one warp, done by one thread"),) if is_chosen else ()
    made = replace(
        variant,
        text=subject.source.edited(*serial_functions(names_of(subject), Block.ONE), *_apart(subject)),
        block=(f"ceildiv({threads}, {LANES})" if is_chosen else "1",),  # what is chosen so has an effect, by the rule
        rules=(*variant.rules, *rules),
    )
    return 2, made


def _with(subject: Subject, chosen: Sequence[Tunable], pick: Callable[[Sequence[int]], int]) -> list[int]:
    """Threads of a block on all workloads, with the smallest or largest values of some parameters."""
    names = {t.name for t in chosen}
    tunables = tuple(replace(t, default=pick(t.values)) if t.name in names else t for t in subject.variant.tunables)
    variant = replace(subject.variant, tunables=tunables)
    return on_workloads(Subject(subject.kernel, subject.limits, variant, subject.parameters), variant.block[0])


def _in_turn(subject: Subject) -> tuple[int, Variant]:
    """One thread, which does the block's warps: of several threads a CPU's runtime makes vectors, whose lanes are rows apart."""
    number, warps = _of_warps(subject)
    variant = subject.variant
    require(len(variant.block) == 1, "the block has several dimensions")
    extent = Expression.parse(variant.block[0])
    require(extent.names <= {t.name for t in variant.tunables}, "the kernel does not know the number of warps in a block")
    require(max(on_workloads(subject, variant.block[0])) > LANES, "a block is already one warp")
    each = Subject(subject.kernel, subject.limits, warps, subject.parameters)
    loop = thread_loop(each, names_of(each), {"x": f"({warps.block[0]})"})
    most = Rule(
        f"({variant.block[0]}) <= {max(on_workloads(subject, variant.block[0]))}", "more warps per thread would leave blocks idle"
    )
    rules = (*warps.rules, most) if extent.names else warps.rules
    return number + 2, replace(warps, text=loop.text, block=("1",), rules=rules)


def _apart(subject: Subject) -> Iterator[Edit]:
    """Buffers do not overlap: without that word no loop over lanes that reads and writes becomes vectors."""
    for parameter in overlapping(subject):
        name = list(of_kind(parameter.node, "identifier"))[-1]
        yield Edit(name.start_byte, name.start_byte, "__restrict__ ")
