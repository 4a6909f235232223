"""A form is device code and nothing else: what a host would run, or another compiler would read differently, is refused."""

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.refactor.allowed import require_allowed
from warpsmith.spec.bundled import bundled_path
from warpsmith.spec.load import load_kernel

KERNEL = "__global__ void k(float* y, int n) {\n  if (threadIdx.x < n) y[threadIdx.x] = 1.0f;\n}\n"
HOST_RUNS = {
    "a variable": 'int z = system("x");\n',
    "in brackets": 'int z(system("x"));\n',
    "a constant": 'const int z = system("x");\n',
    "an object": "struct S { S(); };\nS s;\n",
    "an object beside its type": "struct S { S() { puts(); } } s;\n",
    "a constant object": "struct S { int a; S(int b) { puts(); } };\nconst S s = {1};\n",
    "a member": 'struct S { static inline const int z = system("x"); };\n',
    "a function": "void boo() { puts(); }\n",
    "a constructor": "__attribute__((constructor)) __host__ __device__ void boo() {}\n",
    "assembly": 'asm(".incbin \\"/etc/passwd\\"");\n',
    "in a namespace": 'namespace a { int z = system("x"); }\n',
    "behind a default": "__device__ void f(int a = 3) {}\nint z = system();\n",
    "behind an operator": "struct S;\n__device__ S& operator=(S& a) {}\nint z = system();\n",
    "by a macro": '#define MORE int z = system("x");\nMORE\n',
    "by a macro with arguments": '#define MORE(a) int z = system("x");\nMORE(1)\n',
    "by a macro of two meanings": '#define A int z = system("x");\n#undef A\n#define A\nA\n',
    "in one branch": "#if 0\n#else\nint z = system();\n#endif\n",
    "behind a hidden bracket": "__device__ void f() {\n#if 0\n#else\n}\n#endif\nint z = system();\n#if 0\n}\n#endif\n",
    "behind a spliced comment": "__device__ void f() { /\\\n* } */ }\nint z = system();\n",
}
OTHER_ELSEWHERE = {
    "an architecture": "#if __CUDA_ARCH__ < 700\n#endif\n",
    "a compiler": "#ifdef __GNUC__\n#endif\n",
    "by a macro": "#define ON defined(_WIN32)\n#if ON\n#endif\n",
    "a header": '#if __has_include("/etc/passwd")\n#endif\n',
    "pasted": "#define GLUE(a, b) a##b\n",
    "a digraph": "%:define A\n",
    "a header behind a macro": "#define WHERE <stdint.h>\n#include WHERE\n",
}
FINE = (
    """\
#include <stdint.h>
#define DEV static __device__ __forceinline__
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#pragma once
using real = float;
typedef struct { float x; } Pair;
enum Mode { A, B = 2 };
template <typename T, int N = 4> struct alignas(sizeof(T) * N) Pack { T lane[N]; __device__ T sum() const { return lane[0]; } };
struct Sum { static constexpr float kIdentity = 0.0f; __device__ float operator()(float a, float b) const { return a + b; } };
template <> struct Pack<double, 1>;
static const unsigned int kTable[2][2] = {{1, 2}, {3, 4}};
constexpr int kWarp = 32;
static_assert(kWarp == 32, "warps");
namespace detail { DEV float twice(float x) { return MIN(x, 2.0f) * 2.0f; } }
extern "C" { __device__ void helper(float* y); }
extern __shared__ float scratch[];
template <int N> __global__ void __launch_bounds__(256) wide(float* y, int n);
__device__ int least(int a, int b, int c) { return a < b % c ? a : c < b ? c < a : b; }
"""
    + KERNEL
)


@pytest.mark.parametrize("text", [*HOST_RUNS.values(), *OTHER_ELSEWHERE.values()], ids=[*HOST_RUNS, *OTHER_ELSEWHERE])
def test_what_is_not_device_code_is_refused_unless_the_original_has_it(text: str):
    with pytest.raises(InputError):
        require_allowed(text + KERNEL, KERNEL, Language.CUDA)
    if "etc/passwd" not in text and "static" not in text:
        require_allowed(text + KERNEL.replace("1.0f", "2.0f"), text + KERNEL, Language.CUDA)


def test_device_code_is_let_through():
    require_allowed(FINE, KERNEL, Language.CUDA)


@pytest.mark.parametrize("name", ["softmax", "matmul", "fused_add_rmsnorm", "merge_attn_states_lse", "conv2d"])
def test_kernels_as_people_write_them_are_device_code(name: str):
    assert bundled_path(name) is not None
    kernel = load_kernel(name)
    require_allowed(kernel.source.read_text(), "", kernel.language)


def test_braces_that_a_condition_opens_and_closes_again_are_understood():
    """As templates have them: one loop more, or not."""
    looped = KERNEL.replace("  if", "#if ROWS > 1\n  for (int r = 0; r < ROWS; ++r) {\n#endif\n  if")
    looped = looped.replace("}\n", "#if ROWS > 1\n  }\n#endif\n}\n")
    require_allowed(looped, KERNEL, Language.CUDA)
    with pytest.raises(InputError, match="code for the host"):
        require_allowed(looped + "int z = system();\n", KERNEL, Language.CUDA)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("__device__ int f() { st\\\natic int calls; return ++calls; }\n", "calls would outlive"),
        ('#inc\\ \nlude "/etc/passwd"\n', "/etc/passwd"),
    ],
)
def test_a_backslash_in_the_middle_of_a_word_hides_nothing(text: str, reason: str):
    with pytest.raises(InputError, match=reason):
        require_allowed(text + KERNEL, KERNEL, Language.CUDA)


def test_names_are_glued_together_in_opencl_but_not_to_keep_something():
    kernel = "kernel void k(global float* y) { y[get_global_id(0)] = 1; }\n"
    glue = "#define GLUE(a, b) a##b\n#define VECTOR(n) GLUE(float, n)\n"
    require_allowed(glue + kernel.replace("= 1", "= ((VECTOR(4))(1)).x"), kernel, Language.OPENCL)
    kept = kernel.replace("{", "{ GLUE(sta, tic) GLUE(glo, bal) int calls; ++calls;")
    with pytest.raises(InputError, match="hides"):
        require_allowed(glue + kept, kernel, Language.OPENCL)
