from __future__ import annotations

from dataclasses import replace

import pytest
from pass_subjects import CPU_LIMITS, applied, declined, small, squeezed

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.serial_warps import SerialWarps

_SUM = """__device__ float sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
"""


def _subject(body: str, *, block: str = "128", before: str = _SUM) -> Subject:
    made = small(f"{before}__global__ void k(float* out, const float* x, int n) {{\n{body}}}\n", block=(block,))
    return Subject(made.kernel, CPU_LIMITS, made.variant)


def _forms(body: str, *, block: str = "128") -> dict[int, Variant]:
    found = applied(SerialWarps(), _subject(body, block=block))
    assert found.choice is not None
    assert "lanes of a warp synchronise only where they exchange values" in found.choice.assumes
    return dict(found.alternatives)


_ROW = """  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float s = 0.f;
  for (int i = lane; i < n; i += 32) s += x[warp * n + i];
  s = sum(s) * 2.f;
  if (lane == 0) out[warp] = s;
"""


def test_lanes_are_loops_and_what_outlasts_them_arrays():
    made = squeezed(_forms(_ROW)[1].text)
    assert "float sum_of_lanes(const float* v_given) { float v[32];" in made
    assert "int first_i = 0; for (; first_i + 32 - 1 < n; first_i += 32) for (int step_of_few = 0; step_of_few < 32;" in made
    assert "s[step_of_few] += x[warp * n + i];" in made
    assert "const int warp = static_cast<int>(threadIdx.x);" in made
    assert _forms(_ROW)[1].block == ("4",)


def test_what_is_the_same_in_all_lanes_is_done_once():
    made = squeezed(_forms(_ROW)[1].text)
    assert "const auto sum_result = sum_of_lanes(s); float s_of_all = sum_result * 2.f;" in made
    assert "if (lane == 0) out[warp] = s_of_all;" in made


def test_what_lanes_share_is_declared_where_some_have_left():
    body = """  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= n) return;
  const int width = n / 8;
  out[row] = x[row * width];
"""
    made = squeezed(_forms(body)[2].text)
    assert "if (row >= n) continue; const int width = n / 8; out[row] = x[row * width];" in made


def test_a_block_of_one_warp_needs_no_barrier_and_goes_through_a_row_in_order():
    body = """  const int first = blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[first + i] = x[first + i];
  __syncthreads();
"""
    forms = _forms(body)
    assert list(forms) == [2]
    assert forms[2].block == ("1",)
    assert "for (int i = 0; i < n; ++i) {" in forms[2].text
    assert "__syncthreads" not in forms[2].text
    assert "float* __restrict__ out, const float* __restrict__ x" in forms[2].text


def test_a_function_of_a_type_only_shares_the_name():
    before = f"struct Pair {{ __device__ static float sum(float a, float b) {{ return a + b; }} }};\nnamespace w {{\n{_SUM}}}\n"
    subject = _subject(
        "  const float s = w::sum(x[threadIdx.x]);\n  if (threadIdx.x % 32 == 0) out[0] = Pair::sum(s, 1.f);\n", before=before
    )
    made = squeezed(applied(SerialWarps(), subject).alternatives[1].text)
    assert "const auto sum_result = w::sum_of_lanes(given); const float s = sum_result;" in made
    assert "out[0] = Pair::sum(s, 1.f);" in made


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("  if (threadIdx.x < 8) out[0] = sum(x[0]);\n", "lanes exchange values where the control flow is not warp-uniform"),
        (
            "  if (x[threadIdx.x] > 0.f) return;\n  out[0] = sum(x[0]);\n",
            "a lane may return before other lanes finish exchanging values",
        ),
        (
            "  for (int i = threadIdx.x; i < n; i += 32) out[0] = sum(x[i]);\n",
            "lanes exchange values where the control flow is not warp-uniform",
        ),
        ("  out[0] = n > 3 ? sum(x[threadIdx.x]) : 0.f;\n", "lanes exchange values under a condition"),
    ],
)
def test_lanes_that_do_not_come_together(body: str, reason: str):
    assert reason in declined(SerialWarps(), _subject(body))


def test_on_a_gpu_lanes_work_side_by_side_already():
    subject = _subject(_ROW)
    limits = replace(CPU_LIMITS, shared_banks=32)
    assert "already run in parallel" in declined(SerialWarps(), Subject(subject.kernel, limits, subject.variant))


