"""How long it takes from parameters and constraints to a search space: ours beside Kernel Tuner and pyATF.

All in one process, with the same values and constraints, in turns with one peer at a time: a peer that works for a second leaves
cold caches to whatever takes a fraction of a millisecond after it. Ratios are of neighbouring runs, with their interval. Beside
Kernel Tuner, which starts from text and lists, ours is timed from text until it is *usable* (counted, a random configuration
drawn and found again by its number) and until every configuration is *listed* too. Beside pyATF, whose constraints are Python
functions and whose trees are not listed, ours is timed from parsed constraints to a first sample. Sizes must be as published.
Goals: ten times as fast as Kernel Tuner, not slower than pyATF, and 10^12 combinations usable within a second.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.search_spaces import HUGE, PUBLISHED, SearchSpace
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.measure.statistics import paired_ratio
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

# At least so many rounds; more, for a tight interval, while they are short.
ROUNDS = 5
ROUNDS_AT_MOST = 40
SHORT_S = 3.0
PEERS = {"kernel_tuner": "Kernel Tuner", "pyatf": "pyATF"}
# The limits of a device must not remove anything here: the published sizes come from the constraints alone.
LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
LAUNCH = Launch((Expression.parse(1),), (Expression.parse(1),), Expression.parse(0))
WORKLOADS = (Workload("w", {}),)
RNG = np.random.default_rng(0)
CHANCE = random.Random(0)


def parsed(space: SearchSpace) -> tuple[tuple[Parameter, ...], tuple[Constraint, ...]]:
    parameters = tuple(Parameter(n, tuple(v), space.default.get(n, v[0])) for n, v in space.values.items())
    return parameters, tuple(Constraint(Expression.parse(text)) for text in space.constraints)


def sampled(parameters: tuple[Parameter, ...], constraints: tuple[Constraint, ...]) -> Space:
    space = Space.build(parameters, constraints, LAUNCH, WORKLOADS, LIMITS)
    (number,) = space.sample(1, RNG)
    assert len(space[number]) == len(parameters)
    return space


def usable(space: SearchSpace) -> Space:
    built = sampled(*parsed(space))
    assert built.index(built[built.size - 1]) == built.size - 1
    return built


def listed(space: SearchSpace) -> Space:
    built = usable(space)
    assert len(built.rows) == space.feasible
    return built


def kernel_tuner(space: SearchSpace) -> int:
    from kernel_tuner.searchspace import Searchspace  # noqa: PLC0415

    # It adds a limit of its own on the product of the block sizes: set so high that it removes nothing.
    built = Searchspace(space.values, list(space.constraints), max_threads=2**20)
    return int(built.size)


def functions(space: SearchSpace) -> dict[str, Callable[..., bool]]:
    """For pyATF a constraint is a function, given with the last parameter that it uses."""
    texts: dict[str, list[str]] = {}
    for text in space.constraints:
        used = Expression.parse(text).names
        texts.setdefault([name for name in space.values if name in used][-1], []).append(text)
    found = {}
    for name, together in texts.items():
        used = frozenset().union(*(Expression.parse(text).names for text in together))
        found[name] = eval(f"lambda {', '.join(sorted(used))}: {' and '.join(f'({text})' for text in together)}")
    return found


def pyatf(space: SearchSpace, constraints: dict[str, Callable[..., bool]]) -> int:
    from pyatf import TP, Set  # noqa: PLC0415
    from pyatf.search_space import SearchSpace as Built  # noqa: PLC0415

    parameters = [TP(name, Set(*values), constraints.get(name)) for name, values in space.values.items()]
    built = Built(*parameters, enable_1d_access=False, verbosity=0)
    assert len(built.get_configuration(tuple(CHANCE.random() for _ in space.values))) == len(space.values)
    return int(built.constrained_size)


def main() -> None:
    found = [module for module in PEERS if find_spec(module)]
    for module, name in PEERS.items():
        if module not in found:
            print(f"{name} is not installed, so it is left out; to compare: python -m pip install --group bench")
    for space in PUBLISHED:
        _compare(space, found)
    times = [_timed(partial(usable, HUGE))[0] for _ in range(ROUNDS)]
    built = usable(HUGE)
    assert built.size == HUGE.feasible, f"{HUGE.name}: {built.size}, expected {HUGE.feasible}"
    print(f"{HUGE.name}: {built.size:,} of {HUGE.combinations:,} usable in {np.median(times) * 1e3:.1f} ms")


def _compare(space: SearchSpace, peers: list[str]) -> None:
    print(f"{space.name}: {space.feasible:,} of {space.combinations:,}")
    ours: dict[str, Callable[[], Any]] = {
        "from text to usable": partial(usable, space),
        "from text to listed": partial(listed, space),
    }
    _beside("kernel_tuner", partial(kernel_tuner, space) if "kernel_tuner" in peers else None, ours, space)
    if "pyatf" in peers:
        _beside("pyatf", partial(pyatf, space, functions(space)), {"to a sample": partial(sampled, *parsed(space))}, space)


def _beside(peer: str, theirs: Callable[[], Any] | None, ours: dict[str, Callable[[], Any]], space: SearchSpace) -> None:
    """Ours in turns with the peer, or with each other where it is not installed."""
    runs = ours if theirs is None else {**ours, peer: theirs}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    order = random.Random(0)
    began = time.perf_counter()
    for turn in range(ROUNDS_AT_MOST + 1):
        if turn > ROUNDS and time.perf_counter() - began > SHORT_S:
            break
        for name in order.sample(list(runs), len(runs)):  # what ran before leaves its mark on the processor's caches
            took, result = _timed(runs[name])
            size = result.size if isinstance(result, Space) else result
            assert size == space.feasible, f"{name} finds {size} configurations of {space.name}, expected {space.feasible}"
            if turn:  # the first is for caches and imports
                seconds[name].append(took)
    for label in ours:
        print(f"  ours, {label:<20} {_ms(seconds[label])}")
    if peer in runs:
        ratios = [f"{_ratio(seconds[peer], seconds[label])} ours {label}" for label in ours]
        print(f"  {PEERS[peer]:<26} {_ms(seconds[peer])}   {';  '.join(ratios)}", flush=True)


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    gc.disable()
    try:
        began = time.perf_counter()
        result = run()
        return time.perf_counter() - began, result
    finally:
        gc.enable()


def _ms(seconds: list[float]) -> str:
    return f"{np.median(seconds) * 1e3:9.1f} ms"


def _ratio(theirs: list[float], ours: list[float]) -> str:
    ratio = paired_ratio(theirs, ours, np.random.default_rng(0))
    return f"{ratio.value:.1f} x [{ratio.low:.1f}, {ratio.high:.1f}]"
