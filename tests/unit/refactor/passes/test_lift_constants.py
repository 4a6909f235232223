from __future__ import annotations

import re
from dataclasses import replace

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, declined, small

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Rewrite, Subject, Variant
from warpsmith.refactor.constants import with_words
from warpsmith.refactor.passes.lift_constants import LiftConstants

_BUNDLED = (
    "conv2d",
    "convolution_opencl",
    "fused_add_rmsnorm",
    "matmul",
    "matmul_opencl",
    "merge_attn_states_lse",
    "merge_attn_states_lse_bf16",
    "rope",
    "silu_and_mul",
    "silu_and_mul_hip",
    "softmax",
    "transpose",
)


def _lifted(subject: Subject) -> Variant:
    answer = applied(LiftConstants(), subject)
    assert answer.choice is None
    return answer.variant


def _at_default(text: str, variant: Variant) -> list[str]:
    """The tokens with every parameter at its default; its own #define, if the source had one, taken away."""
    values = {t.name: str(t.default) for t in variant.tunables}
    for name, value in values.items():
        text = re.sub(rf"#ifndef {name}\n#define {name} {value}\n#endif|#define {name} {value}\b.*", "", text)
    return with_words(text, values).split()


def _values(variant: Variant) -> dict[str, tuple[int, ...]]:
    return {t.name: t.values for t in variant.tunables}


def _rules(variant: Variant) -> list[str]:
    return [rule.expression for rule in variant.rules]


@pytest.mark.parametrize("name", _BUNDLED)
def test_the_default_has_the_tokens_of_the_original_and_launches_as_it_does(name: str):
    subject = bundled(name)
    made = _lifted(subject)
    assert made.tunables
    assert _at_default(made.text, made) == _at_default(subject.variant.text, made)

    values = {t.name: t.default for t in made.tunables}
    for workload in subject.kernel.workloads:
        for before, after in zip((*subject.variant.grid, *subject.variant.block), (*made.grid, *made.block), strict=True):
            names = {**workload.sizes, **values}
            assert Expression.parse(after).evaluate(names) == Expression.parse(before).evaluate(workload.sizes)
        for rule in made.rules:
            assert Expression.parse(rule.expression).evaluate({**subject.limits.names(), **workload.sizes, **values}), rule


def test_tiles_of_a_matrix_product():
    made = _lifted(bundled("matmul"))
    assert made.grid == ("ceildiv(n, TILE_N)", "ceildiv(m, TILE_M)")
    assert made.block == ("TILE_N / THREAD_N", "TILE_M / THREAD_M")
    assert _values(made)["TILE_K"] == (8, 16, 32, 64)
    assert _values(made)["THREAD_M"] == (1, 2, 4, 8)
    assert "constexpr int kTileM = TILE_M;" in made.text
    assert "4 * TILE_K * TILE_M + 4 * TILE_K * TILE_N <= static_shared_bytes_per_block" in _rules(made)
    assert "THREAD_M * THREAD_N <= 32" in _rules(made)


def test_a_thread_keeps_no_more_than_it_has_registers():
    """Of the author's own values there may be more."""
    few = replace(CPU_LIMITS, registers_per_thread=16)
    assert "WORK_M * WORK_N <= 16" in _rules(_lifted(bundled("matmul_opencl", few)))
    fewer = replace(CPU_LIMITS, registers_per_thread=8)
    assert "THREAD_M * THREAD_N <= 16" in _rules(_lifted(bundled("matmul", fewer)))


def test_a_cpu_wants_sums_for_all_of_its_multiply_add_units():
    made = _lifted(bundled("matmul_opencl", CPU_LIMITS))
    assert [rule.expression for rule in made.likely] == ["WORK_M * WORK_N >= 8"]
    assert not _lifted(bundled("matmul_opencl")).likely, "a GPU has other threads to go on with"


