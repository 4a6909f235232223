"""Who answers where a model does not: for once, for good, or nobody; and what the record says of it."""

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.record.transcript import Message
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.agents import load_agent
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.agent.fallback import LeavesUndone, WithFallback
from warpsmith.tuning.agent.planning import AgentStopped, Desk, Facts, Plan, RoundReport, Unanswered
from warpsmith.tuning.agent.prospects import passes_for

LIMITS = Limits(1024, 1024, 512, 64, 32768, 32, 2)
KERNEL = untouched(load_kernel("silu_and_mul"))
FACTS = Facts(KERNEL, LIMITS, None, None, {}, passes=passes_for(KERNEL, LIMITS))
GONE, MUTE = AgentStopped("fake cannot be asked: HTTP 500"), Unanswered("no usable answer of fake in 3 tries")
PLAN = Plan(("block_size",), "its own")


class Model(LeavesUndone):
    """Plans by a script: a plan, nothing, or an exception."""

    name = "openai:fake"

    def __init__(self, *script) -> None:
        self.script = list(script)

    def plan(self, facts, findings):
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def crew(*script, fallback=None, seconds_left=None):
    notes: list[Message] = []
    desk = Desk(0, Ledger(Allowance()), notes.append, lambda: seconds_left)
    model = Model(*script)
    return WithFallback(model, fallback or load_agent("rules", desk), desk), model, notes


def plans(agent, times=1, facts=FACTS):
    return [agent.plan(facts, ()) for _ in range(times)]


def test_the_rules_go_on_for_a_model_that_cannot_be_asked():
    agent, _, notes = crew(GONE)  # a second question would find no script
    first, second = plans(agent, 2)
    assert first == second
    assert "block_size" in first.passes
    assert agent.stopped == "fake cannot be asked: HTTP 500; agent rules took over"
    assert [(n.role, n.kind, n.model) for n in notes] == [("planner", "decision", "openai:fake")]


def test_one_bad_answer_is_made_up_for_and_three_in_a_row_are_enough():
    agent, model, notes = crew(MUTE, MUTE, PLAN, MUTE, MUTE, MUTE)
    answers = plans(agent, 7)
    assert [answer is PLAN for answer in answers] == [False, False, True, False, False, False, False]
    assert all("block_size" in answer.passes for answer in answers)
    assert not model.script
    assert len(notes) == 5
    assert "3 tries; agent rules took over" in agent.stopped


def test_to_try_nothing_at_all_is_no_plan_but_to_stop_later_is_one():
    agent, _, notes = crew(None, None)
    assert plans(agent)[0] is not None
    assert "proposes nothing: agent rules plans the round" in notes[0].text
    searched = Facts(KERNEL, LIMITS, None, None, {}, rounds=(RoundReport(1, (), "", 5, 1.5),), passes=FACTS.passes)
    assert plans(agent, facts=searched) == [None]


def test_nobody_stands_in_where_that_is_forbidden_or_time_is_up():
    agent, _, _ = crew(GONE, fallback=LeavesUndone())
    assert plans(agent) == [None]
    assert agent.stopped == GONE.reason
    late, _, notes = crew(GONE, seconds_left=2.0)
    for _ in range(2):
        with pytest.raises(AgentStopped):
            plans(late)
    assert not notes
    assert late.stopped == GONE.reason


@pytest.mark.parametrize(
    ("text", "alone", "who"),
    [
        ("openai:fake", False, "RulesAgent"),
        ("rules,templater=openai:fake", False, "RulesAgent"),
        ("openai:fake,fallback=none", False, "LeavesUndone"),
        ("openai:fake,fallback=openai:other", False, "WithFallback"),
        ("openai:fake", True, "LeavesUndone"),
    ],
)
def test_who_stands_in_is_said_with_the_agent(text, alone, who, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("WARPSMITH_CONFINEMENT", "best-effort")
    desk = Desk(0, Ledger(Allowance()), lambda message: None, lambda: None)
    agent = load_agent(text, desk, alone=alone)
    assert isinstance(agent, WithFallback)
    assert type(agent._fallback).__name__ == who
    with pytest.raises(InputError):
        load_agent("openai:fake,fallback=who", desk)
