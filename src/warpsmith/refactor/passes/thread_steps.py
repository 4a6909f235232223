"""`thread_steps`: a block has fewer threads, and each does what several of the original's did.

Exposes EACH (blocks of one dimension) or EACH_Y and EACH_X: 1 as it was; else so many threads of that axis are one, which does
their work in a loop: along x a block's width apart, so that neighbours stay neighbours, along y and z neighbours. What threads of
a column load alike is loaded once, and on a CPU a block may be a single thread, whose inner loops become vectors. The body sees
the block that it was written for; so it may have any grid, any guard or none, and atomics.

Precondition: threads neither share memory, nor wait for each other, nor exchange values.
Conjectured: that functions of headers which are not read do nothing of the kind.
Constraints: the number divides the block's extent; on a CPU, threads that go through no rows stay eight along x at least.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.mapping.thread_loop import thread_loop
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, names_of, on_workloads, require_free_block, require_readable
from warpsmith.refactor.rows.lane_loops import has_rows

_VALUES = (2, 4, 8, 16)
_ALONE = (64, 256)  # where a thread goes through rows by itself, on a CPU also so many: blocks of few threads, and of one
_LANES = 8  # of a CPU's vectors, at least: of a row of fewer threads come single elements
_REASON = "every thread does the work of the same number"
_FEW = f"fewer than {_LANES} adjacent threads do not fill a vector"


class ThreadSteps:
    name = "thread_steps"
    summary = "a block has fewer threads, each of which does the work of several"
    stage = Stage.RESTRUCTURE
    priority = 190  # late: what it makes is for the compiler, not for other passes
    apart = True
    concerns = frozenset({Concern.PARALLELISM, Concern.LOCALITY, Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    require_free_block(subject.source)
    variant = subject.variant
    extents = dict(zip("xyz", variant.block, strict=False))
    alone = not subject.limits.has_banked_scratchpad and has_rows(subject.source.body, names_of(subject))
    vectors = not subject.limits.has_banked_scratchpad and not alone
    values = {axis: _values(axis, max(on_workloads(subject, e)), alone=alone, vectors=vectors) for axis, e in extents.items()}
    # Along y, where there are several threads: those of a column have more in common than those of a row.
    chosen = next((axis for axis in "yzx" if values.get(axis)), None)
    if chosen is None:
        raise Unmet("the block has too few threads")
    axes = [chosen] if chosen == "x" or not values["x"] else [chosen, "x"]
    names = {axis: fresh_name(subject, f"EACH_{axis.upper()}" if len(extents) > 1 else "EACH") for axis in axes}
    loop = thread_loop(subject, names_of(subject), names)
    choice, *others = (
        Tunable(name, (1, *values[axis]), 1, f"threads of the original along {axis} per thread", loop.line, assumes=loop.assumes)
        for axis, name in names.items()
    )
    rules = [Rule(f"({extents[axis]}) % {name} == 0", _REASON) for axis, name in names.items()]
    if vectors and "x" in names:
        rules.append(Rule(f"({extents['x']}) >= {_LANES} * {names['x']}", _FEW))
    made = replace(
        variant,
        text=loop.text,
        block=tuple(tidy(f"({extent}) / {names[a]}") if a in names else extent for a, extent in extents.items()),
        tunables=(*variant.tunables, *others),
        rules=(*variant.rules, *rules),
    )
    return Rewrite(variant, choice, dict.fromkeys(values[chosen], made))


def _values(axis: str, extent: int, *, alone: bool, vectors: bool) -> tuple[int, ...]:
    most = extent // _LANES if axis == "x" and vectors else extent
    return tuple(value for value in (*_VALUES, *(_ALONE if axis == "x" and alone else ())) if value <= most)
