"""Structures by value become plain parameters, and are put together again in the first line."""

from __future__ import annotations

import tomllib

import pytest
from extract_support import from_acme

from warpsmith.core.errors import InputError
from warpsmith.source.extract import ExtractRequest, extract


def unpacked(folder, text: str, instance: str | None = None):
    (folder / "source.cu").write_text(text)
    return extract(ExtractRequest(folder / "source.cu", "k", instance, (), {}, unpack=True))


def test_members_become_parameters():
    found = from_acme("packed_scale_kernel", unpack=True)
    expected = """__global__ void packed_scale_kernel(
    const float* __restrict__ input,
    float* __restrict__ output,
    float factor,
    int n) {
  const ScaleParams params{input, output, factor, n};
"""
    assert expected in found.source_text
    assert list(tomllib.loads(found.kernel_toml)["arguments"]) == ["input", "output", "factor", "n"]
    assert "__grid_constant__" not in found.source_text


def test_the_skeleton_of_a_structure_says_so():
    assert "--unpack" in from_acme("packed_scale_kernel").kernel_toml
    assert "--unpack" not in from_acme("packed_scale_kernel", unpack=True).kernel_toml


def test_template_arguments_are_put_in(tmp_path):
    structure = "template <typename T> struct P { T* x; int n; };\n"
    text = structure + "template <typename U> __global__ void k(P<U> p, int n) { p.x[n] = p.n; }\n"
    found = unpacked(tmp_path, text, "k<float>").source_text
    assert "    U* x,\n    int p_n,\n    int n) {\n  P<U> p{x, p_n};" in found


@pytest.mark.parametrize("member", ["int x[9];", "int x[4][2];", "int x : 3;", "int x = 1, y;"])
def test_what_cannot_be_unpacked_is_said(tmp_path, member: str):
    with pytest.raises(InputError, match=r"source\.cu:2: .*cannot be unpacked"):
        unpacked(tmp_path, f"struct P {{\n  {member}\n}};\n__global__ void k(P p) {{}}\n")


def test_several_members_in_one_declaration(tmp_path):
    text = "struct P { const float *__restrict__ x, *y; int n, m; };\n__global__ void k(P p) { ((float*)p.x)[p.n] = p.y[p.m]; }\n"
    found = unpacked(tmp_path, text)
    assert list(tomllib.loads(found.kernel_toml)["arguments"]) == ["x", "y", "n", "m"]
    assert "P p{x, y, n, m};" in found.source_text
    assert "    const float* __restrict__ x,\n    const float* y,\n    int n,\n    int m) {" in found.source_text


def test_types_of_the_structure_itself_are_spelled_out(tmp_path):
    structure = "template <typename T> struct P { using index_t = unsigned int; typedef T Value; index_t n, m; Value* x; };\n"
    found = unpacked(tmp_path, structure + "template <typename U> __global__ void k(P<U> p) { p.x[p.n] = p.m; }\n", "k<float>")
    assert "    unsigned int n,\n    unsigned int m,\n    U* x) {" in found.source_text


def test_names_of_the_body_are_left_alone(tmp_path):
    text = "struct P { int* x; int n; };\n__global__ void k(const P p) { const auto& [x, n] = p; x[n] = p.n; }\n"
    found = unpacked(tmp_path, text).source_text
    assert "    int* p_x,\n    int p_n) {\n  const P p{p_x, p_n};" in found


def test_nothing_to_unpack(tmp_path):
    found = unpacked(tmp_path, "__global__ void k(int* x) {}\n")
    assert "__global__ void k(int* x) {}" in found.source_text
    assert found.had_nothing_to_unpack
    assert not unpacked(tmp_path, "struct P { int* x; };\n__global__ void k(P p) {}\n").had_nothing_to_unpack


def test_arrays_structures_and_bases_become_their_parts(tmp_path):
    text = """struct Base { const float* x; int n; };
struct Size { int rows, columns; };
struct P : public Base { Size size; float weights[2]; float* out; };
__global__ void k(const P p, int n) {
  if (threadIdx.x < p.n) p.out[threadIdx.x] = p.x[threadIdx.x] * p.weights[1] + p.size.columns + p.weights[0] * p.size.rows + n;
}
"""
    found = unpacked(tmp_path, text)
    assert list(tomllib.loads(found.kernel_toml)["arguments"]) == [
        "x", "p_n", "size_rows", "size_columns", "weights_0", "weights_1", "out", "n"
    ]  # fmt: skip
    assert "const P p{{x, p_n}, {size_rows, size_columns}, {weights_0, weights_1}, out};" in found.source_text


def test_types_of_a_base(tmp_path):
    text = "struct Base { using index_t = unsigned; index_t n; };\nstruct P : Base { index_t m; int* x; };\n"
    found = unpacked(tmp_path, text + "__global__ void k(P p) { p.x[p.n] = p.m; }\n").source_text
    assert "    unsigned n,\n    unsigned m,\n    int* x) {\n  P p{{n}, m, x};" in found


def test_a_base_that_is_none_of_the_code_bases(tmp_path):
    with pytest.raises(InputError, match="has a base class that is not a plain structure"):
        unpacked(tmp_path, "struct P : std::pair<int, int> { int n; };\n__global__ void k(P p, int* x) { x[0] = p.n; }\n")


def test_pytorchs_name_for_atomic_additions(tmp_path):
    text = "__global__ void k(float* x) { gpuAtomicAdd(x, 1.0f); }\n"
    assert "#define gpuAtomicAdd atomicAdd" in unpacked(tmp_path, text).source_text
    own = "__device__ void gpuAtomicAdd(float* x, float y) { *x += y; }\n"
    assert "#define gpuAtomicAdd" not in unpacked(tmp_path, own + text).source_text
