"""A run in which an agent writes forms that use the same names: defaults first, every result carried over, nothing twice."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import warpsmith
from warpsmith.record.store import Store
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.proposal import FORM, Proposal
from warpsmith.settings import read_settings
from warpsmith.tuning.agent import agents
from warpsmith.tuning.agent.planning import Facts, Plan
from warpsmith.tuning.evaluation.round import extended

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
some = { n = 20000 }
"""
SOURCE = """\
__global__ void axpy(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 2.0f * x[i];
}
"""
FORM_SOURCE = """\
__global__ void axpy(float* y, const float* x, int n) {
  for (int s = 0; s < STEPS; ++s) {
    const int i = (blockIdx.x * STEPS + s) * blockDim.x + threadIdx.x;
    if (i < n) y[i] += 2.0f * x[i];
  }
}
"""


def form(number: int, steps: tuple[int, ...], default: int, block: int) -> Proposal:
    return Proposal(
        number,
        FORM_SOURCE.replace("s < STEPS", f"s < STEPS /* {number} */"),
        (f"ceildiv(n, {block} * STEPS)",),
        (str(block),),
        tunables=(Tunable("STEPS", steps, default, "elements of a thread"),),
        hypothesis=f"{block} threads",
    )


FORMS = {1: form(1, (1, 2, 4), 4, 128), 2: form(2, (2, 3, 8), 3, 64), 3: form(3, (1, 4), 1, 512)}


class Author:
    """Writes a form for the first round and two for the second, and asks for passes on forms."""

    name = "author"

    def __init__(self) -> None:
        self.told: list[Facts] = []

    def analyse(self, facts: Facts) -> tuple[()]:
        self.told.append(facts)
        return ()

    def plan(self, facts: Facts, findings: Any) -> Plan | None:
        so_far = tuple(report.name for report in facts.passes if report.applied_in is not None)
        wanted = ("block_size",) if facts.round == 1 else ("block_size@1", "sweeps@1", "whole_tiles@2")
        return Plan((*so_far, *wanted), "further forms", write=True) if facts.round <= 2 else None

    def propose(self, facts: Facts, plan: Plan) -> list[Proposal]:
        return [FORMS[1]] if facts.round == 1 else [FORMS[2], FORMS[3]]

    def repair(self, *_: Any) -> None:
        return None

    def adversaries(self, facts: Facts) -> tuple[()]:
        return ()


@pytest.fixture
def author(monkeypatch: pytest.MonkeyPatch, home: Path) -> Author:
    found = Author()
    entry = SimpleNamespace(load=lambda: lambda name, desk: found)
    known = agents.plugins
    monkeypatch.setattr(agents, "plugins", lambda group: {**known(group), "author": entry})
    monkeypatch.setenv("WARPSMITH_HOME", str(home))
    monkeypatch.setenv("WARPSMITH_CLAIM_PROCESSES", "2")
    monkeypatch.setenv("WARPSMITH_CONFINEMENT", "best-effort")
    return found


def test_forms_that_share_names_keep_their_values_and_their_results(author: Author, tmp_path: Path):
    (tmp_path / "axpy.cu").write_text(SOURCE)
    (tmp_path / "kernel.toml").write_text(TOML)
    kernel = warpsmith.load_kernel(tmp_path)
    result = warpsmith.tune(kernel, agent="author", rounds=3, budget=warpsmith.Budget(evaluations=13))

    with Store(read_settings().database, reading=True) as store:
        rounds = {number: store.evaluations(result["run"], number) for number in (0, 1, 2, 3)}
        plans = store.rounds(result["run"])
    names = {p["number"]: dict(p["names"]) for about in plans for p in about.plan["proposals"]}
    assert names == {1: {}, 2: {"STEPS": "STEPS_F2"}, 3: {"STEPS": "STEPS_F3"}}
    for number, proposal in FORMS.items():
        [tunable] = proposal.tunables
        first, name = (rounds[1][:1] + rounds[2])[number - 1].configuration, names[number].get("STEPS", "STEPS")
        assert (first[FORM], first[name]) == (number, tunable.default), "defaults are tried first"

    last = warpsmith.load_kernel(plans[-1].kernel_path)
    everything = [evaluation for found in rounds.values() for evaluation in found]
    as_last = extended(everything, last.default_configuration)
    assert len(as_last) == len(everything) == sum(result["evaluations"].values()), "nothing is evaluated twice, nothing is lost"
    assert author.told[-1].proposals[0].speedup is not None

    applied = plans[-1].report["applied"]
    assert {"block_size", "block_size@1", "whole_tiles@2"} <= set(applied)
    assert author.told[-1].rounds[-1].refused.keys() == {"sweeps@1"}
    assert "no loop carries a running maximum" in author.told[-1].rounds[-1].refused["sweeps@1"]
