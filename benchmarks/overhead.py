"""What the tuner itself costs an evaluation: asking, telling and the durable record, without the device. Goal: below 5 ms.

The same loop and the same store as in a real run; only the evaluation is a look-up. The price of one durable write of this
machine's disk (an fsync of the same size) stands beside it, because no durable record can be cheaper. The default strategy is
also timed over 2,000 evaluations, in a space too large to list, and from a record of 200 random configurations. Over 10,000
evaluations its processor time and the process's memory are told by the thousand: neither may grow.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.run import RunHeader
from warpsmith.record.store import Store
from warpsmith.search.base import Learner, Prior
from warpsmith.search.registry import DEFAULT_STRATEGY, load_strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Launch, Parameter, Workload
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.rounds.search import search

EVALUATIONS = 200
MANY = 2_000
LONG = 10_000
VALUES = (1, 2, 4, 8, 16)
PARAMETERS = tuple(Parameter(name, VALUES, 4) for name in "ABCDE")
MORE_PARAMETERS = tuple(Parameter(name, VALUES, 4) for name in "ABCDEFGHIJ")
GOOD = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))


class LookUp:
    def prefetch(self, configuration: Configuration) -> None: ...

    def observe(self, evaluation: Evaluation) -> None: ...

    def __call__(self, configuration: Configuration) -> Evaluation:
        score = float(sum(abs(np.log2(float(v)) - 2.5) for v in configuration.values()))
        return Evaluation(configuration, Measured(GOOD, (WorkloadTime("w", score, score, (score, score), 9),), score))


def main() -> None:
    small, large = _space(PARAMETERS), _space(MORE_PARAMETERS)
    with tempfile.TemporaryDirectory() as folder:
        fsync_ms = _fsync_ms(Path(folder) / "probe")
        print(f"one durable write of this disk: {fsync_ms:.2f} ms")
        for name in ("random", "local", "exhaustive", DEFAULT_STRATEGY):
            _print(name, small, EVALUATIONS, Path(folder), fsync_ms)
        for space, count in ((large, EVALUATIONS), (small, MANY), (large, MANY)):
            _print(DEFAULT_STRATEGY, space, count, Path(folder), fsync_ms)
        for space in (small, large):
            _print(DEFAULT_STRATEGY, space, EVALUATIONS, Path(folder), fsync_ms, warm=True)
    _print_course(large)


def _print_course(space: Space) -> None:
    """Processor time: other programs do not count in it."""
    strategy, evaluate, done = load_strategy(DEFAULT_STRATEGY)(space, np.random.default_rng(0)), LookUp(), []
    began = time.process_time()
    for number in range(1, LONG + 1):
        for configuration in strategy.ask(1):
            done.append(evaluate(configuration))
            strategy.tell(done[-1])
        if number % 1000 == 0:
            each_ms = (time.process_time() - began) / 1000 * 1e3
            print(
                f"{DEFAULT_STRATEGY:<12} to {number:,}: {each_ms:5.2f} ms of a processor each, {_resident_mb():.0f} MB",
                flush=True,
            )
            began = time.process_time()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _space(parameters: tuple[Parameter, ...]) -> Space:
    one = Expression.parse(1)
    launch = Launch((one,), (one,), Expression.parse(0))
    return Space.build(parameters, (), launch, (Workload("w", {}),), Limits(1024, 1024, 1024, 64, 49152, 32, 2))


def _print(name: str, space: Space, evaluations: int, folder: Path, fsync_ms: float, *, warm: bool = False) -> None:
    with Store(folder / f"{name}-{space.size}-{evaluations}-{warm}.sqlite") as store:
        run = store.begin(RunHeader("k", "k", "f", "cpu", "none", name, 0, {}, {}))
        prior = _record(space) if warm else None
        began = time.perf_counter()
        strategy = load_strategy(name)(space, np.random.default_rng(0))
        if prior is not None:
            assert isinstance(strategy, Learner)
            strategy.learn(prior)
        done = search(
            strategy,
            LookUp(),
            budget=Budget(evaluations),
            recorded={},
            record=lambda evaluation: store.append(run, evaluation),
            report=lambda *_: None,
            elapsed_s=lambda: 0.0,
        )
        each_ms = (time.perf_counter() - began) / len(done) * 1e3
    durable = f"{each_ms / fsync_ms:.1f} x one durable write"
    start = ", from a record" if warm else ""
    print(f"{name:<12} {each_ms:6.2f} ms an evaluation over {len(done):,} of {space.size:,} ({durable}){start}", flush=True)


def _record(space: Space) -> Prior:
    drawn = dict.fromkeys(space.sample(EVALUATIONS, np.random.default_rng(1)))
    return Prior("another device", tuple(LookUp()(space[number]) for number in drawn))


def _fsync_ms(path: Path) -> float:
    times = []
    with path.open("wb", buffering=0) as file:
        for _ in range(50):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1e3
