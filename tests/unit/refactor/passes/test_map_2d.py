from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Variant
from warpsmith.refactor.passes.map_2d import Map2D

_FLAT = {"grid": ("ceildiv(rows * n, 256)",), "scalars": {"rows": "rows", "n": "n"}}


def _alternative(subject) -> Variant:
    answer = applied(Map2D(), subject)
    assert answer.variant == subject.variant  # the default is the original itself
    assert answer.choice is not None
    assert (answer.choice.default, next(iter(answer.alternatives))) == (0, 1)
    return answer.alternatives[1]


def _kernel(body: str, parameters: str = "int rows, int n") -> str:
    return f"__global__ void k(float* out, const float* x, {parameters}) {{\n  {body}\n}}\n"


_INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "


def test_flat_index_with_row_guard():
    made = _alternative(bundled("merge_attn_states_lse"))
    text = squeezed(made.text)
    assert "index" not in text
    assert "const int row = (blockIdx.x * ROW_STEPS + step) * ROWS + threadIdx.y; if (row >= rows) break;" in text
    assert "const int width = packs / COLS;" in text
    # What depends on the row only is done once for a thread's columns.
    assert text.index("weight_b = mass_b / mass;") < text.index("for (int part = 0; part < COLS; ++part)")
    assert "const int pack = part * width + static_cast<int>(threadIdx.x); const int64_t offset" in text
    assert text.index("if (threadIdx.x == 0) s_out[row] = logf(mass) + top;") < text.index("for (int part = 0")
    assert made.grid == ("ceildiv((tokens * heads), ROWS * ROW_STEPS)",)
    assert made.block == ("(head_dim / 4) / COLS", "ROWS")
    assert [rule.expression for rule in made.rules] == ["(head_dim / 4) % COLS == 0"]


def test_what_a_row_costs_is_done_by_one_thread_for_all():
    text = squeezed(applied(Map2D(), bundled("merge_attn_states_lse")).alternatives[2].text)
    before, after = text.split("__syncthreads();")
    assert "__shared__ float weight_a_of_row[ROWS * ROW_STEPS];" in before
    assert "for (int own = threadIdx.y * width + threadIdx.x; own < ROWS * ROW_STEPS; own += width * ROWS) {" in before
    assert "const int row = blockIdx.x * (ROWS * ROW_STEPS) + own; if (row >= rows) break; const float lse_a" in before
    assert before.endswith("s_out[row] = logf(mass) + top; weight_a_of_row[own] = weight_a; weight_b_of_row[own] = weight_b; } ")
    assert "if (row >= rows) break; const float weight_a = weight_a_of_row[step * ROWS + threadIdx.y];" in after
    assert "expf" not in after
    assert "lse_a" not in after


@pytest.mark.parametrize(
    ("row_part", "handed_on"),
    [
        ("const float w = expf(x[r]);", True),
        ("const int before = r * n; const float w = expf(x[before]);", True),
        ("const float w = x[r];", False),  # to read it from shared memory instead is no gain
        ("const float w = expf(out[r]);", False),  # another row may write it
        ("const float *w = x + (int)expf(x[r]);", False),  # no number
        ("const float w = expf(x[i]);", False),
    ],
)
def test_what_is_worth_handing_on(row_part: str, *, handed_on: bool):
    body = f"{_INDEX}if (i >= rows * n) return;\n  const int r = i / n;\n  {row_part}\n  out[i] = x[i % n] * w;"
    answer = applied(Map2D(), small(_kernel(body), **_FLAT))
    assert (2 in answer.alternatives) == handed_on


def test_what_is_cheaper_to_repeat_is_not_handed_on():
    body = _INDEX + "if (i >= rows * n) return;\n  const int b = (i / n) * n; const float w = expf(x[b]);\n  out[b + i % n] = w;"
    text = squeezed(applied(Map2D(), small(_kernel(body), **_FLAT)).alternatives[2].text)
    assert "b_of_row" not in text
    assert text.count("const int b = (row) * n;") == 2


