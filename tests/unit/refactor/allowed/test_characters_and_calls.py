"""What compilers read differently, and calls of clocks, allocators and printers: refused unless the original has them."""

import pytest
from allowed_support import KERNEL, added, problem

from warpsmith.core.hardware import Language

BODY = "__device__ long long f(float* p) { %s }\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("// sum\rint x;\n", "a carriage return that does not end a line"),
        ("// \0 sum\n", "a control character"),
        ("// sum \\ \n;\n", "a backslash followed by trailing blanks"),
        ("// why??/\n;\n", "a trigraph"),
        ("#if 0\n??=else\n#endif\n", "a trigraph"),
    ],
)
def test_characters_that_compilers_read_differently(text: str, named: str):
    assert f"a form may not have {named}" in (added(text) or "")


@pytest.mark.parametrize("text", ["// why?? (it is so)\r\n", "#define A(x) \\\n  x\n", "// a tab\t, a café, \f and a ?? b\n"])
def test_ordinary_characters(text: str):
    assert added(text) is None


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("return clock64();", "clock64"),
        ("return clock();", "clock"),
        ("auto now = &clock64; return now();", "clock64"),
        ("return __builtin_readcyclecounter();", "__builtin_readcyclecounter"),
        ("return (long long)malloc(4);", "malloc"),
        ('printf("x"); return 0;', "printf"),
    ],
)
def test_clocks_heaps_and_printers(body: str, name: str):
    assert f"a form may not call {name}: " in (added(BODY % body) or "")


def test_names_behind_names():
    assert "may not call clock64" in (added("#define NOW clock64\n" + BODY % "return NOW();") or "")
    assert "may not call clock64" in (added("template <class T> __device__ T g(T) { return clock64(); }\n") or "")


@pytest.mark.parametrize("body", ["float* q = new float[4]; return q[0];", "return *new float(1);"])
def test_new_is_refused_and_placement_is_not(body: str):
    assert "a form may not use new: allocated memory would outlive the launch" in (added(BODY % body) or "")
    placed = "struct A { float v; };\ninline __device__ void* operator new(size_t, A* at) noexcept { return at; }\n"
    assert added(placed + BODY % "A a; return (new (&a) A{1.0f})->v;") is None


@pytest.mark.parametrize("register", ["%clock64", "%globaltimer", "%%clock"])
def test_clocks_of_the_assembler(register: str):
    reading = f'unsigned long long t; asm volatile("mov.u64 %0, {register};" : "=l"(t)); return t;'
    assert "may not read %" in (added(BODY % reading) or "")


def test_what_is_only_called_like_a_clock():
    assert added(BODY % "int clock = 1, printf = 2; return clock + printf;") is None


def test_memory_of_a_literal_at_file_level_outlives_a_launch():
    assert "would outlive the launch" in (added("__device__ float* const kept = (float[4]){};\n") or "")
    assert added(BODY % "const float2 v = (float2){1, 2}; return v.x;") is None


@pytest.mark.parametrize(
    "asks", ["__is_target_arch(nvptx64)", "__builtin_object_size(p, 0) == 4", '__builtin_amdgcn_processor_is("gfx942")']
)
def test_other_questions_for_the_compiler(asks: str):
    assert "a form may not depend on __" in (added(BODY % f"return {asks};") or "")


def test_opencl_prints_no_more_than_cuda():
    kernel = "kernel void k(global float* y) { y[get_global_id(0)] = 1.0f; }\n"
    printing = kernel.replace("1.0f;", '1.0f; printf("x");')
    assert "may not call printf" in (problem(printing, kernel, Language.OPENCL) or "")
    assert problem(printing, printing, Language.OPENCL) is None
    assert problem(KERNEL) is None
