"""Faults of a server and of a model, one question long: each costs that question at most, and the next one is answered."""

import json
from dataclasses import replace

import pytest
from llm_desk import FACTS, Office

from chat_server import USAGE, Response, answers, completion, fails, says, serving
from warpsmith.tuning.agent.planning import Plan, TrialReport, Unanswered

FOUND = {"findings": [{"concern": "traffic", "text": "too much of it", "weight": 0.4}]}
PLAN = {"passes": ["map_2d"], "reason": "wider"}
WHOLE = {**FOUND, **PLAN}


class Bench:
    def look_at(self, form):
        return f"form {form}"

    def try_form(self, proposal):
        return TrialReport(0, "not tried")

    hot_loop = ask_pass = look_at


def call(name, arguments, number="call_1"):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": number, "type": "function", "function": {"name": name, "arguments": text}}


def calls(*listed):
    return lambda body: completion({"content": None, "tool_calls": list(listed)}, finish="tool_calls", usage=USAGE)


def cut_in_the_middle(body):
    """The connection drops while the answer is under way."""
    whole = answers(WHOLE)(body)
    return Response(whole.body[: len(whole.body) // 2], declared=len(whole.body))


FAULTS = {
    "context_length": fails(400, "This model's maximum context length is 300 tokens, however you requested 4000 tokens"),
    "truncated JSON": calls(call("answer", json.dumps(WHOLE)[:40])),
    "ended at the limit of its length": lambda body: completion(
        {"content": json.dumps(WHOLE)[:40]}, finish="length", usage=USAGE
    ),
    "an unknown tool": calls(call("google", {"query": "fast matmul"})),
    "an empty answer": says(content=""),
    "an empty call": calls(call("answer", "")),
    "a refusal": lambda body: completion({"content": None, "refusal": "I cannot help with that."}, usage=USAGE),
    "a content filter": lambda body: completion({"content": ""}, finish="content_filter", usage=USAGE),
    "429 with Retry-After": fails(429, "slow down", Retry_After="2"),
    "503 for a while": fails(503, "overloaded"),
    "a connection that drops midway": cut_in_the_middle,
    "arguments that are no JSON": calls(call("look_at", "form=0"), call("try_form", "{")),
    "arguments of another type": calls(call("answer", {"findings": "none", "passes": 7, "reason": ["x"], "share": {}})),
    "calls with one id": calls(call("look_at", {"form": 0}), call("look_at", {"form": 0}), call("look_at", {"form": 0})),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_costs_the_question_that_it_meets_at_most(fault):
    facts = replace(FACTS, tools=Bench())
    with serving(fault) as server:
        office = Office(server)
        with pytest.raises(Unanswered):
            office.agent.analyse(facts)
        assert len(server.requests) <= 20
        server.script = [answers(WHOLE)]
        plan = office.agent.plan(facts, office.agent.analyse(facts))
    assert isinstance(plan, Plan)
    assert plan.passes[-1] == "map_2d"
    _well_formed(server.requests[-1]["messages"])


REPEATED = FAULTS.keys() - {"a refusal", "a content filter"}  # who refuses is not asked the same again


@pytest.mark.parametrize("name", sorted(REPEATED))
def test_a_fault_that_passes_costs_nothing(name):
    facts = replace(FACTS, tools=Bench())
    with serving(FAULTS[name], answers(WHOLE)) as server:
        findings = Office(server).agent.analyse(facts)
    assert [finding.text for finding in findings] == ["too much of it"]
    _well_formed(server.requests[-1]["messages"])


def _well_formed(messages):
    """Every call has an id of its own, arguments that are JSON, and its answer right behind it: servers insist on all of it."""
    ids = []
    for place, message in enumerate(messages):
        asked = [part["id"] for part in message.get("tool_calls") or []]
        ids += asked
        for part in message.get("tool_calls") or []:
            json.loads(part["function"]["arguments"])
        answered = [later["tool_call_id"] for later in messages[place + 1 : place + 1 + len(asked)] if later["role"] == "tool"]
        assert answered == asked
    assert len(ids) == len(set(ids))
