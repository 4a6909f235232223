"""The report of every kind of run: what it must say, what it must not, and that nothing in it is taken for markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from stored_runs import HOSTILE, ORIGINAL, SOURCE, claim, evaluated, finished, overall, searched

from page_reading import Page
from warpsmith.core.outcome import CompileFailed
from warpsmith.record.run import RoundRecord
from warpsmith.record.store import Store
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.base import Rule
from warpsmith.refactor.proposal import Proposal
from warpsmith.report.html.document import page, write_page
from warpsmith.report.html.facts import RunFacts

Record = Callable[..., RunFacts]
FEW = searched()[:1]  # enough where nothing is to be drawn: plots take most of the time
GAIN = claim(2.5, 2.3, 2.7, BLOCK=128, ITEMS=4)


def read(facts: RunFacts | str) -> Page:
    found = Page(facts if isinstance(facts, str) else page(facts))
    found.assert_alone()
    found.assert_accessible()
    return found


def test_a_gain_is_told_in_the_order_in_which_people_ask(record: Record):
    found = read(record(finished(GAIN)))
    text = found.text
    order = [
        "k on cpu",
        "2.50x 2.30 - 2.70",
        "takes 40% of the original's time",
        "Per workload",
        "The configuration",
        "The search",
        "Which parameters mattered",
        "The space",
        "The template",
        "How it was measured",
        "Every evaluation",
    ]
    places = [text.index(part, text.index("Began") if part in text[text.index("Began") :] else 0) for part in order]
    assert places[3:] == sorted(places[3:])
    rows = {row[0].split(" ")[0]: row[1:] for row in found.tables["The general configuration"]}
    assert rows["overall"] == ["1.500 ms", "600.0 µs", "2.50x", "2.30 - 2.70", "42%", "yes"]
    assert rows["oddheld"][:2] == ["77.0 µs", "600.0 µs"]
    parameters = {row[0]: row[1:] for row in found.tables["Parameters"]}
    assert parameters["BLOCK"] == ["32", "128", "32 64 128 256", 'threads of a block; "#" & <b>']
    assert parameters["ITEMS"][-1] == "elements of a thread · one after the other"
    assert parameters["FAST"][-1] == "whether it is fast"
    assert found.tables["Configurations that each constraint alone removes"][1][0] == "BLOCK * ITEMS <= 512"
    assert "same tokens (level: tokens)" in text
    assert "from 5 fresh processes" in text
    assert "the processes differ by 3%; other programs took at most 10% of the cores" in text
    assert "--evaluations 21 --seed 3" in text
    assert "warpsmith export k-" in text
    assert "warpsmith resume" not in text
    listed = found.tables[next(caption for caption in found.tables if caption.startswith("Every evaluation"))]
    assert len(listed) == 1 + len(searched())
    assert listed[1][5] == "the original"
    assert "estimated" in text.lower()


def test_nothing_that_others_wrote_is_markup(record: Record):
    markup = page(record(finished(GAIN)))
    found = read(markup)
    for hostile in (HOSTILE, "<script>alert('c')</script>", "<img", "<device>", "<512>"):
        assert hostile not in markup
    assert HOSTILE in found.text
    assert "<script>alert('c')</script>" in found.text
    assert "onerror=alert(1)>" in found.text
    assert "log & log" in found.text
    assert "if (0 < n && n > 1)" in found.text, "the diff"


def test_no_gain_is_said_plainly(record: Record):
    found = read(record(finished(ORIGINAL), evaluations=FEW))
    assert "No gain found: the original configuration is the fastest measured." in found.text
    assert "The general configuration" not in found.tables
    assert "warpsmith export" not in found.text
    assert [row[0].split(" ")[0] for row in found.tables["The original, unchanged"]][1] == "overall"


def test_what_is_not_certain_is_no_result(record: Record):
    best = claim(1.02, 0.97, 1.08, BLOCK=64)
    result = finished(ORIGINAL, uncertain={**overall(best), "heldout": {"odd": best}})
    found = read(record(result, evaluations=FEW))
    assert "No significant gain, so the original stays. The best found is BLOCK=64 ITEMS=1 FAST=0: 1.02x" in found.text
    (caption,) = (c for c in found.tables if "not significantly faster" in c)
    assert found.tables[caption][1][3] == "1.02x"
    assert found.tables["Parameters"][0][2] == "best found, not significant"


def test_a_workload_may_have_a_configuration_of_its_own(record: Record):
    own = claim(3.25, 3.0, 3.5, BLOCK=256)
    found = read(record(finished(ORIGINAL, per_workload={"a": own, HOSTILE: ORIGINAL}), evaluations=FEW))
    assert "Significantly faster with their own configuration: a (3.25x)." in found.text
    assert found.tables["Workloads with their own configuration"][1][3] == "3.25x"
    assert found.tables["Parameters"][0][2:4] == ["best", "for a"]


def test_what_was_not_verified_is_not_shown_as_a_result(record: Record):
    found = read(record(finished(claim(9.75, 9.0, 9.9, verified=False, BLOCK=64)), evaluations=FEW))
    assert "Nothing verified" in found.text
    assert "9.75x" not in found.text
    assert "Per workload" not in found.text
    assert "The configuration" not in found.text


@pytest.mark.parametrize(("status", "word"), [("interrupted", "Interrupted"), ("running", "Unfinished"), ("failed", "Failed")])
def test_a_run_without_a_result_says_so(record: Record, status: str, word: str):
    found = read(record(None, status=status, evaluations=FEW))
    assert found.text.index(word) < found.text.index("There is no result yet") < found.text.index("Began")


@pytest.mark.parametrize(("status", "can_resume"), [("interrupted", True), ("running", False)])
def test_a_run_that_somebody_works_on_is_not_to_be_resumed(record: Record, status: str, can_resume: bool):
    assert ("warpsmith resume" in read(record(None, status=status, evaluations=FEW)).text) is can_resume


def test_a_run_without_a_result_tells_how_far_it_came(record: Record):
    found = read(record(None, status="interrupted", evaluations=searched()[:7]))
    assert "There is no result yet" in found.text
    assert "Best so far in the search (not a claim)" in found.text
    assert "too few results (7 measured, 15 needed)" in found.text
    assert "warpsmith resume k-" in found.text
    assert found.tables["Parameters"][0][2] == "best so far"


@pytest.mark.parametrize("evaluations", [[], [evaluated(0, CompileFailed("no"))], searched()[-3:]], ids=["none", "one", "all"])
def test_where_everything_failed_there_is_a_page_too(record: Record, evaluations):
    found = read(record(None, status="failed", evaluations=evaluations))
    assert "Failed" in found.text
    assert "Best so far" not in found.text
    if evaluations:
        assert found.tables["Outcomes"][1][0] == "failed to compile"
        assert "(1)" in found.tables["Outcomes"][1][3]


def test_files_that_changed_are_a_reason_and_not_a_failure(record: Record, folder: Path):
    facts = record(finished(GAIN), evaluations=FEW, before=lambda _run: (folder / "k.cu").write_text(SOURCE + "// other\n"))
    found = read(facts)
    assert "Not shown: the kernel's files changed since run" in found.text
    assert "2.50x" in found.text
    assert "Which parameters mattered" not in found.text


def test_rounds_tell_what_was_planned_tried_and_said(record: Record, store: Store, folder: Path):
    def before(run: str) -> None:
        plan = {"reason": "vector <b>loads</b>", "findings": [{"text": "half of the roofline"}], "proposals": [
            {"number": 1, "hypothesis": "<i>tiles</i>"}
        ]}  # fmt: skip
        report = {"applied": ["block_size"], "declined": {"unroll": "no <loop>"}, "postponed": ["squares"]}
        fingerprint = store.find(run).header.fingerprint
        store.begin_round(run, RoundRecord(1, plan, str(folder / "kernel.toml"), fingerprint, report))
        store.say(run, Message(Role.TEMPLATER, Kind.REPLY, "…", 1, "fake:model", 100, 20, 0.25, 2.0))
        store.say(run, Message(Role.TEMPLATER, Kind.PROBLEM, "<script>alert('m')</script>", 1, "fake:model"))
        store.say(run, Message(Role.PLANNER, Kind.DECISION, "form 2 is given up", 1))

    found = read(record(finished(GAIN), evaluations=searched()[-4:], agent="fake:model", before=before))
    for part in (
        "Plan: vector <b>loads</b>",
        "New passes: block_size",
        "Skipped for lack of time: squares",
        "1 measured, 1 failed to compile, 1 wrong, 1 crashed; best so far",
        "half of the roofline",
        "Form 1: <i>tiles</i>",
        "unroll: no <loop>",
        "1 answers in 2 s, 100 tokens in and 20 out, $0.2500.",
        "<script>alert('m')</script>",
        "form 2 is given up",
        "--transcript",
    ):
        assert part in found.text


def test_a_run_that_was_stopped_before_it_had_a_template(record: Record):
    found = read(record(None, status="interrupted", agent="rules", evaluations=searched()[:1]))
    assert "The template" not in found.text
    assert "The search" in found.text


def test_rewrites_are_listed_with_what_came_of_them_and_the_best_is_shown(record: Record, store: Store):
    tried = [
        {"rewrite": 1, "hypothesis": "a <guess>", "outcome": "Measured", "speedup": 1.5, "source": "gone.cu"},
        {"rewrite": 2, "hypothesis": "worse", "outcome": "Crashed", "speedup": None, "source": "gone.cu"},
    ]
    original = overall({**ORIGINAL, "config": {"REWRITE": 0}})
    general = {**claim(1.5, 1.4, 1.6), "config": {"REWRITE": 1}}
    rule = Rule("n % 4 == 0", "packs of <four>")
    text = "__global__ void k(float* y, int n) { y[0] = 2; }\n"
    kept = Proposal(1, text, ("ceildiv(n, 64)",), ("64",), rules=(rule,), hypothesis="a <guess>")

    def rewritten(run: str) -> None:
        store.begin_round(run, RoundRecord(1, asdict(kept), "gone.cu", "", {}))

    result = finished(general, mode="direct", rewrites=tried, baseline=original, per_workload={"a": original})
    found = read(record(result, mode="direct", evaluations=[], before=rewritten))
    assert [row[:4] for row in found.tables["Rewrites, in order"][1:]] == [
        ["1", "a <guess>", "measured", "1.50x"],
        ["2", "worse", "crashed", "-"],
    ]
    assert "y[0] = 2;" in found.text, "the text that was compiled, not what lies in some file"
    assert "Identity certificate" not in found.text
    best = found.text[found.text.index("The best rewrite", found.text.index("Began")) :]
    for part in ("a <guess>", "ceildiv(n, 64)", "n % 4 == 0: packs of <four>", "For a: the original"):
        assert part in best
    assert "Strategy" not in found.text
    unfinished = read(record(None, status="killed", mode="direct", evaluations=[], before=rewritten))
    assert "a <guess>" in unfinished.text


def test_targets_that_were_only_compiled_for_are_told_as_such(record: Record):
    entry = {"outcome": "compiled", "reason": None, "registers": 40, "spill_bytes": 0, "shared_bytes": 1024, "load_bytes": None}
    used = {**entry, "occupancy": 0.75, "limiter": "shared memory"}
    target = {"target": "sm_90", "description": "H100", "original": used, "configurations": [{**used, "config": GAIN["config"]}]}
    found = read(record(finished(GAIN, also_compile=[target]), evaluations=FEW))
    assert "Nothing was run or timed there." in found.text
    assert found.tables["sm_90: H100"][2] == ["general", "40", "0 B", "1,024 B", "-", "75%", "shared"]


def test_a_kernel_without_choices(record: Record):
    nothing = {**ORIGINAL, "config": {}}
    found = read(record(finished(nothing, baseline=overall(nothing)), evaluations=searched()[:1]))
    assert "Nothing to search: the kernel has no parameters." in found.text


def test_a_page_appears_whole_or_not_at_all(record: Record, tmp_path: Path):
    facts = record(finished(GAIN), evaluations=FEW)
    file = tmp_path / "new" / "report.html"
    write_page(facts, file)
    assert file.read_text() == page(facts), "the same facts give the same page"
    assert [entry.name for entry in file.parent.iterdir()] == ["report.html"]
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_page(facts, tmp_path / "taken")
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".taken")]


def test_what_cannot_be_written_is_named_as_it_was_asked_for(record: Record, tmp_path: Path):
    file = tmp_path / ("long" * 80)
    with pytest.raises(OSError, match="long") as error:
        write_page(record(finished(GAIN), evaluations=FEW), file)
    assert error.value.filename == str(file)


def test_what_is_no_file_is_written_to_and_stays_what_it_is(record: Record, tmp_path: Path):
    link = tmp_path / "new" / "report.html"
    link.parent.mkdir()
    link.symlink_to("/dev/null")  # replacing the link stands for replacing a device
    write_page(record(finished(GAIN), evaluations=FEW), link)
    assert link.is_symlink()
    assert [path.name for path in link.parent.iterdir()] == ["report.html"]


def test_nothing_is_wider_than_a_phone_unless_it_says_so(record: Record):
    styles = page(record(finished(GAIN), evaluations=FEW)).partition("</style>")[0]
    widest = [float(width) for width in re.findall(r"(?<!\()min-width: ([\d.]+)rem", styles)]
    assert widest
    assert max(widest) * 16 <= 390 - 2 * 0.85 * 16


def test_outputs_that_were_not_really_verified_are_told_beside_the_speedup(record: Record):
    result = finished(GAIN)
    assert "Every output was verified" in page(record(result, evaluations=FEW))
    loose = {**result, "evidence": {**result["evidence"], "passed_by_zeros": {"a": ["y"]}}}
    top = page(record(loose, evaluations=FEW)).partition("<main")[0]
    assert "Every output was verified" not in top
    assert "not really verified: y on a" in top


def test_wide_tables_show_that_there_is_more_beyond_the_edge(record: Record):
    text = page(record(finished(GAIN), evaluations=FEW))
    rule = re.search(r"\.wide \{[^}]*\}", text)
    assert rule is not None
    assert "local" in rule[0]  # covers the shadow at the end of the table
    assert "scroll;" in rule[0]


def test_on_paper_the_heads_of_tables_are_words_and_what_belongs_together_stays_so(record: Record):
    paper = read(record(evaluations=FEW)).styles.partition("@media print")[2]
    assert "th button { display: contents; }" in paper, "where a table goes on, browsers leave out buttons"
    assert "dl > div { break-inside: avoid; }" in paper


def test_on_a_phone_long_lists_of_values_are_not_one_word_a_line(record: Record):
    found = read(record())
    phone = found.styles.partition("@media (max-width: 40rem)")[2].partition("@media")[0]
    assert "table.cards," in phone, "a row of many cells is a card"
    cells = [known["data-column"] for tag, known in found.tags if tag == "td" and "data-column" in known]
    assert {"values", "meaning"} <= set(cells), "which names its cells"
    assert ("code", {"class": "words"}) in found.tags
