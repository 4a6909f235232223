"""From measurements to suggestions: the kernel's distance from its roof, and possible reasons in source and code.

Every finding names the fact it rests on: a figure that was measured, a count from the compiler, or a construct with its line.
"""

from __future__ import annotations

from collections.abc import Iterator

from warpsmith.core.errors import InputError
from warpsmith.refactor.base import Concern
from warpsmith.source import LoopKind, Names, loops_of, parse_kernel
from warpsmith.source.effects import called_functions
from warpsmith.source.tree import of_kind
from warpsmith.spec.document import read_source
from warpsmith.tuning.agent.planning import Facts, Finding

# Of one measurement on the search's cores: a reduction that was near 0.9 of that was at 0.7 on all cores, and a pass that had not
# been tried made it 1.4 times as fast there.
_NEAR_THE_ROOF = 0.95
_BUSY, _FEW_WARPS = 75, 30  # percent
_BARRIERS = frozenset({"__syncthreads", "barrier", "work_group_barrier"})
_DEAR_FUNCTIONS = frozenset(
    {"expf", "exp", "__expf", "logf", "log", "powf", "pow", "sinf", "cosf", "sin", "cos", "tanhf", "tanh", "sqrtf", "erff"}
)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """The weightiest first. A kernel at its roof has none."""
    fractions = facts.roofline_fraction
    if fractions and min(fractions.values()) >= _NEAR_THE_ROOF:
        return ()
    found = [*_from_the_counters(facts), *_from_the_compiler(facts), *_from_the_source(facts)]
    return tuple(sorted(found, key=lambda f: -f.weight))


def _from_the_counters(facts: Facts) -> Iterator[Finding]:
    """Where the device counts: what is busy is what to use less of, and what stands idle says why."""
    for workload, counted in facts.counters.items():
        if (counted.memory_percent or 0) >= _BUSY:
            yield Finding(Concern.TRAFFIC, f"memory is {counted.memory_percent:.0f} % busy on {workload!r}", 0.95)
        elif (counted.compute_percent or 0) >= _BUSY:
            yield Finding(Concern.BALANCE, f"the compute units are {counted.compute_percent:.0f} % busy on {workload!r}", 0.95)
        elif counted.occupancy_percent is not None and counted.occupancy_percent < _FEW_WARPS:
            few = f"only {counted.occupancy_percent:.0f} % of the warps that fit are there on {workload!r}, and nothing is busy"
            yield Finding(Concern.PARALLELISM, few, 0.95)


def _from_the_compiler(facts: Facts) -> Iterator[Finding]:
    code = facts.best or facts.baseline
    if code is None:
        return
    scattered = (code.gathers or 0) + (code.scatters or 0)
    if scattered:
        yield Finding(
            Concern.COALESCING,
            f"the compiled kernel has {code.gathers or 0} gathers and {code.scatters or 0} scatters: "
            "neighbouring threads do not touch neighbouring elements",
            1.0,
        )
    if code.spill_bytes:
        yield Finding(Concern.PARALLELISM, f"{code.spill_bytes} bytes of registers are spilled", 0.9)
    if code.vector_width == 1:
        yield Finding(Concern.DIVERGENCE, "the compiler did not vectorise across threads", 0.8)


def _from_the_source(facts: Facts) -> Iterator[Finding]:
    kernel = facts.kernel
    try:
        source = parse_kernel(read_source(kernel.source), kernel.language, kernel.entry)
    except InputError:
        return
    names = Names(source, (), kernel)
    calls = {name.rsplit("::", 1)[-1]: source.line_of(call) for body in source.reached() for name, call in called_functions(body)}
    barriers = {name: line for name, line in calls.items() if name in _BARRIERS}
    dear = {name: line for name, line in calls.items() if name in _DEAR_FUNCTIONS}
    loops = [loop for body in source.reached() for loop in loops_of(body, names)]
    strided = [loop for loop in loops if loop.kind in {LoopKind.BLOCK_STRIDE, LoopKind.GRID_STRIDE}]
    below = _how_far_below(facts)
    if barriers:
        name, line = next(iter(barriers.items()))
        yield Finding(Concern.PARALLELISM, f"threads wait for each other ({name}, line {line})", 0.7)
    if strided:
        line = source.line_of(strided[0].node)
        yield Finding(Concern.DIVERGENCE, f"every step of a strided loop is checked against its bound (line {line})", 0.6)
    checked = next((n for loop in loops for n in of_kind(loop.body, "if_statement", "conditional_expression")), None)
    if checked is not None:
        line = source.line_of(checked)
        yield Finding(Concern.DIVERGENCE, f"every step of a loop has a condition of its own (line {line})", 0.75)
    if len(strided) > 1 and barriers:
        yield Finding(Concern.LOCALITY, f"{len(strided)} loops pass over the same rows", 0.55)
    if dear:
        listed = ", ".join(f"{name} (line {line})" for name, line in sorted(dear.items(), key=lambda pair: pair[1])[:3])
        yield Finding(Concern.BALANCE, f"functions that cost many instructions: {listed}", 0.5)
    if below is not None:
        yield Finding(Concern.TRAFFIC, below, 0.4)


def _how_far_below(facts: Facts) -> str | None:
    if not facts.roofline_fraction:
        return None
    workload, fraction = min(facts.roofline_fraction.items(), key=lambda pair: pair[1])
    return f"{fraction:.0%} of the roofline on {workload!r}"
