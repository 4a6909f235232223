"""`coarsen`: a thread of a flat, guarded kernel does several elements, a block's width apart.

Exposes PER_THREAD: 1 as it was; else a block takes PER_THREAD times its width of elements in a loop from thread to thread, and
the grid shrinks accordingly. Neighbouring threads still have neighbouring elements; what does not depend on the element is
computed once. The loop is an ordinary block-stride loop, so `whole_steps` can take its bounds checks away.

Precondition: one index, the thread's place in a grid of one dimension, with a guard; nothing else tells threads apart, and they
do not work together. Constraints: none where the original's threads reach the guard's end; else PER_THREAD divides the grid.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.mapping.flat import FlatKernel, changeable, element_loop, flat_indices, flat_kernel, reaches_end
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, present, require, require_readable
from warpsmith.refactor.writing import FreeNames, cast, operand
from warpsmith.source.threads import spelled, teamwork

_VALUES = (2, 4, 8, 16)


class Coarsen:
    name = "coarsen"
    summary = "several elements per thread of a one-dimensional kernel, a block's width apart"
    stage = Stage.RESTRUCTURE
    priority = 20  # after what lays threads out in two dimensions, before what unrolls strided loops
    concerns = frozenset({Concern.PARALLELISM, Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, variant = names_of(subject), subject.variant
    together = teamwork(subject.source)
    require(together.none, f"the kernel {together.described()}: the result may depend on which elements share a block")
    found = next(iter(flat_indices(subject.source.body, names)), None)
    flat = flat_kernel(subject, names, *present(found, "no index is the thread's index in a one-dimensional grid"))
    name = fresh_name(subject, "PER_THREAD")
    most = max(on_workloads(subject, axis(variant.grid, "x")))
    # More than there are blocks to join would leave most of the device without work.
    values = tuple(v for v in _VALUES if v * subject.limits.compute_units <= most)
    require(values, f"the launch has at most {most} blocks: merging them would leave compute units idle")
    grid = axis(variant.grid, "x")
    rules = (
        () if reaches_end(subject, names, flat) else (Rule(f"({grid}) % {name} == 0", "no additional elements are processed"),)
    )
    made = replace(variant, text=_text(subject, flat, name), grid=(f"ceildiv({grid}, {name})",), rules=(*variant.rules, *rules))
    line = subject.source.line_of(flat.declaration.node)
    choice = Tunable(name, (1, *values), 1, "elements per thread, a block's width apart", line)
    return Rewrite(variant, choice, dict.fromkeys(values, made))


def _text(subject: Subject, flat: FlatKernel, per_thread: str) -> str:
    source = subject.source
    free = FreeNames(source.text)
    first, last, share = free.take("first"), free.take("last"), free.take("share")
    kind = changeable(flat.type)
    width, own = (spelled(text, source.language) for text in ("blockDim.x", "threadIdx.x"))
    if kind == "int":
        # Signed as the index is: the compiler then sees that neighbouring threads have neighbouring elements.
        width, own = (cast(source.language, "int", text) for text in (width, own))
    limit, i = operand(source.text_of(flat.guard.limit)), flat.variable
    introduction = [
        f"// A block takes {per_thread} times its width of elements, from thread to thread: neighbours stay neighbours.",
        f"const {kind} {share} = {width} * {per_thread};",
        f"const {kind} {first} = {spelled('blockIdx.x', source.language)} * {share};",
        f"const {kind} {last} = {first} + {share} < {limit} ? {first} + {share} : {limit};",
    ]
    return element_loop(subject, flat, introduction, f"{kind} {i} = {first} + {own}; {i} < {last}; {i} += {width}")
