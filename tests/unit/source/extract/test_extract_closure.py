"""What a kernel pulls in: names as C++ looks them up, roughly; too much rather than too little, but nothing for the host."""

from __future__ import annotations

import pytest

from warpsmith.source.extract.closure import closure_of
from warpsmith.source.extract.program import Program


def taken(text: str) -> set[str]:
    """The names taken along with the one kernel, without its own."""
    program = Program(text)
    closure = closure_of(program, [kernel for kernel in program.kernels() if "k" in kernel.names], [])
    return {name for d in closure.declarations for name in d.names} - {"k"} | {m.name for m in closure.macros if not m.is_end}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__device__ int f() { return g(); } __device__ int g(); __global__ void k() { f(); }", {"f", "g"}),
        ("int f() { return 1; } __global__ void k() { f(); }", set()),
        ("int state; const int limit = 3; __global__ void k(int* x) { x[0] = limit + state; }", {"limit"}),
        ("struct A { int f; }; __device__ int f(); __global__ void k(A* a) { a->f = a[0].f; }", {"A"}),
        ("namespace a { __device__ int f(); } namespace b { __device__ int f(); } __global__ void k() { a::f(); }", {"f"}),
        ("enum E { A, B }; __global__ void k(int* x) { x[0] = B; }", {"E", "A", "B"}),
        ("#define ONE 1\n#define TWO (ONE + ONE)\n#define THREE 3\n__global__ void k(int* x) { x[0] = TWO; }", {"ONE", "TWO"}),
        ("#define CALL(x) helper(x)\n__device__ int helper(int); __global__ void k() { CALL(1); }", {"CALL", "helper"}),
        ("__global__ void other() {} __global__ void k() { other(); }", set()),
    ],
)
def test_names(text: str, expected: set[str]):
    assert taken(text) == expected


def test_a_qualifier_chooses():
    text = "namespace a { __device__ int f(); } namespace b { __device__ int f(); } __global__ void k() { a::f(); }"
    program = Program(text)
    assert [d.scope for d in closure_of(program, program.kernels(), []).declarations] == [("a",), ()]


def test_only_what_is_visible():
    text = """namespace a { struct Hidden {}; __device__ int hidden(int); }
namespace b { __global__ void k() { int Hidden = 0; hidden(Hidden); } }
"""
    assert taken(text) == set()


def test_calls_find_functions_by_their_arguments_types():
    text = """namespace a { struct V {}; __device__ float length(V v) { return helper(v); } __device__ float helper(V v); }
namespace b { struct W {}; __device__ float length(W w); }
__global__ void k(a::V* v, float* out) { out[0] = length(v[0]); }
"""
    assert taken(text) == {"V", "length", "helper"}
    program = Program(text)
    assert {d.scope for d in closure_of(program, program.kernels(), []).declarations} == {("a",), ()}


def test_inline_namespaces_are_seen_through():
    text = "namespace a { inline namespace v1 { struct S {}; __device__ int f(int); } __global__ void k() { S s; f(1); } }"
    assert taken(text) == {"S", "f"}
    outside = "namespace a { inline namespace v1 { __device__ int f(int); } } __global__ void k() { a::f(1); }"
    assert taken(outside) == {"f"}


def test_opened_namespaces_are_searched():
    text = "namespace a::b { struct S {}; } __global__ void k() { using namespace a::b; S s; }"
    assert taken(text) == {"S"}


def test_specialisations_come_with_their_template():
    text = "template <typename T> struct S; template <> struct S<int> { int x; }; __global__ void k() { S<int> s; }"
    program = Program(text)
    assert len(closure_of(program, program.kernels(), []).declarations) == 3


def test_specialisations_of_others_templates_come_with_their_type():
    others = "namespace std { template <> struct hash<V> {}; template <> struct hash<W> {}; }"
    text = f"struct V {{}}; {others} __global__ void k() {{ V v; }}"
    assert taken(text) == {"V", "hash"}
    program = Program(text)
    assert len(closure_of(program, program.kernels(), []).declarations) == 3


def test_directives_are_kept_where_they_open_something():
    text = "namespace a { struct S {}; } namespace b { using namespace a; using namespace c; __global__ void k() { S s; } }"
    program = Program(text + " namespace c { struct T {}; }")
    closure = closure_of(program, program.kernels(), [])
    assert [" ".join(t.text for t in d.item.tokens) for d in closure.directives] == ["using namespace a ;"]


def test_a_macro_that_stands_for_members_is_needed():
    assert taken("#define REGISTER(T) using type = T\nstruct S { REGISTER(int); int x; }; __global__ void k() { S s; }") == {
        "S",
        "REGISTER",
    }