def test_macros_become_the_parameters_and_the_filter_stays():
    made = _lifted(bundled("convolution_opencl"))
    assert list(_values(made)) == ["BLOCK_X", "BLOCK_Y", "PIXELS_X", "PIXELS_Y"]
    assert made.grid == ("ceildiv(width, BLOCK_X * PIXELS_X)", "ceildiv(height, BLOCK_Y * PIXELS_Y)")
    assert made.block == ("BLOCK_X", "BLOCK_Y")
    assert "#define BLOCK_X" not in made.text
    assert "#define FILTER 9" in made.text


def test_rows_of_threads_that_step_through_a_tile():
    made = _lifted(bundled("transpose"))
    assert made.block == ("TILE", "ROWS")
    assert "TILE % ROWS == 0" in _rules(made)


def test_the_launch_follows_the_width_of_an_access():
    made = _lifted(bundled("rope"))
    assert made.block == ("min((q_heads + k_heads) * (head_dim / 2 / (VEC_BYTES / 4)), 512)",)
    assert _rules(made) == ["head_dim / 2 % (VEC_BYTES / 4) == 0"]
    assert _values(_lifted(bundled("merge_attn_states_lse_bf16")))["VEC_BYTES"] == (2, 4, 8, 16, 32)


def test_the_size_of_device_memory_is_no_choice():
    assert declined(LiftConstants(), bundled("reduction")) == "kMaxBlocks: it is the size of an array in device memory (line 9)"


# ── small kernels ──

_FLAT = "__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n"


def _kernel(body: str, before: str = "") -> str:
    return before + _FLAT.format(body=body)


def test_a_template_argument_is_lifted_in_the_entry():
    text = "template <int THREADS, int ITEMS>\n" + _kernel(
        "  for (int j = 0; j < ITEMS; j++) {\n"
        "    int i = blockIdx.x * (THREADS * ITEMS) + j * THREADS + threadIdx.x;\n"
        "    if (i < n) out[i] = x[i];\n  }"
    )
    made = _lifted(small(text, entry="k<256, 4>", grid=("ceildiv(n, 1024)",)))
    assert made.entry == "k<THREADS_, ITEMS_>"
    assert made.text == text
    assert made.grid == ("ceildiv(n, ITEMS_ * THREADS_)",)
    assert made.block == ("THREADS_",)


def test_a_guarded_macro_loses_its_guard_with_its_definition():
    text = _kernel(
        "  int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;\n  if (i < n) out[i] = x[i];",
        "#ifndef BLOCK_SIZE\n#define BLOCK_SIZE 256\n#endif\n",
    )
    made = _lifted(small(text, grid=("(n + 255) / 256",)))
    assert made.text == text.partition("#endif\n")[2]
    assert made.grid == ("ceildiv(n, BLOCK_SIZE)",)


def test_a_bracketed_macro_keeps_its_brackets():
    text = _kernel("  int i = blockIdx.x * BS + threadIdx.x;\n  if (i < n) out[i] = x[i];", "#define BS (256)\n")
    made = _lifted(small(text, grid=("ceildiv(n, 256)",)))
    assert "#define BS (BS_)" in made.text
    assert made.block == ("BS_",)


def test_numbers_without_a_name_are_lifted_together():
    text = _kernel(
        "  __shared__ float tile[16];\n"
        "  int i = blockIdx.x * 16 + threadIdx.x;\n"
        "  float sum = 0.0f;\n"
        "  for (int t = 0; t < n; t += 16) {\n"
        "    tile[threadIdx.x] = t + threadIdx.x < n ? x[t + threadIdx.x] : 0.0f;\n    __syncthreads();\n"
        "    for (int j = 0; j < 16; ++j) sum += tile[j];\n    __syncthreads();\n  }\n"
        "  if (i < n) out[i] = sum * x[i];"
    )
    made = _lifted(small(text, grid=("ceildiv(n, 16)",), block=("16",)))
    assert made.text.count("BLOCK") == 4
    assert made.grid == ("ceildiv(n, BLOCK)",)


