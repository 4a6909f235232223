"""The prompts have every fact in them that a model needs, and nothing that it must not see."""

import os
import re
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from llm_desk import FACTS, KERNEL, LATER, LIMITS, TRIED, measured

from warpsmith.agents.llm import prompts
from warpsmith.agents.llm.told import Told
from warpsmith.core.configuration import Configuration
from warpsmith.core.expression.operations import FUNCTIONS
from warpsmith.core.outcome import Evaluation
from warpsmith.refactor.base import Concern
from warpsmith.tuning.agent.planning import Attempt, BudgetLeft, Finding, Plan, RoundReport

FINDINGS = (Finding(Concern.TRAFFIC, "rows are read twice", 0.7),)
PLAN = Plan(("block_size", "map_2d"), "wider blocks first", FINDINGS, write=True)
TOLD = replace(LATER, device="a CPU with 2 cores")


def first(prompt, *facts, **options):
    """A turn to somebody who was told nothing yet."""
    return prompt(*facts, Told(set()), **options)


EVERY = {
    "round": first(prompts.round_, TOLD, writes=True),
    "analyst": first(prompts.analyst, TOLD),
    "planner": first(prompts.planner, TOLD, FINDINGS),
    "templater": first(prompts.templater, TOLD, PLAN),
    "repair": first(prompts.repair, TOLD, TRIED.proposal, "/somebody/secret/place/k.cu:3: error: no"),
    "author": first(prompts.author, TOLD, ()),
    "tester": first(prompts.tester, TOLD),
    "system": prompts.system(TOLD),
    "guide": prompts.guide(TOLD, plans=True, writes=True),
    "guide of rewrites": prompts.guide(TOLD, plans=False, writes=True, fixed=True),
}
KERNEL_FACTS = [
    KERNEL.source.read_text().strip(),
    "silu_and_mul_kernel<float>",
    "input: in buffer of f32, shape (tokens, 2*d), filled with normal",
    "d: i32 = d",
    "grid (tokens), block (min(d / 4, 1024))",
    "llama-70b: tokens = 256, d = 28672; weight 1",
    "odd-tail: tokens = 7, d = 1000; weight 1; held out",
    "rtol 1e-05, atol 1e-06",
    "a CPU with 2 cores",
    *(f"{name} = {value}" for name, value in LIMITS.names().items()),
]
MEASURED = [
    "registers 40, gathers 3, scatters 1",
    "vectorized 8 wide",
    "registers 32, spill_bytes 16",
    "original 1112.2 µs, best so far 812.5 µs, which is 45% of the machine's measured roofline",
    "BLOCK=256",
    "2 CompileFailed",
    "x.cu:7: error: odd block",
]
HISTORY = ["12 evaluations; best so far 1.37x", "numbers first", "Form 1 (tiles): given up: kernel.cu:3:1: error: no"]
WRITING = [
    *(f"`{name}`" for name in FUNCTIONS),
    "at most 1024 threads (x at most 1024, y at most 512, z at most 64) and 32768 bytes of shared memory",
    "a warp has 32 threads",
    "no `#if` on what a compiler defines",
]


def test_the_kernel_is_told_once():
    for fact in KERNEL_FACTS:
        assert fact in EVERY["system"], fact
        assert not any(fact in text for role, text in EVERY.items() if role != "system" and "`" not in fact and len(fact) > 40)


@pytest.mark.parametrize("role", ["round", "analyst", "planner", "templater"])
def test_who_plans_or_writes_sees_what_was_measured_and_done(role):
    for fact in (*MEASURED, *HISTORY):
        assert fact in EVERY[role], fact


def test_each_role_sees_what_its_answer_needs():
    assert all(f"`{concern}`" in EVERY["analyst"] for concern in Concern)
    for part in ("rows are read twice", "map_2d: two-dimensional blocks (for coalescing)", "Applied: block_size (round 1)."):
        assert part in EVERY["planner"]
    assert "- fast_math: no function to approximate" in EVERY["planner"]
    assert "approximate functions" not in EVERY["planner"]  # what a pass would do that cannot be asked for is of no use
    assert "wider blocks first" in EVERY["templater"]
    assert "rows are read twice" in EVERY["templater"]
    assert "k.cu:3: error: no" in EVERY["repair"]
    assert TRIED.proposal.source.strip() in EVERY["repair"]
    assert '"name": "TILE", "values": [1, 2], "default": 1' in EVERY["repair"]
    assert "exactly these names: tokens, d" in EVERY["tester"]


@pytest.mark.parametrize("role", ["guide", "guide of rewrites"])
def test_who_writes_is_told_how(role):
    for fact in WRITING:
        assert fact in EVERY[role], fact
    about_parameters = ["Do not define it", "none of those that launch expressions know, FORM", "`constraints`: `expression`"]
    assert all((part in EVERY[role]) is (role == "guide") for part in about_parameters)  # a rewrite has none


