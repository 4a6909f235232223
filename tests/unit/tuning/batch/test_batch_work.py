"""A batch on recorded outcomes: stopped anywhere it goes on alike, one kernel that fails costs only itself."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import BaselineError, InputError, Stopped, UnavailableError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.batches import Batches, Member
from warpsmith.record.run import RunHeader, Status
from warpsmith.record.store import Store
from warpsmith.settings import Settings
from warpsmith.space import Space
from warpsmith.spec.kernel import Launch, Parameter, Workload
from warpsmith.tuning.batch.options import BatchOptions
from warpsmith.tuning.batch.result import batch_result, is_complete
from warpsmith.tuning.batch.work import require_budget, work
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import ignore
from warpsmith.tuning.rounds.search import search
from warpsmith.tuning.rounds.warm import warm_strategy

GOOD = Verdict((ArgumentCheck("w", "out", True, 0.0),))
PARAMETERS = (Parameter("A", (1, 2, 4, 8, 16), 4), Parameter("B", (0, 1, 2), 0), Parameter("C", (1, 2, 3, 4), 1))
# How much the parameters matter, and how far the original is from the roofline, in each kernel.
KERNELS = {"flat": (0.0, 0.95), "steep": (1.5, 0.05), "broken": (0.5, 0.5), "middling": (0.4, 0.5)}
BUDGET = 64


def _space() -> Space:
    one = Expression.parse(1)
    launch = Launch((one,), (one,), Expression.parse(0))
    return Space.build(PARAMETERS, (), launch, (Workload("w", {}),), Limits(1024, 1024, 1024, 64, 49152, 32, 2))


class RecordedVisit:
    """Searches a made-up space with the real strategy, loop and record; `at` is called before each evaluation."""

    def __init__(self, settings: Settings, at: Any = None) -> None:
        self._settings = settings
        self._at = at or (lambda kernel: None)
        self.evaluated = 0

    def __call__(self, member: Member, budget: Budget, *, claims: bool) -> Mapping[str, Any]:
        matters, fraction = KERNELS[member.kernel]
        space = _space()

        def outcome(c: Configuration) -> Measured:
            noise = np.random.default_rng([*c.key.encode(), *member.kernel.encode()]).uniform(0.9, 1.1)
            slow = 1 + matters * (abs(math.log2(int(c["A"])) - 1) + abs(int(c["C"]) - 3) + int(c["B"])) / 5
            score = 1.0 if c == default else slow / (1 + matters) * noise
            return Measured(GOOD, (WorkloadTime("w", 100 * score, score, (score, score), 5),), score)

        default = Configuration.of({p.name: p.default for p in PARAMETERS})
        with Store(self._settings.database) as store:
            if not store.meant_by(member.run):
                header = RunHeader(member.kernel, "k", "f", "cpu", "none", "local", 0, {"batch": "b"}, {})
                store.begin(header, run=member.run)
            recorded = {e.configuration: e for e in store.evaluations(member.run)}

            class Evaluate:
                def prefetch(self, configuration: Configuration) -> None: ...
                def observe(self, evaluation: Evaluation) -> None: ...
                def __call__(_, configuration: Configuration) -> Evaluation:
                    self._at(member.kernel)
                    self.evaluated += 1
                    return Evaluation(configuration, outcome(configuration), 1.0, 0.0)

            if default not in recorded:
                self._at(member.kernel)
                store.append(member.run, Evaluation(default, outcome(default), 1.0, 0.0), 0)
            rest = Budget(None if budget.evaluations is None else max(1, budget.evaluations - 1), budget.seconds)
            done = 0

            def report(number: int, *_: object) -> None:
                nonlocal done
                done = number

            search(
                warm_strategy("local", space, 0, ()),
                Evaluate(),
                budget=rest,
                recorded=recorded,
                record=lambda e: store.append(member.run, e),
                report=report,
                elapsed_s=lambda: float(done),
                known=[Evaluation(default, outcome(default))],
            )
            if claims:
                store.finish(member.run, Status.SEARCHED)
        return {} if claims else {"roof_us": {"w": 100 * fraction}, "weights": {"w": 1.0}}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "home")


def _begun(settings: Settings, options: BatchOptions, kernels: list[str]) -> str:
    with Batches(settings.database) as batches:
        return batches.begin(options.as_dict(), [(kernel, f"{kernel}/kernel.toml", None) for kernel in kernels])


def _course(settings: Settings, batch: str) -> tuple[list[list[Evaluation]], list[Any]]:
    with Batches(settings.database) as batches, Store(settings.database) as store:
        record = batches.find(batch)
        return [store.evaluations(m.run) for m in record.members], [(s.place, s.evaluations, s.seconds) for s in record.shares]


def _whole(settings: Settings, options: BatchOptions) -> tuple[list[list[Evaluation]], list[Any]]:
    batch = _begun(settings, options, list(KERNELS))
    work(batch, settings, RecordedVisit(settings), ignore)
    return _course(settings, batch)


def test_the_budget_goes_where_it_brings_most(settings: Settings):
    evaluations, shares = _whole(settings, BatchOptions(BUDGET))
    counts = dict(zip(KERNELS, map(len, evaluations), strict=True))
    assert sum(counts.values()) == BUDGET
    assert counts["steep"] > counts["flat"]
    first = [evaluations for place, evaluations, _ in shares[: len(KERNELS)]]
    assert set(first) == {BUDGET // 2 // len(KERNELS)}, "alike at first"


class KilledError(BaseException):
    pass


@pytest.mark.parametrize(
    "options", [BatchOptions(BUDGET), BatchOptions(None, 48.0), BatchOptions(40, 200.0)], ids=["evaluations", "time", "both"]
)
def test_killed_anywhere_and_resumed_it_equals_one_never_killed(options: BatchOptions, tmp_path: Path):
    expected = _whole(Settings(tmp_path / "whole"), options)
    settings = Settings(tmp_path / "killed")
    batch = _begun(settings, options, list(KERNELS))
    left = iter((1, 7, 13, 2, 1, 19, 4))

    def dies(lives: Iterator[int]) -> Any:
        after = next(lives, None)

        def at(_: str) -> None:
            nonlocal after
            if after is not None:
                after -= 1
                if after < 0:
                    raise KilledError

        return at

    total = 0
    for _ in range(20):
        visit = RecordedVisit(settings, dies(left))
        try:
            work(batch, settings, visit, ignore)
        except KilledError:
            total += visit.evaluated
            continue
        total += visit.evaluated
        break
    assert _course(settings, batch) == expected
    assert total == sum(map(len, expected[0])) - len(KERNELS), "nothing was evaluated twice; the originals are not counted"


def test_kill_9_loses_the_evaluation_under_way(settings: Settings, tmp_path: Path):
    expected = _whole(Settings(tmp_path / "whole"), BatchOptions(BUDGET))
    batch = _begun(settings, BatchOptions(BUDGET), list(KERNELS))
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_batch_work import RecordedVisit, Settings, Path, ignore, work
settings, left = Settings(Path({str(settings.home)!r})), [21]
def at(_):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
work({batch!r}, settings, RecordedVisit(settings, at), ignore)
"""
    done = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Batches(settings.database) as batches, Store(settings.database) as store:
        seen = batch_result(batches.find(batch), store, settings)
    assert (seen["status"], seen["evaluations"]) == ("killed", 20)
    work(batch, settings, RecordedVisit(settings), ignore)
    assert _course(settings, batch) == expected


