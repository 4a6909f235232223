"""A language model behind a server that misbehaves: what is asked again, what is given up, and what the record says of it."""

import json

import pytest
from llm_desk import FACTS, Office

from chat_server import Response, answers, completion, fails, refuses_tools, says, serving
from warpsmith.refactor.base import Concern
from warpsmith.tuning.agent.planning import AgentStopped, Finding, Unanswered

GOOD = {"findings": [{"concern": "Traffic", "text": "too much of it", "weight": "0.4"}]}
FOUND = (Finding(Concern.TRAFFIC, "too much of it", 0.4),)
NO_CHOICES = Response(json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}).encode())


def call(name, arguments):
    return {"id": None, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def asked(*script, **options):
    with serving(*script) as server:
        office = Office(server, **options)
        return office, office.agent.analyse(FACTS), server


def stopped(*script, **options) -> tuple[Office, str, int]:
    with serving(*script) as server:
        office = Office(server, **options)
        with pytest.raises(AgentStopped) as error:
            office.agent.analyse(FACTS)
        if isinstance(error.value, Unanswered):  # it costs its question; the next one is asked once
            before = len(server.requests)
            with pytest.raises(AgentStopped) as error:
                office.agent.analyse(FACTS)
            assert len(server.requests) == before + 1
        assert not isinstance(error.value, Unanswered)
        asked = len(server.requests)
        with pytest.raises(AgentStopped):  # and it stays so, without another request
            office.agent.analyse(FACTS)
        assert len(server.requests) == asked
        return office, error.value.reason, len(server.requests)


def test_question_and_answer_are_noted_with_what_they_cost():
    office, found, server = asked(answers(GOOD))
    assert found == FOUND
    assert office.kinds == ["prompt", "reply"]
    reply = office.notes[-1]
    assert (reply.role, reply.round, reply.model) == ("analyst", 1, "openai:fake")
    assert (reply.input_tokens, reply.output_tokens, reply.usd) == (1000, 200, None)
    assert reply.seconds > 0
    assert "Bearer a-secret-of-mine" in server.headers["authorization"]
    assert "a-secret-of-mine" not in json.dumps(server.requests)


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(says(content="Sure!\n```json\n" + json.dumps(GOOD) + "\n```"), id="words around JSON instead of a call"),
        pytest.param(says(content=[{"type": "text", "text": json.dumps(GOOD)}], reasoning_content="hm"), id="content as parts"),
        pytest.param(says(content=f"<think>{{}} hm</think>{json.dumps(GOOD)}"), id="thinking in the text"),
        pytest.param(says(content=f"Where {{x}} and {{}} stand:\n{json.dumps(GOOD)}\nThat is it {{"), id="braces around it"),
        pytest.param(refuses_tools(answers(GOOD)), id="no tools"),
        pytest.param(lambda body: completion({"content": json.dumps(GOOD)}), id="no usage"),
        pytest.param(
            lambda body: Response(json.dumps({"choices": [{"message": {"content": json.dumps(GOOD)}}]}).encode()),
            id="bare minimum",
        ),
        pytest.param(
            lambda body: completion({"tool_calls": [{"function": {"name": "answer", "arguments": GOOD}}]}),
            id="arguments as object",
        ),
        pytest.param(says(tool_calls=[call("lookup", {}), call("answer", {}), call("answer", GOOD)]), id="several calls"),
        pytest.param(says(content=json.dumps(GOOD), tool_calls=[call("answer", {})]), id="words beside an empty call"),
        pytest.param(says(content=None, function_call={"name": "answer", "arguments": json.dumps(GOOD)}), id="calls of old"),
        pytest.param(
            says(content=f"<tool_call>\n{json.dumps({'name': 'answer', 'arguments': GOOD})}\n</tool_call>"), id="a call as text"
        ),
        pytest.param(says(content=json.dumps({"answer": json.dumps(GOOD)})), id="wrapped, as text"),
        pytest.param(says(content=f'so {{"findings": []}}? no</think>{json.dumps(GOOD)}'), id="half a thinking tag"),
        pytest.param(says(content="", reasoning_content=f"hm {json.dumps(GOOD)}"), id="all taken for thinking"),
    ],
)
def test_servers_take_liberties(behaviour):
    office, found, _ = asked(behaviour)
    assert found == FOUND
    assert office.notes[-1].input_tokens > 0  # counted by the server or estimated: a limit in tokens always binds
    assert office.notes[-1].output_tokens > 0


