"""What `--warm auto` finds: the same of the same records, whoever asks."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import ArgumentCheck, Crashed, Evaluation, Measured, Verdict
from warpsmith.record.run import RunHeader
from warpsmith.record.shared import SharedRun, SharedStore
from warpsmith.record.store import Store
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.events import Warned
from warpsmith.tuning.rounds.known import known_sources, subject_of

GOOD = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))
INFO = SimpleNamespace(description="some GPU", architecture="sm_90")


def measured(score: float, width: float, **values: int) -> Evaluation:
    return Evaluation(Configuration.of(values), Measured(GOOD, (), score, ci95=(score - width / 2, score + width / 2)))


@pytest.fixture
def kernel():
    return load_kernel("matmul")


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


def begin(store: Store, kernel, *evaluations: Evaluation, device: str = "some GPU") -> str:
    about = {"description": device, "architecture": "sm_90"}
    subject = subject_of(kernel, INFO)
    run = store.begin(RunHeader(kernel.name, str(kernel.path), subject.fingerprint, "cuda", "none", "gp", 0, {}, about))
    for evaluation in evaluations:
        store.append(run, evaluation, 1)
    return run


def test_own_and_shared_runs_are_one_source_for_each_template(store, kernel, tmp_path):
    parameter = kernel.parameters[0].name
    shared = SharedStore(str(tmp_path / "shared"))
    mine = begin(
        store, kernel, measured(0.9, 0.2, **{parameter: 1}), Evaluation(Configuration.of({parameter: 2}), Crashed("oom"))
    )
    begin(store, kernel, measured(0.1, 0.1, **{parameter: 7}), device="another GPU")
    theirs = (measured(0.8, 0.1, **{parameter: 1}), measured(0.7, 0.1, **{parameter: 2}), measured(0.5, 0.1, other=1))
    subject = subject_of(kernel, INFO)
    shared.publish(subject, SharedRun("theirs", kernel.name, 5.0, theirs))
    shared.publish(subject, SharedRun(mine, kernel.name, 6.0, (measured(0.2, 0.01, **{parameter: 1}),)))
    said = []
    [own] = known_sources(kernel, INFO, store, shared, said.append, own_template=True)
    assert own.name == f"auto: {', '.join(sorted([mine, 'theirs']))}"
    assert [(dict(e.configuration.pairs)[parameter], e.score) for e in own.evaluations] == [(1, 0.8), (2, 0.7)]
    both = known_sources(kernel, INFO, store, shared, said.append, own_template=False)
    assert [source.summary.measured for source in both] == [2, 1]
    assert not said


def test_nothing_known_is_said_and_no_mistake(store, kernel, tmp_path):
    said = []
    assert known_sources(kernel, INFO, store, SharedStore(str(tmp_path)), said.append, own_template=True) == ()
    assert [type(event) for event in said] == [Warned]
