"""Templates: parameters that are used, defaults that agree, values written back into ordinary source."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.kernel import Kernel, Launch, Parameter, Reference, Traffic, Workload
from warpsmith.template import first_difference, render, template_of
from warpsmith.template.directives import object_defines

SOURCE = """\
// BLOCK and GHOST are only mentioned here
#ifndef VEC   // floats per access
#define VEC 4
#endif
#if !defined(UNROLL)
#  define UNROLL (2)  /* times */
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#define HELPER(x) x
extern "C" __global__ void k(float* out) {
#if VEC == 4
  const char* s = "GHOST";
#endif
#pragma unroll UNROLL
  for (int i = 0; i < STEPS; ++i) out[i] = 0;
}
"""
VEC = Parameter("VEC", (1, 4), 4)
UNROLL = Parameter("UNROLL", (1, 2), 2)
BLOCK = Parameter("BLOCK", (64, 256), 256)
STEPS = Parameter("STEPS", (1, 3), 3)


@pytest.fixture
def kernel_of(tmp_path):
    def make(source, parameters, *, block="BLOCK", entry="k", files=()):
        for name, text in files:
            (tmp_path / name).write_text(text)
        file = tmp_path / "k.cu"
        file.write_text(source)
        launch = Launch((Expression.parse(1),), (Expression.parse(block),), Expression.parse(0))
        workloads = (Workload("w", {}),)
        toml = tmp_path / "kernel.toml"
        return Kernel("k", toml, file, Language.CUDA, entry, (), (), launch, workloads, Reference(), Traffic(), tuple(parameters))

    return make


def test_only_what_the_source_uses_is_defined(kernel_of):
    template = template_of(kernel_of(SOURCE, [VEC, UNROLL, BLOCK, STEPS]))
    assert template.used == {"VEC", "UNROLL", "STEPS"}
    configuration = Configuration.of({"VEC": 1, "UNROLL": 1, "BLOCK": 64, "STEPS": 3})
    assert template.defines(configuration) == {"VEC": 1, "UNROLL": 1, "STEPS": 3}
    assert template.default == Configuration.of({"VEC": 4, "UNROLL": 2, "BLOCK": 256, "STEPS": 3})


def test_a_parameter_that_changes_nothing_is_refused(kernel_of):
    ghost = Parameter("GHOST", (0, 1), 0)
    with pytest.raises(InputError, match="GHOST is used neither in the source nor"):
        template_of(kernel_of(SOURCE, [VEC, UNROLL, BLOCK, STEPS, ghost]))


def test_uses_in_included_files_and_in_the_entry_count(kernel_of):
    files = [("part.cuh", '#include "deep.cuh"\n'), ("deep.cuh", '#include "part.cuh"\nint d = DEEP;\n')]
    parameters = [Parameter("DEEP", (1, 2), 1), Parameter("WIDTH", (1, 2), 1)]
    kernel = kernel_of('#include "part.cuh"\n__global__ void k();', parameters, block=1, entry="k<float, WIDTH>", files=files)
    assert template_of(kernel).used == {"DEEP", "WIDTH"}


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("\n#define VEC 4\nint x = VEC;", "#define VEC overrides the parameter", 2),
        ("#ifndef VEC\n#else\n#define VEC 4\n#endif\nint x = VEC;", "#define VEC overrides the parameter", 3),
        ("#ifndef VEC\n#define VEC 8\n#endif\nint x = VEC;", "#define VEC 8, but the default in kernel.toml is 4", 2),
    ],
)
def test_the_source_must_agree_about_the_default(kernel_of, source, message, line):
    with pytest.raises(InputError) as caught:
        template_of(kernel_of(source, [VEC], block=1))
    assert message in caught.value.message
    assert caught.value.location.line == line


def test_render_writes_the_values_where_the_defaults_stand(kernel_of):
    template = template_of(kernel_of(SOURCE, [VEC, UNROLL, BLOCK, STEPS]))
    text = render(template, Configuration.of({"VEC": 1, "UNROLL": 1, "BLOCK": 64, "STEPS": 3}))
    assert text.startswith("#ifndef STEPS\n#define STEPS 3\n#endif\n")
    assert "#define VEC 1\n" in text
    assert "#  define UNROLL 1  /* times */\n" in text
    assert "#define BLOCK 256\n" in text  # nothing in the source depends on it
    assert text.endswith(SOURCE[SOURCE.index("#ifndef BLOCK") :])


def test_render_at_the_defaults_changes_no_value(kernel_of):
    source = SOURCE.replace("STEPS", "3").replace("(2)", "2")
    template = template_of(kernel_of(source, [VEC, UNROLL, BLOCK]))
    assert render(template, template.default) == source


def test_render_values_of_every_kind(kernel_of):
    parameters = [Parameter("FLAG", (True, False), False), Parameter("TYPE", ("float4", "float2"), "float2")]
    template = template_of(kernel_of("#ifndef FLAG\n#define FLAG\n#endif\nTYPE t = FLAG;", parameters, block=1))
    text = render(template, Configuration.of({"FLAG": True, "TYPE": "float4"}))
    assert text == "#ifndef TYPE\n#define TYPE float4\n#endif\n\n#ifndef FLAG\n#define FLAG 1\n#endif\nTYPE t = FLAG;"


def test_render_needs_every_parameter(kernel_of):
    template = template_of(kernel_of(SOURCE, [VEC, UNROLL, BLOCK, STEPS]))
    with pytest.raises(InputError, match="no value for UNROLL, STEPS"):
        render(template, Configuration.of({"VEC": 1, "BLOCK": 64}))


def test_directives():
    defines = {d.name: (d.body, d.line, d.guarded) for d in object_defines(SOURCE)}
    assert defines == {"VEC": ("4", 3, True), "UNROLL": ("(2)", 6, True), "BLOCK": ("256", 9, True)}
    assert used_identifiers("#if defined(A) && B\nint c; // D\n") == {"if", "B", "int", "c"}


def test_the_first_difference_is_told_with_what_is_before_it():
    assert first_difference(["a", "b"], ["a", "b"]) is None
    assert first_difference([], []) is None
    found = first_difference(["int", "x", "=", "1", ";"], ["int", "x", "=", "2", ";"])
    assert found == "token 4, after `int x =`: the original has `1`, the template `2`"
    assert first_difference(["a"], []) == "token 1, at the beginning: the original has `a`, the template no more tokens"
    assert "the original has no more tokens, the template `b`" in first_difference(["a"], ["a", "b"])


def test_paths_are_those_of_the_template(kernel_of, tmp_path):
    kernel = kernel_of(SOURCE, [VEC, UNROLL, BLOCK, STEPS])
    assert template_of(kernel).path == Path(tmp_path / "k.cu")
