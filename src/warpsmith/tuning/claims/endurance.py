"""Whether a candidate is still correct after many launches: it may count launches, or corrupt its memory gradually."""

from __future__ import annotations

from collections.abc import Iterable

from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.examined import Examiner, time_keeping
from warpsmith.measure.policy import ENDURANCE
from warpsmith.verify.prepared import PreparedWorkload


def lasts(bench: Bench, candidate: Candidate, workloads: Iterable[PreparedWorkload], original: Candidate) -> bool:
    """On fresh memory. The bench should be, too: what another one did to its process would count against this one."""
    examiner = Examiner(bench, original)
    for workload in workloads:
        draws = [workload.pool.fresh_draw() for _ in range(ENDURANCE)]
        answer = time_keeping(
            bench,
            workload.name,
            [candidate] * ENDURANCE + [original],
            [*draws, draws[-1]],
            {ENDURANCE - 1, ENDURANCE},
        )
        if not isinstance(answer, tuple):
            return False
        last, beside = answer[1][ENDURANCE - 1], answer[1][ENDURANCE]
        if not examiner.agree(workload.name, last, beside) and examiner.wrong(workload.name, candidate, last) is not None:
            return False
        again = bench.verify(candidate, workload.name)
        if not isinstance(again, Verdict) or not again.passed:
            return False
    return True
