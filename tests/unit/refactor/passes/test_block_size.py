from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.block_size import BlockSize
from warpsmith.refactor.passes.lift_constants import LiftConstants


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n"


def _freed(subject: Subject) -> Variant:
    return applied(BlockSize(), subject).variant


def _rules(variant: Variant) -> list[str]:
    return [rule.expression for rule in variant.rules]


_INDEX = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
_OVER_GRID = "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) "


@pytest.mark.parametrize(
    ("name", "block", "rules"),
    [
        ("silu_and_mul", "min(d / 4, BLOCK)", []),
        ("silu_and_mul_hip", "min(d / 4, BLOCK)", []),
        ("rope", "min((q_heads + k_heads) * (head_dim / 2 / 4), BLOCK)", []),
        ("softmax", "min(ceildiv(cols / 4, 32) * 32, BLOCK)", ["BLOCK <= 1024", "BLOCK % warp_size == 0"]),
        ("reduction", "BLOCK", ["BLOCK <= 1024", "BLOCK % warp_size == 0"]),
        ("merge_attn_states_lse", "BLOCK", []),
    ],
)
def test_bundled_kernels_whose_launch_decides(name: str, block: str, rules: list[str]):
    subject = bundled(name)
    made = _freed(subject)
    assert made.block == (block,)
    assert made.text == subject.variant.text
    assert _rules(made) == rules


def test_the_grid_follows_blocks_side_by_side():
    assert _freed(bundled("merge_attn_states_lse")).grid == ("ceildiv(tokens * heads * head_dim / 4, BLOCK)",)
    assert _freed(small(_kernel(_INDEX + "  if (i < n) out[i] = x[i];"), grid=("(n + 255) / 256",))).grid == (
        "ceildiv(n, BLOCK)",
    )


@pytest.mark.parametrize(
    ("grid", "follows"),
    [
        ("n / 256 + 1", "n / BLOCK + 1"),
        ("1 + n / 256", "n / BLOCK + 1"),
        ("(n + 256) / 256", "n / BLOCK + 1"),
        ("(n / 4 + 256) / 256", "n / 4 / BLOCK + 1"),
        ("(n - 1) / 256 + 1", "ceildiv(n, BLOCK)"),
    ],
)
def test_a_grid_with_a_block_to_spare_follows_too_and_allows_the_original(grid: str, follows: str):
    made = _freed(small(_kernel(_INDEX + "  if (i < n) out[i] = x[i];"), grid=(grid,), sizes={"rows": 1, "n": 1003}))
    assert made.grid == (follows,)
    known = {"n": 1003, "rows": 1, "BLOCK": 256, "warp_size": 32}
    assert all(Expression.parse(rule.expression).evaluate(known) for rule in made.rules)


def test_what_a_launch_leaves_out_after_whole_blocks_stays_left_out():
    made = _freed(small(_kernel(_INDEX + "  if (i < n) out[i] = x[i];"), grid=("n / 256",), sizes={"rows": 1, "n": 1003}))
    assert _rules(made) == ["n / BLOCK * BLOCK == n / 256 * 256"]


def test_spare_threads_that_do_something_stay_as_many():
    made = _freed(small(_kernel(_INDEX + "  out[i] = x[i];"), grid=("n / 256 + 1",), sizes={"rows": 1, "n": 1024}))
    assert "(n / BLOCK + 1) * BLOCK == (n / 256 + 1) * 256" in _rules(made)


@pytest.mark.parametrize("before", ["", "  if (rows < 0) return;\n"])
def test_a_second_array_longer_than_what_the_launch_covers_keeps_the_number_of_threads(before: str):
    body = _INDEX + before + "  if (i < n) out[i] = x[i];\n  if (i < rows) out[n + i] = 1.0f;"
    text = _kernel(body).replace("int n)", "int n, int rows)")
    made = _freed(small(text, grid=("ceildiv(n, 256)",), sizes={"rows": 200, "n": 7}, scalars={"n": "n", "rows": "rows"}))
    assert _rules(made) == ["ceildiv(n, BLOCK) * BLOCK == ceildiv(n, 256) * 256"]
    shorter = _freed(small(text, grid=("ceildiv(n, 256)",), sizes={"rows": 7, "n": 200}, scalars={"n": "n", "rows": "rows"}))
    assert _rules(shorter) == []
    nested = text.replace("  if (i < rows)", "  if (i < n) if (i < rows)")
    assert (
        _rules(_freed(small(nested, grid=("ceildiv(n, 256)",), sizes={"rows": 200, "n": 7}, scalars={"n": "n", "rows": "rows"})))
        == []
    )


