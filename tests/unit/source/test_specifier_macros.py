from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.macro_calls import expanded
from warpsmith.source.specifier_macros import specifier_macros, without_specifier_macros


@pytest.mark.parametrize(
    ("head", "macros"),
    [
        ("__global__ BOUNDS(THREADS) void", ["BOUNDS"]),
        ('__global__ static MACRO((3), "a") __launch_bounds__(12) void', ["MACRO"]),
        ("__global__ void BOUNDS(1, 2) EXPORTED", ["BOUNDS", "EXPORTED"]),
        ("__global__ EMPTY void", ["EMPTY"]),
        ("__global__ void NONE()", ["NONE"]),
        ("template <int N> PUBLIC(N) __global__ void", ["PUBLIC"]),
        ('extern "C" API __global__ void', ["API"]),
        ("[[maybe_unused]] __global__ __launch_bounds__(64) void", []),
        ("__global__ // of one row\n BOUNDS(2)\n void", ["BOUNDS"]),
    ],
)
def test_a_kernel_is_read_whatever_macros_are_among_its_specifiers(head: str, macros: list[str]):
    source = parse_kernel(f"{head} softmax(float* out, int n) {{ out[n] = 1.0f; }}\n", Language.CUDA, "softmax")
    assert [p.name for p in source.parameters] == ["out", "n"]
    assert not source.has_errors()
    assert specifier_macros(source.tree.data, source.declarator.start_byte) == macros


@pytest.mark.parametrize(
    "text",
    [
        "// as a __global__ here\nint helper(int a) { return a; }\n",
        "/* as a __global__\n here */ int helper(int a) { return a; }\n",
        "#define KERNEL __global__ \\\n  static __global__\nint helper(int a) { return a; }\n",
        "#include <math.h>\n__global__ void k(int a);\n",
        "__global__ void __cluster_dims__(2, 1, 1) k(int a) {}\n",
    ],
)
def test_what_is_no_macro_among_specifiers_stays(text: str):
    assert without_specifier_macros(text.encode()) == text.encode()


def test_an_instance_that_is_written_apart_has_its_name_before_the_angles():
    data = b"template <> __global__ void B(1) X scale<float>(int a) {}"
    assert without_specifier_macros(data) == data.replace(b"B(1) X", b"      ")


def test_launch_bounds_behind_a_macro_are_written_out_where_it_is_clear_what_they_are():
    defines = "#define LB(x) __launch_bounds__(x)\n#define NONE(x)\n"
    assert expanded(f"{defines}__global__ LB(256) NONE(3) void k(int a) {{ }}\n", "k").text == (
        f"{defines}__global__ __launch_bounds__(256) NONE(3) void k(int a) {{ }}\n"
    )
    unclear = "#ifdef OLD\n#define LB(x) __launch_bounds__(x)\n#else\n#define LB(x)\n#endif\n__global__ LB(2) void k(int a) { }\n"
    found = expanded(unclear, "k")
    assert (found.text, found.hidden) == (unclear, None)
