"""`row_loops`: guards around an element become loops; what it had is found out again; all else stays, or is declined."""

from __future__ import annotations

import pytest
from pass_subjects import applied, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.row_loops import RowLoops

LOOP = "for (int element = threadIdx.x; element < n; element += blockDim.x) {"
WARP = """
__device__ float warp_NAME(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = COMBINED;
  return value;
}
__device__ float block_NAME(float value) {
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_NAME(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = warp_NAME(lane < blockDim.x / 32 ? partial[lane] : MISSING);
  __syncthreads();
  return value;
}
"""
EXCHANGED = "__shfl_xor_sync(0xffffffff, value, offset)"
SUM = WARP.replace("NAME", "sum").replace("COMBINED", f"value + {EXCHANGED}").replace("MISSING", "0.0f")
MAX = WARP.replace("NAME", "max").replace("COMBINED", f"fmaxf(value, {EXCHANGED})").replace("MISSING", "-INFINITY")
BEGIN = "  const int tid = threadIdx.x;\n  const float* row = x + blockIdx.x * n;\n  float* to = out + blockIdx.x * n;\n"
SQUARES = "  float v;\n  float sum = 0.0f;\n  if (tid < n) {\n    v = row[tid];\n    sum += v * v;\n  }\n"
SCALED = f"{SQUARES}  const float all = block_sum(sum);\n  if (tid < n) to[tid] = v * all;\n"
ADDED = "  float sum = 0.0f;\n  if (tid < n) sum += row[tid];\n  const float all = block_sum(sum);\n"


def rows(body: str, *, block: str = "round_up(n, 32)", before: str = SUM + MAX, n: int = 1000) -> Subject:
    text = f"{before}__global__ void k(float* out, const float* x, int n) {{\n{BEGIN}{body}}}\n"
    return small(text, block=(block,), roles={"out": "inout", "x": "in"}, sizes={"rows": 4, "n": n})


def looped(body: str, **options) -> str:
    """What the kernel does after its three pointers and numbers."""
    text = squeezed(applied(RowLoops(), rows(body, **options)).alternatives[1].text.partition("__global__")[2])
    return text.partition("float* to = out + blockIdx.x * n; ")[2].removesuffix(" }")


def test_guards_become_loops_and_a_value_is_read_again():
    text = looped(SCALED)
    assert text == (
        f"float sum = 0.0f; {LOOP} float v = row[element]; sum += v * v; }} const float all = block_sum(sum); "
        f"{LOOP} float v = row[element]; to[element] = v * all; }}"
    )


def test_the_launch_is_free_but_for_whole_warps():
    rewrite = applied(RowLoops(), rows(SCALED))
    made = rewrite.alternatives[1]
    assert made.block == ("BLOCK",)
    assert made.tunables[0].values == (8, 16, 32, 64, 128, 256, 512, 1024)
    assert [rule.expression for rule in made.rules] == ["BLOCK % warp_size == 0"]
    assert (rewrite.choice.name, rewrite.choice.values, rewrite.variant.text) == ("ROW_LOOPS", (0, 1), rows(SCALED).variant.text)
    alone = applied(RowLoops(), rows("  if (tid < n) to[tid] = 2 * row[tid];\n", block="n"))
    assert alone.alternatives[1].rules == ()


def test_first_terms_are_added():
    text = looped(SQUARES.replace("sum +=", "sum =") + "  sum = block_sum(sum);\n  if (tid < n) to[tid] = v * sum;\n")
    assert f"{LOOP} float v = row[element]; sum += v * v; }} sum = block_sum(sum);" in text


def test_what_followed_from_sums_is_found_out_again_with_them():
    body = "  float v;\n  float top = -INFINITY;\n  float sum = 0.0f;\n"
    body += "  if (tid < n) {\n    v = row[tid];\n    top = fmaxf(top, v);\n  }\n"
    body += "  top = block_max(top);\n  if (tid < n) {\n    v = expf(v - top);\n    sum += v;\n  }\n"
    text = looped(f"{body}  const float all = block_sum(sum);\n  if (tid < n) to[tid] = v / all;\n")
    assert text.endswith(f"{LOOP} float v = row[element]; v = expf(v - top); to[element] = v / all; }}")
    later = f"{body}  const float all = block_sum(sum);\n  top = 2 * top;\n  if (tid < n) to[tid] = v / all;\n"
    assert "top may have changed since" in declined(RowLoops(), rows(later))


def test_what_a_thread_knows_of_its_place_is_the_elements():
    body = "  const int half = tid / 2;\n  const unsigned t = threadIdx.x;\n"
    text = looped(f"{body}  if (tid < n) to[tid] = row[half] + (t - 3u) + threadIdx.x % 7;\n")
    assert f"{LOOP} const int half = element / 2;" in text
    assert "row[half] + (static_cast<unsigned>(element) - 3u) + static_cast<unsigned>(element) % 7;" in text
    assert text.count("half =") == 1  # not for threads beyond the row


