"""Runs on record, of a kernel whose files are there: finished, stopped, failed, with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from stored_runs import LIMITS, SOURCE, TEMPLATE, TOML, searched

from warpsmith.core.outcome import Evaluation
from warpsmith.record.run import RunHeader
from warpsmith.record.store import Store
from warpsmith.report.html.facts import RunFacts
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.afterwards.account import account_of
from warpsmith.tuning.order import kernel_fingerprint

Record = Callable[..., RunFacts]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "kernel"
    made.mkdir()
    (made / "kernel.toml").write_text(TOML)
    (made / "k.cu").write_text(SOURCE)
    (made / "k.template.cu").write_text(TEMPLATE)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


@pytest.fixture
def record(folder: Path, store: Store) -> Record:
    """`record(result, …)` stores a run and gives its account; `before` may change what is stored, or the files."""

    def make(
        result: dict[str, Any] | None = None,
        *,
        evaluations: list[Evaluation] | None = None,
        status: str = "finished",
        agent: str = "none",
        mode: str = "template",
        before: Callable[[str], None] = lambda _run: None,
    ) -> RunFacts:
        kernel = load_kernel(folder)
        settings = {"evaluations": 21, "seconds": None, "rounds": 2, "mode": mode}
        info = {"description": "some <device>", "limits": asdict(LIMITS), "versions": {"clang": "22"}}
        header = RunHeader("k", str(kernel.path), kernel_fingerprint(kernel), "cpu", agent, "gp", 3, settings, info)
        run = store.begin(header)
        for evaluation in searched() if evaluations is None else evaluations:
            store.append(run, evaluation)
        store.finish(run, status, result and {**result, "run": run})
        before(run)
        return account_of(store.find(run), store)

    return make