_ROWS = """#define T 32
#define H 4
__constant__ float taps[9];
__global__ void k(float* out, const float* x, int n) {
  __shared__ float tile[H][3 * T];
  const int first = (blockIdx.x - 1) * T + threadIdx.x;
  const int row = blockIdx.y * H + threadIdx.y;
  out += row * n + first;
  x += row * n + first;
  for (int i = 0; i < 3; ++i) tile[threadIdx.y][i * T + threadIdx.x] = first + i * T < n ? x[i * T] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int j = -24; j <= 24; ++j) sum += tile[threadIdx.y][T + threadIdx.x + j];
  out[T] = sum;
}
"""


def test_a_tile_keeps_room_for_a_filter_and_the_grid_follows_rows_of_any_length():
    made = _lifted(small(_ROWS, grid=("n / 32", "n / 4"), block=("32", "4")))
    assert made.grid == ("n / T", "n / H")
    allowed = {
        value: all(
            Expression.parse(r.expression).evaluate({"T": value}) for r in made.rules if "reads only elements of" in r.reason
        )
        for value in (8, 16, 32, 64)
    }
    assert allowed == {8: False, 16: False, 32: True, 64: True}


def test_an_unguarded_kernel_keeps_whole_blocks():
    made = _lifted(
        small(
            _kernel("  int i = blockIdx.x * T + threadIdx.x;\n  out[i] = x[i];", "#define T 32\n"),
            grid=("n / 32",),
            block=("32",),
        )
    )
    assert _rules(made) == ["n % T == 0"]


def test_an_unguarded_kernel_with_room_to_spare_keeps_its_threads():
    padded = "  int i = blockIdx.x * T + threadIdx.x;\n  out[i] = i < n ? x[i] : 0.0f;"
    made = _lifted(small(_kernel(padded, "#define T 64\n"), grid=("ceildiv(n, 64)",), block=("64",), sizes={"rows": 1, "n": 100}))
    assert "ceildiv(n, T) * T == ceildiv(n, 64) * 64" in _rules(made)


def test_what_an_author_asserts_stays_true():
    before = "constexpr int kThreads = 64;\nstatic_assert(kThreads % 32 == 0 && kThreads <= 512);\n"
    text = _kernel("  for (int i = threadIdx.x; i < n; i += kThreads) out[i] = x[i];", before)
    made = _lifted(small(text, grid=("rows",), block=("64",)))
    assert "THREADS % 32 == 0 and THREADS <= 512" in _rules(made)


def test_work_for_the_first_threads_needs_them():
    body = (
        "  __shared__ float w[16];\n  if (threadIdx.x < 16) w[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
        "  for (int i = threadIdx.x; i < n; i += kThreads) out[i] = w[i % 16];"
    )
    made = _lifted(small(_kernel(body, "constexpr int kThreads = 128;\n"), block=("128",)))
    assert "THREADS >= 16" in _rules(made)


_HALO = """
  __shared__ float s[T + 64];
  int t = threadIdx.x, i = blockIdx.x * T + t;
  s[t + r] = i < n ? x[i] : 0.0f;
  if ({asked}) s[t] = i - r >= 0 ? x[i - r] : 0.0f;
  __syncthreads();
  if (i < n) out[i] = s[t] + s[t + r];
"""


@pytest.mark.parametrize("asked", ["t < r", "r > t", "t <= r - 1", "!(t >= r)", "t < (int)r && n > 0"])
def test_work_for_as_many_threads_as_an_argument_says_needs_them(asked: str):
    text = _kernel(_HALO.format(asked=asked), "#define T 128\n").replace("int n)", "int n, int r)")
    subject = small(
        text,
        grid=("ceildiv(n, 128)",),
        block=("128",),
        scalars={"n": "n", "r": "radius"},
        sizes={"rows": 1, "n": 1000, "radius": 17},
    )
    assert "T >= radius" in [rule.replace("radius - 1 + 1", "radius") for rule in _rules(_lifted(subject))]


