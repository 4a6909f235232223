"""A text that hangs whoever reads it, or is too deep for them, costs that text: a reason comes back, and the next one is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warpsmith.core.hardware import Limits
from warpsmith.refactor.confined import reader
from warpsmith.refactor.confined.reader import problem_with_form
from warpsmith.refactor.drafting.application import apply_pass, apply_passes
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.on_form import everywhere
from warpsmith.refactor.proposal import FORM, Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel

KERNEL = untouched(load_kernel("reduction"))
LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
TEXT = KERNEL.source.read_text()
PLAIN = Proposal(1, TEXT, tuple(map(str, KERNEL.launch.grid)), tuple(map(str, KERNEL.launch.block)))
ENDLESS = TEXT + f"__device__ bool q(int a) {{ return {'a < ' * 30_000}a; }}\n"
HOSTILE = {
    "macros in macros": (
        "#define A0 1\n"
        + "".join(f"#define A{i} (A{i - 1} + A{i - 1})\n" for i in range(1, 60))
        + f"{TEXT}__device__ int q() {{ return A59; }}\n",
        "cannot be read",
    ),
    "comparisons": (ENDLESS, "cannot be read"),
    "branches": (f"{TEXT}#if 0\n{''.join(f'#elif {i} == 0{chr(10)}' for i in range(4000))}#endif\n", "1,000 directives"),
    "groups": ("#if 1\n" * 2000 + TEXT + "#endif\n" * 2000, "1,000 directives"),
    "lines": (TEXT + "int x;\n" * 9000, "5,000 lines"),
    "blocks": (f"{TEXT}__device__ void q() {'{' * 5000}{'}' * 5000}\n", "too deeply"),
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "DEADLINE_S", 4.0)


@pytest.mark.parametrize(("text", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_form_is_refused_with_a_reason_and_the_next_one_is_read(text: str, said: str):
    for _ in range(2):  # what could not be read once is not tried again
        assert said in (problem_with_form(replace(PLAIN, source=text), KERNEL, LIMITS) or "")
    assert problem_with_form(PLAIN, KERNEL, LIMITS) is None


@pytest.mark.parametrize(
    "text", [f"__device__ int q() {{ return {'(' * 3000}1{')' * 3000}; }}\n", "/*" * 20_000, "\0", '"' + "\\" * 9999]
)
def test_what_no_compiler_takes_is_at_least_read(text: str):
    """A compiler will say what is wrong with it, and is confined too."""
    problem_with_form(replace(PLAIN, source=TEXT + text), KERNEL, LIMITS)
    assert problem_with_form(PLAIN, KERNEL, LIMITS) is None


def test_a_form_that_no_pass_can_read_keeps_none_from_the_original():
    forms = (replace(PLAIN, number=1, source=ENDLESS), replace(PLAIN, number=2, source=TEXT.replace("1024", "512")))
    draft = apply_pass(Draft.of(KERNEL, LIMITS), ProposedForms(forms))
    after = apply_passes(draft, everywhere(load_passes(["block_size"]), (1, 2)))
    done = {application.name: application for application in after.applications}
    assert done["block_size"].applied
    assert done["block_size@2"].applied
    assert "cannot be read" in done["block_size@1"].reason
    tunables = {branch.guard[FORM]: {tunable.name for tunable in branch.variant.tunables} for branch in after.branches}
    assert tunables == {0: {"BLOCK"}, 1: set(), 2: {"BLOCK_F2"}}
