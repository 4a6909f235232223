"""A comparison from kernel to result: every seed in both modes, in sequence, then all winners measured together."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import Measured
from warpsmith.measure.bench import Bench
from warpsmith.measure.roofline import make_roofline
from warpsmith.measure.scrub import make_scrubber
from warpsmith.record.run import RunRecord, Status
from warpsmith.record.store import Store
from warpsmith.refactor.untouched import untouched
from warpsmith.settings import Settings
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.comparison.contenders import Contender, contender, course
from warpsmith.tuning.comparison.figures import Final
from warpsmith.tuning.comparison.joint import Claimed, Joint
from warpsmith.tuning.comparison.plan import ComparisonPlan
from warpsmith.tuning.comparison.result import ComparisonResult
from warpsmith.tuning.evaluation.cores import all_cores
from warpsmith.tuning.evaluation.original import establish_original
from warpsmith.tuning.evaluation.round import Round, make_round
from warpsmith.tuning.events import Emit, EvaluationFinished, Event, RunFinished
from warpsmith.tuning.order import Order
from warpsmith.verify.prepared import PreparedWorkload, prepare_all
from warpsmith.verify.seeds import fresh_seed


@dataclass(frozen=True, slots=True)
class Step:
    """How far a comparison is: `done` of `of` runs, what it is at, and a word on that."""

    done: int
    of: int
    what: str
    detail: str = ""


Progress: TypeAlias = Callable[[Step], None]


def compare(plan: ComparisonPlan, settings: Settings, progress: Progress) -> ComparisonResult:
    """Continues the runs of an earlier, stopped comparison with the same plan. Raises what a run raises."""
    began = time.perf_counter()
    name = plan.name(settings)
    finals, joint = race(list(plan.orders(name)), settings, progress)
    return ComparisonResult(name, plan, finals, joint.others, time.perf_counter() - began, joint.above)


def race(orders: Sequence[Order], settings: Settings, progress: Progress) -> tuple[tuple[Final, ...], Joint]:
    """How each order ended, measured with the others, and what measured them.

    The orders are of one kernel on one device; each belongs to a comparison.
    """
    kernel, device = untouched(orders[0].kernel), orders[0].device
    with Store(settings.database) as store, contextlib.ExitStack() as stack:
        # Nothing is timed while it compiles, so nobody needs a core to itself.
        compilers = CompilePool(device, workers=all_cores(), cache_dir=settings.binary_cache, folders=kernel.folders)
        original = make_round(0, kernel, stack.enter_context(compilers), compilers.describe())
        # The same inputs for all runs: only what they do with them is compared, and an oracle is asked once.
        with _prepared(original) as ready:
            runs = [
                _searched(order, settings, store, _Watch(progress, number, len(orders), order), ready)
                for number, order in enumerate(orders)
            ]
        # What is claimed is verified on other inputs than those it was found with.
        ready = stack.enter_context(_prepared(original))
        contenders = [contender(store.find(run), store, compilers) for run in runs]
        with Bench(device, list(ready.values())) as bench:
            plain = establish_original(original.builder, bench, ready, is_known=True)
        joint = Joint(
            device=device,
            prepared=ready,
            original=plain,
            weights={w.name: w.weight for w in kernel.tuning_workloads},
            rng=np.random.default_rng(0),
            info=compilers.describe(),
            roofline=make_roofline(kernel, compilers, compilers.describe()),
            scrubber=make_scrubber(compilers, compilers.describe()),
            say=lambda what: progress(Step(len(orders), len(orders), what)),
        )
        with original.builder.quiet():
            finals = [_final(one, claim) for one, claim in zip(contenders, joint.claims(contenders), strict=True)]
    return tuple(finals), joint


@contextlib.contextmanager
def _prepared(original: Round) -> Iterator[dict[str, PreparedWorkload]]:
    with contextlib.ExitStack() as stack:
        yield prepare_all(original.builder.binder, original.kernel.workloads, fresh_seed(), stack)


def _searched(order: Order, settings: Settings, store: Store, emit: Emit, ready: Mapping[str, PreparedWorkload]) -> str:
    known = next((r for r in store.runs() if _is_of(r, order)), None)
    if known is not None and known.status is Status.SEARCHED:
        return known.run
    if known is not None:
        return tuning_run.resume(known.run, settings, emit, ready).run
    return tuning_run.start(order, settings, emit, ready).run


def _is_of(record: RunRecord, order: Order) -> bool:
    header = record.header
    return (header.settings.get("comparison"), header.settings.get("mode"), header.seed) == (
        order.comparison,
        order.mode,
        order.seed,
    )


class _Watch:
    """Hears the events of one run and tells the comparison's progress."""

    def __init__(self, progress: Progress, done: int, of: int, order: Order) -> None:
        self._progress = progress
        self._step = (done, of, f"seed {order.seed}, {order.mode}")
        progress(Step(*self._step))

    def __call__(self, event: Event) -> None:
        if isinstance(event, EvaluationFinished):
            best = f", best {1 / event.best.score:.2f}x" if event.best is not None and event.best.score else ""
            self._progress(Step(*self._step, f"{event.number} evaluations{best}"))
        elif isinstance(event, RunFinished) and event.result.agent_stopped is not None:
            done, of, what = self._step
            self._progress(Step(done, of, f"{what} ended early: {event.result.agent_stopped}"))


def _final(one: Contender, claim: Claimed) -> Final:
    return Final(
        run=one.record.run,
        mode=one.mode,
        seed=one.record.header.seed,
        configuration=claim.configuration,
        speedup=claim.speedup,
        workloads=claim.workloads,
        evaluations=len(one.evaluations),
        failures=sum(not isinstance(e.outcome, Measured) for e in one.evaluations),
        seconds=one.record.seconds,
        course=course(one.evaluations),
        model=one.model,
    )
