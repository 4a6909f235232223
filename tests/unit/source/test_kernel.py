import pytest
from source_support import cuda

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.source.kernel import parse_kernel
from warpsmith.spec.entry import split_entry


def test_the_instance_binds_template_parameters_and_defaults_fill_the_rest():
    source = parse_kernel(
        "template <typename T, int N = 4> __global__ void k(T* out) { out[0] = N; }", Language.CUDA, "ns::k<float>"
    )
    assert dict(source.bindings) == {"T": "float", "N": "4"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("k", ("k", [])),
        ("k<float, 4>", ("k", ["float", "4"])),
        ("a::k<Pair<int, 2>, (3, 4)>", ("a::k", ["Pair<int, 2>", "(3, 4)"])),
    ],
)
def test_entries_are_split_at_the_commas_of_their_own_level(entry, expected):
    assert split_entry(entry) == expected


def test_parameters_in_order_with_their_stars():
    found = cuda("", signature="const float* __restrict__ a, float4 *b, int n").parameters
    assert [(p.name, p.depth) for p in found] == [("a", 1), ("b", 1), ("n", 0)]


def test_only_functions_that_are_called_are_reached():
    before = (
        "__device__ int inner() { return 1; }\n__device__ int used() { return inner(); }\n__device__ int idle() { return 2; }"
    )
    source = cuda("out[0] = used();", before=before)
    assert [source.text_of(body) for body in source.reached()[1:]] == ["{ return inner(); }", "{ return 1; }"]


def test_all_that_a_name_may_mean_is_reached():
    before = (
        "__device__ int f(int v) { return v; }\n__device__ float f(float v) { return v; }\n"
        "struct Own { int a; __device__ Own() : a(1) { a = 2; } };\n__device__ int operator+(Own l, Own r) { return l.a; }"
    )
    source = cuda("Own o; out[0] = f(1);", before=before)
    reached = [source.text_of(body) for body in source.reached()[1:]]
    assert sorted(reached) == [": a(1)", "{ a = 2; }", "{ return l.a; }", "{ return v; }", "{ return v; }"]


def test_a_host_function_of_that_name_is_no_kernel():
    with pytest.raises(InputError, match="no kernel 'k'"):
        parse_kernel("void k() {}", Language.CUDA, "k")


def test_a_kernel_that_is_not_understood_is_not_called_missing():
    with pytest.raises(InputError, match=r"the declaration of 'k' cannot be parsed \(line 6\)"):
        parse_kernel(
            "__global__ void\n#if FAST\n__launch_bounds__(1)\n__launch_bounds__(2)\n#endif\nk(float* out) { out[0] = 1; }",
            Language.CUDA,
            "k",
        )


def test_a_block_behind_an_unknown_macro_is_not_understood():
    assert cuda("struct S { int f() { return 1; } }; out[0] = S().f();").first_error() is None
    source = cuda("EACH_ELEMENT(i, n) { out[i] = 1; }")
    assert source.has_errors()
    assert source.text_of(source.first_error()) == "EACH_ELEMENT(i, n) { out[i] = 1; }"


def test_a_promise_under_an_if_counts_as_made():
    text = "#define N 64\n__global__ void\n#if M > 0\n  __launch_bounds__(N * (2), M)\n#endif\nk(float* out) { out[0] = 1; }"
    source = parse_kernel(text, Language.CUDA, "k")
    assert not source.has_errors()
    assert [source.text_of(c) for c in source.function.children if c.type == "launch_bounds"] == ["__launch_bounds__(N * (2), M)"]
    assert source.text == text


def test_an_opencl_helper_before_the_kernel_is_not_taken_for_it():
    text = "float twice(float x) { return 2 * x; }\n__kernel void k(__global float* out) { out[0] = twice(1); }"
    assert parse_kernel(text, Language.OPENCL, "k").line_of(parse_kernel(text, Language.OPENCL, "k").body) == 2
    with pytest.raises(InputError):
        parse_kernel(text, Language.OPENCL, "twice")
