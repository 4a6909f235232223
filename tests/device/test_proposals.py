"""Forms that an agent writes stand beside the original: right ones are searched, wrong ones come back with the precise problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from twice import twice

from warpsmith.refactor.base import Rule, Tunable
from warpsmith.refactor.proposal import FORM, Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.space import space_of
from warpsmith.spec.kernel import Kernel
from warpsmith.template import template_of
from warpsmith.tuning.templates.probes import Lab, laboratory
from warpsmith.tuning.templates.templating import templatize
from warpsmith.tuning.templates.workbench import Workbench

SEVERAL_EACH = Proposal(
    number=1,
    source="""
__global__ void twice(float* out, const float* in, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  for (int k = 0; k < EACH; ++k) {
    if (first + k < n) {
      out[first + k] = in[first + k] + in[first + k];
    }
  }
}
""",
    grid=("ceildiv(n, BLOCK * EACH)",),
    block=("BLOCK",),
    tunables=(
        Tunable("EACH", (1, 2, 4), 2, "elements of a thread"),
        Tunable("BLOCK", (32, 128), 128, "threads of a block"),
    ),
    rules=(Rule("EACH * BLOCK <= 256", "as many as the lanes keep busy"),),
    hypothesis="fewer threads with more to do",
)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return twice(tmp_path_factory.mktemp("twice"))


@pytest.fixture(scope="module")
def lab(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with laboratory(kernel, "cpu", binary_cache=tmp_path_factory.mktemp("binaries")) as ready:
        yield ready


def test_a_right_form_becomes_a_value_of_form_beside_the_original(kernel: Kernel, lab: Lab, tmp_path: Path):
    assert Workbench(kernel, lab).problem_of(SEVERAL_EACH) is None
    other = replace(
        SEVERAL_EACH, number=2, source=SEVERAL_EACH.source.replace("in[first + k] + in[first + k]", "2 * in[first + k]")
    )
    passes = [*load_passes(["block_size", "read_only"]), ProposedForms((SEVERAL_EACH, other))]
    made = templatize(kernel, lab, passes=passes, folder=tmp_path)
    assert made.certificate.level == "tokens"
    values = {p.name: p.values for p in made.kernel.parameters}
    assert values[FORM] == (0, 1, 2)
    assert values["EACH"] == (1, 2, 4)
    assert "BLOCK_" in values, "passes still apply to the original, with names of their own"
    space = space_of(made.kernel, template_of(made.kernel), lab.info.limits)
    listed = [space.decode(row) for row in space.rows]
    assert {c[FORM] for c in listed} == {0, 1, 2}
    assert {c["EACH"] for c in listed if c[FORM] == 0} == {2}, "a form's parameters count only in it"


def test_a_form_whose_names_another_one_has_is_looked_at_under_its_own(kernel: Kernel, lab: Lab):
    other = replace(SEVERAL_EACH, number=2, names=(("EACH", "EACH_F2"), ("BLOCK", "BLOCK_F2")))
    bench = Workbench(kernel, lab)
    assert bench.problem_of(other) is None
    shown = bench.instructions(other)
    assert not isinstance(shown, str) or "disassembler" in shown


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"source": SEVERAL_EACH.source.replace("blockIdx.x", "blokIdx.x")}, "form.cu:3:"),
        ({"source": SEVERAL_EACH.source.replace("+ in[first + k]", "")}, "wrong result"),
        ({"source": SEVERAL_EACH.source.replace("if (first + k < n)", "")}, "out"),
        ({"grid": ("ceildiv(m, 64)",)}, "unknown name 'm'"),
        ({"rules": (Rule("EACH > 4", "never"),)}, "no combination of its values is feasible"),
        ({"tunables": (Tunable("n", (1, 2), 1, "taken"), *SEVERAL_EACH.tunables)}, "is already used in the source"),
        ({"source": '#include "/etc/hostname"\n' + SEVERAL_EACH.source}, "hostname"),
    ],
)
def test_a_form_that_is_not_right_comes_back_with_its_problem(kernel: Kernel, lab: Lab, change: dict, problem: str):
    found = Workbench(kernel, lab).problem_of(replace(SEVERAL_EACH, **change))
    assert found is not None
    assert problem in found
