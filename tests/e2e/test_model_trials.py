"""A model that looks and tries before it answers: in the protocol and in words, with calls that cannot be among them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat_server import USAGE, Behaviour, answers, completion, fails, serving

TOML = """\
[kernel]
name = "rows"
source = "rows.cu"
entry = "rows"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }

[launch]
grid  = ["ceildiv(n, 64)"]
block = [64]

[workloads]
some = { n = 50000 }
"""
SOURCE = """\
__global__ void rows(float* out, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i];
}
"""
FORM = """\
__global__ void rows(float* out, const float* x, int n) {
  for (int s = 0; s < STEPS; ++s) {
    const int i = (blockIdx.x * STEPS + s) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
  }
}
"""
RACE = """\
__global__ void rows(float* out, const float* x, int n) {
  __shared__ float tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  const float left = tile[threadIdx.x ^ 32];
  if ((i ^ 32) < n) out[i ^ 32] = 2.0f * left;
}
"""
GOOD = {
    "hypothesis": "more for each thread",
    "source": FORM,
    "launch": {"grid": ["ceildiv(n, 128 * STEPS)"], "block": [128]},
    "parameters": [{"name": "STEPS", "values": [1, 2, 4], "default": 2}],
}
RACY = {"hypothesis": "through shared memory", "source": RACE, "launch": {"grid": ["ceildiv(n, 64)"], "block": [64]}}
PLAN = {
    "findings": [{"concern": "parallelism", "text": "one element a thread", "weight": 0.9}],
    "passes": ["block_size"],
    "write": True,
    "reason": "more for each thread",
    "form": {"tried": 2},
}


def calls(*asked: tuple[str, Any], beside: str | None = None) -> Behaviour:
    """Tool calls, all with the same id, which some servers give; arguments that are text are sent as they are."""
    listed = [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for name, given in asked
    ]
    return lambda body: completion({"content": beside, "tool_calls": listed}, finish="tool_calls", usage=USAGE)


TRYING = calls(("try_form", RACY), ("try_form", GOOD), ("try_form", GOOD), ("ask_pass", {"pass": "block_size", "form": 0}))
LOOKING = calls(
    ("look_at", {"form": -2}), ("try_form", '{"source": '), ("look_up", {"form": 1}), ("hot_loop", {}), ("look_at", {"form": 9})
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.cu").write_text(SOURCE)
    (tmp_path / "kernel.toml").write_text(TOML)
    return tmp_path


def tune(folder: Path, *more: object) -> tuple[object, ...]:
    return ("tune", folder, "--agent", "openai-chat:fake,fallback=none", "--evaluations", "8", "--rounds", "1", *more)


def test_what_was_tried_is_told_and_counted_and_becomes_the_form(
    as_json: Callable[..., Any], warpsmith: Callable[..., Any], environment: dict[str, str], folder: Path
):
    with serving(answers({"workloads": []}), TRYING, LOOKING, answers(PLAN)) as server:
        environment.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none", WARPSMITH_CONFINEMENT="best-effort")
        environment["WARPSMITH_RACECHECK"] = "on"
        result = as_json(*tune(folder))
    assert {"FORM", "STEPS"} <= result["general"]["config"].keys()
    assert sum(result["evaluations"].values()) == 7  # two trials count as half an evaluation, rounded up

    last = server.requests[-1]["messages"]
    told = [message["content"] for message in last if message["role"] == "tool"]
    racy, good, again, passes, look, broken, unknown, loop, beyond = told
    assert "racecheck" in racy
    assert "trial 2" in good
    assert "correct on the smallest workloads, no race found at STEPS=2" in good
    assert "the speed of the original" in good
    assert "compiler: " in good
    assert again == good  # not a second time
    assert "block_size applies to form 0, with parameters" in passes
    assert "out[i] = 2.0f * x[i]" in look
    assert "not a JSON object" in broken
    assert "there is no tool 'look_up'; did you mean look_at?" in unknown
    assert "form 0 at its defaults" in loop or "no disassembler" in loop
    assert "8 looks and trials are the most" in beyond
    ids = [call["id"] for message in last for call in message.get("tool_calls") or []]
    assert len(ids) == len(set(ids)) == 9

    book = as_json("show", "last", "--transcript")["transcript"]
    assert [m["kind"] for m in book["messages"] if m["kind"] in {"trial", "tool"}] == ["trial", "trial", *["tool"] * 6]
    lines = warpsmith("show", "last", "--transcript").stdout
    for part in ("trial of a form", "racecheck", "looks", "tries: more for each thread"):
        assert part in lines, part


def test_a_server_without_tools_is_asked_and_answers_in_words(
    as_json: Callable[..., Any], environment: dict[str, str], folder: Path
):
    def said(name: str, given: Any) -> Behaviour:
        return lambda body: completion({"content": json.dumps({"tool": name, "arguments": given})}, usage=USAGE)

    script = [fails(400, "no"), answers({"workloads": []}), said("try_form", GOOD), said("look_at", {"form": -1})]
    with serving(*script, answers({**PLAN, "form": {"tried": 1}})) as server:
        environment.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none", WARPSMITH_CONFINEMENT="best-effort")
        result = as_json(*tune(folder))
    assert "STEPS" in result["general"]["config"]
    assert "try_form" in server.requests[2]["messages"][-1]["content"]
    assert "no race found" in server.requests[3]["messages"][-1]["content"]
