"""What is told of a run that has no result yet."""

from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import CompileFailed, Evaluation
from warpsmith.record.run import RunHeader, Status
from warpsmith.record.store import Store
from warpsmith.tuning.result import shown_result

HEADER = RunHeader("k", "k/kernel.toml", "f", "cpu", "none", "local", 3, {"evaluations": 5}, {"limits": {}})


@pytest.mark.parametrize(("status", "recorded_s", "told_s"), [(Status.RUNNING, 0.0, 5.0), (Status.INTERRUPTED, 9.0, 9.0)])
def test_a_run_that_could_not_say_how_long_it_took(tmp_path: Path, status: Status, recorded_s: float, told_s: float):
    with Store(tmp_path / "runs.sqlite") as store:
        run = store.begin(HEADER)
        for number, seconds in enumerate((2.0, 3.0)):
            store.append(run, Evaluation(Configuration.of({"BLOCK": number}), CompileFailed("no"), seconds, 1.7e9))
        store.finish(run, status, seconds=recorded_s)
        assert shown_result(store.find(run), store).seconds == told_s