def test_the_first_threads_of_a_flat_number_are_of_the_whole_block():
    body = (
        "  __shared__ float w[64];\n  int t = threadIdx.y * BX + threadIdx.x;\n  if (t < n) w[t] = x[t];\n  __syncthreads();\n"
        "  int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;\n"
        "  if (i < width && j < width) out[j * width + i] = w[(i + j) % n];"
    )
    text = _kernel(body, "#define BX 16\n#define BY 8\n").replace("int n)", "int n, int width)")
    made = _lifted(
        small(
            text,
            grid=("ceildiv(rows, 16)", "ceildiv(rows, 8)"),
            block=("16", "8"),
            scalars={"n": "n", "width": "rows"},
            sizes={"rows": 100, "n": 49},
        )
    )
    assert "BX * BY >= n" in _rules(made)


def test_a_tile_with_room_for_some_threads_is_for_those():
    """The author's own values break the rule that all threads have room, so it is none."""
    body = """
  __shared__ float a[TM][TK];
  __shared__ float b[TK][TN];
  int row = blockIdx.y * TM + threadIdx.y, col = blockIdx.x * TN + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; k += TK) {
    if (threadIdx.x < TK) a[threadIdx.y][threadIdx.x] = k + threadIdx.x < n && row < n ? x[row * n + k + threadIdx.x] : 0.0f;
    if (threadIdx.y < TK) b[threadIdx.y][threadIdx.x] = k + threadIdx.y < n && col < n ? x[(k + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
    for (int j = 0; j < TK; ++j) sum += a[threadIdx.y][j] * b[j][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n) out[row * n + col] = sum;"""
    subject = small(
        _kernel(body, "#define TM 16\n#define TN 32\n#define TK 8\n"),
        grid=("ceildiv(n, 32)", "ceildiv(n, 16)"),
        block=("32", "16"),
        sizes={"rows": 100, "n": 100},
    )
    made = _lifted(subject)
    defaults = {t.name: t.default for t in made.tunables}
    names = {**subject.limits.names(), "rows": 100, "n": 100, **defaults}
    assert all(Expression.parse(rule).evaluate(names) for rule in _rules(made))
    assert {"TN >= TK", "TM >= TK"} <= set(_rules(made))


def test_slots_for_warps_bound_the_block():
    body = (
        "  __shared__ float slot[8];\n  float sum = 0.0f;\n"
        "  for (int i = threadIdx.x; i < n; i += kThreads) sum += x[blockIdx.x * n + i];\n"
        "  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);\n"
        "  if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = sum;\n  __syncthreads();\n"
        "  if (threadIdx.x == 0) {\n    float all = 0.0f;\n    for (int w = 0; w < kThreads / 32; ++w) all += slot[w];\n"
        "    out[blockIdx.x] = all;\n  }"
    )
    made = _lifted(small(_kernel(body, "constexpr int kThreads = 256;\n")))
    assert "THREADS <= 256" in _rules(made)


def test_dynamic_shared_memory_with_a_slot_for_each_thread_grows():
    body = (
        "  extern __shared__ float s[];\n  int first = blockIdx.x * T;\n  s[threadIdx.x] = x[first + threadIdx.x];\n"
        "  out[first + threadIdx.x] = s[threadIdx.x] * 2.0f;"
    )
    subject = small(_kernel(body, "#define T 64\n"), grid=("n / 64",), block=("64",), sizes={"rows": 1, "n": 640})

    made = _lifted(Subject(subject.kernel, subject.limits, replace(subject.variant, shared="256")))
    assert made.shared == "4 * T"


