"""Kernels and templates as people write them are let through, whatever they are held to."""

import pytest
from allowed_support import problem

from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of

WITH_A_MEMORY = {"reduction"}  # of partial sums
FOR_A_COMPILER = {"transpose"}  # one of its alternatives


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_kernels_are_device_code(name: str):
    kernel = load_kernel(name)
    text, given = kernel.source.read_text(), {"defines": kernel.defines, "folders": tuple(kernel.folders)}
    assert problem(text, text, kernel.language, **given) is None
    assert ("would outlive" in (problem(text, "", kernel.language, **given) or "")) == (name in WITH_A_MEMORY)


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_templates_go_no_further_than_their_originals(name: str):
    kernel = load_kernel(name)
    template, folders = template_of(kernel), tuple(kernel.folders)
    values = {**kernel.defines, **dict(kernel.default_configuration)}
    found = problem(template.source, kernel.source.read_text(), kernel.language, defines=values, folders=folders)
    assert ("__clang__" in (found or "")) == (name in FOR_A_COMPILER)
    assert found is None or name in FOR_A_COMPILER
