"""One conversation per run: what a model is told again, what is shortened, and what a question that is too long costs."""

import json
from dataclasses import replace

import pytest
from llm_desk import FACTS, KERNEL, LATER, Office

from chat_server import USAGE, answers, completion, fails, serving
from warpsmith.agents.llm import memory
from warpsmith.tuning.agent.planning import MOST_USES, TRIED_SPEED, Plan, ProposalReport, RoundReport, TrialReport, Unanswered

FOUND = {"findings": [{"concern": "traffic", "text": "rows are read twice", "weight": 0.4}]}
PLAN = {"passes": ["map_2d"], "reason": "wider"}
SOURCE = KERNEL.source.read_text() + "// mine\n"
FORM = {"hypothesis": "fewer passes", "source": SOURCE, "launch": {"grid": ["tokens"], "block": [64]}}
TESTS = {"workloads": [{"name": "one", "sizes": {"tokens": 1, "d": 8}}]}


def contents(request):
    return [json.dumps(message) for message in request["messages"]]


def questions(request):
    return [m["content"] for m in request["messages"] if m["role"] == "user"]


def test_roles_are_turns_of_one_conversation():
    with serving(answers(TESTS), answers({**FOUND, **PLAN, "write": True, "form": FORM}), answers(PLAN)) as server:
        agent = Office(server).agent
        agent.adversaries(FACTS)
        findings = agent.analyse(FACTS)
        plan = agent.plan(FACTS, findings)
        assert [form.hypothesis for form in agent.propose(FACTS, plan)] == ["fewer passes"]
        assert len(server.requests) == 2  # analysis, plan and form are one answer
        agent.analyse(LATER)
    first, second, third = server.requests
    assert first["tools"] == second["tools"]  # what every request begins with stays
    assert second["messages"][0]["content"].startswith(first["messages"][0]["content"])
    assert "As the tester you asked for one" in second["messages"][0]["content"]
    assert third["messages"][: len(second["messages"])] == second["messages"]
    assert [m["role"] for m in third["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert sum(text.count("silu_and_mul_kernel<float>") for text in contents(third)) <= 2  # kernel and guide, once each
    assert sum("// mine" in text for text in contents(third)) == 1
    assert "best so far 812.5" in questions(third)[-1]
    assert "`launch`: `grid` and `block`" not in questions(third)[-1]


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ([FOUND, PLAN], ["Analyst and planner", "Planner"]),  # only analysed: the plan is another turn
        ([PLAN], ["Analyst and planner"]),
        ([{"stop": True, "reason": "done"}], ["Analyst and planner"]),
    ],
)
def test_answers_of_one_role_are_understood_where_two_are_asked(script, asked):
    with serving(*map(answers, script)) as server:
        agent = Office(server).agent
        plan = agent.plan(FACTS, agent.analyse(FACTS))
    assert (plan is None) is ("stop" in script[-1])
    assert [questions(r)[-1].partition(" (")[0].strip("# ") for r in server.requests] == asked


def test_a_plan_that_was_in_vain_is_asked_for_again():
    with serving(answers({**FOUND, **PLAN})) as server:
        agent = Office(server).agent
        findings = agent.analyse(FACTS)
        agent.plan(FACTS, findings)
        agent.plan(replace(FACTS, in_vain=("map_2d: nothing to do",)), findings)
    assert len(server.requests) == 2
    assert "in vain: map_2d: nothing to do" in questions(server.requests[-1])[-1]


def test_long_conversations_are_shortened_to_what_was_decided_and_told_again(monkeypatch):
    monkeypatch.setattr(memory, "KEPT_TOKENS", 100)
    monkeypatch.setattr("warpsmith.agents.llm.conversation.KEPT_TOKENS", 100)
    with serving(answers({**FOUND, **PLAN, "notes": "rows are 11008 long"}), answers(PLAN)) as server:
        agent = Office(server).agent
        agent.plan(FACTS, agent.analyse(FACTS))
        agent.analyse(LATER)
    [question] = questions(server.requests[-1])
    remembered = server.requests[-1]["messages"][0]["content"]
    assert "Round 1: you found rows are read twice. You planned: wider. Your notes: rows are 11008 long" in remembered
    assert "map_2d: two-dimensional blocks" in question  # nothing that was told is lost with the turn that told it
    assert "# Analyst and planner" in question


class Bench:
    """Tries nothing really."""

    def look_at(self, form):
        return f"form {form}"

    def try_form(self, proposal):
        return TrialReport(7, f"trial 7 (0a1b2c3d): right on the smallest workloads\n0.62x {TRIED_SPEED}")

    hot_loop = ask_pass = look_at


def calls(name, arguments):
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return lambda body: completion({"content": None, "tool_calls": [call]}, finish="tool_calls", usage=USAGE)