_TILE = """
  extern __shared__ float s[];
  for (int i = threadIdx.y * TW + threadIdx.x; i < (TW + 2) * (TH + 2); i += TW * TH) {
    int gx = blockIdx.x * TW + i % (TW + 2), gy = blockIdx.y * TH + i / (TW + 2);
    s[i] = gx < n && gy < n ? x[gy * n + gx] : 0.0f;
  }
  __syncthreads();
  int px = blockIdx.x * TW + threadIdx.x, py = blockIdx.y * TH + threadIdx.y;
"""
_DIRECTLY = "  if (px < n && py < n) out[py * n + px] = s[(threadIdx.y + 2) * (TW + 2) + threadIdx.x + 2];"
_BY_MACRO = (
    "#define S(dx, dy) s[(threadIdx.y + (dy)) * (TW + 2) + threadIdx.x + (dx)]\n"
    "  if (px < n && py < n) out[py * n + px] = S(0, 0) + S(2, 2);\n#undef S"
)


def _tile(uses: str, shared: str) -> Subject:
    text = _kernel(_TILE + uses, "#define TW 16\n#define TH 16\n")
    subject = small(text, grid=("ceildiv(n, 16)", "ceildiv(n, 16)"), block=("16", "16"), sizes={"rows": 100, "n": 100})
    return Subject(subject.kernel, subject.limits, replace(subject.variant, shared=shared))


@pytest.mark.parametrize("uses", [_DIRECTLY, _BY_MACRO])
def test_dynamic_shared_memory_follows_the_tile_that_it_holds(uses: str):
    assert _lifted(_tile(uses, "1296")).shared == "4 * ((TW + 2) * (TH + 2))"


@pytest.mark.parametrize("uses", [_DIRECTLY, _BY_MACRO])
def test_dynamic_shared_memory_of_another_size_fixes_the_tile(uses: str):
    assert "TW: cannot express the 2048 bytes of dynamic shared memory in it" in declined(LiftConstants(), _tile(uses, "2048"))


_STRIDED = "for (int i = threadIdx.x; i < {end}; i += blockDim.x) out[{place}] = {value};"
_PLACED = "int i = blockIdx.x * T + threadIdx.x;\n  if (i < n) out[i] = x[i];"
_PARTS = "for (int u = 0; u < 4; ++u) {\n  int i = blockIdx.x * P + u * T + threadIdx.x;\n  if (i < n) out[i] = x[i];\n}"


def test_a_block_goes_over_all_of_its_share():
    made = _lifted(small(_kernel(_PARTS, "#define T 64\n#define P 256\n"), grid=("ceildiv(n, 256)",), block=("64",)))
    assert [r for r in _rules(made) if "P" in r] == ["T + 3 * T - 1 == P - 1"]


@pytest.mark.parametrize(
    ("before", "body", "grid", "reason"),
    [
        (
            "#define H 64\n",
            _STRIDED.format(end="H", place="blockIdx.x * H + i", value="x[i]"),
            "rows",
            "H: grid.x = rows does not",
        ),
        ("#define S 4\n", _STRIDED.format(end="n", place="i", value="2.0f * S"), "rows", "S: it is used in arithmetic on data"),
        ("#define S 4\n", _STRIDED.format(end="n + S", place="i", value="2.0f"), "rows", "S: it is added to or multiplied by"),
        ("#define WARP_SIZE 32\n", "out[threadIdx.x / WARP_SIZE] = x[0];", "rows", "WARP_SIZE: it is the warp size"),
        ("#define T 64\n", f"if (T >= 128) return;\n  {_PLACED}", "ceildiv(n, 64)", "T: it decides a branch"),
        ("#define T 64\n#if T > 32\n#endif\n", _PLACED, "ceildiv(n, 64)", "T: it decides an #if"),
        ("", _PLACED.replace("T", "blockDim.x"), "ceildiv(n, 64)", "no macro, constant or template argument"),
        ("", _PARTS.replace("T", "64").replace("P", "256"), "ceildiv(n, 256)", "no macro, constant or template argument"),
    ],
)
def test_what_is_no_choice_or_not_tied_is_left_alone(before: str, body: str, grid: str, reason: str):
    assert reason in declined(LiftConstants(), small(_kernel(body, before), grid=(grid,), block=("64",)))


