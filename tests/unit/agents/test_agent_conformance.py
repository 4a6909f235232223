"""Every agent that comes with Warpsmith keeps to what `warpsmith.testing.agents` asks for."""

import pytest

from chat_server import ChatServer, answers, fails
from warpsmith.agents.llm import LlmAgent
from warpsmith.agents.rules import RulesAgent
from warpsmith.testing.agents import AgentConformance
from warpsmith.tuning.agent.agents import load_agent


class TestRules(AgentConformance):
    def make(self, desk):
        return RulesAgent("rules", desk)


class TestCrew(AgentConformance):
    def make(self, desk):
        return load_agent("rules,planner=rules", desk)


class _Model(AgentConformance):
    script = ()

    @pytest.fixture(autouse=True)
    def served(self, monkeypatch: pytest.MonkeyPatch):
        with ChatServer(self.script) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            yield

    def make(self, desk):
        return LlmAgent("openai:fake", desk, sleep=lambda _: None)


class TestModelThatCannotBeReached(_Model):
    script = (fails(500),)


class TestModelThatTalksNonsense(_Model):
    script = (answers({"weather": "fine"}),)


def everything(body):
    """Too much of whatever is asked for: passes that there are not, weights beyond bounds, sizes of nothing, code of the host."""
    wanted = {
        "findings": [{"concern": "parallelism", "text": "x", "weight": 7}, {"concern": "coalescing", "text": "y", "weight": 9}],
        "passes": ["block_size", "no_such_pass"],
        "reason": "more",
        "share": 9,
        "write": True,
        "workloads": [{"name": "odd", "sizes": {"tokens": 0, "d": 3}}, {"name": "llama-7b", "sizes": {"tokens": 1, "d": 8}}],
        "source": "#include </etc/passwd>\nint main() {}",
        "launch": {"grid": ["tokens"], "block": ["64"]},
        "parameters": [{"name": "BLOCK", "values": [64, 128]}],
    }
    asked = body["tools"][0]["function"]["parameters"]["properties"] if body.get("tools") else wanted
    return answers({name: value for name, value in wanted.items() if name in asked})(body)


class TestModelThatWantsEverything(_Model):
    script = (everything,)