@pytest.mark.parametrize("role", EVERY)
def test_nothing_of_this_machine_is_in_a_prompt(role):
    text = EVERY[role]
    assert str(Path.home()) not in text
    assert str(KERNEL.path.parent) not in text
    assert "/somebody/" not in text
    assert tempfile.gettempdir() not in text
    assert os.environ["OPENAI_API_KEY"] not in text


def test_every_file_states_its_version_and_is_used_whole():
    for file in (files("warpsmith.agents") / "prompts").iterdir():
        text = file.read_text(encoding="utf-8")
        if text.startswith("# ") or file.name == "system.md":  # others are parts of these
            assert re.search(r"prompt version \d+", text), file.name
    assert not any("$" in text for text in EVERY.values())


def test_why_a_pass_declines_is_told_where_it_cannot_be_asked():
    able = replace(TOLD, tools=object())
    assert "- fast_math: no function to approximate" in first(prompts.round_, TOLD, writes=True)
    assert "(`ask_pass` says why): fast_math." in first(prompts.round_, able, writes=True)
    assert "- fast_math: no function to approximate" in first(prompts.round_, able, writes=False)
    assert "`hot_loop`" in prompts.guide(able, plans=True, writes=True)
    assert "`hot_loop`" not in prompts.guide(TOLD, plans=True, writes=True)


def test_kept_forms_are_shown_to_build_on():
    kept = replace(TOLD, proposals=(replace(TRIED, problem=None, speedup=1.5),))
    text = first(prompts.templater, kept, PLAN)
    assert "Form 1 (tiles): kept; best configuration 1.500x the original's speed" in text
    assert TRIED.proposal.source.strip() in text
    assert "Nothing was tried yet" in first(prompts.templater, FACTS, PLAN)


def test_earlier_forms_and_rewrites_come_with_their_launch():
    kept = replace(TOLD, proposals=(replace(TRIED, problem=None, speedup=1.5),))
    launch = 'Launch: {"grid": ["n"], "block": ["64"], "shared": "0"}'
    assert f'{launch}\nParameters: [{{"name": "TILE", "values": [1, 2], "default": 1}}]' in first(prompts.templater, kept, PLAN)
    attempt = Attempt(TRIED.proposal, Evaluation(Configuration(()), measured(0.5)))
    assert '"block": ["64"], "shared": "0"}: 2.00x' in first(prompts.author, TOLD, (attempt,))


def test_who_plans_knows_what_is_left_and_what_was_planned_in_vain():
    told = replace(TOLD, budget=BudgetLeft(12, 90.0, 2), in_vain=("unroll: no loop",))
    for text in (
        first(prompts.planner, told, FINDINGS),
        first(prompts.templater, told, PLAN),
        first(prompts.round_, told, writes=True),
    ):
        assert "Left of the run: 2 round(s), this one included, 12 evaluations, 90 s." in text
    assert "in vain: unroll: no loop" in first(prompts.planner, told, FINDINGS)


def test_a_cpu_is_said_to_be_one():
    on_cpu = replace(TOLD, limits=replace(LIMITS, shared_banks=1))
    assert "lanes of vector instructions" in prompts.system(on_cpu)
    assert "make `blockDim.x` a multiple of the vector width" in prompts.system(on_cpu)
    assert "It is a CPU" not in EVERY["system"]
    assert "It is a GPU with 2 multiprocessors" in EVERY["system"]
    assert "32 banks of 4 bytes" in EVERY["system"]


def test_a_later_turn_says_only_what_is_new():
    told = Told(set())
    prompts.round_(TOLD, told, writes=True)
    later = replace(TOLD, rounds=(*TOLD.rounds, RoundReport(2, (), "more", 3, 1.5)), best_times_us={"llama-7b": 700.0})
    again = prompts.round_(later, Told(told.now), writes=True)
    assert "best so far 700.0 µs" in again
    assert "3 evaluations; best so far 1.50x" in again
    for known in (
        "numbers first",
        "vectorized 8 wide",
        "map_2d: two-dimensional",
        "A round applies refactoring passes",
        *WRITING,
    ):
        assert known not in again
    assert len(again) < len(EVERY["round"]) * 0.6
    assert "Nothing new." in prompts.analyst(TOLD, Told(told.now))


@pytest.mark.parametrize(
    ("before", "after", "news"),
    [
        ("a\nb", "a\nc", "c"),
        ("Failed:\n- one", "Failed:\n- one\n- two", "Failed:\n- two"),
        ("| n | us |\n| 1 | 2 |", "| n | us |\n| 1 | 2 |\n| 2 | 3 |", "| n | us |\n| 1 | 2 |\n| 2 | 3 |"),
        ("Form:\n```\nx = 1;\n```", "Form:\n```\nx = 1;\n```\nend", "end"),
        ("Form:\n```\nx = 1;\n```", "Form:\n```\nx = 2;\n```", "Form:\n```\nx = 2;\n```"),
        ("a\n\nb", "a\n\nb", "Nothing new."),
        ("```\nnever closed", "```\nnever closed\nmore", "```\nnever closed\nmore"),
    ],
)
def test_what_belongs_together_is_told_together(before, after, news):
    told = Told(set())
    assert told.news(before) == before
    assert Told(told.now).news(after) == news
