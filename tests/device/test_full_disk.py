"""A disk that is full in the middle of a run: what was recorded is kept, and the error says how to go on."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from twice import twice_template

from warpsmith.core.errors import UnavailableError
from warpsmith.record.store import Store
from warpsmith.settings import Settings
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import EvaluationFinished
from warpsmith.tuning.order import Order


def test_the_error_says_how_the_run_goes_on(tmp_path: Path):
    kernel = twice_template(tmp_path, "  if (i < n) y[i] = (2 + FORM) * x[i];", blocks=[32, 64])
    settings, limits = Settings(tmp_path / "home"), resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_the_disk(event):
        """Files cannot grow from now on, which is how a disk's end looks to who writes."""
        if isinstance(event, EvaluationFinished):
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))

    try:
        with pytest.raises(UnavailableError) as full:
            tuning_run.start(Order(kernel, budget=Budget(4)), settings, fill_the_disk)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with Store(settings.database) as store:
        run = store.find("last").run
        assert len(store.evaluations(run)) == 2, "the baseline and the one before"
    assert full.value.location is not None
    assert full.value.location.file == settings.database
    assert full.value.hint == f"check whether the disk is full or failing; `warpsmith resume {run}` then continues it"
