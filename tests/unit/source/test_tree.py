from array import array

import pytest

from warpsmith.core.hardware import Language
from warpsmith.refactor.writing import removed
from warpsmith.source.statements import text_between
from warpsmith.source.tree import Edit, Tree, _Kind, _Walks, field, of_kind, text_of, walk


def test_edits_are_by_bytes_so_that_other_alphabets_do_not_shift_them():
    tree = Tree("// größer\nint a = 1;\n", Language.CUDA)
    number = next(of_kind(tree.root, "number_literal"))
    assert tree.edited([Edit(number.start_byte, number.end_byte, "SIZE")]) == "// größer\nint a = SIZE;\n"


def test_edits_that_overlap_are_refused():
    tree = Tree("int a = 1;", Language.CUDA)
    with pytest.raises(ValueError, match="overlapping"):
        tree.edited([Edit(0, 5, "x"), Edit(4, 6, "y")])


def test_of_a_part_too_but_what_lies_within_an_edit_is_gone_with_it():
    tree = Tree("int a = 1;", Language.CUDA)
    with pytest.raises(ValueError, match="overlapping"):
        text_between(tree, 0, 10, [Edit(0, 5, "x"), Edit(4, 6, "y")])
    assert text_between(tree, 4, 10, [Edit(0, 3, "x"), Edit(4, 9, "b"), Edit(8, 9, "2"), Edit(9, 12, "y")]) == "b;"


def test_qualifiers_that_the_parser_does_not_see_are_found_before_their_declaration():
    parameters, tile = "__global float* a, const __global int* b", "__private __local\tfloat t[4];"
    text = f"void k({parameters}) {{\n  int n; {tile}\n#pragma unroll\n  int i;\n}}\n"
    tree = Tree(text, Language.OPENCL)
    nodes = {tree.text_of(node): node for node in of_kind(tree.root, "parameter_declaration", "declaration")}
    declared = {text: tree.qualifiers_before(node) for text, node in nodes.items()}
    assert declared == {
        "float* a": b"__global ",
        "const __global int* b": b"",
        "int n;": b"",
        "float t[4];": b"__private __local\t",
        "int i;": b"",
    }
    assert "int n; \n" in tree.edited([removed(tree, [nodes["float t[4];"]])])


def test_insertions_at_one_place_keep_their_order():
    assert Tree("ab", Language.CUDA).edited([Edit(1, 1, "1"), Edit(1, 1, "2")]) == "a12b"


def test_what_the_grammar_does_not_know_is_masked_and_comes_back():
    text = "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(__global float* restrict out) { out[0] = 1; }"
    tree = Tree(text, Language.OPENCL)
    assert not tree.root.has_error
    assert tree.text_of(tree.root) in text
    assert "__global float* restrict out" in tree.text


def test_a_pragma_before_a_body_without_braces_is_not_in_the_way():
    loops = "#pragma unroll\n  for (int i = 0; i < 4; ++i)\n#pragma unroll 2\n    for (int j = 0; j < 4; ++j) x[i] = j;"
    text = f"void f(float* x) {{\n{loops}\n}}"
    tree = Tree(text, Language.CUDA)
    assert not tree.root.has_error
    assert [tree.text_of(n).strip() for n in of_kind(tree.root, "preproc_call")] == ["#pragma unroll"]
    assert tree.text_of(tree.root) == text