def test_a_kernel_that_fails_costs_only_itself(settings: Settings):
    def at(kernel: str) -> None:
        if kernel == "broken":
            raise BaselineError("the original is wrong")

    batch = _begun(settings, BatchOptions(BUDGET), list(KERNELS))
    work(batch, settings, RecordedVisit(settings, at), ignore)
    with Batches(settings.database) as batches, Store(settings.database) as store:
        result = batch_result(batches.find(batch), store, settings)
    by_kernel = {entry["kernel"]: entry for entry in result["kernels"]}
    assert result["status"] == "finished"
    assert by_kernel["broken"]["error"]["message"] == "the original is wrong"
    assert result["evaluations"] == BUDGET, "its share went to the others"
    assert not is_complete(result)


def test_what_is_missing_for_all_is_said_once_and_tried_again(settings: Settings):
    def at(_: str) -> None:
        raise UnavailableError("no such device")

    batch = _begun(settings, BatchOptions(BUDGET), list(KERNELS))
    with pytest.raises(UnavailableError, match="no such device"):
        work(batch, settings, RecordedVisit(settings, at), ignore)
    visit = RecordedVisit(settings)
    work(batch, settings, visit, ignore)
    assert visit.evaluated == BUDGET - len(KERNELS)


def test_one_that_is_stopped_says_how_it_goes_on(settings: Settings):
    def at(_: str) -> None:
        raise KeyboardInterrupt

    batch = _begun(settings, BatchOptions(BUDGET), list(KERNELS))
    with pytest.raises(Stopped) as stopped:
        work(batch, settings, RecordedVisit(settings, at), ignore)
    assert stopped.value.run == batch
    with Batches(settings.database) as batches:
        assert batches.find(batch).status is Status.INTERRUPTED


def test_a_finished_batch_is_left_as_it_is(settings: Settings):
    batch = _begun(settings, BatchOptions(BUDGET), list(KERNELS))
    work(batch, settings, RecordedVisit(settings), ignore)
    visit = RecordedVisit(settings)
    work(batch, settings, visit, ignore)
    assert visit.evaluated == 0


def test_too_few_evaluations_are_refused():
    with pytest.raises(InputError, match="too few for 3 kernels"):
        require_budget(BatchOptions(5), 3)
    require_budget(BatchOptions(6), 3)
    require_budget(BatchOptions(None, 1.0), 3)


def test_a_name_means_a_run_or_a_batch(settings: Settings):
    header = RunHeader("k", "k", "f", "cpu", "none", "gp", 0, {}, {})
    with Batches(settings.database) as batches, Store(settings.database) as store:
        before = store.begin(header)
        assert batches.meant_by("last", store.runs()) is None
        batch = _begun(settings, BatchOptions(BUDGET), ["flat"])
        assert batches.meant_by("last", store.runs()) == batch
        assert batches.meant_by("batch-", store.runs()) == batch
        assert batches.meant_by(before, store.runs()) is None
        store.begin(RunHeader("k", "k", "f", "cpu", "none", "gp", 0, {"batch": batch}, {}))
        assert batches.meant_by("last", store.runs()) == batch, "a run of its own is the batch"
        store.begin(header)
        assert batches.meant_by("last", store.runs()) is None
        with pytest.raises(InputError, match="no batch 'x'"):
            batches.find("x")