def test_loop_over_a_block_becomes_a_loop_over_rows():
    made = _alternative(bundled("rope"))
    text = squeezed(made.text)
    assert "const int pack = part * width + static_cast<int>(threadIdx.x); const Angles c = cosines[pack];" in text
    assert "sines[pack]; for (int head = threadIdx.y; head < q_heads + k_heads; head += ROWS) { const bool is_query" in text
    assert made.grid == ("tokens",)
    assert made.block == ("((head_dim / 2) / 4) / COLS", "ROWS")
    assert "ROW_STEPS" not in {tunable.name for tunable in made.tunables}


def test_grid_stride_loop_keeps_its_grid():
    body = """for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * n; i += gridDim.x * blockDim.x) {
    out[i] = x[i] * x[i % n];
  }"""
    text = squeezed(_alternative(small(_kernel(body), **_FLAT)).text)
    assert "for (int row = blockIdx.x * ROWS + threadIdx.y; row < rows; row += gridDim.x * ROWS) {" in text
    assert "const int i = row * n + col; out[i] = x[i] * x[col];" in text


def test_guard_on_the_index_needs_whole_rows():
    body = _INDEX + "if (i < total) {\n    out[i] = x[i] + x[i % n];\n  }"
    scalars = {"total": "rows * n", "n": "n"}
    made = _alternative(small(_kernel(body, "int total, int n"), grid=_FLAT["grid"], scalars=scalars))
    text = squeezed(made.text)
    assert "if (row >= total / n) break;" in text
    assert "const int i = row * n + col; out[i] = x[i] + x[col];" in text
    assert made.rules[1].expression == "(rows * n) % n == 0"
    assert made.grid == ("ceildiv((rows * n) / n, ROWS * ROW_STEPS)",)


def test_returns_go_on_with_the_next_column():
    body = _INDEX + "if (i >= rows * n) return;\n  const int c = i % n;\n  if (x[i] < 0.0f) return;\n  out[i] = x[c];"
    text = squeezed(_alternative(small(_kernel(body), **_FLAT)).text)
    assert "if (row >= rows) break;" in text
    assert "if (x[i] < 0.0f) continue; out[i] = x[c];" in text


def test_guard_around_the_work_with_the_parts_named_before():
    body = _INDEX + "const int r = i / n, unused = 0;\n  const int c = i % n;\n  if (r < rows) {\n    out[i] = x[c];\n  }"
    text = squeezed(_alternative(small(_kernel(body), **_FLAT)).text)
    assert "if (row >= rows) break; const int r = row, unused = 0;" in text
    assert "out[i] = x[c]; }" in text


