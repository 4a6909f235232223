"""A pass on a form that an agent wrote: its parameters belong to that form, and nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from refactor_support import LIMITS, SOURCE, Choosing, Naming, scale_kernel

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.base import Rule
from warpsmith.refactor.drafting import application
from warpsmith.refactor.drafting.application import MOST_BRANCHES, apply_pass, apply_passes
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.emit import template_text
from warpsmith.refactor.drafting.look import look
from warpsmith.refactor.drafting.values import space_of_refactored
from warpsmith.refactor.on_form import OnForm, everywhere, on_form, parted
from warpsmith.refactor.proposal import FORM, Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes

FORMS = [
    Proposal(
        n,
        SOURCE.replace("128", str(size)).replace("int i", f"int i{n}").replace("i <", f"i{n} <").replace("[i]", f"[i{n}]"),
        ("n",),
        (str(size),),
    )
    for n, size in ((1, 64), (2, 256))
]


@pytest.fixture(autouse=True)
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passes of this file are not there for the worker that reads what others wrote."""
    monkeypatch.setattr(application, "looked_at", look)


def drafted(folder: Path, *passes: object) -> Draft:
    return apply_passes(Draft.of(scale_kernel(folder), LIMITS), [ProposedForms(FORMS), *passes])


def test_a_request_names_the_form():
    assert (parted("unroll@2"), parted("unroll"), on_form("unroll", 2), on_form("unroll", 0)) == (
        ("unroll", 2),
        ("unroll", 0),
        "unroll@2",
        "unroll",
    )
    assert [p.name for p in load_passes(["unroll@2", "block_size"])] == ["block_size", "unroll@2"]
    assert [p.name for p in everywhere(load_passes(["unroll", "coarsen@3"]), [1])] == ["coarsen@3", "unroll", "unroll@1"]


def test_a_plain_pass_works_on_the_kernel_itself_and_not_on_the_forms(tmp_path: Path):
    done = drafted(tmp_path, Naming())
    assert "blockIdx.x * BLOCK" in done.branches[0].variant.text
    assert [b.variant.text for b in done.branches[1:]] == [form.source for form in FORMS]


def test_forms_have_parameters_of_their_own_with_the_defaults_that_they_came_with(tmp_path: Path):
    on_both = [OnForm(Naming("64"), 1), OnForm(Naming("256", rules=(Rule("BLOCK < 512", "few"),)), 2)]
    found = combined(drafted(tmp_path, Naming(), *on_both))
    assert {p.name: p.default for p in found.parameters} == {FORM: 0, "BLOCK": 128, "BLOCK_F1": 64, "BLOCK_F2": 256}
    assert "FORM != 2 or (BLOCK_F2 < 512)" in [rule.expression for rule in found.rules]
    assert "blockIdx.x * BLOCK_F2" in template_text(found)
    space = space_of_refactored(found)
    assert {c["BLOCK_F2"] for c in space if c[FORM] != 2} == {256}
    assert {c["BLOCK"] for c in space if c[FORM] != 0} == {128}
    assert sum(c[FORM] == 2 for c in space) == 4


def test_what_a_form_was_measured_with_stays_when_others_get_the_pass(tmp_path: Path):
    before = combined(drafted(tmp_path, OnForm(Naming("256"), 2)))
    after = combined(drafted(tmp_path, Naming(), OnForm(Naming("64"), 1), OnForm(Naming("256"), 2)))
    space = space_of_refactored(after)
    for configuration in space_of_refactored(before):
        assert Configuration.of({**space.default, **configuration}) in space


def test_a_form_that_is_not_there_is_a_reason(tmp_path: Path):
    [*_, done] = drafted(tmp_path, OnForm(Naming(), 5)).applications
    assert done.reason == "there is no form 5"


@pytest.mark.parametrize("form", [1, 2])
def test_alternatives_of_a_form_do_not_take_the_room_of_others(tmp_path: Path, form: int):
    source = FORMS[form - 1].source
    [line] = [line for line in source.split("\n") if "FACTOR" in line]
    draft = apply_pass(Draft.of(scale_kernel(tmp_path), LIMITS), ProposedForms(FORMS))
    many = Choosing("out[i] = FACTOR * in[i];", {n: f"out[i] = FACTOR * in[i] + 0 * {n};" for n in range(1, MOST_BRANCHES + 4)})
    few = OnForm(Choosing(line.strip(), {n: f"{line} // {n}" for n in range(1, 12)}), form)
    done = apply_passes(draft, [replace(many, name="many"), few])
    counts = [sum(branch.guard[FORM] == n for branch in done.branches) for n in (0, form)]
    assert counts == [MOST_BRANCHES, 8]
    assert f"at most 8 forms of form {form}" in done.applications[-1].notes[0]
