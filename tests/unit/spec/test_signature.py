"""kernel.toml against the kernel's own declaration: what cannot be right is refused, and nothing else."""

from __future__ import annotations

import pytest

from warpsmith.core.errors import InputError
from warpsmith.spec.load import load_kernel

ARGUMENTS = {
    "x": '{ dtype = "f32", shape = ["n"] }',
    "out": '{ dtype = "f32", shape = ["n"], role = "out" }',
    "n": '{ dtype = "i32", value = "n" }',
    "alpha": '{ dtype = "f32", value = 1.5 }',
}
SOURCE = "__global__ void k(const float* x, float* out, int n, float alpha) { out[0] = x[0] * alpha; }\n"


@pytest.fixture
def load(tmp_path):
    def make(source=SOURCE, *, name="k.cu", entry="k", extra="", arguments=None, **changed):
        (tmp_path / name).write_text(source)
        listed = (ARGUMENTS | changed) if arguments is None else arguments
        lines = [f"{argument} = {text}" for argument, text in listed.items() if text]
        (tmp_path / "kernel.toml").write_text(
            f'[kernel]\nname = "k"\nsource = "{name}"\nentry = "{entry}"\n{extra}\n[arguments]\n'
            + "\n".join(lines)
            + '\n[launch]\ngrid = ["n"]\nblock = [32]\n[workloads]\na = { n = 64 }\n'
        )
        return load_kernel(tmp_path)

    return make


def refused(load, *given, **changed):
    with pytest.raises(InputError) as caught:
        load(*given, **changed)
    return caught.value


def one(declared, dtype, body="out[0] = 1;", prefix=""):
    """A kernel with one argument to look at."""
    kind = "value = 1" if "*" not in declared else "shape = [4]"
    arguments = {"out": '{ dtype = "f32", shape = [4], role = "out" }', "a": f'{{ dtype = "{dtype}", {kind} }}'}
    return f"{prefix}\n__global__ void k(float* out, {declared}) {{ {body} }}", arguments


def test_what_fits_is_loaded(load):
    assert load().name == "k"


def test_names_are_free(load):
    renamed = {"a": ARGUMENTS["x"], "b": ARGUMENTS["out"], "c": ARGUMENTS["n"], "alpha": ARGUMENTS["alpha"]}
    assert load(arguments=renamed).name == "k"


def test_an_argument_is_missing(load):
    error = refused(load, n=None)
    assert "the kernel takes 4 arguments, kernel.toml has 3: after 'out' the kernel has `int n`" in error.message
    assert "k.cu:1: k(const float* x, float* out, int n, float alpha)" in error.hint
    assert error.location.line == 8
    assert "first the kernel has `const float* x`" in refused(load, x=None).message
    free = {"a": ARGUMENTS["x"], "b": ARGUMENTS["n"], "c": ARGUMENTS["alpha"]}
    error = refused(load, arguments={**free, "out": ""}, source=SOURCE)
    assert "after 'a' the kernel has `float* out`" in error.message


def test_a_parameter_that_is_declared_twice_is_the_one_too_many(load):
    error = refused(load, SOURCE.replace("int n,", "int n, int n,"))
    assert error.message == "the kernel takes 5 arguments, kernel.toml has 4: after 'n' the kernel has `int n`"


def test_an_argument_too_many(load):
    error = refused(load, beta='{ dtype = "f32", value = 1.0 }')
    assert "the kernel takes 4 arguments, kernel.toml has 5: it has no 'beta'" in error.message


def test_another_order(load):
    error = refused(load, arguments={name: ARGUMENTS[name] for name in ("out", "x", "n", "alpha")})
    assert error.message == "'out' stands where the kernel has `const float* x`"
    assert error.hint == "the kernel's order: x, out, n, alpha"


def test_pointers_and_values(load):
    error = refused(load, x='{ dtype = "f32", value = 1.0 }')
    assert error.message == "'x' has a value, but the kernel has `const float* x`"
    error = refused(load, n='{ dtype = "i32", shape = ["n"] }')
    assert error.message == "'n' has a shape, but the kernel has `int n`"
    assert 'dtype = "i32", value' in error.hint
    # A structure by value is described by its bytes.
    source = "struct P { int n; };\n" + SOURCE.replace("int n", "P n").replace("alpha)", "alpha, float4 v)")
    assert load(source, n='{ dtype = "u8", shape = [4] }', v='{ dtype = "f32", shape = [4] }').name == "k"