def test_names_that_the_source_has_are_left_alone():
    body = _INDEX + "const float step = 2.0f, part = 1.0f;\n  if (i >= rows * n) return;\n  out[i] = x[i % n] * step + part;"
    scalars = {"rows": "rows", "n": "n", "row": "0"}
    text = squeezed(_alternative(small(_kernel(body, "int rows, int n, int row"), grid=_FLAT["grid"], scalars=scalars)).text)
    assert "for (int step_2 = 0; step_2 < ROW_STEPS; ++step_2) { const int row_2 =" in text


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, const int rows, const int n) {
  const int i = get_global_id(0);
  if (i < rows * n) {
    const int row = i / n;
    out[i] = x[row * n];
  }
}
"""
    made = squeezed(_alternative(small(text, language=Language.OPENCL, **_FLAT)).text)
    assert "const int row = (get_group_id(0) * ROW_STEPS + step) * ROWS + get_local_id(1);" in made
    assert "const int col = part * width + (int)get_local_id(0); const int i = row * n + col;" in made


@pytest.mark.parametrize(
    "work", ["out[i] = 0.0f;", "out[i / n] = x[c + 1];", "{ out[i / n] = 0.0f; last = 1.0f; }", "return;", "x[i / n] = out[1];"]
)
def test_what_the_first_column_does_stays_when_it_is_not_for_the_row(work: str):
    body = _INDEX + "if (i >= rows * n) return;\n  float last = 0.0f;\n  const int c = i % n;"
    body += f"\n  if (c == 0) {work}\n  x[i] = last;"
    text = squeezed(_alternative(small(_kernel(body).replace("const float* x", "float* x"), **_FLAT)).text)
    assert "if (c == 0)" in text
    assert text.index("for (int part") < text.index("if (c == 0)")


def test_a_changed_variable_is_set_anew_for_each_column():
    body = _INDEX + "if (i >= rows * n) return;\n  float sum = 0.0f;\n  const int r = i / n;\n  sum += x[i];\n  out[i] = sum + r;"
    text = squeezed(_alternative(small(_kernel(body), **_FLAT)).text)
    assert text.index("for (int part") < text.index("float sum = 0.0f; sum += x[i];")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("out[i] = x[i];", "no index"),
        ("out[i] = x[i % n];", "has no guard"),
        ("if (i >= rows * n) return;\n  out[i] = x[i % n] * x[i % rows];", "several extents"),
        ("if (i >= rows * n) return;\n  out[i] = x[i % n] + threadIdx.x;", "threadIdx.x is used in addition to the index"),
        ("if (i >= rows * n) return;\n  __shared__ float s[256];\n  out[i] = x[i % n];", "uses shared memory"),
        ("if (i >= rows * n) return;\n  out[i] = __shfl_sync(~0u, x[i % n], 0);", "exchanges values"),
        ("if (i >= rows * n) return;\n  for (int j = 0; j < 4; ++j) { if (x[i % n] < j) return; }", "an inner loop returns"),
        (
            "out[0] = 1.0f;\n  if (i >= rows * n) return;\n  out[i] = x[i % n];",
            "a statement before the guard cannot be shared by several elements",
        ),
        ("if (i >= rows * n) return;\n  const int m = (int)x[0];\n  out[i] = x[i % m];", "m is not available before"),
        ("if (i < rows * n) out[i] = x[i % n];\n  out[0] = 1.0f;", "a statement follows the guarded code"),
        (
            "if (i >= rows * n) return;\n#ifdef FAST\n  out[i] = x[i % n];\n#endif",
            "the kernel has #if branches, so its statements depend on macros",
        ),
    ],
)
def test_declines(body: str, reason: str):
    assert reason in declined(Map2D(), small(_kernel(_INDEX + body), **_FLAT))


def test_declines_a_launch_that_leaves_elements_out():
    text = _kernel(_INDEX + "if (i >= rows * n) return;\n  out[i] = x[i % n];")
    assert "threads for 64 rows of 4000" in declined(Map2D(), small(text, grid=("7",), scalars=_FLAT["scalars"]))


def test_declines_values_carried_from_step_to_step():
    loop = "float sum = 0.0f;\n  for (int i = threadIdx.x; i < rows * n; i += blockDim.x) { sum += x[i % n]; }\n  out[0] = sum;"
    assert "carries sum between iterations" in declined(Map2D(), small(_kernel(loop), **_FLAT))


_ROW_AND_COLUMN = "if (i >= rows * n) return;\n  int r = i / n, c = i % n;\n  out[r * n + c] = x[c];"


@pytest.mark.parametrize("most", ["256", "THREADS"])
def test_a_promise_about_the_launch_is_kept(most: str):
    text = _kernel(_INDEX + _ROW_AND_COLUMN).replace("void k", f"__launch_bounds__({most}) void k")
    made = _alternative(small("#define THREADS 256\n" + text, **_FLAT))
    assert "n / COLS * ROWS <= 256" in [rule.expression for rule in made.rules]


def test_a_required_size_of_a_work_group_stays():
    text = (
        "__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k(__global float* out, __global const float* x, int rows,"
        f" int n) {{\n  int i = get_global_id(0);\n  {_ROW_AND_COLUMN}\n}}\n"
    )
    assert "reqd_work_group_size" in declined(Map2D(), small(text, language=Language.OPENCL, **_FLAT))
