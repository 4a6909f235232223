"""A recorded conversation answers in a model's place: the same questions, others, and what is said of the difference."""

import json
from dataclasses import replace

import pytest
from llm_desk import FACTS, LATER, Office

from chat_server import USAGE, answers, completion, serving
from warpsmith.agents.llm import LlmAgent
from warpsmith.core.errors import InputError
from warpsmith.record.conversation import FORMAT, read_conversations, written_conversation
from warpsmith.record.run import RunHeader, RunRecord, Status
from warpsmith.record.transcript import Kind
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.agent.planning import AgentStopped, Desk, Plan, TrialReport, Unanswered

FIRST = {"findings": [{"concern": "traffic", "text": "first", "weight": 0.4}]}
PLAN = {"passes": ["map_2d"], "reason": "wider"}
STOP = {"stop": True, "reason": "done"}


class Bench:
    """Tools that only count."""

    looks = 0

    def look_at(self, form):
        self.looks += 1
        return f"look {self.looks} at {form}"

    def try_form(self, proposal):
        return TrialReport(0, "not tried")

    hot_loop = ask_pass = look_at


def look(body):
    call = {"id": "call_1", "type": "function", "function": {"name": "look_at", "arguments": '{"form": 0}'}}
    return completion({"content": None, "tool_calls": [call]}, finish="tool_calls", usage=USAGE)


def run_of(seed=0, agent="openai:fake", mode="template"):
    settings = {"mode": mode, "evaluations": 20, "rounds": 2}
    header = RunHeader("k", "k/kernel.toml", "f", "cpu", agent, "gp", seed, settings, {"description": "a CPU"})
    return RunRecord("k-1", header, 0.0, 1.0, Status.FINISHED, None)


@pytest.fixture
def recorded(tmp_path):
    """A file with what a model answered: a look before its first answer, a second question, and one in round 2."""

    def write(*parts):
        path = tmp_path / "talk.jsonl"
        path.write_text("".join(written_conversation(run_of(seed), notes) for seed, notes in parts))
        return path

    return write


@pytest.fixture
def notes():
    bench = Bench()
    with serving(look, answers("no JSON"), answers({**FIRST, **PLAN}), answers(STOP)) as server:
        office = Office(server)
        office.agent.plan(replace(FACTS, tools=bench), office.agent.analyse(replace(FACTS, tools=bench)))
        office.agent.analyse(replace(LATER, tools=bench))
    return office.notes


class Replayed:
    def __init__(self, path, *, seed=0, before=(), tokens=None):
        self.notes = []
        self.ledger = Ledger(Allowance(tokens=tokens))
        self.agent = LlmAgent(f"replay:{path}", Desk(seed, self.ledger, self._note, lambda: None, lambda: before))

    def _note(self, message):
        self.notes.append(message)
        self.ledger.charge(message)

    def said(self, kind):
        return "\n".join(note.text for note in self.notes if note.kind == kind)


def test_the_same_questions_get_their_answers_and_looks_are_made_anew(recorded, notes):
    replayed, bench = Replayed(recorded((0, notes))), Bench()
    facts = replace(FACTS, tools=bench)
    findings = replayed.agent.analyse(facts)
    assert [finding.text for finding in findings] == ["first"]
    assert replayed.agent.plan(facts, findings).passes[-1] == "map_2d"
    assert bench.looks == 1
    assert replayed.agent.plan(LATER, replayed.agent.analyse(replace(LATER, tools=bench))) is None
    decided = replayed.said(Kind.DECISION)
    assert decided == "the answers are those that openai:fake gave on a CPU: no model is asked"
    assert replayed.ledger.tokens == sum(note.input_tokens + note.output_tokens for note in notes)
    assert [n.kind for n in replayed.notes if n.kind != Kind.DECISION] == [n.kind for n in notes]


def test_other_figures_are_no_other_question_and_other_words_are_told(recorded, notes):
    path = recorded((0, notes))
    replayed = Replayed(path)
    replayed.agent.analyse(replace(FACTS, tools=Bench(), baseline_times_us={"llama-7b": 1.5}))
    assert "turn 1, 'Analyst and planner' (analyst, round 1): the question has a line" in replayed.said(Kind.DECISION)
    first = replayed.said(Kind.DECISION)
    assert "Time on llama-#b: original # µs, which" in first
    again = Replayed(path)
    again.agent.analyse(replace(FACTS, tools=Bench()))
    again.agent.analyse(replace(LATER, tools=Bench(), best_times_us={"llama-7b": 99999.0}))
    assert "turn 2" not in again.said(Kind.DECISION)


