"""What a run teaches, to which later runs it is told, and that they are told the same once they are resumed."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.agents.llm.lessons_text import lessons_text
from warpsmith.agents.rules import planner
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.lessons import FormLesson, Lesson, PassLesson
from warpsmith.record.run import RoundRecord, RunHeader, Status
from warpsmith.record.store import Store
from warpsmith.refactor.base import Concern, Tunable
from warpsmith.refactor.proposal import Proposal
from warpsmith.source.lane_strides import Access
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.features import features_of, similarity
from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, ProposalReport
from warpsmith.tuning.order import Order
from warpsmith.tuning.rounds.knowledge import is_told, learnt, similar, told_of

VERDICT = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))
FEATURES = frozenset({"a", "b", "c", "d", "e"})
LESSON = Lesson(
    "rms-1",
    "rms",
    "cpu",
    "a CPU",
    FEATURES,
    (
        FormLesson("one row a warp", 4.0, (3.5, 4.5), source="void f() {}\n", settings="grid (n), block (64) at ROWS=2"),
        FormLesson("two sweeps", 0.5, (0.4, 0.6), "it was slower"),
    ),
    (PassLesson("map_2d", 1.8, (1.5, 2.1)), PassLesson("unroll", 1.1, (0.9, 1.3)), PassLesson("fast_math", 1.0)),
    4.1,
    (3.9, 4.3),
)


def evaluated(speedup: float | None, gathers: int = 0, **values: int) -> Evaluation:
    configuration = Configuration.of({"A": 1, "B": 1, "FORM": 0, **values})
    if speedup is None:
        return Evaluation(configuration, CompileFailed("no"))
    score = 1 / speedup
    times = (WorkloadTime("w", 10.0, score, (score * 0.9, score * 1.1), 9),)
    ci95 = None if speedup == 1 else (score * 0.9, score * 1.1)
    return Evaluation(configuration, Measured(VERDICT, times, score, resources=Resources(gathers=gathers), ci95=ci95))


def form(number: int, problem: str | None = None, dropped: str | None = None) -> ProposalReport:
    proposal = Proposal(
        number,
        f"void f{number}() {{}}\n",
        ("1",),
        ("64",),
        tunables=(Tunable("TILE", (1, 2), 1, ""),),
        hypothesis=f"idea {number}",
        names=(("TILE", "A"),),
    )
    return ProposalReport(proposal, problem, dropped=dropped)


def test_what_won_and_what_lost_is_learnt_with_reasons():
    template = SimpleNamespace(default_configuration=Configuration.of({"A": 1, "B": 1, "FORM": 0}))
    origins = {"A": "coarsen", "B": "unroll@2", "FORM": "proposals", "GONE": "map_2d"}
    plans = [RoundRecord(1, {}, "", "", {"applied": [], "declined": {}, "origins": origins})]
    known = [
        evaluated(1.0),
        evaluated(2.0, A=4),
        evaluated(4.0, FORM=2),
        evaluated(6.0, A=2, FORM=2),
        evaluated(0.5, gathers=12, FORM=1),
        evaluated(None, B=2),
    ]
    forms, passes = learnt(template, plans, [form(1), form(2), form(3, "error: no"), form(4, dropped="too slow")], known)
    assert [(f.hypothesis, f.speedup, f.lost) for f in forms] == [
        ("idea 2", 6.0, None),
        ("idea 1", 0.5, "it was slower (12 gathers)"),
        ("idea 3", None, "error: no"),
        ("idea 4", None, "it was not measured"),
    ]
    assert [f.source is not None for f in forms] == [True, False, False, False]
    assert [f.settings for f in forms] == ["grid (1), block (64) at TILE=2", "grid (1), block (64) at TILE=1", "", ""]
    assert [(p.name, p.gain, p.won) for p in passes] == [("coarsen", 1.5, True), ("unroll", 1.0, False)]
    [(low, high)] = [p.ci95 for p in passes if p.won]
    assert low < 1.5 < high


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


def begun(store: Store, kernel: str, device: str = "cpu") -> str:
    return store.begin(RunHeader(kernel, "k.toml", "f", device, "rules", "gp", 0, {}, {"description": "a CPU"}))


def taught(store: Store, kernel: str, features: frozenset[str] = FEATURES, device: str = "cpu") -> str:
    run = begun(store, kernel, device)
    store.offer(run, features, {})
    store.learn(run, LESSON.forms, LESSON.passes)
    claim = {"config": {}, "speedup": 4.1, "ci95": [3.9, 4.3], "verified": True, "workloads": {}}
    claim |= {"median_us": 1.0, "roofline_fraction": None, "max_error": 0.0}
    store.finish(
        run, Status.FINISHED, {"general": claim, "uncertain": None, "baseline": claim, "per_workload": {}, "heldout": {}}
    )
    return run


def test_lessons_are_read_as_they_were_learnt_and_those_of_unfinished_runs_are_not(store: Store):
    run = taught(store, "rms")
    half = begun(store, "rms")
    store.offer(half, FEATURES, {})
    store.learn(half, (), ())
    assert store.lessons() == [replace(LESSON, run=run)]


def test_a_run_is_told_of_similar_kernels_on_its_kind_of_device_once(store: Store):
    first, second = taught(store, "rms"), taught(store, "softmax", FEATURES | {"f"})
    taught(store, "other", frozenset({"a", "x", "y"}))
    taught(store, "rms", device="cuda")
    run = begun(store, "norm")
    told = told_of(store, run, "cpu", FEATURES, wanted=True)
    assert [(lesson.run, how) for lesson, how in told] == [(first, 1.0), (second, 0.833)]
    taught(store, "later")
    assert told_of(store, run, "cpu", FEATURES, wanted=True) == told  # as a resumed run asks
    assert told_of(store, begun(store, "norm"), "cpu", FEATURES, wanted=False) == []
    assert [lesson.device for lesson, _ in similar(store.lessons(), "cuda", FEATURES)] == ["cuda"]


def test_a_damaged_lesson_teaches_nothing(store: Store):
    run, whole = taught(store, "rms"), taught(store, "softmax")
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE lessons SET learnt = '{\"forms\": 1}' WHERE run = ?", (run,))
    assert [lesson.run for lesson in store.lessons()] == [whole]


def test_comparisons_and_replays_are_told_nothing():
    order = Order(load_kernel("silu_and_mul"), agent="openai:gpt-5")
    assert is_told(order)
    assert not is_told(replace(order, knowledge=False))
    assert not is_told(replace(order, comparison="c"))
    assert not is_told(replace(order, agent="rules,templater=replay:talk.jsonl"))


def test_kernels_of_one_kind_have_more_features_in_common_than_others():
    names = ("merge_attn_states_lse", "merge_attn_states_lse_f16", "matmul", "matmul_opencl", "softmax", "fused_add_rmsnorm")
    found = {name: features_of(load_kernel(name), None, {}, ()) for name in names}
    assert similarity(found["merge_attn_states_lse"], found["merge_attn_states_lse_f16"]) > 0.6
    assert similarity(found["matmul"], found["matmul_opencl"]) > similarity(found["matmul"], found["softmax"])
    assert similarity(found["softmax"], found["fused_add_rmsnorm"]) > similarity(found["softmax"], found["matmul"])
    reads = (Access(3, "x[i]", "1", 1, is_written=False), Access(4, "y[i * n]", "n", 0, is_written=True))
    told = features_of(load_kernel("matmul"), Resources(gathers=2), {"w": "memory"}, reads)
    assert {"gathers", "memory sets its roof", "reads neighbouring elements in loops", "writes distant elements"} <= told


def test_the_rules_begin_with_what_won_before():
    passes = [PassReport(n, n, frozenset({Concern.TRAFFIC})) for n in ("block_size", *"abcde", "unroll", "map_2d")]
    findings = (Finding(Concern.TRAFFIC, "slow", 0.9),)
    facts = Facts(load_kernel("matmul"), None, None, None, {}, passes=passes)
    assert planner.plan(facts, findings).passes == ("block_size", *"abcde")
    plan = planner.plan(replace(facts, known=[(LESSON, 0.8)]), findings)
    assert plan.passes == ("block_size", "map_2d", *"abcd")  # unroll's gain there is not certain
    assert "map_2d (1.80x on rms before)" in plan.reason


def test_a_model_is_told_briefly():
    assert lessons_text(()) == ""
    text = lessons_text([(LESSON, 0.8)])
    assert "`rms` on a CPU (80% of its features are this kernel's): 4.10x [3.90, 4.30] the original's speed in the end." in text
    assert "- A form (one row a warp) won: 4.00x [3.50, 4.50]." in text
    assert "lost: 0.50x [0.40, 0.60]; it was slower." in text
    assert "- Passes that paid: map_2d 1.80x [1.50, 2.10]." in text
    assert "- Passes that brought nothing: fast_math." in text
    assert "The form that won on rms, grid (n), block (64) at ROWS=2:\n```\nvoid f() {}\n```" in text
    long = replace(LESSON, forms=tuple(FormLesson("x" * 9000, 1.0, lost="y" * 9000, source="z" * 9000) for _ in range(9)))
    assert len(lessons_text([(long, 0.8)] * 9)) <= 5000
