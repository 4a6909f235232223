"""What a model answers, role by role: what is forgiven, what goes back to it, and what becomes of it here."""

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_desk import FACTS, KERNEL, LATER, LIMITS, PASSES, TRIED, Office, measured
from pydantic import ValidationError

from chat_server import answers, says, serving
from warpsmith.agents.llm.forms import proposal_of
from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.reading import parsed
from warpsmith.agents.llm.replies import FormReply
from warpsmith.agents.llm.scrub import cut, without_paths
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.refactor.base import Concern, Tunable
from warpsmith.refactor.proposal import Proposal
from warpsmith.tuning.agent.planning import Attempt, Finding, PassReport, Plan, Unanswered

SOURCE = """template <typename T>
__global__ void silu_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, int d) {
  for (int i = blockIdx.x * STEP + threadIdx.x; i < d; i += STEP) out[i] = input[i];
}
"""
FORM = {
    "hypothesis": "longer steps",
    "source": SOURCE,
    "launch": {"grid": ["tokens"], "block": ["STEP"]},
    "parameters": [{"name": "STEP", "values": [64, 128], "default": 64, "meaning": "elements of a step"}],
    "constraints": [{"expression": "d % STEP == 0", "reason": "no tail"}],
}


def form(**changes):
    return {**FORM, **changes}


def read(reply, **options) -> Proposal:
    return proposal_of(FormReply.model_validate(reply), KERNEL, LIMITS, 1, **options)


# ── the way back ──


def test_a_wrong_answer_goes_back_with_the_reason_and_the_next_one_counts():
    good = {"findings": [{"concern": "balance", "text": "exp is dear", "weight": 7}]}
    with serving(answers("{not json"), answers({"findings": [{"concern": "speed", "text": "t"}]}), answers(good)) as server:
        office = Office(server)
        assert office.agent.analyse(FACTS) == (Finding(Concern.BALANCE, "exp is dear", 1.0),)
    assert office.kinds == ["prompt", "reply", "problem", "reply", "problem", "reply"]
    first, second = (note.text for note in office.notes if note.kind == "problem")
    assert "not valid JSON" in first
    assert "findings.0.concern" in second
    assert "'balance'" in second
    last = server.requests[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user"]  # one exchange back, not all of them
    assert "speed" in last[2]["content"]
    assert second in last[3]["content"]


@pytest.mark.parametrize(
    ("behaviour", "tries", "problem"),
    [
        pytest.param(answers("no JSON at all"), 3, "no JSON object", id="words"),
        pytest.param(answers(""), 3, "empty", id="nothing"),
        pytest.param(answers('{"findings": [', finish="length"), 3, "ended at the limit of its length", id="token limit"),
        pytest.param(says(content=None, refusal="I will not"), 1, "refused", id="refusal"),
        pytest.param(answers("x" * 5_000_000), 3, "5,000,000 characters", id="5 MB"),
        pytest.param(answers('{"findings": ' + "[" * 200_000), 3, "not valid JSON", id="nested without end"),
        pytest.param(answers('{"findings": ' + "9" * 9_000 + "}"), 3, "not valid JSON", id="a number without end"),
        pytest.param(answers({"findings": "\ud800"}), 3, "findings", id="half a character"),
    ],
)
def test_a_question_without_a_usable_answer_stays_unanswered(behaviour, tries, problem):
    with serving(behaviour) as server:
        office = Office(server)
        with pytest.raises(Unanswered):
            office.agent.analyse(FACTS)
    assert len(server.requests) == tries
    assert problem in office.said("problem")
    # What was wrong is sent back and recorded in part: a huge answer is not paid for twice.
    assert max(len(json.dumps(request)) for request in server.requests) < 100_000
    assert max(len(note.text.encode()) for note in office.notes) < 61_000


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_JSON = st.recursive(
    _LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=9), part, max_size=3), max_leaves=6
)
_FIELDS = ("source", "launch", "parameters", "constraints", "hypothesis", "grid", "block", "name", "values", "default", "give_up")


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.sampled_from(_FIELDS), _JSON), st.sampled_from([{}, FORM]))
def test_whatever_an_answer_is_it_is_a_form_or_a_problem(changes, base):
    text = json.dumps({**base, **changes})
    with contextlib.suppress(Problem, ValidationError):
        assert proposal_of(parsed(text, FormReply, "stop"), KERNEL, LIMITS, 1).number == 1


# ── plans ──


def planned(facts=FACTS, **reply):
    with serving(answers({"reason": "because", **reply}), answers({"reason": "sorry", "stop": True})) as server:
        office = Office(server)
        return office.agent.plan(facts, ()), office


def test_a_plan_keeps_what_was_applied_and_adds_what_was_not_tried():
    plan, _ = planned(passes=["map_2d", "block_size", "fast_math"], share="0.5")
    assert plan == Plan(
        ("block_size", "map_2d"), "because", is_last=True, share=0.5, refused={"fast_math": "no function to approximate"}
    )
    plan, _ = planned(passes=[], write=True)
    assert (plan.passes, plan.write, plan.is_last) == (("block_size",), True, False)