def test_a_grid_made_for_the_blocks_of_a_grid_stride_loop_goes_on_to_fit():
    assert _freed(bundled("reduction")).grid == ("min(ceildiv(n, BLOCK * 4), 1024)",)
    own = "  for (int i = blockIdx.x * n + threadIdx.x; i < n; i += blockDim.x) out[i] = x[i];"
    assert _freed(small(_kernel(own), grid=("ceildiv(rows, 1024)",))).grid == ("ceildiv(rows, 1024)",), "a part for each block"


def test_after_lifting_both_the_access_and_the_block_are_in_the_launch():
    subject = bundled("silu_and_mul")
    lifted = applied(LiftConstants(), subject).variant
    assert _freed(Subject(subject.kernel, subject.limits, lifted)).block == ("min(d / (VEC_BYTES / 4), BLOCK)",)


def test_small_blocks_are_for_kernels_without_exchanges():
    free, bound = _freed(bundled("silu_and_mul")), _freed(bundled("softmax"))
    assert free.tunables[0].values == (8, 16, 32, 64, 128, 256, 512, 1024)
    assert "BLOCK % warp_size == 0" not in _rules(free)
    assert "BLOCK % warp_size == 0" in _rules(bound)


def test_a_block_of_two_axes():
    body = (
        "  int c = blockIdx.x * blockDim.x + threadIdx.x;\n  int r = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "  if (c < n && r < rows) out[r * n + c] = x[r * n + c];"
    )
    text, scalars = _kernel(body).replace("int n", "int n, int rows"), {"n": "n", "rows": "rows"}
    made = _freed(small(text, scalars=scalars, grid=("ceildiv(n, 16)", "ceildiv(rows, 16)"), block=("16", "16")))
    assert made.grid == ("ceildiv(n, BLOCK_X)", "ceildiv(rows, BLOCK_Y)")
    assert made.block == ("BLOCK_X", "BLOCK_Y")
    assert _rules(made) == ["BLOCK_X * BLOCK_Y >= 32"]


def test_arrays_with_a_slot_for_each_thread_grow():
    body = (
        "  __shared__ float s[256];\n" + _INDEX + "  s[threadIdx.x] = i < n ? x[i] : 0.0f;\n  __syncthreads();\n"
        "  for (int h = blockDim.x / 2; h > 0; h >>= 1) {\n"
        "    if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];\n    __syncthreads();\n  }\n"
        "  if (threadIdx.x == 0) atomicAdd(out, s[0]);"
    )
    made = _freed(small(_kernel(body), grid=("ceildiv(n, 256)",)))
    assert "float s[BLOCK];" in made.text
    assert made.grid == ("ceildiv(n, BLOCK)",)


def test_an_array_with_room_to_spare_bounds_the_block():
    body = "  __shared__ float s[512];\n" + _INDEX + "  if (i < n) s[threadIdx.x] = x[i];\n  if (i < n) out[i] = s[threadIdx.x];"
    made = _freed(small(_kernel(body), grid=("ceildiv(n, 256)",)))
    assert _rules(made) == ["BLOCK <= 512"]
    assert max(made.tunables[0].values) == 512


def test_threads_that_wait_for_each_other_take_as_many_steps():
    body = "  for (int i = threadIdx.x; i < n; i += blockDim.x) {\n    __syncthreads();\n    out[i] = x[i];\n  }"
    assert _rules(_freed(small(_kernel(body), sizes={"rows": 3, "n": 4096}))) == ["n % BLOCK == 0"]
    assert _rules(_freed(small(_kernel(body.replace("    __syncthreads();\n", "")), sizes={"rows": 3, "n": 4096}))) == []


def test_launch_bounds_hold_for_all_axes_together():
    text = """__global__ void __launch_bounds__(256) k(float* out, const float* x, int n, int rows) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (col < n && row < rows) out[row * n + col] = x[row * n + col];
}
"""
    scalars = {"n": "n", "rows": "rows"}
    made = _freed(small(text, scalars=scalars, grid=("ceildiv(n, 16)", "ceildiv(rows, 16)"), block=("16", "16")))
    (promise,) = [rule for rule in _rules(made) if "256" in rule]
    assert Expression.parse(promise).evaluate({"BLOCK_X": 32, "BLOCK_Y": 8})
    assert not Expression.parse(promise).evaluate({"BLOCK_X": 32, "BLOCK_Y": 16})
    assert 32 in next(t.values for t in made.tunables if t.name == "BLOCK_X")


