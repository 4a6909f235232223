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
from warpsmith.core.configuration import Configuration
from warpsmith.core.expression.operations import FUNCTIONS
from warpsmith.core.outcome import Evaluation
from warpsmith.refactor.base import Concern
from warpsmith.search.importance import Importance, ParameterEffect, ValueEffect
from warpsmith.tuning.agent.planning import Attempt, BudgetLeft, Finding, Plan, RoundReport

FINDINGS = (Finding(Concern.TRAFFIC, "rows are read twice", 0.7),)
PLAN = Plan(("block_size", "map_2d"), "wider blocks first", FINDINGS, write=True)
SHARES = Importance(
    30, 0, 99, False, 0.9, 2.0, (ParameterEffect("BLOCK", 0.61, (ValueEffect(64, 1.0, 9), ValueEffect(32, 1.5, 9))),), ()
)
TOLD = replace(LATER, importance=SHARES, device="a CPU with 2 cores")
EVERY = {
    "analyst": prompts.analyst(TOLD),
    "planner": prompts.planner(TOLD, FINDINGS),
    "templater": prompts.templater(TOLD, PLAN),
    "repair": prompts.repair(TOLD, TRIED.proposal, "/somebody/secret/place/k.cu:3: error: no"),
    "author": prompts.author(TOLD, ()),
    "tester": prompts.tester(TOLD),
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
    "BLOCK 61% (best 64; 32 is 1.50x slower)",
    "2 CompileFailed",
    "x.cu:7: error: odd block",
]
HISTORY = ["12 evaluations; best so far 1.370x", "numbers first", "Form 1 (tiles): given up: kernel.cu:3:1: error: no"]
WRITING = [
    *(f"`{name}`" for name in FUNCTIONS),
    "at most 1024 threads (x at most 1024, y at most 512, z at most 64) and 32768 bytes of shared memory",
    "a warp has 32 threads",
    "no `#if` on what a compiler defines",
]


@pytest.mark.parametrize("role", EVERY)
def test_every_role_sees_the_kernel(role):
    for fact in KERNEL_FACTS:
        assert fact in EVERY[role], fact


@pytest.mark.parametrize("role", ["analyst", "planner", "templater"])
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


@pytest.mark.parametrize("role", ["templater", "repair", "author"])
def test_who_writes_is_told_how(role):
    for fact in WRITING:
        assert fact in EVERY[role], fact
    about_parameters = ["Do not define it", "none of FORM, tokens, d, ", "`constraints`: `expression`"]
    assert all((part in EVERY[role]) is (role != "author") for part in about_parameters)  # a rewrite has none


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
        if file.name not in {"form.md", "parameters.md", "constraints.md", "answer.md"}:  # parts of others
            assert re.search(r"prompt version \d+", text), file.name
    assert not any("$" in text for text in EVERY.values())


def test_kept_forms_are_shown_to_build_on():
    kept = replace(TOLD, proposals=(replace(TRIED, problem=None, speedup=1.5),))
    text = prompts.templater(kept, PLAN)
    assert "Form 1 (tiles): kept; best configuration 1.500x the original's speed" in text
    assert TRIED.proposal.source.strip() in text
    assert "Nothing was tried yet" in prompts.templater(FACTS, PLAN)


def test_earlier_forms_and_rewrites_come_with_their_launch():
    kept = replace(TOLD, proposals=(replace(TRIED, problem=None, speedup=1.5),))
    launch = 'Launch: {"grid": ["n"], "block": ["64"], "shared": "0"}'
    assert f'{launch}\nParameters: [{{"name": "TILE", "values": [1, 2], "default": 1}}]' in prompts.templater(kept, PLAN)
    attempt = Attempt(TRIED.proposal, Evaluation(Configuration(()), measured(0.5)))
    assert '"block": ["64"], "shared": "0"}: 2.000x' in prompts.author(TOLD, (attempt,))


def test_who_plans_knows_what_is_left_and_what_was_planned_in_vain():
    told = replace(TOLD, budget=BudgetLeft(12, 90.0, 2), in_vain=("unroll: no loop",))
    for text in (prompts.planner(told, FINDINGS), prompts.templater(told, PLAN)):
        assert "Left of the run: 2 round(s), this one included, 12 evaluations, 90 s." in text
    assert "in vain: unroll: no loop" in prompts.planner(told, FINDINGS)


def test_a_cpu_is_said_to_be_one():
    on_cpu = replace(TOLD, limits=replace(LIMITS, shared_banks=1))
    assert "lanes of vector instructions" in prompts.templater(on_cpu, PLAN)
    assert "It is a CPU" not in EVERY["templater"]


def test_what_stays_the_same_from_round_to_round_comes_first():
    """Providers charge a fraction for the beginning of a prompt that they have seen before."""
    later = replace(TOLD, rounds=(*TOLD.rounds, RoundReport(2, (), "more", 3, 1.5)), best_times_us={"llama-7b": 700.0})
    for first, second in ((EVERY["templater"], prompts.templater(later, PLAN)), (EVERY["analyst"], prompts.analyst(later))):
        same = next(place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
        assert same > first.index("## Measured")
