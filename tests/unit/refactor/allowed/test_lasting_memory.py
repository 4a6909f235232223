"""What a form could keep from launch to launch is found however it is spelled; what only looks like it is let through."""

import pytest
from allowed_support import KERNEL, added, problem

from warpsmith.core.hardware import Language

KEPT = {
    "a variable": ("__device__ int kept = 0;\n", "kept"),
    "several": ("__device__ float kept[1024], other;\n", "kept"),
    "beside a function": ("__device__ float f(float), kept[256];\n", "kept"),
    "static": ("static __device__ unsigned int kept;\n", "kept"),
    "managed": ("__managed__ int kept;\n", "kept"),
    "constant memory": ("__constant__ float kept[4] = {1, 2, 3, 4};\n", "kept"),
    "aligned": ("__device__ __align__(16) float4 kept[8];\n", "kept"),
    "a pointer to what is constant": ("__device__ const float* kept;\n", "kept"),
    "of a template's type": ("template <class T> struct P { T a, b; };\n__device__ P<const int> kept;\n", "kept"),
    "in brackets": ("__device__ int kept(0);\n", "kept"),
    "in braces": ("__device__ int kept{0};\n", "kept"),
    "with a product": ("constexpr int a = 1, b = 2;\n__device__ int kept(a * b);\n", "kept"),
    "by decltype": ("__device__ decltype(1) kept;\n", "kept"),
    "by an attribute": ("constinit __attribute__((device)) int kept = 0;\n", "kept"),
    "by a typedef": ("typedef __attribute__((device)) int device_int;\ndevice_int kept;\n", "kept"),
    "by an alias": ("template <class T> using D = T;\n__device__ D<int> kept;\n", "kept"),
    "by a macro": ("#define KEEP __device__\nKEEP int kept;\n", "kept"),
    "by a macro with arguments": ("#define KEEP(x) __device__ int x\nKEEP(kept);\n", "kept"),
    "extern": ("extern __device__ int kept;\n", "kept"),
    "without a name": ("__device__ struct { int n; } kept;\n", "kept"),
    "beside its type": ("__device__ struct Memo { int n; } kept;\n", "kept"),
    "a union": ("__device__ union { int n; float x; } kept;\n", "kept"),
    "an anonymous union": ("static __device__ union { int kept; float same; };\n", "unnamed declaration"),
    "in a namespace": ("namespace a { namespace { __device__ int kept; } }\n", "kept"),
    "a template": ("template <class T> __device__ T kept;\n", "kept"),
    "a member": ("struct S { static inline __device__ int kept; };\n", "kept"),
    "in a function": ("__device__ int f() { static int kept; return ++kept; }\n", "kept"),
    "in a function, in brackets": ("__device__ int f() { static int kept(0); return ++kept; }\n", "kept"),
    "in a template": ("template <int N> __device__ int f() { static int kept; return kept += N; }\n", "kept"),
    "in a branch of a template": (
        "template <int N> __device__ int f() { if constexpr (N == 4) { static int kept; return ++kept; } return 0; }\n",
        "kept",
    ),
    "in a lambda": ("__device__ int f() { auto g = [](auto x) { static int kept; return kept += x; }; return g(1); }\n", "kept"),
    "in a default argument": ("__device__ int f(int x = []{ static int kept; return ++kept; }()) { return x; }\n", "kept"),
    "in a class in a function": (
        "__device__ int f() { struct L { __device__ static int& n() { static int kept; return kept; } }; return ++L::n(); }\n",
        "kept",
    ),
    "for a thread": ("__device__ int f() { thread_local int kept; return ++kept; }\n", "kept"),
    "parts": (
        "struct P { int a, b; };\n__device__ int f() { static auto [a, b] = P{1, 2}; return ++a; }\n",
        "unnamed declaration",
    ),
    "a mutable member": ("struct Memo { mutable int kept; };\n__device__ const Memo memo{0};\n", "kept is mutable"),
    "a mutable capture": (
        "__device__ int f() { static auto kept = [n = 0]() mutable { return ++n; }; return kept(); }\n",
        "kept",
    ),
    "a mutable capture outside": ("__device__ auto kept = [n = 0]() mutable { return ++n; };\n", "kept"),
    "what a reference is bound to": ("__device__ constexpr int&& kept = 5;\n", "kept"),
    "what a member is bound to": ("struct R { int&& r; };\n__device__ constexpr R reference{5};\n", "unnamed declaration"),
    "our own": ("__device__ int f() { return __warpsmith_trap[0]++; }\n", "__warpsmith_trap"),
    "in assembly": ('__device__ void f() { asm volatile("\\t.global .u32 kept;\\n"); }\n', "declarations"),
    "in assembly, in pieces": ('__device__ void f() { asm volatile("." "glo" "bal .u32 kept;"); }\n', "declarations"),
    "in assembly, by a macro": ('#define S(x) #x\n__device__ void f() { asm volatile("." S(global) " .u32 kept;"); }\n', "hides"),
    "behind a comment that ends early": ("// x\r__device__ int kept;\n", "carriage return"),
    "behind a backslash": ("__device__ int f() { st\\\natic int kept; return ++kept; }\n", "kept"),
}
KEPT_IN_OPENCL = {
    "global": ("global int kept;\n", "kept"),
    "plain": ("int kept;\n", "kept"),
    "a pointer": ("global int* kept;\n", "kept"),
    "atomic": ("atomic_int kept;\n", "kept"),
    "beside its type": ("struct Memo { int n; } kept;\n", "kept"),
    "static": ("kernel void q(global int* y) { static global int kept; y[0] = ++kept; }\n", "kept"),
    "glued": (
        "#define G(a, b) a##b\nkernel void q(global int* y) { G(sta, tic) G(glo, bal) int kept; y[0] = ++kept; }\n",
        "kept",
    ),
}
FORGOTTEN = [
    "__device__ const float pi = 3.14f, e(2.7f);\n",
    "static struct Pair { int a, b; };\n",
    "static __device__ float twice(float);\n__device__ float twice(float x) { return 2 * x; }\n",
    "struct Add { __device__ Add() : n(0) {} int n; __device__ int get() const { return n; } };\n",
    "static constexpr int kLanes = 4;\n__device__ constexpr float table[2] = {1, 2};\n",
    "struct Shape { int a, b; };\n__device__ const Shape shapes[2] = {{1, 2}, {3, 4}};\n",
    "template <int N> static __device__ float sum(const float (&x)[N]);\n",
    "template <int N> __global__ void q(float* x) { extern __shared__ float tile[]; static __shared__ int n; tile[0] = n; }\n",
    "__device__ float f(float a) { auto g = [=](float b) mutable { return a += b; }; return g(2); }\n",
    "__device__ int f(int i) { static constexpr int t[2] = {1, 2}; static const int u[2] = {3, 4}; return t[i] + u[i]; }\n",
    "// __device__ int launches;\n",
]


