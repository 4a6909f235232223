"""What is written can be read by everything else: load_kernel, template_of, render, and a compiler without us."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refactor_support import LIMITS, SOURCE, TOML, Choosing, Naming, scale_kernel

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.refactor.base import Rewrite, Rule
from warpsmith.refactor.drafting.application import apply_passes
from warpsmith.refactor.drafting.combine import Refactored, combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.emit import template_text, write_template
from warpsmith.refactor.drafting.values import space_of_refactored
from warpsmith.refactor.proposal import Proposal, ProposedForms
from warpsmith.space import space_of
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.load import load_kernel
from warpsmith.spec.toml_writing import toml_table
from warpsmith.template import render, template_of


def scale_template(folder: Path, toml: str = TOML) -> Refactored:
    draft = Draft.of(scale_kernel(folder, toml), LIMITS)
    rule = Rule("n % MAP == 0", 'no "tail"')
    passes = [Naming(), Choosing("out[i] = FACTOR * in[i];", {2: "twice(MAP);", 4: "twice(MAP);"}, rules=(rule,))]
    return combined(apply_passes(draft, passes))


def test_the_header_gives_every_parameter_its_default(tmp_path: Path) -> None:
    text = template_text(scale_template(tmp_path))
    assert "// BLOCK: threads of a block (32, 64, 128, 256)\n#ifndef BLOCK\n#define BLOCK 128\n#endif\n" in text
    assert text.index("#define MAP 0") < text.index("#include")


def test_the_folder_is_a_kernel_like_any_other(tmp_path: Path) -> None:
    found = scale_template(tmp_path / "original")
    kernel = load_kernel(write_template(found, tmp_path / "made"))
    template = template_of(kernel)
    assert kernel.source.read_text() == SOURCE
    assert kernel.reference.function == "scaled"
    assert kernel.include_dirs[0].resolve() == tmp_path / "original" / "include"
    assert kernel.tuning_workloads[0].weight == 2
    assert [(p.name, p.values, p.default) for p in template.parameters] == [
        ("BLOCK", (32, 64, 128, 256), 128),
        ("MAP", (0, 2, 4), 0),
    ]
    assert [(str(c.expression), c.reason) for c in template.constraints] == [("MAP == 0 or (n % MAP == 0)", 'no "tail"')]
    assert template.used == {"BLOCK", "MAP"}
    assert list(space_of(kernel, template, LIMITS)) == list(space_of_refactored(found))
    assert "#define BLOCK 64" in render(template, Configuration.of({"BLOCK": 64, "MAP": 2}))


def test_what_a_form_is_for_stays_in_its_comment(tmp_path: Path) -> None:
    kernel = scale_kernel(tmp_path / "original", TOML)
    for idea in ("a \x1b[31m form\x00\x7f", "\\ " * 99, "??/ " * 99):
        form = Proposal(1, SOURCE.replace("FACTOR * in", "in[i] * FACTOR + 0 * in"), ("n",), ("128",), hypothesis=idea)
        found = combined(apply_passes(Draft.of(kernel, LIMITS), [ProposedForms([form])]))
        assert load_kernel(write_template(found, tmp_path / "made")).parameters[0].name == "FORM"
        comment, _, header = template_text(found).partition("#ifndef FORM")
        assert header
        assert not any(line.endswith(("\\", "??/")) for line in comment.splitlines())


def test_paths_stay_valid_wherever_the_folder_is(tmp_path: Path) -> None:
    found = scale_template(tmp_path / "original")
    near = tomllib.loads(write_template(found, tmp_path / "near").read_text())
    assert near["kernel"]["source"] == "../original/scale.cu"
    assert near["arguments"]["in"]["init"]["python"] == "../original/inputs.py:ramp"
    far = tomllib.loads(write_template(found, tmp_path / "a" / "b" / "c" / "d").read_text())
    assert Path(far["kernel"]["source"]).is_absolute()
    assert load_kernel(tmp_path / "a" / "b" / "c" / "d").source.is_file()


def test_it_writes_over_its_own_files_only(tmp_path: Path) -> None:
    found = scale_template(tmp_path / "original")
    first = write_template(found, tmp_path / "made").read_text()
    assert write_template(found, tmp_path / "made").read_text() == first
    with pytest.raises(InputError, match="templatize did not write"):
        write_template(found, tmp_path / "original")


def test_an_entry_may_name_parameters(tmp_path: Path) -> None:
    toml = TOML.replace('entry = "scale"', 'entry = "scale<128>"')
    draft = Draft.of(scale_kernel(tmp_path, toml, "template <int N>\n" + SOURCE), LIMITS)

    class Instance(Naming):
        def apply(self, subject):
            answer = super().apply(subject)
            return Rewrite(replace(answer.variant, entry="scale<BLOCK>"))

    kernel = load_kernel(write_template(combined(apply_passes(draft, [Instance()])), tmp_path / "made"))
    assert (kernel.entry, kernel.template_entry) == ("scale<128>", "scale<BLOCK>")
    assert template_of(kernel).used == {"BLOCK"}


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_kernels_survive_untouched(name: str, tmp_path: Path) -> None:
    original = load_kernel(name)
    kernel = load_kernel(write_template(combined(Draft.of(original, LIMITS)), tmp_path))
    assert template_of(kernel).source == original.source.read_text()
    assert [w.sizes for w in kernel.workloads] == [w.sizes for w in original.workloads]
    assert (kernel.reference, kernel.traffic, kernel.language) == (
        original.reference.__class__(kernel.reference.file, *_rest(original.reference)),
        original.traffic,
        original.language,
    )


def _rest(reference):
    return reference.function, reference.rtol, reference.atol


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_is_written_is_toml(entries: dict[str, object]) -> None:
    assert tomllib.loads(toml_table("table", entries)) == {"table": entries}
