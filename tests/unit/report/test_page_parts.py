"""The roofline, the parallel coordinates, the source with its findings, and another run beside this one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stored_runs import HOSTILE, SOURCE, claim, finished, searched

from page_reading import Page
from warpsmith.core.errors import InputError
from warpsmith.record.run import RoundRecord
from warpsmith.record.store import Store
from warpsmith.report.html.document import page
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.parallel import draw_parallel
from warpsmith.report.roofline import RoofPoint, draw_roofline, is_by_intensity
from warpsmith.tuning.afterwards.account import account_beside

Record = Callable[..., RunFacts]
GAIN = claim(2.5, 2.3, 2.7, BLOCK=128, ITEMS=4)
ROOF = {"roof_us": {"a": 300.0, HOSTILE: 450.0}, "stream_us": {"a": 300.0}, "gflops": 50.0, "how": "probes"}
FEW = searched()[:1]


def read(facts: RunFacts) -> Page:
    found = Page(page(facts))
    found.assert_alone()
    found.assert_accessible()
    return found


def alts(found: Page) -> list[str]:
    return [known["aria-label"] or "" for tag, known in found.tags if tag == "svg"]


def test_the_roofline_says_how_much_of_it_is_reached(record: Record):
    found = read(record(finished(GAIN, roofline=ROOF), evaluations=FEW))
    assert f"Fraction of the roof reached by the best: a 50%; {HOSTILE} 75%." in found.text
    assert "Required bytes of a launch per second" in found.text


def test_with_operations_it_is_by_intensity(record: Record, folder: Path):
    (folder / "kernel.toml").write_text((folder / "kernel.toml").read_text() + '[traffic]\nflops = "8 * n"\n')
    found = read(record(finished(GAIN, roofline=ROOF), evaluations=FEW))
    assert "Operations per second by operations per byte" in found.text


def test_without_a_roof_there_is_no_such_section(record: Record):
    assert "The roofline" not in read(record(finished(GAIN), evaluations=FEW)).text


@pytest.mark.parametrize("flops", [0.0, 1e6])
def test_a_roofline_is_drawn_to_scale(flops: float):
    points = [RoofPoint("w", 4e6, flops, 1000.0, 500.0, 400.0), RoofPoint("v", 8e6, flops, 1000.0, 500.0, 450.0, 440.0)]
    assert is_by_intensity(points, 10.0) == (flops > 0)
    (axes,) = draw_roofline(points, 10.0).axes
    drawn = {line.get_label(): line for line in axes.lines}
    if flops:
        assert list(drawn["best"].get_ydata()) == pytest.approx([2.0, 2.0])  # GFLOP/s
        assert list(drawn["best"].get_xdata()) == pytest.approx([0.25, 0.125])
        assert max(axes.lines[0].get_ydata()) == 10.0
    else:
        assert list(drawn["best"].get_xdata()) == pytest.approx([8.0, 16.0])  # GB/s


def test_every_measured_configuration_is_a_line_through_its_values_to_its_time():
    measured = [({"A": 1, "B": "x"}, 1.0), ({"A": 4, "B": "y"}, 0.25), ({"A": 2, "B": "x"}, 0.5)]
    (axes,) = draw_parallel([("A", (1, 2, 4)), ("B", ("x", "y"))], measured).axes
    lines = [list(line.get_ydata()) for line in axes.lines if len(line.get_ydata()) == 3]
    assert len(lines) == 3
    best = max(axes.lines, key=lambda line: line.get_linewidth()).get_ydata()
    assert list(best) == pytest.approx([1.0, 1.0, 1.0], abs=0.05), "the last value of each, and the fastest"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["A", "B", "time"]


def test_of_very_many_configurations_some_are_drawn():
    measured = [({"A": n % 3}, 1.0 + n / 1000) for n in range(5000)]
    (axes,) = draw_parallel([("A", (0, 1, 2))], measured).axes
    assert len(axes.lines) < 700


def test_one_configuration_is_no_plot(record: Record):
    assert not any("as lines" in alt for alt in alts(read(record(finished(GAIN), evaluations=FEW))))


def planned(store: Store, folder: Path, *texts: str, declined: dict[str, str] | None = None) -> Callable[[str], None]:
    def before(run: str) -> None:
        plan = {"passes": [], "reason": "r", "findings": [{"concern": "traffic", "text": t, "weight": 1.0} for t in texts]}
        report = {"applied": [], "declined": declined or {}, "postponed": []}
        fingerprint = store.find(run).header.fingerprint
        store.begin_round(run, RoundRecord(1, plan, str(folder / "kernel.toml"), fingerprint, report))

    return before


def test_findings_stand_at_their_lines(record: Record, store: Store, folder: Path):
    before = planned(store, folder, "costs <much> (line 1)", "lines 900", declined={"unroll": "a loop, line 1"})
    found = read(record(finished(GAIN), evaluations=FEW, before=before))
    text = found.text
    assert text.index(SOURCE.strip()) < text.index("costs <much> (line 1)", text.index(SOURCE.strip()))
    assert "traffic: costs <much> (line 1)" in text
    assert "unroll does not apply: a loop, line 1" in text
    classes = [known.get("class") for tag, known in found.tags if tag == "span"]
    assert classes.count("line changed said") == 1
    assert classes.count("finding") == 2


def test_a_long_source_is_shown_where_something_is_said_of_it(record: Record, store: Store, folder: Path):
    (folder / "k.cu").write_text(SOURCE + "".join(f"// line number {n}\n" for n in range(2, 400)))
    found = read(record(finished(GAIN), evaluations=FEW, before=planned(store, folder, "here (line 200)")))
    part = found.text.split("The source, with findings")[2].partition("The template")[0]
    assert "// line number 200" in part
    assert "… 193 lines" in part
    assert "// line number 100" not in part


def test_without_findings_there_is_no_source(record: Record):
    assert "with findings" not in read(record(finished(GAIN), evaluations=FEW)).text


def test_another_run_stands_beside_it(record: Record, store: Store):
    slower = claim(1.5, 1.4, 1.6, BLOCK=64, ITEMS=4)
    record(finished(GAIN), evaluations=FEW)
    record(finished(slower), evaluations=FEW)
    there, here = store.runs()[0], store.runs()[1]
    found = read(account_beside(here, there, store))
    rows = {row[0]: row[1:] for row in found.tables["Claims of both runs"][1:]}
    assert rows["a"][2:5] == ["2.50x", "1.50x", "0.60x"]
    assert rows["a"][-1] == "slower there"
    assert found.tables["Differences between the configurations"][1:] == [["BLOCK", "128", "64"]]
    assert "Best speedup so far of both runs, by evaluations" in alts(found)


def test_a_run_without_a_result_cannot_stand_beside_another(record: Record, store: Store):
    record(finished(GAIN), evaluations=FEW)
    record(status="interrupted", evaluations=FEW)
    unfinished, whole = store.runs()[0], store.runs()[1]
    with pytest.raises(InputError, match="no result to compare"):
        account_beside(whole, unfinished, store)