ON_FORMS = replace(
    FACTS,
    passes=(
        *PASSES,
        PassReport("map_2d@1", "two-dimensional blocks", frozenset(), declined="its block has one row"),
        PassReport("fast_math@1", "approximate functions", frozenset()),
        PassReport("fast_math@2", "approximate functions", frozenset(), applied_in=2),
        PassReport("fast_math@3", "approximate functions", frozenset()),
    ),
    proposals=(replace(TRIED, problem=None), *(replace(TRIED, proposal=replace(TRIED.proposal, number=n)) for n in (2, 3))),
)


@pytest.mark.parametrize(
    ("asked", "granted", "refused"),
    [
        (["fast_math@1", "map_2d"], ["fast_math@1", "map_2d"], {}),
        (["fast_math"], ["fast_math@1", "fast_math@3"], {}),  # of no use on the kernel itself, but on these
        (["map_2d@1", "map_2d@9", "fast_math@2"], [], {"map_2d@1": "its block has one row", "map_2d@9": "there is no form 9"}),
        (["map_2d@4"], ["map_2d@4"], {}),  # the form that is to be written
    ],
)
def test_passes_are_granted_by_form_or_refused_with_the_reason(asked, granted, refused):
    plan, _ = planned(ON_FORMS, passes=asked, write=True)
    assert plan.passes == ("block_size", "fast_math@2", *granted)
    assert plan.refused == refused


@pytest.mark.parametrize(
    ("passes", "problem"),
    [
        (["map2d"], "no pass 'map2d'; did you mean 'map_2d'?"),
        (["fast_math"], "nothing in it that was not tried before"),
        ([], "no pass"),
    ],
)
def test_a_plan_that_cannot_be_goes_back(passes, problem):
    plan, office = planned(passes=passes)
    assert plan is None  # the second answer says stop
    assert problem in office.said("problem")


# ── forms ──


def test_a_form_becomes_a_proposal():
    found = read(FORM)
    assert (found.grid, found.block, found.shared) == (("tokens",), ("STEP",), "0")
    assert found.tunables == (Tunable("STEP", (64, 128), 64, "elements of a step"),)
    assert found.source == SOURCE
    assert found.hypothesis == "longer steps"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(form(source=f"```cuda\n{SOURCE}```"), id="fence"),
        pytest.param(form(source=SOURCE.replace("\n", "\\n")), id="line ends escaped twice"),
        pytest.param(form(source=f"#ifndef STEP  // step\n#define STEP (64)\n#endif\n{SOURCE}"), id="header"),
        pytest.param(form(source=f"#define STEP 64\n{SOURCE}"), id="define"),
        pytest.param(form(parameters=[{"name": "STEP", "values": ["128", "64", 64], "default": "64"}]), id="numbers as text"),
        pytest.param(form(parameters={"STEP": [128, 64]}), id="parameters by name"),
        pytest.param(form(launch={"grid": "tokens", "block": "STEP", "shared": 0}), id="extents bare"),
        pytest.param({**FORM, "launch": None, "grid": ["tokens"], "block": ["STEP"]}, id="launch beside"),
        pytest.param(form(constraints=["d % STEP == 0"]), id="constraint bare"),
    ],
)
def test_habits_are_forgiven(reply):
    found = read({key: value for key, value in reply.items() if value is not None})
    assert found.source == SOURCE
    assert (found.grid, found.block, found.shared) == (("tokens",), ("STEP",), "0")
    assert [(t.name, t.values, t.default) for t in found.tunables] == [("STEP", (64, 128), 64)]
    assert [rule.expression for rule in found.rules] == ["d % STEP == 0"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param(form(source=""), "no source", id="no source"),
        pytest.param(form(launch=None), "no launch", id="no launch"),
        pytest.param(form(source=SOURCE.replace("silu_and_mul_kernel", "mine")), "no entry", id="entry renamed"),
        pytest.param(form(source=SOURCE.replace(", int d", "")), "must take what the original takes", id="signature"),
        pytest.param(form(parameters=[{"name": "FORM", "values": [1, 2]}]), "FORM is the name", id="reserved"),
        pytest.param(
            form(parameters=[{"name": "kLanes", "values": [1, 2]}]), "take other names for kLanes", id="taken in the source"
        ),
        pytest.param(form(parameters=[{"name": "d", "values": [1, 2]}]), "is already used in the source", id="a size's name"),
        pytest.param(form(launch={"grid": ["tokens"], "block": ["WIDTH"]}), "unknown name 'WIDTH'", id="unknown name"),
        pytest.param(form(launch={"grid": ["tokens +"], "block": ["STEP"]}), "tokens +", id="no expression"),
        pytest.param(form(launch={"grid": ["tokens / 9999"], "block": ["STEP"]}), "at least 1", id="empty grid"),
        pytest.param(form(constraints=["__import__('os')"]), "__import__", id="not an expression of ours"),
        pytest.param(form(parameters=[*FORM["parameters"], {"name": "IDLE", "values": [1, 2]}]), "IDLE: listed", id="unused"),
        pytest.param(form(parameters={f"P{i}": [*range(9)] for i in range(7)}), "4,782,969 combinations", id="too many"),
        pytest.param(form(source=f"#include </etc/passwd>\n{SOURCE}"), "includes only", id="absolute include"),
        pytest.param(form(source=f"__device__ int calls;\n{SOURCE}"), "calls would outlive the launch", id="memory"),
        pytest.param(form(source=f'#include "../../x.h"\n{SOURCE}'), "includes only", id="include upwards"),
    ],
)
def test_what_cannot_be_right_goes_back_with_the_reason(reply, problem):
    with pytest.raises(Problem, match=r"(?s).*") as error:
        read(reply)
    assert problem in str(error.value)


