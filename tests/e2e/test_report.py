"""A run ends in a page that stands alone and has the figures of `show --json`; what keeps it from being written is a note."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from page_reading import Page
from warpsmith import api
from warpsmith.record.store import Store
from warpsmith.report.wording import interval_text, speedup_text, time_text
from warpsmith.tuning.events import Event, Warned

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    """A bundled kernel with workloads that take no time, one of them with a name that no page must run."""
    folder = tmp_path / "silu_and_mul"
    shutil.copytree(ROOT / "examples" / "silu_and_mul", folder)
    toml = folder / "kernel.toml"
    few = f'[workloads]\n"{HOSTILE}" = {{ tokens = 64, d = 512 }}\nodd-tail = {{ tokens = 7, d = 1000, heldout = true }}\n\n'
    toml.write_text(re.sub(r"\[workloads\].*?(?=\[reference\])", lambda _: few, toml.read_text(), flags=re.DOTALL))
    return folder


def test_a_run_ends_in_a_page(
    warpsmith: Callable[..., Any],
    as_json: Callable[..., Any],
    bundled: Path,
    home: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
):
    environment["WARPSMITH_REPORT"] = "on"
    monkeypatch.setenv("WARPSMITH_REPORT", "on")
    result = as_json("tune", bundled, "--agent", "none", "--evaluations", 3)
    run, file = result["run"], Path(result["report"])
    assert file == home / "runs" / run / "report.html"
    shown = as_json("show", run)
    assert shown == result
    assert f"Report: {file}" in warpsmith("show", run).stdout

    found = Page(file.read_text())
    found.assert_alone()
    found.assert_accessible()
    assert HOSTILE not in file.read_text()
    claimed = shown["uncertain"] or shown["general"]
    rows = [row for caption, table in found.tables.items() if "orig" in caption or "general" in caption for row in table]
    cells = {row[0].removesuffix(" tokens=64, d=512"): row[1:] for row in rows}
    own = claimed["workloads"][HOSTILE]
    assert time_text(own["median_us"]) in cells[HOSTILE]
    if claimed["config"] != shown["baseline"]["config"]:
        assert speedup_text(claimed["speedup"]) in found.text
        assert {speedup_text(own["speedup"]), interval_text(own["ci95"])} <= set(cells[HOSTILE])
    for name, value in claimed["config"].items():
        assert str(value) in next(row for row in found.tables["Parameters"] if row[0] == name)
    assert "accesses in flight per thread" in found.text, "what a parameter means"
    assert "#if" in found.text, "the template's diff"
    assert f"warpsmith show {run}" in found.text

    # Elsewhere, and of a run that was stopped.
    with Store(home / "runs.sqlite") as store:
        store.finish(run, "interrupted", None)
    stopped = bundled / "new" / "stopped.html"
    assert as_json("report", "last", "-o", stopped) == {"run": run, "report": str(stopped)}
    page = Page(stopped.read_text())
    page.assert_alone()
    assert "There is no result yet" in page.text
    assert warpsmith("report", run).stdout.strip() == str(file)

    file.unlink()
    monkeypatch.setenv("WARPSMITH_HOME", str(home))
    monkeypatch.setenv("WARPSMITH_REPORT", "off")
    with Store(home / "runs.sqlite") as store:
        store.finish(run, "finished", {key: value for key, value in result.items() if key != "report"})
    assert api.resume(run) == {**result, "report": None}, "nobody wants it"
    assert not file.exists()
    monkeypatch.setenv("WARPSMITH_REPORT", "on")

    # A folder in its place.
    assert as_json("show", run)["report"] is None
    file.mkdir()
    assert "is a folder" in warpsmith("report", run, expect=2).stderr
    said: list[Event] = []
    assert api.resume(run, emit=said.append) == {**result, "report": None}
    assert next(event.message for event in said if isinstance(event, Warned)).startswith("the report could not be written")