_LANES = (
    "template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T lane[N]; };\n"
    "__global__ void k(float* out, const float* x, int n) {\n  constexpr int kVec = 4;\n  using Packed = Pack<float, kVec>;\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n / kVec) reinterpret_cast<Packed*>(out)[i] = reinterpret_cast<const Packed*>(x)[i];\n}\n"
)


def test_elements_of_an_access():
    made = _lifted(small(_LANES, grid=("ceildiv(n / 4, 256)",)))
    assert made.grid == ("ceildiv(n / VEC, 256)",)
    assert _values(made) == {"VEC": (1, 2, 4, 8)}
    assert _rules(made) == ["n % VEC == 0"]


def test_an_access_whose_width_the_launch_hides_or_the_language_fixes():
    assert "the launch does not show the width" in declined(LiftConstants(), small(_LANES, grid=("ceildiv(n, 1024)",)))
    assert "which may be the width of an access less one" in declined(
        LiftConstants(), small(_LANES, grid=("ceildiv(n / 4 + 3, 256)",))
    )
    fixed = _LANES.replace(
        "reinterpret_cast<const Packed*>(x)[i]", "*reinterpret_cast<const Packed*>(reinterpret_cast<const float4*>(x) + i)"
    )
    assert "moves a float4" in declined(LiftConstants(), small(fixed, grid=("ceildiv(n / 4, 256)",)))


def test_two_readings_of_the_block_are_one_too_many():
    before = "constexpr int kA = 64;\nconstexpr int kB = 64;\n"
    body = "for (int i = threadIdx.x; i < n; i += kA) out[i] = x[i];\n  for (int i = threadIdx.x; i < n; i += kB) out[i] += 1.0f;"
    assert "block.x = 64 may be A or B" in declined(LiftConstants(), small(_kernel(body, before), block=("64",)))


def test_opencl_spelling():
    text = (
        "#define WG 64\n__kernel void k(__global float* out, __global const float* x, const int n) {\n"
        "  const int i = get_group_id(0) * WG + get_local_id(0);\n  if (i < n) out[i] = x[i];\n}\n"
    )
    answer = LiftConstants().apply(small(text, grid=("ceildiv(n, 64)",), block=("64",), language=Language.OPENCL))
    assert isinstance(answer, Rewrite)
    assert answer.variant.grid == ("ceildiv(n, WG)",)


def test_source_with_errors_is_left_alone():
    assert "parsed: `=` is not understood" in declined(LiftConstants(), small(_kernel("  int i = = 3;", "#define T 4\n")))


def test_a_second_array_longer_than_what_the_launch_covers_keeps_the_number_of_threads():
    text = (
        "#define T 256\n__global__ void k(float* out, const float* x, int n, int rows) {\n"
        "  int i = blockIdx.x * T + threadIdx.x;\n"
        "  if (i < n) out[i] = x[i];\n  if (i < rows) out[n + i] = 1.0f;\n}\n"
    )
    made = _lifted(small(text, grid=("ceildiv(n, 256)",), sizes={"rows": 200, "n": 7}, scalars={"n": "n", "rows": "rows"}))
    assert "ceildiv(n, T) * T == ceildiv(n, 256) * 256" in [rule.expression for rule in made.rules]


_REQUIRED = (
    "#define T 16\n__attribute__((reqd_work_group_size({sizes})))\n"
    "__kernel void k(__global float* out, __global float* x, int n) {{\n"
    "  int i = get_group_id(0) * {t} + get_local_id(0), j = get_group_id(1) * {t} + get_local_id(1);\n"
    "  if (i < n && j < n) out[j * n + i] = x[j * n + i];\n}}\n"
)