def test_source_may_stand_in_a_fence_beside_the_object():
    rest = {key: value for key, value in FORM.items() if key != "source"}
    with serving(says(content=f"```json\n{json.dumps(rest)}\n```\n```cuda\n{SOURCE}```\n")) as server:
        assert Office(server).agent.propose(FACTS, Plan((), "why"))[0].source == SOURCE


def test_proposals_are_numbered_repaired_and_never_written_twice():
    with serving(answers(FORM)) as server:
        office = Office(server)
        [first] = office.agent.propose(LATER, Plan((), "why", write=True))
        assert first.number == 2  # TRIED was the first
        with pytest.raises(Unanswered):
            office.agent.propose(replace(LATER, proposals=(replace(TRIED, proposal=first),)), Plan((), "why"))
        assert "this is form 2 again" in office.said("problem")
        changed = form(source=SOURCE.replace("i += STEP", "i += STEP * 2"))
        server.script = [answers(changed)]
        assert office.agent.repair(LATER, first, "wrong numbers").number == 2
        server.script = [answers({"give_up": True})]
        assert office.agent.repair(LATER, first, "wrong numbers") is None


def test_a_rewrite_has_no_parameters_left():
    attempt = Attempt(read(FORM, fixed=True), Evaluation(Configuration(()), measured(0.5)))
    with serving(answers(form(hypothesis="better", parameters={"STEP": [32]}))) as server:
        found = Office(server).agent.rewrite(FACTS, [attempt])
    assert found.number == 2
    assert found.tunables == ()
    assert [rule.expression for rule in found.rules] == ["d % 32 == 0"]
    assert found.block == ("32",)
    assert found.source.startswith("#define STEP 32\n")
    assert "2.00x the original's speed" in server.requests[0]["messages"][1]["content"]


# ── workloads ──


def test_a_tester_names_sizes_and_nothing_else():
    listed = [
        {"name": "odd one", "sizes": {"tokens": "3", "d": 33}, "scale": 100},
        {"name": "as kernel.toml has it", "tokens": 1, "d": 4},
        {"name": "llama", "sizes": {"tokens": 512, "d": 11008}},
        {"name": "bad", "sizes": {"tokens": 3}},
        {"name": "negative", "sizes": {"tokens": -3, "d": 4}},
        {"name": "wild", "sizes": {"tokens": 3, "d": 4}, "scale": 1e30},
    ]
    with serving(answers({"workloads": listed}), answers({"workloads": listed[3:]}), answers({"workloads": []})) as server:
        office = Office(server)
        found = office.agent.adversaries(FACTS)
        assert [(w.name, dict(w.sizes), w.scale) for w in found] == [
            ("odd-one", {"tokens": 3, "d": 33}, 100),
            ("as-kernel.toml-has-it", {"tokens": 1, "d": 4}, 1),
        ]
        assert office.agent.adversaries(FACTS) == ()
    problem = office.said("problem")
    assert "must be exactly ['d', 'tokens']" in problem
    assert "from 1 to" in problem
    assert "scale is 1e+30" in problem


# ── what may leave ──


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/u/project/kernel.cu:12:3: error: a/b/c", "kernel.cu:12:3: error: a/b/c"),
        ("in '/tmp/x/y.cu' x = a / b; // c/d", "in 'y.cu' x = a / b; // c/d"),
        (r"C:\Users\me\k.cu(3): error", "k.cu(3): error"),
    ],
)
def test_paths_of_this_machine_stay_here(text, expected):
    assert without_paths(text) == expected


def test_words_are_plain_text():
    assert read({**FORM, "hypothesis": "\x1b[31mfaster\x00\nand \u202eshorter "}).hypothesis == "[31mfaster \nand  shorter"


def test_long_texts_keep_their_beginning_and_their_end():
    found = cut("a" * 1000 + "the point", 300)
    assert len(found) < 350
    assert found.endswith("the point")
    assert "709 characters left out" in found


def test_an_answer_may_have_several_forms_and_says_which_one_is_wrong():
    other = {**FORM, "source": SOURCE.replace("{", "{ /* another */", 1)}
    wrong = {**other, "launch": None}
    with serving(answers({"form": [FORM, wrong]}), answers({"forms": [FORM, other]})) as server:
        office = Office(server)
        found = office.agent.propose(LATER, Plan((), "why", write=True))
    assert [(form.number, form.source) for form in found] == [(2, SOURCE), (3, other["source"])]
    assert "form 2 of 2: there is no launch" in office.said("problem")
