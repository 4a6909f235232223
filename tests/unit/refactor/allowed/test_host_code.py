"""A form is device code and nothing else: what a host would run is refused, however it is spelled."""

import pytest
from allowed_support import KERNEL, added, problem

from warpsmith.core.hardware import Language

CALL = 'extern "C" int system(const char*);\n'
HOST_RUNS = {
    "a variable": CALL + 'int z = system("x");\n',
    "in brackets": CALL + 'int z(system("x"));\n',
    "a constant": CALL + 'const int z = system("x");\n',
    "a constant that calls": "template <int N> int f() { return N; }\nconst int z = f<1>();\n",
    "beside an enumeration": "__host__ __device__ int boo() { return 1; }\nenum E { A } e = (E)boo();\n",
    "an object": "struct S { S(); };\nS s;\n",
    "an object beside its type": "struct S { S() {} } s;\n",
    "a constant object": "struct S { int a; S(int b) {} };\nconst S s = {1};\n",
    "a destructor": "struct S { int a; constexpr S() : a(0) {} ~S() {} };\nconstinit S s;\n",
    "a destructor of an aggregate": "struct S { int a; ~S() {} };\nconst S s = {1};\n",
    "a member": CALL + 'struct S { static inline const int z = system("x"); };\n',
    "a function": "void boo() {}\n",
    "a method": "struct S { void boo() {} };\n",
    "main": "int main() { return 0; }\n",
    "main for both": "__host__ __device__ int main() { return 0; }\n",
    "a library's name": 'extern "C" __host__ __device__ void* malloc(size_t n) { return 0; }\n',
    "operator new": "__host__ __device__ void* operator new(size_t n) { return 0; }\n",
    "a name of the standard's": "namespace std { __host__ __device__ void terminate() noexcept {} }\n",
    "a constructor": "__attribute__((constructor)) __host__ __device__ void boo() {}\n",
    "a constructor in brackets": "[[gnu::constructor]] __host__ __device__ void boo() {}\n",
    "a destructor function": "__attribute__((destructor)) __host__ __device__ void boo() {}\n",
    "ifunc": '__attribute__((ifunc("r"))) void h();\n',
    "an alias": '__device__ int g() { return 1; }\nextern "C" __device__ int h() __attribute__((alias("_Z1gv")));\n',
    "a weak alias": "#pragma weak boo = other\n",
    "a section": '__attribute__((section(".init_array"))) __device__ const int z = 1;\n',
    "a symbol": '__device__ __host__ int g() asm("main");\n',
    "assembly": 'asm(".incbin \\"/etc/passwd\\"");\n',
    "assembly for both": '__host__ __device__ void f() { asm(".pushsection .init_array"); }\n',
    "in a namespace": CALL + 'namespace a { int z = system("x"); }\n',
    "behind a default": CALL + 'inline __device__ void f(int a = 3) {}\nint z = system("x");\n',
    "by a macro": CALL + '#define MORE int z = system("x");\nMORE\n',
    "by a macro with arguments": CALL + '#define MORE(a) int z = system("x");\nMORE(1)\n',
    "in one branch": CALL + '#if 0\n#else\nint z = system("x");\n#endif\n',
    "behind a hidden bracket": "__device__ void f() {\n#if 0\n#else\n}\n#endif\nint z = 1;\n#if 0\n}\n#endif\n",
    "behind a spliced comment": "__device__ void f() { /\\\n* } */ }\nint z = 1;\n",
}
FINE = (
    """\
#include <stdint.h>
#include <type_traits>
#define DEV static __device__ __forceinline__
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#pragma once
using real = float;
typedef struct { float x; } Pair;
typedef float (*Function)(float);
enum Mode { A, B = 2 };
enum class Kind : int { Sum, Max };
union Bits { float f; unsigned u; };
template <typename T, int N = 4> struct alignas(sizeof(T) * N) Pack { T lane[N]; __device__ T sum() const { return lane[0]; } };
struct Sum { static constexpr float kIdentity = 0.0f; __device__ float operator()(float a, float b) const { return a + b; } };
struct Plain { float a = 0; Plain() = default; Plain(const Plain&) = default; };
template <> struct Pack<double, 1>;
template <class T> using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
static const unsigned int kTable[2][2] = {{1, 2}, {3, 4}};
const int kCount = 2, kBytes = kCount * sizeof(float);
constexpr int kWarp = 32;
constexpr auto square = [](int x) { return x * x; };
constexpr int lg(int n) { return n <= 1 ? 0 : 1 + lg(n / 2); }
consteval int two() { return 2; }
static_assert(lg(kWarp) == 5, "warps");
__host__ __device__ __forceinline__ int up(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ int down(int a, int b) { return a / b; }
__device__ Sum operator+(Sum a, Sum b) { return a; }
namespace detail { DEV float twice(float x) { return MIN(x, 2.0f) * 2.0f; } }
extern "C" { __device__ void helper(float* y); }
extern __shared__ float scratch[];
template <int N> __global__ void __launch_bounds__(256) wide(float* y, int n);
__device__ int least(int a, int b, int c) { return a < b % c ? a : c < b ? c < a : b; }
__device__ int lane() { int r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__device__ int set(int a) {
  int r;
  asm("{ .reg .pred p; setp.ne.s32 p, %1, 0;\\n\\t.reg .b32 t; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "r"(a));
  return r;
}
__device__ void put(float* p, float v) { asm volatile("st.global.f32 [%0], %1;" :: "l"(p), "f"(v)); }
"""
    + KERNEL
)


@pytest.mark.parametrize("text", HOST_RUNS.values(), ids=HOST_RUNS)
def test_what_is_not_device_code_is_refused_unless_the_original_has_it(text: str):
    assert added(text) is not None


@pytest.mark.parametrize("text", ["int main() { return 0; }\n", "int z = 1;\n", "struct S { ~S() {} } s;\n"])
def test_in_hip_too(text: str):
    assert "code for the host" in (added(text, Language.HIP) or "")


def test_a_host_function_that_the_original_has_may_not_become_another():
    host = "#include <vector>\nvoid run(float* y) { k<<<1, 32>>>(y, 3); }\n"
    assert problem(KERNEL.replace("1.0f", "2.0f") + f"// the same\n{host}", KERNEL + host) is None
    assert problem(KERNEL + host.replace("3)", '3), system("x")'), KERNEL + host) is not None


@pytest.mark.parametrize(
    "more", ["", "#include <cuda_fp16.h>\n", "#include <cooperative_groups.h>\n", "#include <cub/cub.cuh>\n"]
)
def test_device_code_is_let_through(more: str):
    assert problem(more + FINE) is None


def test_braces_that_a_condition_opens_and_closes_again_are_understood():
    """As templates have them: one loop more, or not."""
    looped = KERNEL.replace("  if", "#if ROWS > 1\n  for (int r = 0; r < ROWS; ++r) {\n#endif\n  if")
    looped = looped.replace("}\n", "#if ROWS > 1\n  }\n#endif\n}\n")
    for rows in (1, 2):
        assert problem(looped, defines={"ROWS": rows}) is None
        assert "code for the host" in (problem(looped + "int z = 1;\n", defines={"ROWS": rows}) or "")
