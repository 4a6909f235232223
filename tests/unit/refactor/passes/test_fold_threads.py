"""`fold_rows`, `fold_columns`: what becomes a loop over the threads that one stands for, what stays around it, and what stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Tunable
from warpsmith.refactor.passes.fold_threads import FoldColumns, FoldRows

OVER = "#pragma unroll for (int fold = 0; fold < ROWS_PER_THREAD; ++fold) {"
ROW = "const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;"
SUM = "for (int k = 0; k < n; ++k) sum += x[row * n + k] * y[k * n + col];"


def product(body: str, *, block: tuple[str, ...] = ("16", "8"), before: str = "", language: Language = Language.CUDA) -> Subject:
    kind = "__global__ void" if language is Language.CUDA else "__kernel void"
    signature = "float* out, const float* x, const float* y, int n"
    if language is Language.OPENCL:
        signature = "__global float* out, __global const float* x, __global const float* y, int n"
    roles = {"out": "out", "x": "in", "y": "in"}
    return small(f"{before}{kind} k({signature}) {{\n{body}\n}}\n", block=block, roles=roles, language=language)


def folded(body: str, **options) -> str:
    rewrite = applied(FoldRows(), product(body, **options))
    assert rewrite.choice.values == (1, 2, 4, 8)
    (text,) = {form.text for form in rewrite.alternatives.values()}
    return squeezed(text.partition("{")[2].rpartition("}")[0])


def test_loops_with_the_same_steps_stay_around():
    text = folded(f"  {ROW}\n  float sum = 0.0f;\n  {SUM}\n  out[row * n + col] = sum;")
    assert f"for (int k = 0; k < n; ++k) {{ {OVER} sum[fold] += x[row[fold] * n + k] * y[k * n + col]; }} }}" in text
    assert text.endswith(f"{OVER} out[row[fold] * n + col] = sum[fold]; }}")


def test_what_is_used_later_becomes_an_array_and_what_all_share_does_not():
    text = folded(f"  {ROW}\n  float sum = 0.0f;\n  {SUM}\n  const float twice = 2 * sum;\n  out[row * n + col] = twice;")
    assert "int row[ROWS_PER_THREAD];" in text
    assert "row[fold] = blockIdx.y * (blockDim.y * ROWS_PER_THREAD) + (threadIdx.y + fold * blockDim.y);" in text
    assert "const int col = blockIdx.x * blockDim.x + threadIdx.x;" in text
    assert f"{OVER} const float twice = 2 * sum[fold]; out[row[fold] * n + col] = twice; }}" in text


def test_threads_that_leave_or_take_no_part_are_remembered():
    left = folded(f"  {ROW}\n  if (row >= n) return;  // beyond the end\n  float sum = 0;\n  {SUM}\n  out[row * n + col] = sum;")
    assert "// beyond the end bool stays[ROWS_PER_THREAD];" in left
    assert "stays[fold] = !((row[fold] >= n));" in left
    assert f"{OVER} if (stays[fold]) {{ sum[fold] += " in left
    inside = folded(f"  {ROW}\n  if (row < n) {{\n    float sum = 0;\n    {SUM}\n    out[row * n + col] = sum;\n  }}")
    assert "takes_part[fold] = (row[fold] < n);" in inside
    assert f"{OVER} if (takes_part[fold]) {{ sum[fold] += " in inside


def test_nothing_is_read_for_threads_that_take_no_part():
    body = f"  {ROW}\n  if (row < n && col < n) {{\n    const float factor = y[col];\n    float sum = 0;\n    {SUM}\n"
    text = folded(f"{body}    out[row * n + col] = factor * sum;\n  }}")
    assert f"{OVER} if (takes_part[fold]) {{ factor[fold] = y[col];" in text
    steps = SUM.replace("k < n;", "k < y[col];")
    loop = f"  {ROW}\n  if (row < n && col < n) {{\n    float sum = 0;\n    {steps}\n    out[row] = sum;\n  }}"
    assert "a loop or condition reads a value that only active threads have" in declined(FoldRows(), product(loop))


def test_conditions_that_all_share_stay_around_too():
    text = folded(f"  {ROW}\n  float sum = 0;\n  if (n > 3) {{ {SUM} }} else {{ sum = 1; }}\n  out[row * n + col] = sum;")
    assert "if (n > 3) { for (int k = 0; k < n; ++k) {" in text
    assert f"}} else {{ {OVER} sum[fold] = 1; }} }}" in text


def test_tiles_and_barriers_stay_between():
    body = f"""
  __shared__ float tile[8][16];
  {ROW}
  float sum = 0;
  for (int first = 0; first < n; first += 8) {{
    // the next part
    tile[threadIdx.y][threadIdx.x] = y[(first + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < 8; ++k) sum += x[row * n + first + k] * tile[k][threadIdx.x];
    __syncthreads();
  }}
  out[row * n + col] = sum;"""
    text = folded(body)
    assert (text.count("__syncthreads();"), text.count("__shared__")) == (2, 1)
    fill = "tile[(threadIdx.y + fold * blockDim.y)][threadIdx.x] = y[(first + (threadIdx.y + fold * blockDim.y)) * n + col];"
    assert f"{OVER} // the next part {fill} }} __syncthreads();" in text
    assert (
        f"for (int k = 0; k < 8; ++k) {{ {OVER} sum[fold] += x[row[fold] * n + first + k] * tile[k][threadIdx.x]; }} }}" in text
    )


def test_pointers_of_each_thread():
    body = f"  {ROW}\n  const float* __restrict__ from = x + row * n;\n  float sum = 0;\n"
    text = folded(f"{body}  for (int k = 0; k < n; ++k) sum += from[row] * y[k * n + col];\n  out[row] = sum;")
    assert "const float* from[ROWS_PER_THREAD];" in text
    assert "from[fold] = x + row[fold] * n;" in text


def test_opencl_names():
    body = "  int row = get_global_id(1), col = get_global_id(0), high = get_local_size(1);\n  float sum = 0;\n"
    text = folded(f"{body}  {SUM}\n  out[row * n + col] = sum + high;", language=Language.OPENCL)
    place = "get_group_id(1) * get_local_size(1) * ROWS_PER_THREAD + get_local_id(1) + fold * get_local_size(1)"
    assert f"row[fold] = ({place});" in text
    assert "int high = (get_local_size(1) * ROWS_PER_THREAD);" in text


@pytest.mark.parametrize("asked", ["get_global_size(1)", "get_local_linear_id()"])
def test_opencl_names_that_count_threads(asked):
    body = f"  int row = get_global_id(1u), col = get_global_id(0);\n  float sum = 0;\n  {SUM}\n  out[row * n + col] = sum"
    assert "row[fold] = (get_group_id(1) *" in folded(f"{body};", language=Language.OPENCL)
    assert "counts threads, and the pass reduces their number" in declined(
        FoldRows(), product(f"{body} + {asked};", language=Language.OPENCL)
    )


def test_the_block_is_lower_and_on_a_gpu_at_least_a_warp():
    subject = product(f"  {ROW}\n  float sum = 0;\n  {SUM}\n  out[row * n + col] = sum;")
    form = applied(FoldRows(), subject).alternatives[2]
    assert form.block == ("16", "8 / ROWS_PER_THREAD")
    assert [rule.expression for rule in form.rules] == ["8 % ROWS_PER_THREAD == 0", "128 >= 32 * ROWS_PER_THREAD"]
    on_cpu = applied(FoldRows(), Subject(subject.kernel, CPU_LIMITS, subject.variant)).alternatives[2]
    assert [rule.expression for rule in on_cpu.rules] == ["8 % ROWS_PER_THREAD == 0"]
    assert form.grid == subject.variant.grid


def test_rows_and_columns_of_one_thread():
    subject = product(f"  {ROW}\n  float sum = 0;\n  {SUM}\n  if (row < n && col < n) out[row * n + col] = sum;")
    rows = applied(FoldRows(), subject).alternatives[2]
    both = applied(FoldColumns(), Subject(subject.kernel, subject.limits, rows)).alternatives[2]
    assert both.block == ("16 / COLUMNS_PER_THREAD", "8 / ROWS_PER_THREAD")
    text = squeezed(both.text)
    over = "#pragma unroll for (int fold_2 = 0; fold_2 < COLUMNS_PER_THREAD; ++fold_2) {"
    assert "float sum[COLUMNS_PER_THREAD][ROWS_PER_THREAD];" in text
    assert "int row[ROWS_PER_THREAD];" in text  # it is the same for all columns
    assert "int col[COLUMNS_PER_THREAD];" in text
    assert f"{OVER} {over} sum[fold_2][fold] += x[row[fold] * n + k] * y[k * n + col[fold_2]]; }} }}" in text


def test_columns_of_a_flat_kernel():
    body = "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  float least = x[i];\n"
    body += (
        "  for (int k = 0; k < n; ++k) {\n    const float apart = x[i] - y[k];\n    least = least < apart ? least : apart;\n  }\n"
    )
    text = squeezed(applied(FoldColumns(), product(f"{body}  out[i] = least;", block=("256",))).alternatives[4].text)
    inner = "if (stays[fold]) { const float apart = x[i[fold]] - y[k]; least[fold] = least[fold] < apart ? least[fold] : apart; }"
    assert inner in text
    flat = product(f"{body}  out[i] = least;", block=("256",))
    assert "on a CPU the threads of a one-dimensional block are vector lanes and already share their loads" in declined(
        FoldColumns(), Subject(flat.kernel, CPU_LIMITS, flat.variant)
    )


PLAIN = f"  {ROW}\n  float sum = 0;\n  {SUM}\n  out[row * n + col] = sum;"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"  {ROW}\n  out[row * n + col] = x[row];", "no load in a loop is uniform along"),
        (PLAIN.replace("x[row * n + k] * y[k * n + col]", "x[row * n + k]"), "no load in a loop is uniform along"),
        (PLAIN.replace("float sum = 0;", "float sum = 0, more[4]; more[0] = n;"), "a thread already has an array in registers"),
        (f"  n += 1;\n{PLAIN}", "the parameter n is changed"),
        (f"  dim3 me = threadIdx;\n{PLAIN}", "threadIdx is used as a whole"),
        (f"{PLAIN}\n  if (row > 3) {{ __syncthreads(); }}", "a barrier stands in control flow that is not uniform"),
        (f"{PLAIN}\n  if (row > 3) return;\n  __syncthreads();", "some threads leave early"),
        (f"{PLAIN}\n  while (row < n) {{ if (row > 3) return; }}", "some threads leave early"),
        (f"{PLAIN}\n  sum = __shfl_down_sync(~0u, sum, 1);", "exchanges values inside a warp"),
        (f"{PLAIN}\n  atomicAdd(out, sum);", "atomically"),
        (PLAIN.replace("float sum = 0", "auto sum = 0.0f"), "sum cannot be replaced by one value per thread"),
        (PLAIN.replace("= sum;", "= sum + place();"), "a called function uses threadIdx"),
    ],
)
def test_what_is_left_alone(body, reason):
    before = "__device__ int place() { return threadIdx.y; }\n" if "place()" in body else ""
    assert reason in declined(FoldRows(), product(body, before=before))


def test_blocks_without_a_height():
    assert "one thread along y" in declined(FoldRows(), product(PLAIN, block=("256",)))
    assert "one thread along y" in declined(FoldRows(), product(PLAIN, block=("256", "1")))


@pytest.mark.parametrize("name", ["matmul", "conv2d", "transpose", "convolution_opencl", "matmul_opencl", "softmax", "rope"])
@pytest.mark.parametrize("fold", [FoldRows(), FoldColumns()])
def test_kernels_that_have_it_already_or_need_it_not(name, fold):
    assert declined(fold, bundled(name, CPU_LIMITS))


@pytest.mark.parametrize(
    ("block", "sizes", "follows"),
    [
        (("16", "8"), "16, 8, 1", "16, 8 / ROWS_PER_THREAD, 1"),
        (("TX / 2", "TY"), "(TX) / 2, TY, 1", "(TX) / 2, TY / ROWS_PER_THREAD, 1"),
        (("16", "min(n, 8)"), "16, 8, 1", None),
    ],
)
def test_the_required_size_of_a_work_group_follows(block: tuple[str, ...], sizes: str, follows: str | None):
    attribute = f"__attribute__((reqd_work_group_size({sizes})))\n"
    place = "  const int row = get_global_id(1), col = get_global_id(0);\n  float sum = 0.0f;\n"
    body = f"{place}  {SUM}\n  out[row * n + col] = sum;"
    subject = product(body, block=block, before=f"#define TX 32\n#define TY 8\n{attribute}", language=Language.OPENCL)
    tunables = tuple(Tunable(name, (8, value), value, "") for name, value in (("TX", 32), ("TY", 8)))
    subject = Subject(subject.kernel, subject.limits, replace(subject.variant, tunables=tunables))
    if follows is None:
        assert "reqd_work_group_size" in declined(FoldRows(), subject)
    else:
        made = applied(FoldRows(), subject).alternatives[2]
        assert f"reqd_work_group_size({follows})" in made.text
        again = applied(FoldColumns(), Subject(subject.kernel, subject.limits, made)).alternatives[2]
        assert "/ COLUMNS_PER_THREAD, " in again.text