@pytest.mark.parametrize("usage", [{"prompt_tokens": None, "completion_tokens": None}, {"prompt_tokens": "many"}, "none"])
def test_counts_that_are_none_are_estimated(usage):
    office, found, _ = asked(answers(GOOD, usage=usage))
    assert found == FOUND
    assert office.kinds == ["prompt", "reply"]
    assert office.notes[-1].input_tokens > 500


def test_a_server_without_tools_is_asked_in_words_from_then_on():
    with serving(refuses_tools(answers(GOOD))) as server:
        office = Office(server)
        assert office.agent.analyse(FACTS) == office.agent.analyse(FACTS) == FOUND
    assert ["tools" in request for request in server.requests] == [True, False, False]
    assert '"findings"' in server.requests[-1]["messages"][-1]["content"]  # the schema is in the words


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param(fails(500, "out of memory"), "HTTP 500: out of memory", id="500"),
        pytest.param(fails(503), "HTTP 503", id="503"),
        pytest.param(fails(408), "HTTP 408", id="408"),
        pytest.param(lambda body: None, "the connection failed: Server disconnected", id="cut connection"),
        pytest.param(lambda body: Response(b'{"id"', declared=1000), "the connection failed: peer closed", id="cut body"),
        pytest.param(lambda body: NO_CHOICES, "no choices", id="no choices"),
        pytest.param(lambda body: Response(b"<html>busy</html>"), "JSON", id="not JSON"),
        pytest.param(lambda body: Response(b"[1, 2]"), "", id="JSON, but nothing known"),
    ],
)
def test_passing_faults_are_asked_again_and_lasting_ones_end_it(behaviour, reason):
    office, found, _ = asked(behaviour, behaviour, answers(GOOD))
    assert found == FOUND
    assert office.kinds == ["prompt", "fault", "fault", "reply"]
    assert office.waits == [1, 4]
    office, why, requests = stopped(behaviour)
    assert requests == 5
    assert office.kinds == ["prompt", *["fault"] * 4, "prompt", "fault", "prompt"]
    assert reason in why
    assert reason in office.notes[1].text


def test_a_rate_limit_is_waited_for_as_long_as_it_asks_within_reason():
    office, found, _ = asked(fails(429, "slow down", Retry_After="7"), answers(GOOD))
    assert found == FOUND
    assert office.waits == [7]
    office, why, requests = stopped(fails(429, "slow down", Retry_After="3600"))
    assert (requests, office.waits) == (1, [])
    assert "asks to wait 3600 s" in why


@pytest.mark.parametrize(("status", "text"), [(401, "wrong key a-secret-of-mine"), (404, "no such model"), (402, "pay first")])
def test_what_waiting_cannot_help_ends_it_at_once(status, text):
    office, why, requests = stopped(fails(status, text))
    assert requests == 1
    assert f"HTTP {status}" in why
    assert "a-secret-of-mine" not in why + "".join(note.text for note in office.notes)


@pytest.mark.parametrize("status", [400, 413, 418, 422])
def test_a_question_that_is_refused_costs_that_question_where_others_were_answered(status):
    with serving(answers(GOOD)) as server:
        office = Office(server)
        office.agent.analyse(FACTS)
        server.script = [fails(status, "the content is filtered")]
        with pytest.raises(Unanswered, match=r"filtered|holds"):
            office.agent.analyse(FACTS)
        server.script = [answers(GOOD)]
        office.agent.analyse(FACTS)
        assert server.requests[-1].get("tools")  # they were taken before: nothing is wrong with them
        server.script = [fails(401)]
        with pytest.raises(AgentStopped):
            office.agent.analyse(FACTS)


def test_a_dripping_server_meets_a_deadline():
    _, why, requests = stopped(lambda body: Response(b"x" * 1000, drip_s=0.05), timeout_s=0.3)
    assert requests == 3
    assert "no answer within 0.3 s" in why


def test_a_question_takes_half_of_the_time_that_is_left_and_none_when_there_is_none():
    _, why, _ = stopped(lambda body: Response(b"x" * 1000, drip_s=0.05), seconds_left=2.0)
    assert "no answer within 1 s" in why
    _, why, requests = stopped(answers(GOOD), seconds_left=0.2)
    assert requests == 0
    assert "no time is left" in why


def test_a_server_without_room_is_asked_for_a_shorter_answer():
    def small(body):
        return fails(400, "max_tokens is too large")(body) if body["max_tokens"] > 5000 else answers(GOOD)(body)

    _, found, server = asked(small, tokens=1_000_000)
    assert found == FOUND
    assert [request["max_tokens"] for request in server.requests] == [16_000, 4_000]
