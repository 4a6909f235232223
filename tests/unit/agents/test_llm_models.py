"""Which model a name means, what is said when it cannot be had, and what it may cost."""

import builtins

import pytest
from llm_desk import FACTS, Office

from chat_server import USAGE, answers, fails, serving
from warpsmith.agents.llm.models import open_model
from warpsmith.core.errors import InputError, UnavailableError, WarpsmithError
from warpsmith.tuning.agent.agents import load_agent
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.agent.planning import AgentStopped, Desk

GOOD = {"findings": []}
DESK = Desk(0, Ledger(Allowance()), lambda message: None, lambda: None)


@pytest.mark.parametrize(
    ("name", "url", "kind"),
    [
        ("openai:gpt-5", None, "OpenAIResponsesModel"),
        ("openai:gpt-5", "https://api.openai.com/v1", "OpenAIResponsesModel"),
        ("openai:gpt-5", "http://127.0.0.1:8000/v1", "TolerantChatModel"),
        ("openai-chat:gpt-5", None, "TolerantChatModel"),
    ],
)
def test_a_foreign_base_url_speaks_chat_completions(name, url, kind, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert type(open_model(name)).__name__ == kind


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("nobody:x", InputError, "no provider 'nobody'"),
        ("openai:", InputError, "names no model"),
        ("openai:gpt-5", UnavailableError, "OPENAI_API_KEY"),
        ("ollama:qwen3", UnavailableError, "OLLAMA_BASE_URL"),
        ("groq:llama", UnavailableError, "pydantic-ai-slim[groq]"),
    ],
)
def test_what_is_missing_is_said_before_a_run_begins(name, error, said, monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_BASE_URL", "GROQ_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(error) as raised:
        load_agent(name, DESK)
    assert said in str(raised.value)
    assert "Pydantic AI" not in str(raised.value)  # its advice is for its own users
    assert raised.value.hint


def test_an_address_that_is_none_is_said_before_a_run_begins(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(InputError, match="is not an address for openai:gpt-5"):
        load_agent("openai:gpt-5", DESK)


def test_a_password_in_an_address_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "htp://me:hunter2hunter2@localhost/v1")
    with pytest.raises(InputError) as error:
        open_model("openai:fake")
    assert "hunter2" not in str(error.value)
    assert "me:[hidden]@localhost" in str(error.value)


def test_an_address_without_a_path_is_told_when_nothing_is_found_there():
    with serving(fails(404, "Not Found")) as server:
        server.url = server.url.removesuffix("/v1")
        with pytest.raises(AgentStopped, match="its address has no path"):
            Office(server).agent.analyse(FACTS)


def test_without_the_extra_it_says_so(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.partition(".")[0] == "pydantic_ai":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(WarpsmithError) as raised:
        load_agent("openai:gpt-5", DESK)
    assert raised.value.exit_code == 3
    assert "warpsmith[llm]" in str(raised.value)


# ── what it may cost ──


def test_a_priced_model_is_charged_by_its_name():
    with serving(answers(GOOD)) as server:
        office = Office(server, name="openai-chat:gpt-4o")
        office.agent.analyse(FACTS)
    assert office.notes[-1].usd == pytest.approx(1000 * 2.5e-6 + 200 * 10e-6)


def test_what_the_provider_had_in_its_cache_costs_less():
    usage = {**USAGE, "prompt_tokens_details": {"cached_tokens": 800}}
    with serving(answers({"findings": []}, usage=usage)) as server:
        office = Office(server, name="openai-chat:gpt-4o")
        office.agent.analyse(FACTS)
    assert office.notes[-1].input_tokens == 1000
    assert office.notes[-1].usd == pytest.approx(200 * 2.5e-6 + 800 * 1.25e-6 + 200 * 10e-6)


def test_an_answer_may_be_as_long_as_what_is_left_pays_for():
    with serving(answers(GOOD)) as server:
        office = Office(server, tokens=9_000)
        office.agent.analyse(FACTS)
        office.agent.analyse(FACTS)
        first, second = (request["max_tokens"] for request in server.requests)
        assert first < 9_000
        assert 50 < first - 1_200 - second < 700  # what the first exchange took, and its turn, which is told again
        office = Office(server, name="openai-chat:gpt-4o", usd=0.03)
        office.agent.analyse(FACTS)
        assert 500 < server.requests[-1]["max_tokens"] < 3_000
        office = Office(server)
        office.agent.analyse(FACTS)
        assert "max_tokens" not in server.requests[-1]  # no limit was set


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"tokens": 1_000}, "1,000 of 1,000 tokens are left: too little"),
        ({"usd": 0.001, "name": "openai-chat:gpt-4o"}, "$0.0010 of $0.0010 are left: too little"),
        ({"usd": 0.01}, "1,000 of 1,000 tokens are left: too little"),
    ],
)
def test_too_little_left_is_not_spent(limits, said):
    with serving(answers(GOOD)) as server:
        office = Office(server, **limits)
        with pytest.raises(AgentStopped) as stopped:
            office.agent.analyse(FACTS)
        assert said in stopped.value.reason
        assert server.requests == []


def test_what_is_spent_is_spent():
    with serving(answers(GOOD)) as server:
        office = Office(server, tokens=6_000)
        for _ in range(9):
            try:
                office.agent.analyse(FACTS)
            except AgentStopped:
                break
        assert office.ledger.tokens <= 6_000
        assert 1 <= len(server.requests) <= 5


def test_a_limit_in_dollars_on_a_model_without_a_price_is_one_in_tokens_and_says_so_once():
    with serving(answers(GOOD)) as server:
        office = Office(server, usd=0.1)
        office.agent.analyse(FACTS)
        office.agent.analyse(FACTS)
        assert office.said("decision") == "fake has no known price: --max-usd 0.1 allows 10,000 tokens instead"
        assert server.requests[0]["max_tokens"] < 10_000
        office = Office(server, usd=0.1, tokens=50_000)
        office.agent.analyse(FACTS)
        assert "--max-tokens does" in office.said("decision")
