"""The lexer and what is built on it: host code out, assembly out, line numbers kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.devices._clang.host_code import without_host_code, without_host_headers, without_host_lines
from warpsmith.devices._clang.preprocess import Diagnostic
from warpsmith.devices._clang.tokens import tokenize
from warpsmith.devices.cpu.assembly import MARKER, without_assembly
from warpsmith.devices.cpu.set_aside import without_refused_code


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a+=b; // c\n/* d */ e->f", ["a", "+=", "b", ";", "e", "->", "f"]),
        ('x = "a\\"b // c";', ["x", "=", '"a\\"b // c"', ";"]),
        ('R"d(a)b)d" y', ['R"d(a)b)d"', "y"]),
        ("  #define X 1 \\\n 2\n3", ["  #define X 1 \\\n 2", "3"]),
        ("1.5e-3f 0x1p-3 1'000 .5", ["1.5e-3f", "0x1p-3", "1'000", ".5"]),
        ("k<<<1, 2>>>(p)", ["k", "<<<", "1", ",", "2", ">>>", "(", "p", ")"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert [token.text for token in tokenize(text)] == tokens


@given(st.text(alphabet="ab \n\"'/*\\#R()1.<>", max_size=40))
def test_tokens_are_where_they_say(text: str) -> None:
    for token in tokenize(text):
        assert text[token.start : token.end] == token.text
        assert token.line == text.count("\n", 0, token.start) + 1


KERNEL = "__global__ void k(float* p) { p[0] = 1; }"


@pytest.mark.parametrize(
    "host",
    [
        "int main(int argc, char** argv) { return 0; }",
        "void go(float* p) { k<<<1, 2>>>(p); }",
        "template <class T> void go(T* p) { k<T><<<1, 2>>>(p); }",
        'extern "C" void go() { cudaDeviceSynchronize(); }',
        "FOO_API void go(std::vector<int>& v) { v.clear(); }",
        "torch::Tensor forward(torch::Tensor x);",
        'PYBIND11_MODULE(name, m) { m.def("x", &forward); }',
        "static void copy(float* a) {\n  cudaMalloc(&a, 4);\n}",
        "Runner::Runner() : size{1}, other(2) { cudaStreamCreate(&stream); }",
        "std::vector<int> all = {1, 2, 3};",
    ],
)
def test_host_code_is_blanked(host: str) -> None:
    text = f"{KERNEL}\n{host}\n{KERNEL}\n"
    blanked = without_host_code(text)
    assert blanked.split() == f"{KERNEL} {KERNEL}".split()
    assert blanked.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "device",
    [
        KERNEL,
        "template <class T, int N = 4> __global__ void __launch_bounds__(256) k(T* p) { p[0] = N; }",
        "__host__ __device__ inline float f(float x) { return x; }",
        "#define DEVICE __device__ inline\nDEVICE float f(float x) { cudaError_t e; return x; }",
        "constexpr int tile() { return 16; }",
        "namespace a { struct P { int x; }; __constant__ float c[3]; }",
        "struct S { float x; __device__ float get() { return x; } };",
        "using T = float; enum class Mode { A, B };",
        "inline float helper(float x) { return x * 2; }",
    ],
)
def test_device_code_stays(device: str) -> None:
    assert without_host_code(device) == device


def test_host_members_of_a_class_for_both_sides_go() -> None:
    blanked = without_host_code("struct S { void print() { std::cout << x; } __device__ float get() { return x; } float x; };")
    assert "cout" not in blanked
    assert "get" in blanked
    assert "float x;" in blanked


def test_directives_inside_host_code_stay() -> None:
    assert without_host_code("int main() {\n#if X\n  f();\n#endif\n}\n").split("\n")[1::2] == ["#if X", "#endif", ""]


def test_a_kernel_inside_unbalanced_branches_is_never_blanked() -> None:
    text = f"#if A\nint main() {{\n#else\nint main(int) {{\n#endif\n}}\n{KERNEL}\n"
    assert KERNEL in without_host_code(text)


def test_branches_of_which_each_closes_what_was_opened() -> None:
    host = "void go() {\n  cudaFree(\n#if A\n    p);\n#else\n    q);\n#endif\n}"
    assert without_host_code(f"{host}\n{KERNEL}").split("\n")[-1] == KERNEL
    assert "cudaFree" not in without_host_code(f"{host}\n{KERNEL}")


def test_templates_with_defaults_are_items_of_their_own() -> None:
    heads = [
        "template <int N = 4>",
        "template <class T = a<b<int>>, bool = (1 > 0)>",
        "template <class T>\ntemplate <class U = T>",
    ]
    text = "\n".join(f"{head} void f() {{\n#pragma unroll\n  for (;;) {{}}\n}}" for head in heads)
    line = text.split("\n").index("  for (;;) {}") + 1
    assert (without_host_lines(text, [line]) or "").strip() == text.split("}\n", 1)[1].split("\n", 1)[1]


def test_macro_calls_without_a_semicolon_are_items() -> None:
    text = f"INSTANTIATE(float)\nINSTANTIATE(double)\n__launch_bounds__(64)\n{KERNEL}"
    assert (without_host_lines(text, [1]) or "").split("\n", 1)[1] == text.split("\n", 1)[1]
    assert without_host_lines(text, [3]) is None


def test_lines_of_host_code_on_demand() -> None:
    text = f"{KERNEL}\nUnknown x;\nvoid f() {{\n  undeclared();\n}}\n"
    assert without_host_lines(text, [1]) is None
    assert (without_host_lines(text, [4]) or "").split() == f"{KERNEL} Unknown x;".split()
    assert (without_host_lines(text, [2, 4]) or "").split() == KERNEL.split()


def test_classes_are_blanked_only_on_demand() -> None:
    params = "struct Params { cudaStream_t stream; void run() { k<<<1, 1>>>(out); } float* out; };"
    assert " ".join(without_host_code(params).split()) == "struct Params { cudaStream_t stream; float* out; };"
    assert (without_host_lines(params, [1]) or params).isspace()


@pytest.mark.parametrize(
    "special", ["template <> struct Limit<float> { int x = y; };", "template <class T> struct Limit<T*> {};"]
)
def test_specialisations_stay_for_the_general_template_would_take_their_place(special: str) -> None:
    assert without_host_lines(special, [1]) is None


def test_only_headers_for_hosts_may_be_missing(tmp_path) -> None:
    (tmp_path / "c10").mkdir()
    (tmp_path / "c10" / "own.h").touch()
    text = '#include <torch/extension.h>\n#include <c10/own.h>\n#include <ATen/ATen.h>\n#include "mine.h"\nint x;'
    assert without_host_headers(text, ["torch/extension.h"], [tmp_path]) == '\n#include <c10/own.h>\n\n#include "mine.h"\nint x;'
    assert without_host_headers(text, ["mine.h"], [tmp_path]) == text


def test_assembly_becomes_a_marker() -> None:
    text = 'asm volatile("mov %0, 1;\\n"\n  : "=r"(x));\nint y; __asm__("");'
    unknown = int.from_bytes(b"mov", "big")  # its name, in a form that is left in the code until it is refused
    assert without_assembly(text) == f"{MARKER}({unknown}ul)\n;\nint y; ((void)0);"
    assert without_assembly("int basm; asm_like(1);") == "int basm; asm_like(1);"


def errors(*lines: int, text: str = "use of undeclared identifier 'bad'") -> list[Diagnostic]:
    return [Diagnostic("x.cu", line, "error", text) for line in lines]


def test_refused_kernels_go_and_refused_functions_become_markers() -> None:
    other = "template <int N>\n__global__ void other(float* p) {\n  p[0] = bad(N);\n}"
    function = "struct S {\n  __device__ float f(float x) {\n    float y = x;\n    return bad(y);\n  }\n};"
    text = f"{KERNEL}\n{other}\n{function}\n"
    assert without_refused_code(text, errors(1), "k") is None
    assert without_refused_code(text, errors(4), "a::other<3>") is None
    assert (without_refused_code(text, errors(4), "k") or "").split() == f"{KERNEL} {function}".split()
    marked = without_refused_code(text, errors(4, 9), "k") or ""
    assert marked.split("\n")[8].split() == ["__warpsmith_set_aside();"]
    function = function.replace("float y = x;", "").replace("return bad(y);", "__warpsmith_set_aside();")
    assert marked.split() == f"{KERNEL} {function}".split()


def test_a_function_goes_only_if_its_declaration_names_an_unknown_type() -> None:
    text = f"__device__ bad f(bad x) {{ return x; }}\n{KERNEL}"
    once = without_refused_code(text, errors(1), "k") or ""
    assert "bad f(bad x)" in once
    assert (without_refused_code(once, errors(1), "k") or "").split() == KERNEL.split()
    assert without_refused_code(once, errors(1, text="redefinition of 'f'"), "k") is None


def test_a_class_goes_only_if_its_head_names_an_unknown_type() -> None:
    text = f"template <> struct Traits<Bad> {{ int x = Bad(); }};\n{KERNEL}"
    in_head, in_body = (Diagnostic("x.cu", 1, "error", "unknown type name 'Bad'", column) for column in (27, 42))
    assert text[26:29] == text[41:44] == "Bad"
    assert (without_refused_code(text, [in_head], "k") or "").split() == KERNEL.split()
    assert without_refused_code(text, [in_body], "k") is None


BRANCHES = """#ifndef WIDE
#define WIDE 1
#endif
#define DEEP 2
__global__ void k(float* x) {
#if WIDE == 1
  if (x) {
#elif WIDE >= 2 && DEEP == 2
  for (;;) { if (x) {
#endif
    x[0] = 1;
#if WIDE != 1  // closes what it opened
  } }
#else
  }
#endif
}
int main() { cudaMalloc(0, 1); }
"""


@pytest.mark.parametrize("defines", [{}, {"WIDE": 1}, {"WIDE": 2}, {"WIDE": 4, "DEEP": 2}])
def test_braces_that_match_within_one_configuration_only(defines):
    assert without_host_code(BRANCHES, defines) == BRANCHES.replace("int main() { cudaMalloc(0, 1); }", " " * 32)