@pytest.mark.parametrize(("sizes", "t", "follows"), [("T, T, 1", "T", "T, T, 1"), ("16, 16, 1", "16", "TILE, TILE, 1")])
def test_the_required_size_of_a_work_group_follows(sizes: str, t: str, follows: str):
    text = _REQUIRED.format(sizes=sizes, t=t)
    grid = ("ceildiv(n, 16)", "ceildiv(n, 16)")
    made = _lifted(
        small(text if t == "T" else text[len("#define T 16\n") :], grid=grid, block=("16", "16"), language=Language.OPENCL)
    )
    assert f"reqd_work_group_size({follows})" in made.text


@pytest.mark.parametrize("sizes", ["16, 16, 1", "T, 8 + 8, 1", "SIZE(T), T, 1"])
def test_a_required_size_of_a_work_group_that_says_another_number_keeps_the_block(sizes: str):
    grid = ("ceildiv(n, 16)", "ceildiv(n, 16)")
    subject = small(_REQUIRED.format(sizes=sizes, t="T"), grid=grid, block=("16", "16"), language=Language.OPENCL)
    assert "reqd_work_group_size" in declined(LiftConstants(), subject)


def test_blocks_along_one_axis_and_their_threads_along_another():
    text = (
        "#define ROWS 4\n__global__ void k(float* out, const float* x, int rows, int n) {\n"
        "  int row = blockIdx.x * ROWS + threadIdx.y;\n  if (row >= rows) return;\n"
        "  for (int i = threadIdx.x; i < n; i += 32) out[row * n + i] = x[row * n + i];\n}\n"
    )
    launch = {"grid": ("ceildiv(rows, 4)",), "block": ("32", "4"), "scalars": {"rows": "rows", "n": "n"}}
    made = _lifted(small(text, **launch))
    assert (made.grid, made.block) == (("ceildiv(rows, ROWS)",), ("32", "ROWS"))


@pytest.mark.parametrize(
    ("inner", "wanted"),
    [
        ("for (int k = 0; k < N; ++k) out[c + k] = x[c + k];", True),
        ("for (int k = 0; k < N; ++k) if (c + k < n) out[c + k] = x[c + k];", False),
    ],
)
def test_who_asks_only_for_the_first_of_several_must_find_all(inner: str, wanted: bool):
    text = f"""
template <int N>
__global__ void k(float* out, const float* x, int n) {{
  const int c = (blockIdx.x * blockDim.x + threadIdx.x) * N;
  if (c >= n) return;
  {inner}
}}
"""
    made = _lifted(small(text, grid=("ceildiv(n, 256)",), block=("64",), entry="k<4>", sizes={"rows": 1, "n": 1000}))
    found = [rule for rule in made.rules if rule.expression == "n % N_ == 0"]
    assert bool(found) == wanted
    assert all(rule.reason == "line 5 checks only the first of N_" for rule in found)


def test_numbers_that_the_host_defines_are_lifted_as_if_the_source_did():
    inside = _REQUIRED.format(sizes="T, T, 1", t="T")
    text = inside[len("#define T 16\n") :]
    launch = {"grid": ("ceildiv(n, 16)", "ceildiv(n, 16)"), "block": ("16", "16"), "language": Language.OPENCL}
    subject = small(text, **launch)
    subject = Subject(replace(subject.kernel, defines={"T": 16, "UNUSED": 1}), subject.limits, subject.variant)
    made, same = _lifted(subject), _lifted(small(inside, **launch))
    assert made.text == text
    assert (made.grid, made.block, made.tunables[0].values) == (same.grid, same.block, same.tunables[0].values)
    assert {t.name: t.default for t in made.tunables} == {"T": 16}


