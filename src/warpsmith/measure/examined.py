"""Examines timed launches: a random sample is kept and judged on its own inputs.

Verified launches and timed launches are different launches: a kernel may be correct whenever it is checked, and fast because it
caches, counts launches or skips work when it is not. Nothing distinguishes them here: every timed launch has inputs of its own
(`verify.pool`), and those to keep are drawn at random. The first oracle is the launch paired with a candidate on the same
inputs, which costs nothing; where the two differ, the reference or the original decides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from warpsmith.core.arrays import Array
from warpsmith.core.outcome import ArgumentCheck, Verdict
from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.verify.arena import Damage
from warpsmith.verify.compare import agree
from warpsmith.verify.oracle import outputs_of
from warpsmith.verify.prepared import PreparedWorkload

# Two results within the tolerance of the true value are within twice the tolerance of each other.
_BOTH_MAY_ERR = 2.0


@dataclass(frozen=True, slots=True)
class KeptLaunch:
    """The result of a timed launch."""

    draw: int
    outputs: Mapping[str, Array]
    damage: tuple[Damage, ...]


def time_keeping(
    bench: Bench,
    workload: str,
    sequence: Sequence[Candidate],
    draws: Sequence[int],
    keep: Collection[int],
    *,
    trusted: Candidate | None = None,
    briefly: bool = False,
) -> tuple[list[int], dict[int, KeptLaunch]] | BenchFailure:
    """As `Bench.time`; results of the launches at the places in `keep` are kept, `briefly` until the next kept one.

    Inputs are not checked for changes after launches of a `trusted` candidate.
    """
    times: list[int] = []
    kept: dict[int, KeptLaunch] = {}
    begin = 0
    for end in sorted({*(place + 1 for place in keep), len(sequence)}):
        part = bench.time(workload, sequence[begin:end], draws[begin:end], looked_at=end - 1 in keep)
        if not isinstance(part, list):
            return part
        times += part
        if end - 1 in keep:
            prepared = bench.workload(workload)
            damage = prepared.arena.inspect(inputs=sequence[end - 1] is not trusted)
            kept[end - 1] = KeptLaunch(draws[end - 1], prepared.outputs(len(kept) if briefly else None), tuple(damage))
            if kept[end - 1].damage:
                bench.start_anew()  # what else it wrote to is unknown
        begin = end
    return times, kept


class Examiner:
    """Judges kept launches on a bench. `original` provides the expected result where there is no reference."""

    def __init__(self, bench: Bench, original: Candidate) -> None:
        self._bench = bench
        self._original = original

    def agree(self, workload: str, one: KeptLaunch, other: KeptLaunch) -> bool:
        """Whether two launches on the same inputs gave the same result within the tolerance."""
        if one.damage or other.damage:
            return False
        prepared = self._bench.workload(workload)
        return all(
            agree(one.outputs[b.name], other.outputs[b.name], *(_BOTH_MAY_ERR * allowed for allowed in prepared.tolerance(b)))
            for b in outputs_of(prepared.kernel)
        )

    def wrong(self, workload: str, candidate: Candidate, launch: KeptLaunch) -> Verdict | None:
        """The verdict on a launch if it is wrong.

        A result just outside the tolerance on some inputs, or one where the original fails too, does not count as wrong: being
        far off does, or failing on two draws in a row. The original is the standard for others.
        """
        if candidate.identity == self._original.identity:
            return None
        judged = self._judged(workload, launch)
        if judged is None or judged[0].passed:
            return None
        verdict, is_far_off = judged
        if is_far_off:
            return verdict
        prepared = self._bench.workload(workload)
        again = time_keeping(self._bench, workload, [candidate], [prepared.pool.fresh_draw()], {0})
        if not isinstance(again, tuple):
            return verdict
        second = self._judged(workload, again[1][0])
        return verdict if second is not None and not second[0].passed else None

    def _judged(self, workload: str, launch: KeptLaunch) -> tuple[Verdict, bool] | None:
        """The verdict, and whether the result is far off. None if nothing can judge it: the original does not run on these
        inputs, or is not correct itself.
        """
        prepared = self._bench.workload(workload)
        if launch.damage:
            return Verdict(tuple(_damaged(workload, damage) for damage in launch.damage)), True
        expected = self._expected(prepared, launch.draw)
        if expected is None:
            return None
        verdict = Verdict(tuple(prepared.compared(launch.outputs, expected)))
        return verdict, not verdict.passed and prepared.is_far_off(launch.outputs, expected)

    def _expected(self, prepared: PreparedWorkload, draw: int) -> Mapping[str, Array] | None:
        ran = self._bench.run_once(self._original, prepared.name, draw)
        if not isinstance(ran, int):
            return None
        outputs = prepared.outputs()
        expected = prepared.expected_of(draw)
        if expected is None:
            return prepared.as_expected(outputs)
        return expected if all(check.passed for check in prepared.compared(outputs, expected)) else None


def of_timed_launch(verdict: Verdict) -> Verdict:
    """Adds to a verdict that it concerns a timed launch, because the candidate passed verification before."""
    said = "correct when verified, but wrong in a timed launch on fresh inputs"
    return Verdict(tuple(c if c.passed else replace(c, problem=f"{said}: {c.problem}") for c in verdict.checks))


def _damaged(workload: str, damage: Damage) -> ArgumentCheck:
    return ArgumentCheck(workload, damage.argument, passed=False, max_error=math.inf, where=damage.where, problem=damage.problem)