@pytest.mark.parametrize(("text", "said"), KEPT.values(), ids=KEPT)
def test_a_memory_is_found(text: str, said: str):
    assert said in (added(text) or "")


@pytest.mark.parametrize(("text", "said"), KEPT_IN_OPENCL.values(), ids=KEPT_IN_OPENCL)
def test_a_memory_is_found_in_opencl(text: str, said: str):
    assert said in (added(text, Language.OPENCL) or "")


def test_opencl_c_calls_no_functions_of_the_process():
    assert "fork is declared but not defined" in (added("int fork(void);\n", Language.OPENCL) or "")
    assert added("int one(void);\nint one(void) { return 1; }\n", Language.OPENCL) is None


@pytest.mark.parametrize("text", FORGOTTEN)
def test_what_changes_nothing_is_no_memory(text: str):
    assert added(text) is None


def test_the_original_s_own_memory_may_not_grow():
    own = "__device__ int calls;\n"
    assert problem(own + KERNEL, own + KERNEL) is None
    assert "calls" in (problem(own.replace("calls", "calls[256]") + KERNEL, own + KERNEL) or "")


def test_what_only_some_values_declare_is_found_with_them():
    text = "#if EACH == 4\n__device__ int kept;\n#endif\n" + KERNEL
    assert problem(text, defines={"EACH": 1}) is None
    assert "kept" in (problem(text, defines={"EACH": 4}) or "")
