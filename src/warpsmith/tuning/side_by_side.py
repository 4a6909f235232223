"""Several devices alike evaluate at once; to the search they are one evaluator.

Which of them measured what does not matter: a configuration is timed beside the best so far on the same device, and the ratio
counts. Results are taken in the order in which configurations were begun, so that a run is a function of its outcomes here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation
from warpsmith.measure.bench import Bench
from warpsmith.tuning.evaluate import Evaluator


class SideBySide:
    """Implements `tuning.search.Evaluate` and `Inspect`. What is prefetched is begun on the next device that is free.

    Leaving early (an error, Ctrl-C) ends what is under way; leaving in time waits for it, since the benches are needed again.
    """

    def __init__(self, evaluators: Sequence[Evaluator], benches: Sequence[Bench]) -> None:
        self._all = tuple(evaluators)
        self._benches = tuple(benches)
        self._free: SimpleQueue[Evaluator] = SimpleQueue()
        for evaluator in self._all:
            self._free.put(evaluator)
        self._threads = ThreadPoolExecutor(len(self._all), "side-by-side")
        self._begun: dict[Configuration, Future[Evaluation]] = {}

    def prefetch(self, configuration: Configuration) -> None:
        self._all[0].prefetch(configuration)  # compiling is for all of them
        self._begun[configuration] = self._threads.submit(self._evaluated, configuration)

    def observe(self, evaluation: Evaluation) -> None:
        for evaluator in self._all:
            evaluator.observe(evaluation)

    @property
    def compilers(self) -> int:
        return self._all[0].compilers

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]:
        return self._all[0].resources(configurations)

    def __call__(self, configuration: Configuration) -> Evaluation:
        if configuration not in self._begun:
            self.prefetch(configuration)
        return self._begun.pop(configuration).result()

    def _evaluated(self, configuration: Configuration) -> Evaluation:
        evaluator = self._free.get()
        try:
            return evaluator(configuration)
        finally:
            self._free.put(evaluator)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            for bench in self._benches:
                bench.abandon()
        self._threads.shutdown(wait=True, cancel_futures=True)
