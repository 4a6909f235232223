"""`warpsmith init`: the skeleton tells what the source tells, and loads as it is."""

from __future__ import annotations

import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.spec.kernel import Role
from warpsmith.spec.load import load_kernel
from warpsmith.spec.skeleton import skeleton

CUDA = """\
#include <cuda_fp16.h>
namespace ns {
__constant__ float taps[17];
__device__ float helper(float x) { return x; }

template <typename T, int BLOCK_SIZE, bool FAST = true>
__global__ void __launch_bounds__(128) scale_kernel(
    T* __restrict__ out, const T* in, float4 const* wide, unsigned char *bytes,
    float* __restrict__ acc, int n, float alpha, bool flip) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[i] = in[i] * T(alpha); acc[i] += 1.0f; }
  consume(bytes);
}
}
extern "C" __global__ void other(int64_t rows, size_t cols, double x[]) { x[threadIdx.y] = blockIdx.z; }
"""
OPENCL = """\
float helper(float x) { return x; }
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void blur(__global const uchar4* restrict src, __global float *dst, __local float* tile,
          __constant float* taps, const int width, uint height)
{
  dst[get_global_id(1) * width + get_global_id(0)] = src[0].x * taps[0];
}
kernel void second(global half* a) { a[0] = 1; }
"""


@pytest.fixture
def made(tmp_path):
    def make(name, text, kernel=None):
        source = tmp_path / name
        source.write_text(text)
        text = skeleton(source, kernel)
        (tmp_path / "kernel.toml").write_text(text)
        return text, load_kernel(tmp_path)

    return make


def described(kernel):
    return [(a.name, a.dtype.value, a.role.value if hasattr(a, "role") else str(a.value)) for a in kernel.arguments]


def test_a_cuda_template(made):
    text, kernel = made("k.cu", CUDA, "scale_kernel")
    assert kernel.entry == "ns::scale_kernel<float, 256, true>"
    assert described(kernel) == [
        ("out", "f32", "out"),
        ("in", "f32", "in"),
        ("wide", "f32", "in"),
        ("bytes", "u8", "inout"),
        ("acc", "f32", "inout"),
        ("n", "i32", "n"),
        ("alpha", "f32", "1.0"),
        ("flip", "bool", "False"),
    ]
    assert [str(e) for e in kernel.launch.grid] == ["ceildiv(n, 128)"]
    assert [str(e) for e in kernel.launch.block] == ["128"]
    assert kernel.launch.shared_bytes.evaluate({}) == 512
    assert [(c.name, c.dtype, str(c.shape[0])) for c in kernel.constants] == [("taps", DType.F32, "17")]
    assert "FILL IN: the instance to tune" in text
    (line,) = [line for line in text.splitlines() if line.startswith("bytes ")]
    assert '"out" if every element is only written' in line


def test_a_plain_kernel_of_two_dimensions(made):
    _, kernel = made("k.cu", CUDA, "other")
    assert kernel.entry == "other"
    assert described(kernel) == [("rows", "i64", "rows"), ("cols", "u64", "cols"), ("x", "f64", "out")]
    assert [str(e) for e in kernel.launch.block] == ["16", "16"]
    assert [str(e) for e in kernel.launch.grid] == ["ceildiv(rows, 16)", "ceildiv(cols, 16)", "cols"]


def test_strides_and_indices_are_no_axes_where_something_better_is_there(made):
    text = "__global__ void k(float* out, int row_stride_bytes, int skip_index, int batch) { out[blockIdx.x] = skip_index; }"
    _, kernel = made("k.cu", text)
    assert [e.text for e in kernel.buffers[0].shape] == ["batch"]
    _, kernel = made("k.cu", text.replace(", int batch", ""))
    assert [e.text for e in kernel.buffers[0].shape] == ["row_stride_bytes", "skip_index"]


def test_opencl(made):
    text, kernel = made("k.cl", OPENCL, "blur")
    assert kernel.language is Language.OPENCL
    assert described(kernel) == [
        ("src", "u8", "in"),
        ("dst", "f32", "out"),
        ("taps", "f32", "in"),
        ("width", "i32", "width"),
        ("height", "u32", "height"),
    ]
    # A __local parameter has a size and no value: it belongs to the launch, and devices refuse it among the arguments.
    assert kernel.launch.shared_bytes.evaluate({}) == 4 * 16 * 16
    assert "__local tile" in text
    _, second = made("k.cl", OPENCL, "second")
    assert described(second) == [("a", "f16", "out")]


def test_vectors_have_their_elements_in_memory_and_by_value(made):
    body = "{ acc[get_global_id(0)] = pos[0] * ab.x + shift.xyzz; }"
    parameters = "__global const float4* pos, __global float4* acc, float2 ab, float3 shift, int n, __local float4* cache"
    text, kernel = made("k.cl", f"__kernel void k({parameters}) {body}")
    shapes = {b.name: [e.text for e in b.shape] for b in kernel.buffers}
    assert shapes == {"pos": ["n", "4"], "acc": ["n", "4"], "ab": ["2"], "shift": ["4"]}
    assert kernel.launch.shared_bytes.evaluate({}) == 16 * 256
    assert "# work-groups, not work-items" in text