def test_what_is_written_through_a_pointer_to_const(load):
    error = refused(load, x='{ dtype = "f32", shape = ["n"], role = "out" }')
    assert "which it cannot write" in error.message
    source = SOURCE.replace("{", "{ float* y = const_cast<float*>(x);", 1)
    assert load(source, x='{ dtype = "f32", shape = ["n"], role = "out" }').name == "k"


@pytest.mark.parametrize(
    ("declared", "dtype", "expected"),
    [
        ("float a", "i32", "f32"),
        ("float a", "f64", "f32"),
        ("const float a", "f16", "f32"),
        ("double a", "f32", "f64"),
        ("int a", "f32", "i32"),
        ("bool a", "f32", "bool"),
        ("int64_t a", "i32", "i64"),
        ("size_t a", "i32", "u64"),
        ("unsigned long long int a", "u32", "u64"),
        ("half a", "f32", "f16"),
        ("__nv_bfloat16 a", "f16", "bf16"),
        ("float4 a", "f32", "f32"),
        ("const float* a", "f64", "f32"),
        ("const float* a", "f16", "f32"),
        ("float* __restrict__ a", "i32", "f32"),
        ("const double* a", "f32", "f64"),
        ("const half* a", "f32", "f16"),
        ("const __nv_bfloat16* a", "f16", "bf16"),
        ("const half2* a", "f32", "f16"),
        ("const int* a", "f32", "i32"),
        ("const int* a", "i64", "i32"),
        ("const int64_t* a", "i32", "i64"),
        ("const unsigned int* a", "f64", "u32"),
        ("const float a[]", "f64", "f32"),
    ],
)
def test_types_that_cannot_be_right(load, declared, dtype, expected):
    source, arguments = one(declared.replace("a[]", "* a"), dtype)
    error = refused(load, source, arguments=arguments)
    assert error.message.startswith(f"'a' is {dtype}, but the kernel has `")
    assert f'dtype = "{expected}"' in error.hint
    assert error.location.line == 8


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ("unsigned a", "i32"),
        ("Mode a", "i32"),
        ("int a", "i64"),
        ("long a", "i32"),
        ("long a", "i64"),
        ("bool a", "u8"),
        ("half a", "u16"),
        ("int2 a", "i64"),
        ("const uchar4* a", "u8"),
        ("const float4* a", "f32"),
        ("const float4* a", "f16"),
        ("const uint4* a", "bf16"),
        ("const uint4* a", "f64"),
        ("const float* a", "u8"),
        ("const void* a", "f64"),
        ("const char* a", "f32"),
        ("const uint32_t* a", "f16"),
        ("const int* a", "i8"),
        ("const unsigned short* a", "bf16"),
        ("const Thing* a", "f64"),
        ("const float* const* a", "u64"),
        ("std::uint32_t a", "u32"),
        ("const c10::Half* a", "f16"),
    ],
)
def test_types_that_may_be_right(load, declared, dtype):
    source, arguments = one(declared, dtype)
    assert load(source, arguments=arguments).name == "k"


def test_casts_and_bits_say_what_memory_it_is(load):
    for declared, dtype, body in [
        ("const float* a", "f64", "out[0] = reinterpret_cast<const double*>(a)[0];"),
        ("const float* a", "f64", "out[0] = ((const double*)&a[0])[0];"),
        ("const int* a", "f32", "out[0] = __int_as_float(a[0]);"),
        ("const float* a", "f16", "out[0] = reinterpret_cast<const Pack*>(a + 1)->x;"),
    ]:
        source, arguments = one(declared, dtype, body)
        assert load(source, arguments=arguments).name == "k"


@pytest.mark.parametrize(
    ("prefix", "declared", "entry", "dtype", "fits"),
    [
        ("template <typename T>", "const T* a", "k<float>", "f64", False),
        ("template <typename T>", "const T* a", "k<double>", "f64", True),
        ("template <typename T, int N = 4>", "const T* a", "k<half>", "f32", False),
        ("template <typename T = double>", "T a", "k<>", "f32", False),
        ("template <typename T>", "const T* a", "k<Mine>", "f64", True),
        ("template <typename... T>", "T* a", "k<float>", "f64", True),
        ("template <int N, typename T>", "T a", "k<4, int>", "f32", False),
        ("typedef double real;", "const real* a", "k", "f32", False),
        ("using real = float;\nusing scalar = real;", "const scalar* a", "k", "f64", False),
        ("#define real float", "const real* a", "k", "f64", False),
        ("#ifdef D\n#define real double\n#else\n#define real float\n#endif", "const real* a", "k", "f64", True),
        ("using real = typename Traits<float>::type;", "const real* a", "k", "f64", True),
    ],
)
def test_names_for_types(load, prefix, declared, entry, dtype, fits):
    source, arguments = one(declared, dtype, prefix=prefix)
    if fits:
        assert load(source, arguments=arguments, entry=entry).name == "k"
    else:
        assert f"'a' is {dtype}" in refused(load, source, arguments=arguments, entry=entry).message


