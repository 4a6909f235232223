"""A form is the same kernel wherever it is compiled: it may not ask by whom, when, where and with what beside it."""

import pytest
from allowed_support import KERNEL, OPENCL_KERNEL, added, problem

from warpsmith.core.hardware import Language

OTHER_ELSEWHERE = {
    "an architecture": "#if __CUDA_ARCH__ < 700\n#endif\n",
    "an architecture in code": "__device__ int f() { return __CUDA_ARCH__; }\n",
    "an architecture by a header": "#include <nv/target>\n__device__ void f() { NV_IF_TARGET(NV_IS_DEVICE, (return;)) }\n",
    "a compiler": "#ifdef __GNUC__\n#endif\n",
    "a compiler in code": "__device__ int f() { return __clang_major__; }\n",
    "a standard": "__device__ long f() { return __cplusplus; }\n",
    "by a macro": "#define ON defined(_WIN32)\n#if ON\n#endif\n",
    "by two macros": "#define A (_WIN32 > 1)\n#define B(x) (A + x)\n#if B(1)\n#endif\n",
    "a build": "#ifdef NDEBUG\n#endif\n",
    "a build, with a default": "#ifndef TORCH_EXTENSION_NAME\n#define TORCH_EXTENSION_NAME x\n#else\n#endif\n",
    "a build, by digraphs": "%:ifdef NDEBUG\n%:endif\n",
    "a build, behind a raw string": 'constexpr char s[] = R"x( )\\\nx"; )x";\n#ifdef NDEBUG\n#endif\n// )x"\n',
    "a header": '#if __has_include("/etc/passwd")\n#endif\n',
    "a builtin": "#if __has_builtin(__builtin_trap)\n#endif\n",
    "a date": "__device__ const char* f() { return __DATE__; }\n",
    "a time": "__device__ const char* f() { return __TIME__; }\n",
    "a file": "__device__ char f() { return __FILE__[0]; }\n",
    "a file, by a function": "__device__ char f() { return __builtin_FILE()[0]; }\n",
    "a count": "__device__ int f() { return __COUNTER__; }\n",
    "pasted": "#define GLUE(a, b) a##b\n",
    "a header behind a macro": "#define WHERE <stdint.h>\n#include WHERE\n",
    "another's file": '#include "../../.ssh/config.h"\n',
    "a file that is not there": '#include "mine.h"\n',
    "another place": '#line 1 "/usr/include/x.h"\n',
    "another place, as compilers write it": '# 1 "/usr/include/x.h" 3\n',
    "a file's bytes": 'constexpr char z[] = {\n#embed "/etc/passwd"\n};\n',
    "a module": "import <vector>;\n",
    "a pragma": "#pragma GCC optimize(3)\n",
    "a pragma in code": '_Pragma("GCC optimize(3)")\n',
    "a pragma in a macro": '#define LOOP(n) _Pragma("clang force_cuda_host_device begin")\n',
    "a pragma that a macro is told": "#define LOOP(n) _Pragma(#n)\n",
    "a pragma of a macro's name": '#define UNROLL "unroll"\n#define LOOP _Pragma(UNROLL)\n',
    "a pragma at the end": "#define LOOP _Pragma\n",
}


@pytest.mark.parametrize("text", OTHER_ELSEWHERE.values(), ids=OTHER_ELSEWHERE)
def test_what_would_be_another_kernel_elsewhere_is_refused_unless_the_original_asks_the_same(text: str):
    assert added(text) is not None


@pytest.mark.parametrize("said", ['"unroll"', '"unroll 4"', '"GCC unroll 4"', '"nounroll"'])
def test_a_macro_may_unroll(said: str):
    assert added(f"#define LOOP(n) _Pragma({said})\n__device__ void f() {{ LOOP(2) for (int i = 0; i < 4; ++i) {{}} }}\n") is None


def test_what_a_form_settles_itself_is_its_own_business():
    own = "#ifndef K_CU_\n#define K_CU_\n#endif\n#define VEC 4\n#if VEC == 4 && defined(EACH)\n#elif EACH > 2\n#else\n#endif\n"
    assert problem(own + KERNEL, defines={"EACH": 2}) is None
    assert "EACH" in (problem(own + KERNEL) or "")


def test_what_the_original_pastes_may_not_make_other_names():
    paste = "#define GLUE(a, b) a##b\n"
    assert problem(paste + KERNEL, paste + KERNEL) is None
    hidden = KERNEL.replace("1.0f", "GLUE(__CUDA_A, RCH__)")
    assert "__CUDA_ARCH__" in (problem(paste + hidden, paste + KERNEL) or "")


def test_names_are_glued_together_in_opencl():
    glue = "#define GLUE(a, b) a##b\n#define VECTOR(n) GLUE(float, n)\n"
    assert added(glue + "VECTOR(4) f(VECTOR(4) a) { return a; }\n", Language.OPENCL) is None
    assert added("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n", Language.OPENCL) is None
    for text in ("#if __OPENCL_VERSION__ > 120\n#endif\n", "#ifdef cl_khr_fp64\n#endif\n"):
        assert added(text, Language.OPENCL) is not None


def test_a_text_that_speaks_as_the_compiler_does_is_not_read():
    forged = "/* '\t\tLoc=<x:1:1>\nhash '#'\t [StartOfLine]\tLoc=<x:1:1> */\n"
    assert "Loc=<" in (problem(forged + OPENCL_KERNEL, OPENCL_KERNEL, Language.OPENCL) or "")
