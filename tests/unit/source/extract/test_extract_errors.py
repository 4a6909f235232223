"""What can go wrong is said with file, line and what to do."""

from __future__ import annotations

import pytest
from extract_support import ACME, from_acme, from_text

from warpsmith.core.errors import InputError
from warpsmith.source.extract import ExtractRequest, extract


def said(call, *arguments, **options) -> str:
    with pytest.raises(InputError) as error:
        call(*arguments, **options)
    return str(error.value)


def test_an_unknown_kernel():
    words = said(from_acme, "scale_kernl")
    assert "no kernel 'scale_kernl'" in words
    assert "acme::packed_scale_kernel" in words
    assert "scale.cu:" in words
    assert "scale_kernel" in words.split("hint:")[1]


def test_a_kernel_in_a_branch_that_is_not_taken():
    words = said(from_acme, "hidden", source="twins.cu")
    assert "twins.cu:12" in words
    assert "-D NAME=VALUE" in words
    assert from_acme("hidden", source="twins.cu", defines={"ACME_EXTRA": "2"}).entry == "hidden"


def test_two_kernels_of_one_name():
    words = said(from_acme, "fill", source="twins.cu")
    assert "acme::first::fill" in words
    assert "twins.cu:8" in words
    assert "= 2.0f" in from_acme("second::fill", source="twins.cu").source_text
    assert "= 1.0f" not in from_acme("second::fill", source="twins.cu").source_text


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (None, "is a template <typename T, Mode kMode>"),
        ("scale_kernel<float>", "1 arguments, the template <typename T, Mode kMode> takes 2 to 2"),
        ("other<float, PLAIN>", "is not of 'scale_kernel'"),
        ("scale_kernel<float, PLAIN", "is not of 'scale_kernel'"),
    ],
)
def test_an_instance_that_does_not_fit(instance: str | None, expected: str):
    words = said(from_acme, "scale_kernel", instance)
    assert expected in words
    assert "scale.cu:19" in words


def test_arguments_for_what_is_no_template():
    assert "is not a template" in said(from_acme, "packed_scale_kernel", "packed_scale_kernel<float>")


def test_a_macro_that_is_missing():
    request = ExtractRequest(ACME / "src" / "scale.cu", "scale_kernel", None, (ACME / "include",))
    words = said(extract, request)
    assert "config.h:16" in words
    assert "ACME_ARCH is not defined" in words
    assert "-D NAME=VALUE" in words


def test_a_header_that_is_missing(tmp_path):
    words = said(from_text, tmp_path, '#include "../elsewhere/missing.h"\n__global__ void k() {}\n')
    assert "source.cu:1" in words
    assert "../elsewhere/missing.h" in words
    assert "-I" in words


def test_a_declaration_without_a_body(tmp_path):
    assert "declared but not defined" in said(from_text, tmp_path, "__global__ void k(int* x);\n")


def test_files_that_are_not_there(tmp_path):
    assert "no such file" in said(extract, ExtractRequest(tmp_path / "none.cu", "k"))
    (tmp_path / "some.cu").write_text("__global__ void k() {}")
    assert "no such folder" in said(extract, ExtractRequest(tmp_path / "some.cu", "k", None, (tmp_path / "none",)))


def test_opencl_needs_none(tmp_path):
    (tmp_path / "some.cl").write_text("__kernel void k() {}")
    assert "warpsmith init" in said(extract, ExtractRequest(tmp_path / "some.cl", "k"))


OVERLOADS = """
template <typename T, bool B = false> __global__ void k(T* x) { x[0] = 1; }

template <typename T, bool B = false> __global__ void k(T* x, int n) { x[n] = 2; }
"""


def test_overloads_are_told_apart_by_a_line(tmp_path):
    words = said(from_text, tmp_path, OVERLOADS, instance="k<float>")
    assert "source.cu:2" in words
    assert "--kernel k:2" in words
    (tmp_path / "source.cu").write_text(OVERLOADS)
    for line, kept, other in ((2, "x[0] = 1", "x[n] = 2"), (4, "x[n] = 2", "x[0] = 1")):
        found = extract(ExtractRequest(tmp_path / "source.cu", "k", "k<float>", line=line))
        assert kept in found.source_text
        assert other not in found.source_text