def test_a_question_that_was_not_recorded_has_no_answer_and_the_next_one_has(recorded, notes):
    replayed = Replayed(recorded((0, notes)))
    with pytest.raises(Unanswered, match=r"turn 1, 'Tester' \(tester, round 0\) was not asked when talk\.jsonl was recorded"):
        replayed.agent.adversaries(FACTS)
    assert replayed.agent.analyse(replace(LATER, tools=Bench())) == ()
    assert "turn 2, 'Analyst and planner' (analyst, round 2): before it was recorded, and is not asked now" in replayed.said(
        Kind.DECISION
    )
    replayed.agent.analyse(replace(FACTS, tools=Bench()))
    with pytest.raises(AgentStopped, match="it has no further question") as stopped:
        replayed.agent.plan(FACTS, ())
    assert not isinstance(stopped.value, Unanswered)


def test_an_answer_that_is_refused_now_and_was_taken_then_costs_its_question(recorded, notes):
    replayed = Replayed(recorded((0, notes)))
    facts = replace(FACTS, tools=Bench(), passes=FACTS.passes[:1])  # map_2d is not there
    with pytest.raises(Unanswered, match="no further answer"):
        replayed.agent.analyse(facts)


def test_an_interrupted_replay_goes_on_where_it_was(recorded, notes):
    path = recorded((0, notes))
    first = Replayed(path)
    findings = first.agent.analyse(replace(FACTS, tools=Bench()))
    resumed = Replayed(path, before=first.notes)
    assert resumed.agent.analyse(replace(FACTS, tools=Bench())) == findings
    assert resumed.ledger.tokens == 0
    half = [note for note in first.notes if note.kind in {Kind.PROMPT, Kind.REPLY}][:2]  # it had looked, no more
    resumed = Replayed(path, before=half)
    assert resumed.agent.analyse(replace(FACTS, tools=Bench())) == findings


def test_of_several_runs_the_one_with_the_seed_answers(recorded, notes):
    other = [replace(note, text=note.text.replace("first", "of seed 7")) for note in notes]
    path = recorded((0, notes), (7, other))
    found = {s: Replayed(path, seed=s).agent.analyse(replace(FACTS, tools=Bench()))[0].text for s in (0, 7, 3)}
    assert found == {0: "first", 7: "of seed 7", 3: "first"}


def test_limits_bind_as_they_do_for_a_model(recorded, notes):
    replayed = Replayed(recorded((0, notes)), tokens=2000)
    with pytest.raises(AgentStopped, match="tokens"):
        replayed.agent.analyse(replace(FACTS, tools=Bench()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no answered question"),
        ("{}\n", "talk.jsonl:1: not a line of a recorded conversation"),
        ("[1]\n", "talk.jsonl:1: expected an object"),
        ("{\n", "talk.jsonl:1: not JSON"),
        (json.dumps({FORMAT: 99}) + "\n", "version 99"),
        (json.dumps({FORMAT: 1}) + '\n{"role": "king", "round": 1}\n', "talk.jsonl:2: not a line"),
    ],
)
def test_what_is_no_conversation_is_told_with_its_line(tmp_path, text, said):
    (tmp_path / "talk.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        read_conversations(tmp_path / "talk.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        read_conversations(tmp_path)


def test_a_run_without_a_model_has_no_conversation():
    with pytest.raises(InputError, match="no model was used"):
        written_conversation(run_of(agent="rules"), [])


def test_looks_without_end_cost_their_question():
    bench = Bench()
    with serving(look) as server:
        office = Office(server)
        with pytest.raises(Unanswered, match="no usable answer of openai:fake in 3 tries"):
            office.agent.analyse(replace(FACTS, tools=bench))
        asked = len(server.requests)
        server.script = [answers({**FIRST, **PLAN})]
        assert isinstance(office.agent.plan(FACTS, office.agent.analyse(FACTS)), Plan)
    assert asked == 8 + 3
    assert bench.looks == 8
    assert "No look and no trial is left for this answer" in office.said("problem")