def test_launch_bounds_follow():
    text = _kernel(_INDEX + "  if (i < n) out[i] = x[i];").replace("void k", "void __launch_bounds__(256) k")
    assert "__launch_bounds__(BLOCK)" in _freed(small(text, grid=("ceildiv(n, 256)",))).text
    wider = _freed(small(text.replace("256", "512"), grid=("ceildiv(n, 256)",)))
    assert _rules(wider) == ["BLOCK <= 512"]


def test_a_warp_for_each_row():
    body = (
        "  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;\n  const int lane = threadIdx.x % 32;\n"
        "  if (row >= rows) return;\n  float sum = 0.0f;\n"
        "  for (int i = lane; i < n; i += 32) sum += x[row * n + i];\n"
        "  sum += __shfl_xor_sync(0xffffffff, sum, 16);\n  if (lane == 0) out[row] = sum;"
    )
    text, scalars = _kernel(body).replace("int n", "int n, int rows"), {"n": "n", "rows": "rows"}
    made = _freed(small(text, scalars=scalars, grid=("ceildiv(rows, 4)",), block=("128",)))
    assert made.grid == ("ceildiv(rows, BLOCK / 32)",)
    assert _rules(made) == ["BLOCK % warp_size == 0"]


_LANE = '__device__ int get_lane() {\n  int lane;\n  asm("mov.u32 %0, %%laneid;" : "=r"(lane));\n  return lane;\n}\n'


def _warp_rows(before: str, row: str, lane: str, value: str = "x[row * n + i]") -> str:
    asked = f"  const int row = {row};\n  const int i = {lane};\n  if (row >= rows) return;\n"
    body = f"{asked}  out[row * n + i] = {value};"
    return before + _kernel(body).replace("int n", "int n, int rows")


@pytest.mark.parametrize(
    ("lane", "value"),
    [("get_lane()", "x[row * n + i]"), ("threadIdx.x", "__shfl_xor_sync(0xffffffff, x[row * n + i], 1)")],
)
def test_warps_of_a_block_are_a_choice_where_each_is_a_row(lane: str, value: str):
    text, scalars = _warp_rows(_LANE, "blockIdx.x * blockDim.y + threadIdx.y", lane, value), {"n": "n", "rows": "rows"}
    made = _freed(small(text, scalars=scalars, grid=("ceildiv(rows, 8)",), block=("32", "8")))
    assert made.block == ("32", "BLOCK_Y")
    assert made.grid == ("ceildiv(rows, BLOCK_Y)",)
    assert made.tunables[0].values == (1, 2, 4, 8, 16, 32)
    assert _rules(made) == ["32 * BLOCK_Y >= 32", "32 * BLOCK_Y % warp_size == 0"]
    # Rows of half a warp would be others in a block of another height.
    reason = declined(BlockSize(), small(text, scalars=scalars, grid=("ceildiv(rows, 8)",), block=("16", "8")))
    assert "its 8 threads along y form one warp that exchanges values" in reason


def test_a_lane_from_assembly_keeps_warps_whole():
    text = _warp_rows(_LANE, "(blockIdx.x * blockDim.x + threadIdx.x) / 32", "get_lane()")
    made = _freed(small(text, scalars={"n": "n", "rows": "rows"}, grid=("ceildiv(rows * 32, 256)",)))
    assert made.grid == ("ceildiv(rows * 32, BLOCK)",)
    assert "BLOCK % warp_size == 0" in _rules(made)


def test_rows_of_several_warps_stay_rows_of_warps():
    body = (
        "  const int row = blockIdx.x * blockDim.y + threadIdx.y;\n  if (row >= rows) return;\n"
        "  for (int i = threadIdx.x; i < n; i += blockDim.x) out[row * n + i] = __shfl_xor_sync(0xffffffff, x[row * n + i], 1);"
    )
    text, scalars = _kernel(body).replace("int n", "int n, int rows"), {"n": "n", "rows": "rows"}
    made = _freed(small(text, scalars=scalars, grid=("ceildiv(rows, 4)",), block=("64", "4"), sizes={"rows": 8, "n": 256}))
    assert "BLOCK_X % warp_size == 0" in _rules(made)
    assert made.block == ("BLOCK_X", "BLOCK_Y")