def test_the_block_that_the_source_requires(made):
    text = "#define TS 32\n#define WPT 4\n__kernel __attribute__((reqd_work_group_size(TS / WPT, TS, 1)))\n"
    body = "{ c[get_global_id(1) * n + get_global_id(0)] = 1; }"
    _, kernel = made("k.cl", f"{text}void k(__global float* c, int n) {body}")
    assert [str(e) for e in kernel.launch.block] == ["8", "32"]
    _, kernel = made("k.cl", f"__kernel __attribute__((reqd_work_group_size(A, B, 1))) void k(__global float* c, int n) {body}")
    assert [str(e) for e in kernel.launch.block] == ["16", "16"]


def test_images_are_refused(made, tmp_path):
    text = "__kernel void blur(__read_only image2d_t src, __global float* dst) { dst[0] = 1; }"
    (tmp_path / "k.cl").write_text(text)
    with pytest.raises(InputError, match="blur takes an image2d_t"):
        skeleton(tmp_path / "k.cl")
    (tmp_path / "kernel.toml").write_text(
        '[kernel]\nname = "b"\nsource = "k.cl"\nentry = "blur"\n[arguments]\ndst = { dtype = "f32", shape = [1], role = "out" }\n'
        "[launch]\ngrid = [1]\nblock = [1]\n[workloads]\na = { n = 1 }\n"
    )
    with pytest.raises(InputError, match="blur takes an image2d_t"):
        load_kernel(tmp_path)


def test_hip_names_and_dynamic_shared_memory(made):
    text = (
        "#include <hip/hip_runtime.h>\nextern __shared__ float all[];\n__constant__ float taps[N * N];\n"
        "__global__ void k(float* c, int n) { HIP_DYNAMIC_SHARED(float, s) c[hipBlockIdx_y * n + hipThreadIdx_y] = taps[0]; }\n"
    )
    made_text, kernel = made("k.hip", text)
    assert len(kernel.launch.block) == 2
    assert "bytes of dynamic shared memory" in made_text
    assert "the value of N * N" in made_text
    _, kernel = made(
        "k.hip",
        "__global__ void a(float* c) { extern __shared__ float s[]; c[0] = s[0]; }\n__global__ void b(float* c) { c[0] = 1; }",
        "b",
    )
    assert kernel.launch.shared_bytes.evaluate({}) == 0


def test_another_suffix_gets_its_language_written_down(made):
    _, kernel = made("k.cpp", "__global__ void k(float* a) { a[threadIdx.x] = 0; }")
    assert kernel.language is Language.CUDA


def test_what_cannot_be_told_is_marked(made):
    text, kernel = made("k.cu", "struct P { int a; };\n__global__ void k(P p, Thing* t, float** pp) {}")
    assert "P by value" in text
    assert "the dtype of Thing" in text
    assert "pointer to pointers" in text
    # Nothing shows which of them is written, and something must be.
    assert all(a.role is Role.INOUT for a in kernel.buffers)


def test_a_definition_counts_and_not_its_declaration(made):
    _, kernel = made("k.cu", "__global__ void k(float* a);\n__global__ void k(float* a) { a[0] = 1; }")
    assert described(kernel) == [("a", "f32", "out")]


def test_several_kernels_are_listed_with_their_lines(tmp_path):
    (tmp_path / "k.cu").write_text(CUDA)
    with pytest.raises(InputError, match="2 kernels") as caught:
        skeleton(tmp_path / "k.cu")
    assert "ns::scale_kernel (line 7)" in caught.value.message
    assert "other (line 16)" in caught.value.message
    assert "--kernel" in caught.value.hint


def test_a_kernel_that_is_not_there(tmp_path):
    (tmp_path / "k.cu").write_text(CUDA)
    with pytest.raises(InputError, match="no kernel 'othr'") as caught:
        skeleton(tmp_path / "k.cu", "othr")
    assert "other" in caught.value.hint
    (tmp_path / "none.cu").write_text("int main() {}")
    with pytest.raises(InputError, match="no kernel found"):
        skeleton(tmp_path / "none.cu")
    with pytest.raises(InputError, match="no such file"):
        skeleton(tmp_path / "missing.cu")


def test_a_kernel_far_down_a_long_file(tmp_path):
    source = tmp_path / "long.cu"
    source.write_text("//\n" * 3000 + "__global__ void a(int n) {}\n__global__ void b(int n) {}\n")
    for _ in range(12):
        with pytest.raises(InputError, match=r"b \(line 3002\)"):
            skeleton(source)


def test_comments_among_the_parameters_are_no_part_of_them(made):
    text, kernel = made(
        "k.cu",
        """\
__global__ void k(
    const float* __restrict__ a,   // [num_tokens, num_heads * head_size]
    half* __restrict__ b,          // [num_blocks, a/b]  * 2, (const) = "x"
    /* float** old, */ const int64_t* slots, /* [n] */
    const int n) {                 // = 4
  b[threadIdx.x] = a[slots[0]] * n;  // slots[0] = 1
}
""",
    )
    assert described(kernel) == [("a", "f32", "in"), ("b", "f16", "out"), ("slots", "i64", "in"), ("n", "i32", "n")]
    assert "pointer to pointers" not in text


