"""Tiles that move back to end with the data: where `whole_tiles` offers them, what it writes, and why it does not elsewhere."""

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Rewrite, Subject
from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.whole_tiles import WholeTiles
from warpsmith.refactor.tiles.moved_tiles import moved_tiles

# Sixteen threads with four elements each; every place in {braces} is what a test changes.
KERNEL = """
__global__ void k(float* {restrict} out, const float* x, int n) {{
  {before}
  float sums[4];
  for (int q = 0; q < 4; ++q) sums[q] = 0.0f;
  for (int i = 0; i < 3; ++i) {{
    for (int q = 0; q < {turns}; ++q) {{
      const int col = {column};
      {step}
    }}
  }}
  {between}
  for (int q = 0; q < 4; ++q) {{
    const int col = {column};
    if (col < n) {store}
  }}
}}
"""
PLAIN = {
    "restrict": "__restrict__",
    "before": "const int first = blockIdx.x * 64;",
    "turns": "4",
    "column": "first + q * 16 + threadIdx.x",
    "step": "sums[q] += col + i < n + 2 ? x[col + i] : 0.0f;",
    "between": "",
    "store": "out[col] = sums[q];",
}


def made(**changed: str) -> Rewrite:
    return applied(WholeTiles(), small(KERNEL.format(**{**PLAIN, **changed}), block=("16",)))


def moved(answer: Rewrite) -> str:
    text = squeezed(answer.variant.text)
    return text.split("#if WHOLE == 2 ")[1].split("return; } #endif")[0]


def left_out(**changed: str) -> str:
    answer = made(**changed)
    assert answer.variant.tunables[-1].values == (0, 1)
    assert "WHOLE == 2" not in answer.variant.text
    return answer.notes[0].removeprefix("no WHOLE=2: ")


def test_the_block_s_place_is_less_and_nothing_is_checked():
    answer = made()
    text = moved(answer)
    tunable = answer.variant.tunables[-1]
    assert (tunable.values, tunable.default, tunable.likely, answer.notes) == ((0, 1, 2), 0, (1, 2), ())
    beyond = "(static_cast<long long>(blockIdx.x) + 1) * 64 - n"
    assert f"if (64 <= n) {{ const long long back_x = {beyond} > 0 ? {beyond} : 0; const int first" in text
    assert "const int first = blockIdx.x * 64 - back_x;" in text
    assert "sums[q] += x[col + i];" in text
    assert "threadIdx.x; out[col] = sums[q];" in text


