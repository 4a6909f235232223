"""A resumed run uses what a model answered before: nothing is paid for twice."""

from dataclasses import replace

from llm_desk import FACTS, LATER, Office

from chat_server import answers, serving
from warpsmith.record.transcript import Kind

FIRST = {"findings": [{"concern": "traffic", "text": "first", "weight": 0.4}]}
SECOND = {"findings": [{"concern": "traffic", "text": "second", "weight": 0.4}]}
STOP = {"stop": True, "reason": "done"}


def said(findings):
    return [finding.text for finding in findings]


def test_answers_of_before_are_used_once_in_their_order_and_cost_nothing():
    with serving(answers(FIRST), answers("no JSON"), answers(SECOND), answers(STOP)) as server:
        office = Office(server)
        assert said(office.agent.analyse(FACTS)) == ["first"]
        assert said(office.agent.analyse(FACTS)) == ["second"]  # at the second try
        asked = len(server.requests)
        resumed = Office(server, before=office.notes)
        changed = replace(FACTS, baseline_times_us={"llama-7b": 1.0})  # measured anew, so the question differs a little
        assert said(resumed.agent.analyse(changed)) == ["first"]
        assert said(resumed.agent.analyse(changed)) == ["second"]
        assert len(server.requests) == asked
        assert resumed.ledger.tokens == 0
        assert set(resumed.kinds) == {"decision"}
        assert resumed.agent.plan(FACTS, ()) is None  # which nobody had asked
        assert len(server.requests) == asked + 1


def test_another_round_model_or_kind_of_question_is_asked_anew():
    with serving(answers(FIRST)) as server:
        office = Office(server)
        office.agent.analyse(FACTS)
        resumed = Office(server, before=office.notes)
        resumed.agent.analyse(LATER)
        assert "reply" in resumed.kinds
        other = Office(server, name="openai:other", before=office.notes)
        other.agent.analyse(FACTS)
        assert "reply" in other.kinds
        repaired = [replace(note, text=note.text.replace("# Analyst", "# Other")) for note in office.notes]
        assert repaired[0].kind is Kind.PROMPT
        another = Office(server, before=repaired)
        another.agent.analyse(FACTS)
        assert "reply" in another.kinds


def test_an_answer_with_thinking_before_it_is_found_and_one_without_a_reply_is_not():
    with serving(answers(SECOND)) as server:
        office = Office(server)
        office.agent.analyse(FACTS)
        prompt, reply = office.notes
        thought = replace(reply, text="[thinking] hm\nhm {}\n\n" + reply.text)
        assert said(Office(server, before=[prompt, prompt, thought]).agent.analyse(FACTS)) == ["second"]
        assert len(server.requests) == 1
        Office(server, before=[prompt]).agent.analyse(FACTS)
        assert len(server.requests) == 2