def test_macros_for_restrict_are_not_names(made):
    _, kernel = made("k.cu", "#define R __restrict__\n__global__ void k(float* R a, const int* XX_RESTRICT b) { a[0] = b[0]; }")
    assert described(kernel) == [("a", "f32", "out"), ("b", "i32", "in")]


def test_parameters_without_names_and_behind_macros(made):
    text, kernel = made("k.cu", "__global__ void k(float* a, int) { a[0] = 1; }")
    assert described(kernel) == [("a", "f32", "out"), ("argument_2", "i32", "argument_2")]
    assert "could not all be read" not in text
    text, _ = made("k.cu", "__global__ void k(float* a, COMMON) { a[0] = 1; }")
    assert "could not all be read" in text


@pytest.mark.parametrize(
    ("use", "role", "is_marked"),
    [
        ("a[i] = 1;", "out", False),
        ("*(a + i) = 1;", "out", False),
        ("*a++ = 1;", "out", False),
        ("a[i] += 1;", "inout", False),
        ("a[i]++;", "inout", False),
        ("float x = a[i];", "in", False),
        ("atomicAdd(&a[i], 1.0f);", "inout", False),
        ("atomicMax(a + i, 1);", "inout", False),
        ("v[i].x += 1;", "inout", False),
        ("v->y -= 1;", "inout", False),
        ("v[i].x = 1;", "inout", True),
        ("v[i].store(1);", "inout", True),
        ("other(&a[i]);", "inout", True),
        ("other(a);", "inout", True),
        ("looks(a + 4);", "in", False),
        ("looks(&a[i]);", "in", False),
        ("puts_one(a + 4);", "out", False),
        ("adds_one(a[i]);", "inout", False),
        ("swap(a[i], a[0]);", "inout", False),
        ("FILL(a[i]);", "inout", True),
        ("HIDDEN;", "inout", True),
        ("float* row = a + i; row[0] = 1;", "out", False),
        ("const float* row = a + i; float x = row[0];", "in", False),
        ("float4* row = reinterpret_cast<float4*>(a); row[i] = w;", "out", False),
        ("float4 w = *reinterpret_cast<const float4*>(a + i);", "in", False),
        ("float4 w = ((const float4*)a)[i];", "in", False),
        ("((float4*)a)[i] = w;", "out", False),
        ("float& x = a[i]; x = 2;", "out", False),
        ("const float& x = a[i]; other(x);", "in", False),
        ("if (a != nullptr && i < n) a[i] = 1;", "out", False),
        ("a += 16; a[i] = 1;", "out", False),
        ("a[rows[i]] = 1;", "inout", True),
        ("int r = rows[i]; int at = r * 2; a[at] = 1;", "inout", True),
        ("float* row = a + rows[i]; row[0] = 1;", "inout", True),
        ("__stcs(a + i, 1.0f);", "out", False),
        ("float x = __ldg(a + i);", "in", False),
        ("Thing t{a};", "inout", True),
        ('asm("st.global.f32 [%0], 1.0;" :: "l"(a));', "inout", True),
    ],
)
def test_what_is_written_has_a_role_that_says_so(made, use, role, is_marked):
    text, kernel = made(
        "k.cu",
        f"""\
#define FILL(x) x = 1
#define HIDDEN a[i] = v[i].x
__device__ void looks(const float* p) {{ }}
__device__ void puts_one(float* p) {{ p[0] = 1; }}
__device__ void adds_one(float& x) {{ x += 1; }}
__global__ void k(float* a, float2* v, float* sure, const int* rows, int n) {{
  int i = threadIdx.x;
  sure[i] = 1;
  {use}
}}
""",
    )
    name = "v" if use.startswith("v") else "a"
    assert {b.name: b.role.value for b in kernel.buffers}[name] == role
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    assert ("FILL IN" in line) == is_marked


def test_opencl_writes(made):
    text, kernel = made(
        "k.cl",
        """\
__kernel void k(__global int* a, __global float* b, __global const float* c, __global float4* d) {
  int i = get_global_id(0);
  atomic_add(&a[i], 1);
  vstore4(vload4(i, c), i, b);
  d[i].xy += (float2)(1, 2);
}
""",
    )
    assert described(kernel) == [("a", "i32", "inout"), ("b", "f32", "out"), ("c", "f32", "in"), ("d", "f32", "inout")]
    assert "FILL IN" not in "".join(line for line in text.splitlines() if "role" in line)


@pytest.mark.parametrize(
    ("name", "expected"), [("T", "float"), ("scalar_t", "float"), ("index_t", "int"), ("IdxT", "int"), ("IntType", "int")]
)
def test_a_type_that_counts_is_an_integer(made, name: str, expected: str):
    _, kernel = made("k.cu", f"template <typename {name}> __global__ void k(float* out, {name} n) {{ out[threadIdx.x] = n; }}\n")
    assert kernel.entry == f"k<{expected}>"