@pytest.mark.parametrize(
    ("changed", "written"),
    [
        ({"column": "first + threadIdx.x * 4 + q"}, "blockIdx.x * 64 - back_x; float"),
        ({"column": "blockIdx.x * 64 + q * 16 + threadIdx.x", "before": ""}, "+ q * 16 + threadIdx.x - back_x;"),
        ({"before": "const float* from = x + blockIdx.x * 64; const int first = blockIdx.x * 64;",
          "step": "sums[q] += from[q * 16 + threadIdx.x];"}, "from = x + blockIdx.x * 64 - back_x;"),
        ({"step": "if (x[i] > 0 && col < n) sums[q] += x[col];"}, "if (x[i] > 0) sums[q] += x[col];"),
        # A check that may fail inside stays, and what it guards follows from the coordinate all the same.
        ({"step": "sums[q] += col - i >= 0 ? x[col - i] : 0.0f;"}, "col - i >= 0 ? x[col - i] : 0.0f;"),
        ({"step": "sums[q] += col + i < n + 1 ? x[col + i] : 0.0f;"}, "col + i < n + 1 ? x[col + i] : 0.0f;"),
        ({"step": "float v = x[col]; v *= 2; sums[q] += v;"}, "float v = x[col]; v *= 2; sums[q] += v;"),
        ({"store": "out[n * 3 + col] = sums[q];"}, "(out + n * 3)[col] = sums[q];"),
    ],
)  # fmt: skip
def test_what_follows_from_the_coordinate(changed, written):
    assert written in moved(made(**changed))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"between": "__syncthreads();"}, "has barriers"),
        ({"before": "const int first = blockIdx.x * 64; if (first > n) return;"}, "a thread may leave"),
        ({"store": "out[col] += sums[q];"}, "a stored buffer is also read"),
        ({"restrict": ""}, "out is not __restrict__: other threads may read the stored elements"),
        ({"store": "atomicAdd(&out[col], sums[q]);"}, "atomicAdd is called"),
        ({"store": "out[threadIdx.x] = sums[q];"}, "`out[threadIdx.x]` does not follow"),
        ({"store": "out[col] = sums[q] + blockIdx.x;"}, "does not follow from an element's coordinate along x"),
        ({"store": "out[col] = sums[q] + (threadIdx.x == 0);"}, "does not follow"),
        ({"store": "out[col] = sums[q] * q;"}, "`sums[q] * q` does not follow"),
        ({"store": "out[col] = sums[3 - q];"}, "sums"),
        ({"store": "out[col] = sums[threadIdx.x % 4];"}, "sums"),
        ({"between": "out[0] = 1;"}, "no bounds check gives the range of the adjacent elements that a block stores"),
        ({"column": "first + q * 16 + threadIdx.x", "before": "const int first = blockIdx.x * 32;"}, "no bounds check"),
        ({"column": "first + q * 8 + threadIdx.x"}, "no bounds check"),
        ({"turns": "3"}, "loops over a thread's elements have different ranges"),
        ({"step": "sums[q] += x[first + threadIdx.x];"}, "`x[first + threadIdx.x]` does not follow"),
        ({"step": "sums[q] += x[q];"}, "`x[q]` does not follow"),
        ({"step": "sums[0] += col < n ? x[col] : 0.0f;"}, "sums has one entry per element of a thread"),
        ({"before": "const int first = blockIdx.x * 64; float v = 0;", "step": "v += x[col]; sums[q] += v;"}, "v is carried"),
        ({"before": "const int first = blockIdx.x * 64; const float v = x[first + threadIdx.x];"}, "does not follow"),
        ({"step": "sums[q] += static_cast<float>(first) * 0.5f + (q * 16 + threadIdx.x) * 0.5f;"}, "does not follow"),
        ({"step": "sums[q] += (float)first + (q * 16 + threadIdx.x);"}, "does not follow"),
        ({"step": "sums[q] += unknown(col);"}, "unknown is called"),
    ],
)  # fmt: skip
def test_what_does_not(changed, reason):
    step = changed.get("step", "")
    if step and "col < n" not in step:
        changed = {**changed, "step": f"{step} if (col < n) sums[q] += x[col];"}
    assert reason in left_out(**changed)


def test_on_a_cpu_a_barrier_keeps_the_two_ways_apart():
    gpu = small(KERNEL.format(**PLAIN), block=("16",))
    subject = Subject(gpu.kernel, CPU_LIMITS, gpu.variant)
    assert moved(applied(WholeTiles(), subject)).partition("if (64 <= n) { ")[2].startswith("__syncthreads();")
    assert "__syncthreads" not in moved(made())


def test_a_name_that_hides_a_block_s_place():
    source = "#define FIRST (blockIdx.x * 64)\n" + KERNEL.format(
        **{**PLAIN, "before": "", "column": "FIRST + q * 16 + threadIdx.x"}
    )
    assert "FIRST hides" in applied(WholeTiles(), small(source, block=("16",))).notes[0]


def test_the_place_in_the_grid_is_a_block_s_place_too():
    source = """
    __kernel void k(__global float* restrict out, const __global float* x, const int n) {
      const int col = get_global_id(0);
      float sum = 0.0f;
      for (int i = 0; i < 3; ++i) {
        if (col < n) sum += x[col] * i;
      }
      if (col < n) out[col] = sum;
    }
    """
    text = moved_tiles(small(source, block=("16",), language=Language.OPENCL), "MOVED").text
    assert "const int col = get_global_id(0) - back_x;" in text
    assert "if (" not in text.split("back_x;")[1]


def test_rows_and_columns_of_an_image():
    subject = bundled("convolution_opencl")
    direct = applied(DirectReads(), subject).alternatives[1]
    answer = applied(WholeTiles(), Subject(subject.kernel, subject.limits, direct))
    text = moved(answer)
    assert "const int first_x = get_group_id(0) * TILE_X - back_x; const int first_y = get_group_id(1) * TILE_Y - back_y;" in text
    assert " - back_x - back_y * (8 + width);" in text
    assert "(out + row * width)[col] = sums[p][q];" in text
    assert "?" not in text.split("const int x =")[1]
    assert "uses shared memory" in applied(WholeTiles(), subject).notes[0]