def test_a_block_of_one_thread_has_no_lanes():
    assert "lanes do not exchange values, and the kernel does not use a thread's warp or lane index" in declined(
        SerialWarps(), _subject("out[0] = x[0];\n", block="1")
    )


_COLUMNS = """  __shared__ float w[512];
  for (int i = threadIdx.x; i < n; i += blockDim.x) w[i] = x[i];
  __syncthreads();
  for (int c = threadIdx.x; c < n; c += blockDim.x) {
    float s = 0.f;
    for (int i = 0; i < n; ++i) STEP
    out[c] = s;
  }
"""


def test_lanes_go_together_through_a_loop_over_rows_that_they_read_side_by_side():
    made = squeezed(_forms(_COLUMNS.replace("STEP", "s += w[i] * x[i * n + c];"))[2].text)
    assert "for (int i = 0; i < n; ++i) { for (int lane_of_warp = 0; lane_of_warp < 32; ++lane_of_warp) {" in made
    assert "const int c = first_c + lane_of_warp; s[lane_of_warp] += w[i] * x[i * n + c]; } }" in made
    assert "if (lanes_here == 32) {" in made


@pytest.mark.parametrize(
    ("step", "before"), [("s += w[i] * x[c * n + i];", ""), ("s += x[i * n + c];", "if (x[c] > s) continue;")]
)
def test_lanes_take_steps_one_by_one_that_run_along_memory_or_are_left_early(step: str, before: str):
    made = squeezed(_forms(_COLUMNS.replace("STEP", step).replace("0.f;", f"0.f; {before}"))[2].text)
    assert "lanes_here == 32" not in made


_PACKS = """  float s = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    for (int k = 0; k < 4; ++k) s += x[i * 4 + k];
  }
  USE
  s = sum(s);
  if (threadIdx.x == 0) out[0] = s;
"""


def test_neighbours_in_a_step_collect_beside_each_other():
    made = squeezed(_forms(_PACKS.replace("  USE\n", ""))[2].text)
    assert "for (; first_i + 8 - 1 < n; first_i += 8) for (int step_of_few = 0; step_of_few < 8; ++step_of_few) {" in made
    assert "for (int k = 0; k < 4; ++k) s[(step_of_few * 4 + k) % 32] += x[i * 4 + k];" in made


@pytest.mark.parametrize("use", ["out[threadIdx.x] = s;", "s *= 2.f;", "if (threadIdx.x > 3) s += 1.f; s = s * s;"])
def test_what_lanes_do_more_with_than_collect_stays_theirs(use: str):
    made = squeezed(_forms(_PACKS.replace("USE", use))[2].text)
    assert "s[lane_of_warp] += x[i * 4 + k];" in made


def test_one_thread_may_do_the_warps_of_a_block_in_turn():
    forms = _forms(_ROW)
    assert forms[3].block == ("1",)
    assert "for (unsigned int step_x = 0; step_x < (4); ++step_x) {" in squeezed(forms[3].text)
    assert 3 not in _forms("  __shared__ float t[128];\n  t[threadIdx.x] = 1.f;\n  __syncthreads();\n" + _ROW)


def test_what_lanes_change_after_a_sum_for_all_has_a_value_for_each_again():
    body = """  const int lane = threadIdx.x % 32;
  float s = x[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (lane < 4) s = x[lane];
  for (int o = 2; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  out[threadIdx.x] = s;
"""
    made = squeezed(_forms(body)[1].text)
    assert "float s_of_all[32];" in made
    assert "{ s_of_all[lane_of_warp] = s[0]; }" in made
    assert "if (lane < 4) s_of_all[lane_of_warp] = x[lane];" in made
    assert "out[(static_cast<int>(threadIdx.x) * 32 + lane_of_warp)] = s_of_all[lane_of_warp];" in made


def test_a_thread_for_each_warp_where_the_kernel_only_asks_which_warp_and_lane_it_is():
    body = "  const int at = threadIdx.x;\n  out[at / 32 * n + at % 32] = x[at];\n"
    made = _forms(body)[1]
    assert made.block == ("4",)
    assert "const int at = (static_cast<int>(threadIdx.x) * 32 + lane_of_warp);" in squeezed(made.text)
    assert 1 not in _forms("  out[threadIdx.x] = x[threadIdx.x];\n")
