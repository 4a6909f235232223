"""Ask-and-tell search of a kernel's own template: configurations are compiled, verified and timed here, on request."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Value
from warpsmith.core.outcome import Evaluation
from warpsmith.measure.bench import Bench
from warpsmith.measure.scrub import make_scrubber
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.settings import read_settings
from warpsmith.spec.kernel import Kernel
from warpsmith.study.study import Study
from warpsmith.tuning.evaluation.cores import divide_cores
from warpsmith.tuning.evaluation.evaluate import Evaluator
from warpsmith.tuning.evaluation.original import establish_original, require_measured
from warpsmith.tuning.evaluation.round import make_round
from warpsmith.tuning.templates.probes import require_language
from warpsmith.verify.prepared import prepare_all
from warpsmith.verify.seeds import fresh_seed


class KernelStudy(Study):
    """A study that can `evaluate`, as a context manager: the device is closed at its end.

    Times are relative to the original's, from launches beside the best so far. Nothing is recorded and nothing claimed: that is
    what `tune` is for.
    """

    def __init__(self, kernel: Kernel, *, device: str = "cpu", strategy: str = DEFAULT_STRATEGY, seed: int = 0) -> None:
        """Raises UnavailableError without the device, BaselineError where the original itself does not pass."""
        self._stack = ExitStack()
        try:
            cores = divide_cores()
            pool = self._stack.enter_context(
                CompilePool(
                    device,
                    workers=cores.compilers,
                    cache_dir=read_settings().binary_cache,
                    cores=cores.compiling,
                    folders=kernel.folders,
                )
            )
            info = pool.describe()
            require_language(kernel, info)
            template = make_round(0, kernel, pool, info)
            super().__init__(template.space, strategy=strategy, seed=seed)
            prepared = prepare_all(template.builder.binder, kernel.tuning_workloads, fresh_seed(), self._stack)
            bench = self._stack.enter_context(
                Bench(
                    device,
                    list(prepared.values()),
                    compute_units=cores.measuring_units,
                    cores=cores.measuring,
                    scrubber=make_scrubber(pool, info, cores.measuring_units),
                )
            )
            establish_original(template.builder, bench, prepared)
            self._evaluator = Evaluator(template.space, template.builder, bench, rng=np.random.default_rng([seed, 0]))
            self.baseline = self._evaluator(kernel.default_configuration)
            require_measured(template.builder, self.baseline, bench, prepared)
            self._evaluator.observe(self.baseline)
        except BaseException:
            self._stack.close()
            raise

    def evaluate(self, configuration: Mapping[str, Value]) -> Evaluation:
        """Compile, verify on every tuning workload and time it; the study is told."""
        evaluation = self._evaluator(self._checked(configuration))
        self._evaluator.observe(evaluation)
        self._tell(evaluation)
        return evaluation

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
