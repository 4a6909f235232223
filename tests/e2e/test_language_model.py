"""A run with a language model that is at times wrong and at times away: forms, repairs, costs, and the lab book."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from chat_server import Body, Response, answers, fails, serving

TOML = """\
[kernel]
name = "axpy"
source = "axpy.cu"
entry = "axpy"

[arguments]
y = { dtype = "f32", shape = ["n"], role = "inout" }
x = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }

[launch]
grid  = ["ceildiv(n, 256)"]
block = [256]

[workloads]
some = { n = 50000 }
"""
SOURCE = """\
__global__ void axpy(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 2.0f * x[i];
}
"""
FORM = """\
__global__ void axpy(float* y, const float* x, int n) {
  for (int s = 0; s < STEPS; ++s) {
    const int i = (blockIdx.x * STEPS + s) * blockDim.x + threadIdx.x;
    if (i < n) y[i] += 2.0f * x[i];
  }
}
"""
LAUNCH = {"grid": ["ceildiv(n, 128 * STEPS)"], "block": [128]}


def form(source: str) -> dict[str, Any]:
    return {"hypothesis": "more for each thread", "source": source, "launch": LAUNCH, "parameters": {"STEPS": [1, 2, 4]}}


class Model:
    """Answers by role. Its forms: one that does not compile, a cheat that is right where it is measured, then a good one.

    As the tester of its own cheat it asks for nothing.
    """

    def __init__(self) -> None:
        self.forms = [FORM.replace("i < n", "i < m"), FORM.replace("i < n", "i < n && n == 50000"), FORM]
        self.asked: list[str] = []

    def __call__(self, body: Body) -> Response | None:
        role = body["messages"][-1]["content"].split("\n")[0].split()[1].strip(":")
        self.asked.append(role)
        match role:
            case "Tester":
                return answers({"workloads": []})(body)
            case "Analyst" if self.asked.count(role) == 1:
                return fails(429, "slow down", Retry_After="0")(body)
            case "Analyst":
                return answers({"findings": [{"concern": "parallelism", "text": "one element a thread", "weight": 0.9}]})(body)
            case "Planner":
                return answers({"passes": ["block_size"], "write": True, "reason": "more for each thread"})(body)
            case _:
                return answers(form(self.forms.pop(0) if self.forms else FORM))(body)


def test_a_model_tunes_a_kernel_and_the_record_tells_how(
    as_json: Callable[..., Any], warpsmith: Callable[..., Any], environment: dict[str, str], tmp_path: Path
):
    (tmp_path / "axpy.cu").write_text(SOURCE)
    (tmp_path / "kernel.toml").write_text(TOML)
    model = Model()
    with serving(model) as server:
        environment.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="a-secret-of-mine", WARPSMITH_CONFINEMENT="best-effort")
        tune = ["tune", tmp_path, "--agent", "openai-chat:fake", "--evaluations", "5", "--rounds", "1", "--max-tokens", "200000"]
        result = as_json(*tune)
    assert model.asked == ["Tester", "Analyst", "Analyst", "Planner", "Templater", "Templater", "Templater"]
    assert result["general"]["verified"]
    assert {"FORM", "STEPS"} <= result["general"]["config"].keys()
    assert result["evaluations"]["Measured"] >= 2

    book = as_json("show", "last", "--transcript")["transcript"]
    said = [(m["role"], m["kind"]) for m in book["messages"] if m["round"] == 1]
    assert said[:3] == [("analyst", "prompt"), ("analyst", "fault"), ("analyst", "reply")]
    assert book["cost"]["answers"] == 6
    assert book["cost"]["input_tokens"] == 6000
    text = "\n".join(m["text"] for m in book["messages"])
    problems = [m["text"].partition("## The problem")[2] for m in book["messages"] if "Templater: repair" in m["text"]]
    assert "identifier 'm'" in problems[0]  # the compiler's own words
    assert "y on odd-1" in problems[1]  # the verifier's
    assert "a-secret-of-mine" not in text
    assert str(tmp_path) not in text

    lines = warpsmith("show", "last", "--transcript").stdout
    for part in (
        "── before the first round ──",
        "── round 1 ──",
        "openai-chat:fake answers after",
        "could not be asked",
        "decides",
    ):
        assert part in lines
    assert "best so far" in lines
