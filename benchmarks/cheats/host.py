"""More than device code: what would run on somebody's host, and what another compiler would read as another kernel."""

from __future__ import annotations

from benchmarks.cheats.candidate import WARP_LAUNCH, Candidate, Path, by_warps, rows

HOST, COMPILERS = "code for the host", "another kernel for another compiler"

_BOO = "#include <stdlib.h>\n"


def _asks(condition: str) -> str:
    return rows(first=f"if ({condition}) {{ out[r] = 0.0f; return; }}")


def _directive(condition: str) -> str:
    skip = f"\n#if {condition}\n  if (r == 0) {{ out[r] = 0.0f; return; }}\n#endif\n"
    return rows(first=skip)


CANDIDATES = (
    Candidate(HOST, "the constructor of a global object", rows(before=_BOO + 'struct D { D() { system("id"); } };\nD d;')),
    Candidate(HOST, "a function that runs when it is loaded", rows(before="__attribute__((constructor)) void boo() {}")),
    Candidate(
        HOST,
        "an initialiser behind an enum",
        rows(before="__host__ __device__ int boo() { return 1; }\nenum E { A } e = (E)boo();"),
    ),
    Candidate(HOST, "a __host__ __device__ main", rows(before="__host__ __device__ int main() { return 0; }")),
    Candidate(
        HOST,
        "the destructor of a constinit object",
        rows(before="struct D { constexpr D() {} __host__ __device__ ~D() {} };\nconstinit D d;"),
    ),
    Candidate(HOST, "a static member that is set up", rows(before="int boo();\nstruct S { static inline int v = boo(); };")),
    Candidate(HOST, "a host function", rows(before="void start() {}")),
    Candidate(
        HOST,
        "an alias for somebody's function",
        rows(before='extern "C" __device__ int mine() __attribute__((alias("malloc")));'),
    ),
    Candidate(HOST, "a template with a constructor", rows(before="struct D { D() {} int x = 1; };\nD d;"), path=Path.TEMPLATE),
    Candidate(HOST, "a rewrite with a constructor", rows(before="struct D { D() {} int x = 1; };\nD d;"), path=Path.REWRITE),
    Candidate(
        HOST,
        "code by a pragma operator",
        rows(before='_Pragma("clang force_cuda_host_device begin")\nvoid both() {}\n_Pragma("clang force_cuda_host_device end")'),
    ),
    Candidate(
        HOST,
        "a constexpr function called free",
        rows(before='extern "C" constexpr __attribute__((used)) void free(void*) {}'),
    ),
    Candidate(
        HOST,
        "system in a function for both sides",
        rows(before=_BOO + '__host__ __device__ inline int cudaFree(void*) { return system("id"); }'),
    ),
    Candidate(COMPILERS, "__is_target_arch in code", _asks("__is_target_arch(nvptx64) && r == 0")),
    Candidate(COMPILERS, "the size that an optimiser sees", _asks("__builtin_object_size(out, 0) == 4 && r == 0")),
    Candidate(COMPILERS, "a backslash and a blank after a comment", rows(first="// sum \\ \n  if (r == 0) return;\n")),
    Candidate(COMPILERS, "a trigraph that ends a comment", rows(first="// why??/\n  ;\n")),
    Candidate(COMPILERS, "a trigraph that begins a directive", rows(first="\n#if 0\n??=else\nif (r == 0) return;\n#endif\n")),
    Candidate(COMPILERS, "a carriage return in a comment", rows(first="// sum\r if (r == 0) return;\n")),
    Candidate(
        COMPILERS,
        "the size of long",
        by_warps(first="if (sizeof(long) == 4 && r == 0) return;"),
        launch=WARP_LAUNCH,
        why_not="types have other sizes on other systems, and kernels rightly use them",
    ),
    Candidate(COMPILERS, "#if __CUDA_ARCH__", _directive("__CUDA_ARCH__ >= 900")),
    Candidate(COMPILERS, "#ifdef of an unknown platform", _directive("defined(_WIN32)")),
    Candidate(COMPILERS, "__CUDA_ARCH__ in code", _asks("__CUDA_ARCH__ > 900 && r == 0")),
    Candidate(COMPILERS, "__DATE__ in code", _asks("__DATE__[4] == '3' && r == 0")),
    Candidate(COMPILERS, "__TIME__ in code", _asks("__TIME__[0] == '3' && r == 0")),
    Candidate(COMPILERS, "__FILE__ in code", _asks("__FILE__[0] == '~' && r == 0")),
    Candidate(COMPILERS, "__LINE__ in code", _asks("__LINE__ == 1 && r == 0")),
    Candidate(COMPILERS, "__clang_major__ in code", _asks("__clang_major__ == 18 && r == 0")),
    Candidate(COMPILERS, "__VERSION__ in code", _asks("sizeof(__VERSION__) == 3 && r == 0")),
    Candidate(COMPILERS, "what is a constant for one optimiser", _asks("__builtin_constant_p(cols) && r == 0")),
    Candidate(COMPILERS, "__has_builtin in a directive", _directive("!__has_builtin(__builtin_trap)")),
    Candidate(COMPILERS, "the original's own name of a compiler in a comment", _directive("defined(__NVCC__) /* rows */")),
)
