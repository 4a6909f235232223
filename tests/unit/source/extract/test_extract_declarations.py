"""What pieces of source declare, told by tokens alone."""

from __future__ import annotations

import pytest

from warpsmith.devices._clang.tokens import tokenize
from warpsmith.source.extract.declarations import Kind, declarations
from warpsmith.source.extract.program import Program


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("__device__ int f(int a) { return a; }", Kind.FUNCTION, {"f"}),
        ("template <typename T> __global__ void __launch_bounds__(256) k(T* x) {}", Kind.FUNCTION, {"k"}),
        ("template <int N> __global__ BOUNDS(N) void k(int* x) {}", Kind.FUNCTION, {"k"}),
        ("template <std::integral T> requires (sizeof(T) == 4) DEVICE auto f(T a) -> T { return a; }", Kind.FUNCTION, {"f"}),
        (
            "template <typename T> requires std::integral<T> && (sizeof(T) > 2) DEVICE T f(T a) { return a; }",
            Kind.FUNCTION,
            {"f"},
        ),
        ("template <> __device__ float cast<float>(int x) { return x; }", Kind.FUNCTION, {"cast"}),
        ("template <typename T> __device__ void Box<T>::put(T x) { value = x; }", Kind.FUNCTION, {"Box", "put"}),
        ("__device__ Vec operator+(Vec a, Vec b) { return a; }", Kind.FUNCTION, {"operator"}),
        ("struct alignas(16) Vec { float x; };", Kind.TYPE, {"Vec"}),
        ("template <typename T, int N = 4> struct ALIGNED(16) Vec : Base<T> { T x[N]; };", Kind.TYPE, {"Vec"}),
        ("template <> struct Trait<float> { using type = int; };", Kind.TYPE, {"Trait"}),
        ("struct Later;", Kind.TYPE, {"Later"}),
        ("enum class Mode : int { kA, kB };", Kind.TYPE, {"Mode"}),
        ("enum Mode { A, B = 3 };", Kind.TYPE, {"Mode", "A", "B"}),
        ("struct { int x; } one, two;", Kind.TYPE, {"one", "two"}),
        ("typedef enum { A, B } Mode;", Kind.ALIAS, {"Mode", "A", "B"}),
        ("typedef struct tag { int x; } Name;", Kind.ALIAS, {"tag", "Name"}),
        ("typedef void (*callback)(int);", Kind.ALIAS, {"callback"}),
        ("typedef unsigned char byte, *bytes;", Kind.ALIAS, {"byte", "bytes"}),
        ("using half_t = __half;", Kind.ALIAS, {"half_t"}),
        ("template <typename T> using packed = typename Trait<T>::packed;", Kind.ALIAS, {"packed"}),
        ("using a::b, c::d;", Kind.ALIAS, {"b", "d"}),
        ("namespace cg = cooperative_groups;", Kind.ALIAS, {"cg"}),
        ("using namespace a::b;", Kind.USING_NAMESPACE, set()),
        ("inline constexpr std::size_t kBytes = WIDE ? 32 : 16;", Kind.VARIABLE, {"kBytes"}),
        ("template <typename T> constexpr bool is_half_v<T> = false;", Kind.VARIABLE, {"is_half_v"}),
        ("__constant__ float table[256];", Kind.VARIABLE, {"table"}),
        ("constexpr auto f = [](int a) { return a; };", Kind.VARIABLE, {"f"}),
        ("std::pair<int, float> p{1, 2}, q;", Kind.VARIABLE, {"p", "q"}),
        ("template <typename T> concept Small = sizeof(T) <= 2;", Kind.VARIABLE, {"Small"}),
        ("static_assert(sizeof(int) == 4);", Kind.NOTHING, set()),
        ("template __global__ void k<float>(float* x);", Kind.NOTHING, set()),
        ('extern "C" __global__ void k(int* x) {}', Kind.FUNCTION, {"k"}),
        ("struct Point make(int a) { return {a}; }", Kind.FUNCTION, {"make"}),
    ],
)
def test_kinds_and_names(text: str, kind: Kind, names: set[str]):
    (found,) = declarations(list(tokenize(text)))
    assert (found.kind, found.names) == (kind, names)


def test_namespaces_around():
    text = """int global;
namespace a { namespace b::c { int inner; } inline namespace v1 { int versioned; } int outer; }
namespace { int hidden; }
extern "C" { int linked; }
int last;
"""
    found = {name: d.scope for d in declarations(list(tokenize(text))) for name in d.names}
    assert found == {
        "global": (),
        "inner": ("a", "b", "c"),
        "versioned": ("a", "inline v1"),
        "outer": ("a",),
        "hidden": ("",),
        "linked": ('extern "C"',),
        "last": (),
    }


def test_macro_calls_go_by_what_they_declare():
    program = Program("#define OP(NAME) __device__ int NAME##_op(int x) { return x; }\nOP(twice)\nOP(half)\n")
    assert [d.names for d in program.declarations] == [{"twice_op"}, {"half_op"}]


def test_kernels_made_by_macros_are_kernels():
    program = Program(
        "#define KERNEL __global__ void\nKERNEL k(int* x) {}\n#define MAKE(N) __global__ void N(int* x) {}\nMAKE(made)\n"
    )
    assert [d.names for d in program.kernels()] == [{"k"}, {"made"}]