def test_what_a_definition_from_outside_decides_is_let_through(load):
    source, arguments = one("const real* a", "f64", prefix="#ifndef real\n#define real float\n#endif")
    assert load(source, arguments=arguments, extra='defines = { real = "double" }').name == "k"


@pytest.mark.parametrize(
    "source",
    [
        "#define ARGS const float* x\n__global__ void k(ARGS) {}",
        "__global__ void k(const float* x,\n#ifdef N\nint n,\n#endif\nfloat* out) {}",
        "#define KERNEL(n) __global__ void n(float* x)\nKERNEL(k) {}",
        "template <typename... A> __global__ void k(A... a) {}",
        "__global__ void k(float* a);\n__global__ void k(const float* x, float* out, int n, float alpha) {}",
        "#if OLD\n__global__ void k(float* a) {}\n#else\n" + SOURCE + "#endif",
        '#include "other.cuh"\nvoid launch() { k<<<1, 1>>>(0); }',
        "namespace a { __global__ void k(int n) {} }\n" + SOURCE,
    ],
)
def test_what_is_not_plain_is_let_through(load, source):
    assert load(source).name == "k"


def test_kernels_of_included_files_count(load, tmp_path):
    (tmp_path / "inner.cuh").write_text(SOURCE)
    assert load('#include "inner.cuh"\n').name == "k"
    assert "has 3: after 'out'" in refused(load, '#include "inner.cuh"\n', n=None).message


def test_opencl(load):
    source = """\
__kernel void k(__global const float* restrict x, __global float4* out, __local float* tile, const int n, float alpha) {
  out[0] = x[0];
}
"""
    assert load(source, name="k.cl").name == "k"
    error = refused(load, source, name="k.cl", tile='{ dtype = "f32", shape = [4] }')
    assert "`__local float* tile` is not one of them" in error.message
    assert "[launch] shared" in error.hint
    error = refused(load, source, name="k.cl", x='{ dtype = "f64", shape = ["n"] }')
    assert error.message == "'x' is f64, but the kernel has `__global const float* restrict x`"
    assert refused(load, source, name="k.cl", alpha='{ dtype = "i32", value = 1 }').message.startswith("'alpha' is i32")


def test_hip(load):
    source = '#include <hip/hip_runtime.h>\nextern "C" ' + SOURCE
    assert load(source, name="k.hip").name == "k"
    assert "after 'n' the kernel has `float alpha`" in refused(load, source, name="k.hip", alpha=None).message


def test_comments_are_not_looked_at(load):
    source = "__global__ void k(const float* x, // [n, *m]\n float* out, /* int m, */ int n, float alpha) { } // }"
    assert load(source).name == "k"
    assert "has no kernel 'k'" in refused(load, "// k\n__global__ void other() {}").message


def test_an_entry_that_is_no_kernel(load):
    source = "__device__ float k(float x) { return x; }\n__global__ void kk(float* x) {}"
    error = refused(load, source)
    assert error.message == "'k' is not a kernel but a __device__ function"
    assert "kk" in error.hint


def test_nothing_is_written(load):
    error = refused(load, out='{ dtype = "f32", shape = ["n"] }')
    assert "there is nothing to verify" in error.message
    assert "inout" in error.hint


def test_a_brace_that_is_not_closed(load):
    error = refused(load, "\n" + SOURCE.replace("{", "{ if (n) {"))
    assert error.message == "unclosed brace"
    assert (error.location.file.name, error.location.line) == ("k.cu", 2)


@pytest.mark.parametrize(
    "source",
    [
        "#if A\nif (n) {\n#else\nif (n > 1) {\n#endif\n",
        "#define BEGIN {\n",
        'const char* s = "{"; // {\n',
        "/* { */ char c = '{';\n",
        'const char* r = R"x({)x";\n',
    ],
)
def test_braces_that_are_not_certain(load, source):
    assert load(source + SOURCE).name == "k"


def test_a_template_needs_an_instance_unless_all_its_arguments_have_defaults(load):
    body = "__global__ void k(const float* x, float* out, int n, float alpha) { }"
    error = refused(load, f"template <typename T, int N, bool B = true>\n{body}")
    assert error.message == "'k' is a template, and T, N has no argument"
    assert error.hint == 'name an instance, such as entry = "k<float, 4>"'
    assert error.location.line
    assert load(f"template <typename T = float, int N = 4>\n{body}").name == "k"