def test_what_assembly_stores_is_an_effect():
    store = '  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(out + i), "f"(x[i]));'
    unasked = _freed(small(_kernel(_INDEX + store), grid=("ceildiv(n, 256)",)))
    assert "ceildiv(n, BLOCK) * BLOCK == ceildiv(n, 256) * 256" in _rules(unasked)
    asked = _freed(small(_kernel(_INDEX + "  if (i < n)" + store), grid=("ceildiv(n, 256)",)))
    assert _rules(asked) == []
    first = "  if (i < n && threadIdx.x == 0)" + store
    reason = declined(BlockSize(), small(_kernel(_INDEX + first), grid=("ceildiv(n, 256)",)))
    assert "uses a thread's index in its block (" in reason


def test_slots_for_warps_in_an_inner_dimension():
    body = (
        "  __shared__ float s[2][16];\n  float v = x[blockIdx.x];\n  v += __shfl_xor_sync(0xffffffff, v, 1);\n"
        "  if (threadIdx.x % 32 == 0) s[1][threadIdx.x / 32] = v;\n  __syncthreads();\n"
        "  if (threadIdx.x == 0) out[blockIdx.x] = s[1][0];"
    )
    assert "BLOCK <= 512" in _rules(_freed(small(_kernel(body))))


def test_opencl_work_groups():
    body = "  int i = get_global_id(0);\n  if (i < n) out[i] = x[i];\n"
    text = f"__kernel void k(__global float* out, __global const float* x, int n) {{\n{body}}}\n"
    made = _freed(small(text, grid=("ceildiv(n, 64)",), block=("64",), language=Language.OPENCL))
    assert made.grid == ("ceildiv(n, BLOCK)",)


@pytest.mark.parametrize(
    ("body", "grid", "block", "reason"),
    [
        ("  out[blockIdx.x * n + threadIdx.x] = x[threadIdx.x];", "rows", "256", "uses blockIdx.x * n + threadIdx.x in a way"),
        ("  for (int i = threadIdx.x; i < n; i += 256) out[i] = x[i];", "rows", "256", "line 2 uses threadIdx.x in a way"),
        (_INDEX + "  if (i < n) out[i] = x[i];", "rows", "256", "grid.x = rows does not show the BLOCK = 256"),
        (
            _INDEX + "  if (i < n) out[i] = x[i % 256];",
            "ceildiv(n, 256)",
            "256",
            "line 3 uses 256, which may be the number of threads",
        ),
        (
            _INDEX + "  if (i < n) out[blockIdx.x] = x[i];",
            "ceildiv(n, 256)",
            "256",
            "each block has one element (line 3)",
        ),
        (
            _INDEX + "  if (i < n) out[i] = x[i] / blockDim.x;",
            "ceildiv(n, 256)",
            "256",
            "blockDim.x: it is used in arithmetic on data",
        ),
        (_INDEX + "  if (i < n) out[i] = x[i];", "ceildiv(n, 256)", "n / 4", "n / 4 is not a literal number in the launch"),
        (
            "  float v = x[threadIdx.x % 32];\n  v += __shfl_xor_sync(0xffffffff, v, 1);\n  if (threadIdx.x == 0) out[0] = v;",
            "rows",
            "32",
            "its 32 threads along x form one warp that exchanges values",
        ),
    ],
)
def test_a_kernel_that_may_need_its_number_of_threads_is_left_alone(body: str, grid: str, block: str, reason: str):
    assert reason in declined(BlockSize(), small(_kernel(body), grid=(grid,), block=(block,)))


def test_a_group_that_is_the_block_tells_nobody_who_he_is():
    body = "  cg::thread_block cta = cg::this_thread_block();\n" + _INDEX + "  cg::sync(cta);\n  if (i < n) out[i] = x[i];"
    assert _freed(small(_kernel(body), grid=("ceildiv(n, 256)",))).block == ("BLOCK",)


@pytest.mark.parametrize(
    "body",
    [
        "  if (i > 0 && i < n - 1) out[i] = x[i];\n  else out[i] = 0.0f;",
        "  out[i] = i < n ? x[i] : 0.0f;",
        "  n *= 2;\n  if (i < n) out[i] = x[i];",
        "  if (i < 2 * n) out[i] = x[i];",
    ],
)
def test_threads_that_nobody_asks_whether_they_are_needed_stay_as_many(body: str):
    made = _freed(small(_kernel(_INDEX + body), grid=("ceildiv(n, 256)",)))
    assert "ceildiv(n, BLOCK) * BLOCK == ceildiv(n, 256) * 256" in _rules(made)


