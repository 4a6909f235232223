from dataclasses import replace

import pytest
from source_support import cuda, initialiser, value_of

from warpsmith.core.hardware import Language
from warpsmith.source import Names, parse_kernel
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import Edit, of_kind, text_of
from warpsmith.spec.load import load_kernel


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7 / 2", 3), ("-7 / 2", -3), ("-7 % 3", -1), ("1 << 4", 16), ("sizeof(float) * 4u", 16), ("0x10", 16), ("(8)", 8),
     ("static_cast<int>(5)", 5), ("(int)5", 5), ("n", None), ("1 / 0", None), ("in[0]", None),
     ("9" * 5000, None)],
)  # fmt: skip
def test_integers_are_computed_as_c_does(text, expected):
    assert value_of(cuda(f"const int v = {text};"), "v") == expected


def test_constants_of_the_file_macros_and_template_arguments_are_known():
    before = "#define WIDTH (HALF * 2)\n#define HALF 8\nconstexpr int kTile = WIDTH;"
    source = cuda("const int v = kTile / sizeof(T);", signature="T* out", before=before, entry="k<double>")
    assert value_of(source, "v") == 2


def test_the_innermost_declaration_counts_and_only_from_its_place_on():
    source = cuda("const int a = 1; { const int b = a; const int a = 2; const int c = a; }")
    assert (value_of(source, "b"), value_of(source, "c")) == (1, 2)


def test_what_changes_is_not_fixed():
    source = cuda("int a = 1; a += 2; const int v = a; int b = 3; const int w = b; int c = 4; read(&c); const int x = c;")
    assert [value_of(source, name) for name in "vwx"] == [None, 3, None]


def test_a_pointer_to_const_may_move():
    source = cuda("const float* p = in; ++p; out[0] = *p;")
    use = [n for n in of_kind(source.body, "identifier") if text_of(n) == "p"][-1]
    assert not Names(source).definition(use).is_fixed


def test_origins():
    source = cuda("for (int i = 0; i < n; ++i) out[i] = unknown;")
    found = {text_of(n): Names(source).definition(n).origin for n in of_kind(source.body, "identifier")}
    assert found == {"i": Origin.LOOP, "n": Origin.PARAMETER, "out": Origin.PARAMETER, "unknown": Origin.UNKNOWN}


def test_expressions_speak_of_workloads_and_parameters():
    kernel = load_kernel("rope")
    text = kernel.source.read_text().replace("16 / sizeof(T)", "VEC_BYTES / sizeof(T)")
    source = parse_kernel(text, kernel.language, kernel.entry)
    names = Names(source, {"VEC_BYTES"}, kernel)
    assert names.expression(initialiser(source, "packs")) == "((head_dim / 2) / (VEC_BYTES / 4))"
    assert names.value(initialiser(source, "packs")) is None
    assert names.expression(initialiser(source, "head")) is None  # it depends on the thread


def test_a_scalar_argument_is_what_the_spec_says_it_is():
    kernel = load_kernel("merge_attn_states_lse")
    source = parse_kernel(kernel.source.read_text() + "\n", kernel.language, kernel.entry)
    rows = next(n for n in of_kind(source.body, "identifier") if text_of(n) == "rows")
    assert Names(source, (), kernel).expression(rows) == "(tokens * heads)"
    assert Names(source, (), replace(kernel, arguments=())).expression(rows) is None


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [("threadIdx.x", Language.CUDA, "threadIdx.x"), ("(blockDim . y)", Language.HIP, "blockDim.y"),
     ("get_group_id(2)", Language.OPENCL, "blockIdx.z"), ("get_local_size(0)", Language.OPENCL, "blockDim.x"),
     ("get_global_id(0)", Language.OPENCL, None), ("other.x", Language.CUDA, None)],
)  # fmt: skip
def test_builtin_names_in_one_spelling(text, language, expected):
    mark = "__kernel" if language is Language.OPENCL else "__global__"
    source = parse_kernel(f"{mark} void k() {{ int v = {text}; }}", language, "k")
    assert Names(source).builtin(initialiser(source, "v")) == expected


def test_an_argument_that_the_kernel_changes_is_not_what_the_launch_gave():
    kernel = load_kernel("rope")
    plain = parse_kernel(kernel.source.read_text(), kernel.language, kernel.entry)
    at = plain.body.start_byte + 1
    source = parse_kernel(plain.edited(Edit(at, at, "\n  head_dim -= 2;")), kernel.language, kernel.entry)
    use = next(n for n in of_kind(source.body, "identifier") if text_of(n) == "head_dim")
    assert Names(source, (), kernel).expression(use) is None


def test_a_type_is_what_its_name_stands_for():
    before = "typedef float real;\nusing number = real;\n#define DATA number\n"
    names = Names(cuda("", before=before))
    assert names.type_named("DATA") == "float"
    two = Names(cuda("", before="#ifdef WIDE\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"))
    assert two.type_named("real") == "real"


def test_kernel_toml_may_define_what_decides_a_macro():
    text = "#ifdef WIDE\n#define N 8\n#else\n#define N 4\n#endif\n__global__ void k(float* out) { const int v = N; }"
    source = parse_kernel(text, Language.CUDA, "k")
    kernel = replace(load_kernel("rope"), defines={"WIDE": 1})
    assert Names(source).value(initialiser(source, "v")) == 4
    assert Names(source, (), kernel).value(initialiser(source, "v")) is None
