"""Compares the original's results with those of an unoptimised build, on devices that `RunsPlainly`.

What makes kernels fast can make them wrong: the vectoriser of the CPU device's runtime does so with some loops. Where the
original is the oracle, all would be compared with wrong numbers; where a reference is, the kernel would get the blame.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from warpsmith.core.outcome import ArgumentCheck, Verdict
from warpsmith.devices.base import runs_plainly
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.settings import is_second_opinion_wanted
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.prepared import PreparedWorkload

_ENOUGH_S = 15.0  # plain launches take up to a hundred times as long
# The two ways need not agree in the last bit (they do not on rsqrtf), and a last bit may decide how a kernel rounds or turns: a
# few elements in a million then are other numbers. What a vectoriser gets wrong is more than that.
_FEW = 1e-3
_GROSS = 10.0
_EXPLAINED = "docs/concepts/cpu-device.md"


@dataclass(frozen=True, slots=True)
class Doubt:
    """An objection to a verdict on the original; `reason` continues a sentence about it."""

    reason: str
    hint: str


_BLAME = Doubt(
    "the unoptimised build passes: the device's compiler is at fault, not the kernel",
    f"the vectoriser of the device's runtime gets some loops wrong ({_EXPLAINED}): rewrite the loop",
)


class SecondOpinion:
    """On verdicts on the original. Whoever has several asks about small workloads first: there is time for so many only."""

    def __init__(self, builder: Builder, bench: Bench) -> None:
        self._builder = builder
        self._bench = bench
        self._left_s = _ENOUGH_S if runs_plainly(builder.device) and is_second_opinion_wanted() else 0.0

    def on(self, workload: PreparedWorkload, verdict: Verdict) -> Doubt | None:
        """None if the unoptimised original gets the same verdict, does not run or takes too long, or if none is wanted."""
        if verdict.passed == (workload.kernel.reference.file is not None):
            return None  # a reference is a better witness; and who does not repeat its own outputs is no oracle anyway
        plain = self._plain_verdict(workload)
        if plain is None or plain.passed == verdict.passed:
            return None
        if plain.failure is None:
            return _BLAME if verdict.max_error > _GROSS * plain.max_error else None
        if all(_is_trifle(workload, check) for check in plain.checks if not check.passed):
            return None
        return Doubt(
            f"the unoptimised build gives a different result: {plain.failure.argument}: {plain.failure.problem}",
            "give a NumPy reference in [reference] as the oracle: the vectoriser of the device's runtime gets some "
            f"loops wrong; data races and out-of-range conversions may also give different results ({_EXPLAINED})",
        )

    def _plain_verdict(self, workload: PreparedWorkload) -> Verdict | None:
        if self._left_s <= 0:
            return None
        began = time.monotonic()
        plain = self._builder.build_plain(self._builder.binder.kernel.default_configuration, [workload.workload])
        verdict = self._bench.verify(plain, workload.name) if isinstance(plain, Candidate) else None
        self._left_s -= time.monotonic() - began
        if isinstance(verdict, Verdict):
            return verdict
        self._left_s = 0.0  # it would not do better on what is larger
        return None


def _is_trifle(workload: PreparedWorkload, check: ArgumentCheck) -> bool:
    """Whether what the launch left differs in few elements, which the last bits of floats could have decided."""
    kernel, expected = workload.kernel, workload.expected or {}
    if not check.expected or not any(argument.dtype.is_float for argument in kernel.arguments):
        return False  # memory was written that is nobody's; or all arithmetic is exact
    buffer = next(buffer for buffer in kernel.buffers if buffer.name == check.argument)
    rtol, atol = workload.tolerance(buffer)
    got = workload.arena.array(buffer.name).astype(np.float64)
    return float(np.isclose(got, expected[buffer.name], rtol, atol, equal_nan=True).mean()) > 1.0 - _FEW