@pytest.mark.parametrize(
    "body",
    [
        "  if (i >= n) return;\n  if (x[i] > 0) out[i] = 1.0f; else out[i] = 0.0f;",
        "  if (i < n - 1) out[i] = x[i];",
        "  int row = i / 8;\n  if (row < n / 8) { float a[2]; a[0] = x[i]; out[i] = a[0]; }",
    ],
)
def test_threads_that_are_asked_may_be_as_many_as_there_are(body: str):
    made = _freed(small(_kernel(_INDEX + body), grid=("ceildiv(n, 256)",)))
    assert not any("ceildiv" in rule for rule in _rules(made))


def test_neighbours_at_a_fixed_distance_are_the_same_in_any_block():
    body = (
        f"{_INDEX}  __shared__ float s[256];\n  s[threadIdx.x] = x[i];\n  __syncthreads();\n"
        "  if (i < n) out[i] = s[threadIdx.x] * 2.0f;"
    )
    assert _freed(small(_kernel(body), grid=("ceildiv(n, 256)",))).grid == ("ceildiv(n, BLOCK)",)


_STEPS = "  float last = 0.0f;\n  for (int i = threadIdx.x; i < n; i += blockDim.x) {{ {0} }}"


@pytest.mark.parametrize(
    "step", ["last += x[i]; out[i] = x[i];", "if (i >= n) break; out[i] = x[i];", "for (;;) { out[i] = x[i]; break; }"]
)
def test_sums_and_ends_of_a_range_do_not(step: str):
    assert _freed(small(_kernel(_STEPS.format(step)), grid=("64",))).block == ("BLOCK",)


@pytest.mark.parametrize(
    "value",
    [
        "(j >= 0 && j < n ? x[j] : 0.0f) * (2 - t)",  # the choice is by the thread's place in the grid, and so is what is loaded
        "v * t",
        "x[(i + t) / 2]",  # a term between the two parts of the place
    ],
)
def test_a_choice_by_the_place_in_the_grid_is_no_choice_by_the_thread(value: str):
    body = "  if (i < n) {\n    const int t = n % 3, j = i + t;\n    const float v = j < n && j >= 0 ? x[j] : 1.0f;\n"
    made = _freed(small(_kernel(f"{_INDEX}{body}    out[i] = {value};\n  }}"), grid=("(n + 255) / 256",)))
    assert made.block == ("BLOCK",)


@pytest.mark.parametrize("value", ["(n > 3 ? threadIdx.x : 0) * x[i]", "x[i + (n > 3 ? i : 1) / (threadIdx.x + 1)]"])
def test_a_choice_of_the_thread_is(value: str):
    reason = declined(BlockSize(), small(_kernel(f"{_INDEX}  if (i < n) out[i] = {value};"), grid=("(n + 255) / 256",)))
    assert "in a way that may require the same number of threads" in reason


@pytest.mark.parametrize(("sizes", "follows"), [("256", "BLOCK"), ("WG", "BLOCK"), ("2 * 128", None)])
def test_the_required_size_of_a_work_group_follows(sizes: str, follows: str | None):
    text = (
        f"#define WG 256\n__kernel __attribute__((reqd_work_group_size({sizes}, 1, 1)))\n"
        "void k(__global float* out, __global const float* x, int n) {\n"
        "  int i = get_global_id(0);\n  if (i < n) out[i] = x[i];\n}\n"
    )
    subject = small(text, grid=("ceildiv(n, 256)",), block=("256",), language=Language.OPENCL)
    if follows is None:
        assert "reqd_work_group_size" in declined(BlockSize(), subject)
    else:
        assert f"reqd_work_group_size({follows}, 1, 1)" in _freed(subject).text


@pytest.mark.parametrize(("constant", "parameter"), [("GROUP", "BLOCK"), ("THREADS", "THREADS")])
def test_a_constant_of_another_name_is_no_number_of_threads_where_the_kernel_asks_for_it(constant: str, parameter: str):
    body = f"{_INDEX}  if (i >= n) return;\n  out[i] = x[i / {constant}] + x[256];"
    answer = applied(BlockSize(), small(f"#define {constant} 256\n{_kernel(body)}", grid=("ceildiv(n, 256)",)))
    assert [t.name for t in answer.variant.tunables] == [parameter]
    assert f"x[i / {constant}]" in answer.variant.text
    assert answer.variant.grid == (f"ceildiv(n, {parameter})",)
