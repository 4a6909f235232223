"""Two devices alike search together: two workers of the CPU device stand for two GPUs."""

import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from twice import twice_template

from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import Crashed, Evaluation, Measured, WrongResult
from warpsmith.measure.bench import Bench
from warpsmith.record.store import Store
from warpsmith.settings import read_settings
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.evaluation.evaluate import Desk
from warpsmith.tuning.evaluation.judge import Judge
from warpsmith.tuning.evaluation.round import make_round
from warpsmith.tuning.evaluation.side_by_side import SideBySide
from warpsmith.tuning.evaluation.targets import open_targets
from warpsmith.tuning.events import EvaluationFinished, ignore
from warpsmith.tuning.order import Order
from warpsmith.verify.prepared import prepare_all

BODY = "  if (i < n) y[FORM == 2 ? i + (1ll << 40) : i] = (2 + FORM) * x[i];"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "home"))


@pytest.fixture
def kernel(tmp_path: Path):
    return twice_template(tmp_path, BODY, blocks=[32, 64, 128, 256])


@pytest.fixture
def pair(kernel):
    """What two devices search, and the judges of both, each with its own worker and memory."""
    with ExitStack() as stack:
        pool = stack.enter_context(CompilePool("cpu", cache_dir=None))
        targets = stack.enter_context(open_targets((), kernel.language, cache_dir=None, cores=None))
        searched = make_round(0, kernel, pool, pool.describe(), targets)
        first = list(prepare_all(searched.builder.binder, kernel.workloads, 0, stack).values())
        second = [stack.enter_context(workload.twin()) for workload in first]
        benches = [stack.enter_context(Bench("cpu", workloads)) for workloads in (first, second)]
        desk = Desk(searched.space, searched.builder)
        judges = [Judge(bench, desk.weights, rng=np.random.default_rng(0)) for bench in benches]
        yield searched.space, desk, judges, benches


def test_both_work_and_results_come_in_the_order_of_the_questions(pair):
    space, desk, judges, benches = pair
    with SideBySide(desk, judges, at_once=8) as both:
        both.observe(both(space.default))
        asked = [configuration for configuration in space if configuration != space.default]
        for configuration in asked:
            both.prefetch(configuration)
        found = [both(configuration) for configuration in asked]
    assert [e.configuration for e in found] == asked
    assert [type(e.outcome) for e in found] == [(Measured, WrongResult, Crashed)[c["FORM"]] for c in asked], "one each at most"
    assert benches[0].start() != benches[1].start(), "each has a worker of its own"


def test_leaving_by_an_error_ends_what_is_under_way(pair):
    space, desk, judges, benches = pair
    pids = [bench.start() for bench in benches]
    began = threading.Event()
    verify = benches[1].verify

    def begun(candidate, workload):
        began.set()
        return verify(candidate, workload)

    benches[1].verify = begun
    with pytest.raises(KeyboardInterrupt), SideBySide(desk, judges, at_once=8) as both:  # noqa: PT012 - what leaves it is the point
        for configuration in space:
            both.prefetch(configuration)
        began.wait()
        raise KeyboardInterrupt
    for bench in benches:
        bench.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    trial = desk.trial(space.default, desk.built(space.default))
    assert isinstance(judges[0].judge(trial).outcome, Crashed), "no other worker is started"


class StopError(Exception):
    pass


def test_a_run_on_two_is_recorded_and_goes_on_after_it_was_cut_off(kernel):
    order = Order(kernel, budget=Budget(8), more_devices=("cpu",), comparison="nothing is claimed here")
    seen: list[Evaluation] = []

    def stop_at_three(event):
        if isinstance(event, EvaluationFinished):
            seen.append(event.evaluation)
            if len(seen) == 3:
                raise StopError

    settings = read_settings()
    with pytest.raises(StopError):
        tuning_run.start(order, settings, stop_at_three)
    with Store(settings.database) as store:
        run = store.find("last").run
        before = [e.configuration for e in store.evaluations(run)]
    result = tuning_run.resume(run, settings, ignore)
    with Store(settings.database) as store:
        after = [e.configuration for e in store.evaluations(run)]
    assert (result.device, list(result.more_devices)) == ("cpu", ["cpu"])
    assert len(before) == 4, "the baseline and three"
    assert after[:4] == before
    assert len(after) == len(set(after)) == 8
