"""Direct mode: rewrites are judged by the harness that judges configurations, and a stopped run goes on where it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.refactor.proposal import Proposal
from warpsmith.settings import Settings
from warpsmith.spec.load import load_kernel
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.agent.planning import AgentStopped
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import ignore
from warpsmith.tuning.order import Mode, Order

TOML = """
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in  = { dtype = "f32", shape = ["n"], role = "in" }
n   = { dtype = "i32", value = "n" }

[launch]
grid  = [1]
block = [1]

[workloads]
large = { n = 200000 }
odd   = { n = 7, heldout = true }
"""
SLOW = """
__global__ void twice(float* out, const float* in, int n) {
  volatile float* to = out;
  for (int i = 0; i < n; ++i) to[i] = in[i] / 0.5f;
}
"""
WIDE = """
__global__ void twice(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
}
"""
GRID, BLOCK = ("ceildiv(n, 256)",), ("256",)
# Right when it is verified, idle when it is timed: what a form may not do is not even compiled.
LAZY = "__device__ int launches = 0;\n" + WIDE.replace("if (i < n)", "if (i == 0) ++launches;\n  if (i < n && launches < 3)")
WRITTEN = (
    Proposal(1, WIDE.replace("2.0f", "3.0f"), GRID, BLOCK, hypothesis="wrong"),
    Proposal(2, WIDE.replace("out[i]", "nothing[i]"), GRID, BLOCK, hypothesis="does not compile"),
    Proposal(3, WIDE, GRID, ("1000000",), hypothesis="a block that no device has"),
    Proposal(4, LAZY, GRID, BLOCK, hypothesis="who counts the launches"),
    Proposal(5, f"struct S {{ S(); }};\nS s;\n{WIDE}", GRID, BLOCK, hypothesis="code for the host"),
    Proposal(6, WIDE, GRID, BLOCK, hypothesis="all threads"),
)
OUTCOMES = ["WrongResult", "CompileFailed", "Infeasible", "Infeasible", "Infeasible", "Measured"]


class Writer:
    """Writes what it was given; `stops_after` so many its process is killed."""

    name = "writer"

    def __init__(self, stops_after: int | None = None) -> None:
        self.stops_after = stops_after
        self.asked: list[int] = []

    def adversaries(self, facts):
        return ()

    def rewrite(self, facts, attempts):
        self.asked.append(len(attempts))
        if len(attempts) == self.stops_after:
            raise KeyboardInterrupt
        if len(attempts) == len(WRITTEN):
            raise AgentStopped("its allowance is spent")
        assert [type(a.evaluation.outcome).__name__ for a in attempts] == OUTCOMES[: len(attempts)]
        return WRITTEN[len(attempts)]


def test_rewrites_are_judged_and_a_stopped_run_neither_repeats_nor_skips_one(tmp_path: Path, monkeypatch):
    (tmp_path / "kernel.toml").write_text(TOML)
    (tmp_path / "twice.cu").write_text(SLOW)
    settings = Settings(tmp_path / "home")
    order = Order(load_kernel(tmp_path / "kernel.toml"), budget=Budget(20), agent="writer", mode=Mode.DIRECT)

    first, second = Writer(stops_after=2), Writer()
    monkeypatch.setattr(tuning_run, "load_agent", lambda name, desk, alone: first)
    with pytest.raises(KeyboardInterrupt):
        tuning_run.start(order, settings, ignore)
    monkeypatch.setattr(tuning_run, "load_agent", lambda name, desk, alone: second)
    result = tuning_run.resume("last", settings, ignore).as_json()

    assert (first.asked, second.asked) == ([0, 1, 2], [2, 3, 4, 5, 6])
    assert [(e["rewrite"], e["outcome"]) for e in result["rewrites"]] == list(enumerate(OUTCOMES, start=1))
    assert result["evaluations"]["Measured"] == 2, "the original and the right one"
    assert (result["mode"], result["agent_stopped"]) == ("direct", "its allowance is spent")
    assert result["general"]["config"] == {"REWRITE": 6}
    assert result["general"]["verified"]
    assert result["general"]["ci95"][0] > 1
    assert Path(result["rewrites"][5]["source"]).read_text() == WIDE
    assert result["heldout"]["odd"]["verified"]
