"""The rules author: single points of what the passes make, one after the other, always from the best so far."""

from dataclasses import replace

import pytest

from warpsmith.agents.rules import RulesAgent
from warpsmith.agents.rules.author import Moves
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits, Resources
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Verdict
from warpsmith.refactor.drafting.application import apply_passes
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.registry import load_passes
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.agent.planning import Attempt, Facts
from warpsmith.tuning.events import ignore
from warpsmith.tuning.rounds.desk import desk_without_record
from warpsmith.tuning.rounds.rewrites import Rewrites, rewrite_configuration

LIMITS = Limits(8192, 8192, 8192, 8192, 32768, 32, 2)
KERNEL = untouched(load_kernel("silu_and_mul"))
PASSES = ("lift_constants", "block_size", "exponential", "fast_math")


@pytest.fixture(scope="module")
def draft() -> Draft:
    return apply_passes(Draft.of(KERNEL, LIMITS), load_passes(PASSES))


@pytest.fixture
def facts(draft: Draft, monkeypatch) -> Facts:
    monkeypatch.setattr("warpsmith.agents.rules.author._made", {})
    return Facts(KERNEL, LIMITS, Resources(gathers=2), None, {"llama-7b": 0.2}, moves=lambda: draft)


def judged(proposal, score: float | None) -> Attempt:
    verdict = Verdict((ArgumentCheck("llama-7b", "out", True, 0.0),))
    outcome = CompileFailed("no") if score is None else Measured(verdict, (), score)
    return Attempt(proposal, Evaluation(rewrite_configuration(proposal.number), outcome))


def written(facts: Facts, scores, seed: int = 0) -> list:
    agent = RulesAgent("rules", desk_without_record(Allowance(), ignore, seed))
    attempts: list[Attempt] = []
    for score in scores:
        attempts.append(judged(agent.rewrite(facts, attempts), score))
    return [a.proposal for a in attempts]


def point(proposal) -> Configuration:
    return Configuration(tuple((t.name, t.default) for t in proposal.tunables))


def test_every_choice_is_fixed_and_every_rewrite_can_be_launched(facts, draft):
    space = Moves(draft).space
    found = written(facts, [1.2, None, 0.9, 0.95, 0.8] * 6)
    assert len({point(p) for p in found}) == 30, "nothing is written twice"
    rewrites = Rewrites(KERNEL, LIMITS)
    for proposal in found:
        assert point(proposal) in space
        names = {t.name for t in proposal.tunables}
        assert not names & set(proposal.source.replace("(", " ").replace(")", " ").split()), "no parameter is left in the text"
        rewrites.add(proposal)
        assert rewrites.explain(rewrite_configuration(proposal.number)) == []
        sizes = {**LIMITS.names(), "REWRITE": proposal.number, "tokens": 7}
        packs = int(point(proposal).get("VEC_BYTES", 16)) // 4
        assert rewrites.allows({**sizes, "d": 4096 * packs})
        if packs > 1:
            assert not rewrites.allows({**sizes, "d": 4096 * packs + 1}), "what it asks of sizes stays with it"
    assert [p.number for p in found] == list(range(1, 31))


def test_the_same_seed_and_the_same_outcomes_give_the_same_rewrites(facts):
    scores = [0.9, 1.1, None, 0.7, 0.8, 0.75]
    assert written(facts, scores) == written(facts, scores)
    assert written(facts, scores) != written(facts, scores, seed=1)


def test_it_goes_on_from_the_best_and_not_from_what_was_slower_or_failed(facts):
    found = written(facts, [0.5, None, *[0.9] * 12])
    best = point(found[0])
    from_best = [p for p in found[1:] if p.hypothesis.startswith("the best so far")]
    assert len(from_best) >= 8
    changed = [sum(best[name] != value for name, value in point(p).items()) for p in from_best]
    assert max(changed) < len(best), "a move leaves the rest as it was"
    assert min(changed) == 1


def test_when_nothing_was_faster_it_goes_on_from_the_original(facts):
    assert all(p.hypothesis.startswith("the original") for p in written(facts, [1.5, None, 1.01, 2.0]))


def test_it_ends_when_every_point_was_written(facts, draft):
    small = replace(facts, moves=lambda: apply_passes(Draft.of(KERNEL, LIMITS), load_passes(("fast_math",))))
    space = Moves(small.moves()).space
    agent = RulesAgent("rules", desk_without_record(Allowance(), ignore))
    attempts: list[Attempt] = []
    while (proposal := agent.rewrite(small, attempts)) is not None:
        attempts.append(judged(proposal, 0.9))
        assert len(attempts) < space.size
    assert len(attempts) == space.size - 1
