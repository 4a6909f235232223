from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource, parse_kernel
from warpsmith.source.dataflow import changed_names, declared_names, dependents, exits, is_fixed, is_in_inner_loop, is_pure


def _source(body: str, before: str = "") -> KernelSource:
    text = f"{before}\n__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n"
    return parse_kernel(text, Language.CUDA, "k")


@pytest.mark.parametrize(
    ("statement", "pure"),
    [
        ("float a = expf(x[0]) + fmaxf(x[1], 2.0f);", True),
        ("int a = static_cast<int>(n) * 2;", True),
        ("float a = twice(x[0]);", True),
        ("float a = counted(x[0]);", False),
        ("int a = n++;", False),
        ("int a = atomicAdd(out, 1.0f);", False),
        ("float a = unheard_of(n);", False),
    ],
)
def test_is_pure(statement: str, pure: bool):
    functions = """__device__ float twice(float v) { const float two = 2.0f; return two * v; }
__device__ int calls;
__device__ float counted(float v) { calls = calls + 1; return v; }"""
    source = _source(statement, functions)
    assert is_pure(source.body, source) is pure


@pytest.mark.parametrize(("defined", "pure"), [("int", True), ("unsigned long", True), ("scale", False)])
def test_a_macro_for_a_type_casts(defined: str, *, pure: bool):
    source = _source("float a = x[(INDEX)(n)];", f"#define INDEX long\n#undef INDEX\n#define INDEX {defined}")
    assert is_pure(source.body, source) is pure


@pytest.mark.parametrize(
    ("first", "rest", "fixed"),
    [
        ("const float a = x[0];", "out[0] = a;", True),
        ("float a = x[0];", "out[0] = a;", True),
        ("float a = x[0];", "a += 1.0f;", False),
        ("float a = x[0];", "change(a);", False),  # may take a reference
        ("const float a = x[0];", "change(a);", True),
        ("float* p = out + n;", "p[0] = 1.0f;", True),  # what it points to changes, it does not
        ("float* p = out + n;", "p += 1;", False),
        ("float a[4] = {};", "a[0] = 1.0f;", False),
        ("float a;", "out[0] = 1.0f;", False),
        ("Pack v = make_pack();", "v.load(x);", False),
        ("using T = float;", "out[0] = T(1);", True),
        ("out[0] = 1.0f;", "", False),
    ],
)
def test_is_fixed(first: str, rest: str, fixed: bool):
    source = _source(f"{first}\n{rest}")
    statement, *after = source.body.named_children
    assert is_fixed(statement, after, source) is fixed


def test_assembly_changes_its_outputs_and_what_an_address_may_lead_to():
    source = _source(
        'asm("add.s32 %0, %1, 1;" : "=r"(a[i]) : "r"(b)); asm volatile("st.global.b32 [%0], %1;" ::"l"(out), "r"(c) : "memory");'
    )
    assert changed_names(source.body, source) == {"a", "out", "c"}


def test_what_assembly_computes_follows_from_what_it_reads():
    source = _source('int a, b, c; asm("add.s32 %0, %1, 1;" : "=r"(a) : "r"(b)); c = a; ')
    assert dependents({"b"}, [source.body]) == {"a", "b", "c"}


def test_changed_names():
    source = _source("int a = 0, b = 0, c[2], d = 0;\na++;\nf(&b);\nc[a] = 1;\nfloat e = sqrtf(d);\nout[0] = e;")
    assert changed_names(source.body, source) == {"a", "b", "c", "out"}


def test_dependents_follow_values_and_conditions():
    source = _source("int a = n;\nint b = a + 1;\nint c = 0;\nif (b > 3) c = 1;\nint d = 5;\nwhile (c < 2) d++;\nint e = 7;")
    found = dependents({"a"}, source.body.named_children)
    assert found == {"a", "b", "c", "d"}


def test_a_condition_around_the_statements_does_not_count():
    source = _source("for (int i = 0; i < n; ++i) { int a = 1; int b = i; }")
    (loop,) = source.body.named_children
    inside = loop.named_children[-1].named_children
    assert dependents({"i"}, inside) == {"i", "b"}


def test_exits_of_the_kernel_itself():
    source = _source("auto f = [&](int a) { return a; };\nif (n) return;\nfor (;;) { if (n > 1) return; }")
    found = list(exits(source.body))
    assert len(found) == 2
    assert [is_in_inner_loop(node, source.body) for node in found] == [False, True]


def test_declared_names():
    source = _source("const float *a = x, b[2] = {}, c = 1.0f;")
    assert declared_names(source.body.named_children[0]) == ["a", "b", "c"]


@pytest.mark.parametrize(("defined", "pure"), [("sqrtf", True), ("scale", False), ("sqrt(x) + f", False)])
def test_a_macro_for_a_function_is_that_function(defined: str, *, pure: bool):
    source = _source("float a = SQRT(x[0]);", f"#define SQRT sqrt  // in double precision\n#undef SQRT\n#define SQRT {defined}")
    assert is_pure(source.body, source) is pure