def _side_by_side(body: str) -> Subject:
    text = f"""
#define T 256
__global__ void k(float* out, const float* x, int n) {{
  int i = blockIdx.x * T + threadIdx.x;
  int tid = threadIdx.x;
  {body}
}}
"""
    return small(text, grid=("ceildiv(n, 256)",), block=("256",), sizes={"rows": 1, "n": 1000})


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("if (i < n) out[i] = x[i] * (i & 255);", set[str]()),
        ("if (tid < T && i < n) out[i] = x[i];", set()),
        ("int lane = tid & 31; if (i < n) out[i] = lane == 0 ? x[i] : 0;", {"T % 32 == 0"}),
        ("if (i < n) out[i] = x[i] * (tid % 64);", {"T % 64 == 0"}),
        ("__shared__ float s[T]; s[tid & 255] = i < n ? x[i] : 0; if (i < n) out[i] = s[tid];", {"T <= 256"}),
        ("__shared__ float s[4]; s[tid / 64] = 1; __syncthreads(); if (i < n) out[i] = x[i];", {"T % 64 == 0", "T <= 256"}),
        ("__shared__ float c; if (tid == 0) c = x[0]; __syncthreads(); if (i < n) out[i] = c * x[i];", set()),
    ],
)
def test_what_it_knows_of_its_place_in_the_grid_and_of_whole_groups_does_not(body: str, rules: set[str]):
    made = _lifted(_side_by_side(body))
    assert "T" in _values(made)
    assert {rule for rule in _rules(made) if "n" not in rule and "shared" not in rule} == rules


def _with_taps(fill: str, room: str = "300") -> Subject:
    text = f"""
#define T 256
__global__ void k(float* out, const float* x, int n, int rows) {{
  __shared__ float c[{room}];
  int tid = threadIdx.x, i = blockIdx.x * T + tid;
  {fill}
  __syncthreads();
  float sum = 0;
  for (int j = 0; j < rows; ++j) sum += c[j];
  if (i < n) out[i] = sum * x[i];
}}
"""
    sizes = {"rows": 200, "n": 1000}
    return small(text, grid=("ceildiv(n, 256)",), block=("256",), sizes=sizes, scalars={"n": "n", "rows": "rows"})


@pytest.mark.parametrize(
    ("fill", "rule"),
    [
        ("if (tid + 1 < rows) c[tid + 1] = x[tid + 1];", "T >= rows - 1"),
        ("if (2 * tid < rows) c[2 * tid] = x[2 * tid];", "T >= ceildiv(rows, 2)"),
        ("if (tid >= 32 && tid - 32 < rows) c[tid - 32] = x[tid - 32];", "T >= rows + 32"),
        ("if (0 < rows - tid) c[tid] = x[tid];", "T >= rows"),
        ("int m = rows; if (m > 250) m = 250; if (tid < m) c[tid] = x[tid];", "rows - 1 <= T - 1"),
    ],
)
def test_work_for_the_first_threads_is_counted_with_offsets_and_factors(fill: str, rule: str):
    assert rule in _rules(_lifted(_with_taps(fill)))


@pytest.mark.parametrize(("room", "rule"), [("T", "rows - 1 < T"), ("2 * T", "rows - 1 < 2 * T")])
def test_an_array_that_follows_the_block_keeps_room_for_what_a_loop_puts_there(room: str, rule: str):
    assert rule in _rules(_lifted(_with_taps("for (int j = tid; j < rows; j += T) c[j] = x[j];", room)))


def test_an_array_of_its_own_size_does_not_bound_the_block():
    made = _lifted(_with_taps("for (int j = tid; j < rows; j += T) c[j] = x[j];"))
    assert not [rule for rule in _rules(made) if "rows" in rule]


def _with_functions(value: str) -> Subject:
    text = f"""
#define T 256
__device__ float less(float a, float b) {{ float c = a; c -= b; return c; }}
__device__ float less_than_at(float a, const float* b) {{ return a - *b; }}
__global__ void k(float* out, const float* x, int n) {{
  __shared__ float s[T];
  int i = blockIdx.x * T + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) out[i] = {value};
}}
"""
    return small(text, grid=("ceildiv(n, 256)",), block=("256",), sizes={"rows": 1, "n": 1000})


def test_an_element_of_a_tile_that_a_function_takes_by_value_is_only_read():
    assert "T" in _values(_lifted(_with_functions("less(x[i], s[threadIdx.x])")))