def test_each_element_begins_anew():
    text = looped("  float m = 0.0f;\n  if (tid < n) {\n    if (row[tid] > 0.0f) m = row[tid];\n    to[tid] = m;\n  }\n")
    assert text == f"{LOOP} float m = 0.0f; if (row[element] > 0.0f) m = row[element]; to[element] = m; }}"


def test_loops_and_conditions_that_all_threads_share_stay_around():
    inner = SCALED.replace("\n", "\n  ")
    text = looped(f"  if (blockIdx.x == 3) return;\n  for (int r = 0; r < 2; ++r) {{\n{inner}  __syncthreads();\n  }}\n")
    assert text.startswith(f"if (blockIdx.x == 3) return; for (int r = 0; r < 2; ++r) {{ float sum = 0.0f; {LOOP}")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("  if (tid >= n) return;\n  to[tid] = row[tid];\n", "a branch is not block-uniform"),
        (f"{ADDED}  if (tid < n / 2) to[tid] = all;\n", "guards admit different numbers of threads"),
        (f"{ADDED}  if (tid < n) to[tid] = sum * all;\n", "uses sum, which is not block-uniform"),
        (f"{ADDED}  if (tid == 31) to[0] = all;\n", "a branch is not block-uniform"),
        (f"{ADDED}  if (tid == 0) to[0] = sum;\n", "the first thread uses sum, which is not block-uniform"),
        (f"{ADDED}  atomicAdd(&out[0], all);\n", "a statement outside the guards is not an assignment"),
        (ADDED.replace("0.0f", "1.0f"), "sum does not start with the neutral element"),
        (ADDED.replace("float sum", "unsigned char sum"), "too narrow"),
        (ADDED.replace("sum += row[tid];", "{ sum += row[tid]; __syncthreads(); }"), "cooperate inside a guard"),
        (ADDED.replace("block_sum", "warp_sum"), "the value of all is not block-uniform"),
        (
            "  const float old = atomicAdd(&out[0], 1.0f);\n  if (tid < n) to[tid] = 1;\n",
            "is not block-uniform, and computing it may have side effects",
        ),
        (f"{ADDED}  if (tid < n) to[tid] = blockDim.x;\n", "blockDim.x is used outside"),
        (
            "  const float c = block_sum(1.0f);\n  if (tid < n) to[tid] = c;\n",
            "is not block-uniform, and computing it may have side effects",
        ),
        (SCALED.replace("v = row[tid]", "v = to[tid]"), "to may have changed since"),
        (
            SCALED.replace("v = row[tid];", "for (int j = 0; j < 2; ++j) { v = row[tid] * j; sum += v; }"),
            "the statement writes memory or a reduction variable",
        ),
        (
            "  __shared__ float s[1024];\n  if (tid < n) s[tid] = row[tid];\n  if (tid < n) to[tid] = s[n - 1 - tid];\n",
            "uses s",
        ),
        ("  float v;\n  if (n > 9) { if (tid < n) v = row[tid]; }\n  if (tid < n) to[tid] = v;\n", "used outside the guards"),
        ("  float v;\n  if (n > 9)\n    if (tid < n) v = row[tid];\n  if (tid < n) to[tid] = v;\n", "used outside the guards"),
        (
            ";\n  int r = 0;\n  for (r = 0; r < 2; ++r) {}\n  if (tid < n) r += tid;\n  to[0] = block_sum(r);\n",
            "a loop's trip count is not block-uniform",
        ),
        ("  const int c = __syncthreads_count(1);\n  if (tid < n) to[tid] = c;\n", "threads exchange values"),
        (
            "  for (int r = 0; r < 2; ++r) {\n    if (tid < n) { if (row[tid] > 0) continue; to[tid] = r; }\n  }\n",
            "jumps out of it",
        ),
    ],
)
def test_what_it_declines(body, reason):
    assert reason in declined(RowLoops(), rows(body))


def test_sums_that_hold_for_one_number_of_warps_only():
    body = "  float top = -INFINITY;\n  if (tid < n) top = fmaxf(top, row[tid]);\n"
    body += "  const float m = block_max(top);\n  if (tid < n) to[tid] = m;\n"
    applied(RowLoops(), rows(body))
    assert "recognised block reductions" in declined(RowLoops(), rows(body, before=SUM + MAX.replace("-INFINITY", "0.0f")))


def test_the_original_must_reach_the_end_with_whole_warps():
    assert "fewer threads than elements" in declined(RowLoops(), rows(SCALED, block="256"))
    assert "lanes exchange values, and a block of" in declined(RowLoops(), rows(SCALED, block="n"))
    assert "at most 64 threads" not in str(RowLoops().apply(rows(SCALED, n=64)))
    assert "at most 4 threads" in declined(RowLoops(), rows("  if (tid < n) to[tid] = row[tid];\n", block="n", n=4))


def test_opencl_is_left_alone():
    text = "__kernel void k(__global float* out, __global const float* x, int n) {\n"
    text += "  if (get_local_id(0) < n) out[get_local_id(0)] = x[get_local_id(0)];\n}\n"
    assert "OpenCL" in declined(RowLoops(), small(text, language=Language.OPENCL, block=("n",), sizes={"rows": 1, "n": 64}))