@pytest.mark.parametrize(
    "statement",
    [
        "o[0] = (a < b && c >= d) ? 1 : 0;",
        "o[0] = (a >= 0 && a < b + 1 && c >= 0 && c < d) ? o[c] : 0;",
        "if (!(a < b[2] && c >= d)) return;",
        "if ((a < at(b, c) || c >= d) && e) o[0] = 1;",
        "bool z = (a < b->n &&\n          c >= d);",
        "if (a < b && c > (d)) o[0] = 1;",
        "bool z = (a < b && b < c && c < d && d >= e);",
    ],
)
def test_comparisons_are_not_taken_for_templates(statement):
    tree = Tree(f"__global__ void k(float* o, int a, int b, int c, int d, int e) {{ {statement} }}", Language.CUDA)
    assert not tree.root.has_error
    assert not any(of_kind(tree.root, "template_function", "template_argument_list"))
    compared = [tree.text_of(n) for n in of_kind(tree.root, "binary_expression") if text_of(field(n, "operator")) == "<"]
    assert len(compared) == statement.count(" < ")
    assert all(text.startswith(("a <", "b <", "c <")) for text in compared)
    assert [text_of(field(n, "operator")) for n in of_kind(tree.root, "assignment_expression")].count("=") <= 1


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(int* o, int a, int b, int c) { o[0] = b + a < b && c >= 0; }",  # the sum is what is compared
        "#define INSIDE (a < b && c >= 0)\n__global__ void k(int* o, int a, int b, int c) { o[0] = INSIDE; }",
        "__global__ void k(int* o, int a, int b, int c) {\n  o[0] = (a < b  // not yet\n          && c > 0);\n}",
        "template <typename T> __global__ void k(T* o, int c) { o[0] = at<T, 2>(c) && c >= 0; }",
    ],
)
def test_what_is_no_such_comparison_is_parsed_as_it_is(text):
    tree = Tree(text, Language.CUDA)
    assert text_of(tree.root) == text
    assert not tree.root.has_error


@pytest.mark.parametrize(
    ("text", "is_variable"),
    [
        ("void k(int row, int m) { float a = ((int)(row) + TS * (int)(f(1)) < m && (int)(i) + t < n ? 1 : 0) * 3; }", True),
        ("void k(const int m) { int a, row = 2; bool b = ((row) - TS * f(1) < m && (i) + t < n); }", True),
        (
            "typedef float row; void k(int m) { float a = ((int)(row) + TS * (int)(f(1)) < m && (int)(i) + t < n ? 1 : 0) * 3; }",
            False,
        ),
    ],
)
def test_variables_in_brackets_are_no_types(text: str, is_variable: bool):
    tree = Tree(text, Language.OPENCL)
    assert tree.text == text
    last = max((n for n in walk(tree.root) if text_of(n) == "row"), key=lambda n: n.start_byte)
    assert (last.type == "identifier") is is_variable
    assert tree.text_of(last) == "row"


@pytest.mark.parametrize(
    "body",
    [
        "extern __shared__ __align__(1024) char tile[];",
        "__shared__ __align__(alignof(float4)) float tile[64];",
        "float __align__(16) own[4];",
        "auto store = [=] __device__(float value) { out[0] = value; };",
        "auto store = [&] __host__ __device__ (float value) { out[0] = value; };",
    ],
)
def test_what_stands_in_a_declaration_is_no_obstacle(body: str):
    text = f"__global__ void __launch_bounds__(128, MIN(2, 4), 1) k(float* out) {{\n  {body}\n}}\n"
    tree = Tree(text, Language.CUDA)
    assert not tree.root.has_error
    assert tree.text_of(next(of_kind(tree.root, "compound_statement"))) == f"{{\n  {body}\n}}"


@pytest.mark.parametrize(
    "declaration",
    [
        "struct __align__(16) Pack { float x; };",
        "typedef struct __align__(16) { float x; } Pack;",
        "template <typename T> struct __builtin_align__(2 * sizeof(T)) Pack : Base<T> { __align__(8) T x; Pack() {} };",
        "union __align__(16) Pack { float x; };",
    ],
)
def test_the_alignment_that_decides_a_size_is_not_overlooked(declaration: str):
    for text in (declaration, f"__global__ void k() {{ {declaration} }}"):
        tree = Tree(text, Language.CUDA)
        assert tree.text == text
        assert not tree.root.has_error
        assert any(True for _ in of_kind(tree.root, "alignas_qualifier"))


def test_what_walks_remember_is_bounded_by_the_nodes_they_list():
    trees = [Tree(f"void f() {{ {'x = y + 1; ' * count} }}", Language.CUDA) for count in (3, 40, 5, 60, 7)]
    walks = _Walks(most_nodes=300)
    for tree in (*trees, *trees):
        for node in walk(tree.root):
            expected = [n for n in walk(node) if n.type == "identifier"]
            assert walks.of(node).get("identifier", _Kind(array("L"), [])).nodes == expected
            assert walks.listed <= max(300, len(list(walk(node))))