def test_what_is_remembered_is_told_with_every_request_of_a_turn_and_trials_are_remembered(monkeypatch):
    monkeypatch.setattr("warpsmith.agents.llm.conversation.KEPT_TOKENS", 100)
    first, later = replace(FACTS, tools=Bench()), replace(LATER, tools=Bench())
    tried = calls("try_form", {"form": FORM})  # wrapped as in an answer
    with serving(tried, answers({**FOUND, **PLAN}), calls("look_at", {"form": 0}), answers(PLAN)) as server:
        agent = Office(server).agent
        agent.plan(first, agent.analyse(first))
        agent.analyse(later)
    beginnings = [request["messages"][0]["content"] for request in server.requests]
    assert beginnings[0] == beginnings[1]
    assert beginnings[2] == beginnings[3]  # also behind a tool's answer
    assert f"You tried trial 7 (fewer passes): 0.62x {TRIED_SPEED}." in beginnings[3]
    assert "How to write a form" in beginnings[3]


def test_a_model_is_not_told_the_form_that_it_just_wrote():
    with serving(answers({**FOUND, **PLAN, "write": True, "form": FORM}), answers(PLAN)) as server:
        agent = Office(server).agent
        findings = agent.analyse(FACTS)
        [form] = agent.propose(FACTS, agent.plan(FACTS, findings))
        agent.analyse(replace(LATER, proposals=(ProposalReport(form, speedup=2.0),)))
    assert "best configuration 2.000x" in questions(server.requests[-1])[-1]
    assert "// mine" not in questions(server.requests[-1])[-1]


def test_how_much_is_left_is_said_where_it_is_little():
    script = [calls("look_at", {"form": 0})] * MOST_USES
    with serving(*script, answers({**FOUND, **PLAN})) as server:
        Office(server).agent.analyse(replace(FACTS, tools=Bench()))
    told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert ["left for this answer" in text for text in told] == [n >= MOST_USES - 3 for n in range(1, MOST_USES + 1)]
    assert f"(0 of {MOST_USES} looks and trials left" in told[-1]


def small(limit, then, words="This model's maximum context length is {limit} tokens, however you requested {n} tokens"):
    """Answers what it holds, counted as roughly as we do."""

    def behave(body):
        n = len(json.dumps(body)) // 3
        said = words.format(limit=limit, n=n)
        return fails(400, said)(body) if n > limit else then(body)

    return behave


@pytest.mark.parametrize("words", [None, "context_length_exceeded", "the request exceeds the available context size"])
def test_what_is_too_long_is_shortened_and_asked_again(words):
    options = {} if words is None else {"words": words}
    with serving(answers({**FOUND, **PLAN}), small(6500, answers(PLAN), **options)) as server:
        office = Office(server)
        office.agent.plan(FACTS, office.agent.analyse(FACTS))
        rounds = [RoundReport(n, (), f"reason {n} " + "x" * 300, 3, 1.5) for n in range(30)]
        assert office.agent.plan(replace(LATER, rounds=rounds, in_vain=("x",)), ()) is not None
    assert "fault" in office.kinds
    assert "shortened to stay within" in office.said("decision")
    assert len(questions(server.requests[-1])) == 1


def test_a_question_that_no_shortening_helps_costs_that_question_alone():
    with serving(small(1000, answers(PLAN))) as server:
        office = Office(server)
        with pytest.raises(Unanswered, match="holds"):
            office.agent.analyse(FACTS)
        asked = len(server.requests)
        server.script = [answers(PLAN)]
        assert isinstance(office.agent.plan(FACTS, ()), Plan)
    assert len(server.requests) == asked + 1


def test_a_known_context_is_never_exceeded(monkeypatch):
    monkeypatch.setenv("WARPSMITH_MODEL_CONTEXT", "9000")
    with serving(answers({**FOUND, **PLAN})) as server:
        office = Office(server)
        for number in range(4):
            facts = replace(LATER, rounds=[RoundReport(n, (), f"reason {n} " + "x" * 300, 3, 1.5) for n in range(5 * number)])
            office.agent.plan(facts, office.agent.analyse(facts))
    assert "fault" not in office.kinds
    assert all(len("".join(contents(request))) / 3 < 9000 for request in server.requests)


def test_a_server_without_tools_has_the_same_conversation_in_words():
    with serving(fails(400, "no tools here"), answers(TESTS), answers({**FOUND, **PLAN}), answers(PLAN)) as server:
        agent = Office(server).agent
        agent.adversaries(FACTS)
        agent.plan(FACTS, agent.analyse(FACTS))
        agent.analyse(LATER)
    last = server.requests[-1]
    assert "tools" not in last
    assert [m["role"] for m in last["messages"]] == ["system", "user", "assistant", "user"]
    assert sum('"workloads"' in text for text in questions(last)) == 0  # a schema is part of its own turn only
