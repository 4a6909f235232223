"""A form's parameters are its own: a name that another form or a pass has is another name in the template."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from refactor_support import LIMITS, Naming, scale_kernel

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.base import Rule, Tunable
from warpsmith.refactor.drafting.application import apply_passes
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.emit import write_template
from warpsmith.refactor.drafting.values import space_of_refactored
from warpsmith.refactor.proposal import Proposal, ProposedForms, with_own_names
from warpsmith.spec.load import load_kernel
from warpsmith.template import render, template_of

BODY = """#include "factor.h"

__global__ void scale(float* out, const float* in, int n) {
  constexpr int kTile = TILE;
  const int i = (blockIdx.x * 64 + threadIdx.x) * kTile;
  for (int j = 0; j < kTile && i + j < n; ++j) out[i + j] = FACTOR * in[i + j];
}
"""
FIRST = Proposal(
    1,
    BODY,
    ("ceildiv(n, 64 * TILE)",),
    ("64",),
    tunables=(Tunable("TILE", (1, 2, 4), 2, "each"),),
    rules=(Rule("TILE < 8", "small"),),
)
SECOND = replace(FIRST, number=2, tunables=(Tunable("TILE", (2, 8), 8, "each"),), rules=(Rule("n % TILE == 0", "no tail"),))


def test_the_first_form_keeps_a_name_and_the_next_one_has_its_own():
    first, second = with_own_names([FIRST, SECOND])
    assert first.names == ()
    assert second.names == (("TILE", "TILE_F2"),)
    assert second.parameters == {"TILE_F2": "TILE"}
    found = second.variant("scale")
    assert "kTile = TILE_F2;" in found.text
    assert found.grid == ("ceildiv(n, 64 * TILE_F2)",)
    assert found.rules == (Rule("n % TILE_F2 == 0", "no tail"),)
    assert second.source == BODY, "its author goes on to see what was written"


def test_names_survive_the_record():
    [_, second] = with_own_names([FIRST, SECOND])
    assert Proposal.from_record(json.loads(json.dumps(asdict(second)))) == second


def test_a_word_of_a_form_that_is_a_parameter_elsewhere_is_another_word_there():
    """A parameter is a macro: it would change the form, too."""
    plain = replace(SECOND, source=BODY.replace("= TILE;", "= 4, BLOCK = TILE;"), tunables=())
    [found] = with_own_names([plain], ["BLOCK"], [FIRST])
    assert "= 4, BLOCK_F2 = TILE;" in found.variant("scale").text
    local = replace(FIRST, source=BODY.replace("kTile", "WIDTH"))
    wide = replace(SECOND, source=BODY.replace("TILE", "WIDTH"), tunables=(Tunable("WIDTH", (2, 8), 8, "each"),), rules=())
    assert with_own_names([wide], [], [local])[0].names == (("WIDTH", "WIDTH_F2"),)


def test_a_pass_calls_its_parameter_none_of_the_words_of_a_form(tmp_path: Path):
    form = replace(FIRST, source=BODY.replace("kTile", "BLOCK"))
    draft = apply_passes(Draft.of(scale_kernel(tmp_path), LIMITS), [ProposedForms([form])])
    assert "BLOCK" in draft.foreign


def test_what_one_round_measured_is_in_the_space_of_the_next(tmp_path: Path):
    kernel = scale_kernel(tmp_path / "original")
    first, second = with_own_names([FIRST, SECOND])
    before, after = (
        combined(apply_passes(Draft.of(kernel, LIMITS), [Naming(), ProposedForms(forms)])) for forms in ([first], [first, second])
    )
    default, larger = space_of_refactored(after).default, space_of_refactored(after)
    for configuration in space_of_refactored(before):
        assert Configuration.of({**default, **configuration}) in larger
    # The rendered source has each form's value under each form's name.
    template = template_of(load_kernel(write_template(after, tmp_path / "made")))
    text = render(template, Configuration.of({**default, "FORM": 2, "TILE_F2": 8}))
    assert "#define TILE_F2 8" in text
    assert "#define TILE 2" in text
