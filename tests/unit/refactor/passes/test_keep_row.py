"""`keep_row`: which rows are read twice, and how they are kept."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.passes.keep_row import KeepRow

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  const float* from = x + blockIdx.x * n;
  float total = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {{
    {first}
  }}
  __syncthreads();
  for (int j = threadIdx.x; j < {bound}; j += blockDim.x) {{
    {second}
  }}
}}
"""
FIRST, SECOND = "total += from[i] * from[i];", "out[blockIdx.x * n + j] = from[j] * total;"


def subject(first=FIRST, second=SECOND, bound="n"):
    return small(KERNEL.format(first=first, second=second, bound=bound))


def test_in_shared_memory_each_thread_reads_what_it_wrote():
    form = applied(KeepRow(), subject()).alternatives[1]
    assert "extern __shared__ float kept_row[];" in form.text
    assert "total += (kept_row[i] = from[i]) * from[i];" in form.text
    assert "= kept_row[j] * total;" in form.text
    assert form.shared == "4 * n"


def test_in_registers_for_a_fixed_number_of_steps():
    rewrite = applied(KeepRow(), subject())
    form = rewrite.alternatives[16]
    text = squeezed(form.text)
    assert (
        "float kept_row[ROW]; // the thread's own part of the row #pragma unroll for (int step = 0; step < ROW; ++step) {" in text
    )
    assert "const int j = threadIdx.x + step * blockDim.x; if (j < n) {" in text
    assert "= kept_row[step] * total;" in text
    assert [rule.expression for rule in form.rules] == ["ceildiv(n, 256) <= ROW"]
    assert form.shared == "0"
    assert (rewrite.choice.default, rewrite.choice.values) == (0, (0, 1, 2, 4, 8, 16))


def test_packs_have_a_size():
    given = bundled("softmax")
    rewrite = applied(KeepRow(), given)
    assert rewrite.variant == given.variant
    assert "const Packed x = (kept_row[i] = from[i]);" in rewrite.alternatives[1].text
    assert rewrite.alternatives[1].shared == "16 * (cols / 4)"


def test_opencl_keeps_in_registers_only():
    text = """
__kernel void k(__global float* out, __global const float* x, int n) {
  float total = 0.0f;
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) total += x[i];
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) out[i] = x[i] * total;
}
"""
    assert set(applied(KeepRow(), small(text, language=Language.OPENCL)).alternatives) == {2, 4, 8, 16}


@pytest.mark.parametrize(
    "parts",
    [
        {"first": "if (i & 1) total += from[i];"},
        {"first": "total += i > 3 ? from[i] : 0.0f;"},
        {"first": "if (i > 3 && from[i] > 0.0f) break; total += 1.0f;"},
        {"first": "total += __ldg(&from[i]);"},
        {"first": "total += from[2 * i];"},
        {"second": "out[j] = from[n - 1 - j];"},
        {"second": "out[j] = from[j + 1];"},
        {"second": "out[j] = 1.0f;"},
        {"bound": "n / 2"},
        {"first": "total += out[i];", "second": "out[j] = out[j] * total;"},
    ],
)
def test_what_is_not_read_twice_by_the_same_thread(parts):
    assert "no input row is read in two loops over the same range" in declined(KeepRow(), subject(**parts))


def test_no_strided_loop():
    assert "the kernel has no block-stride loop" in declined(KeepRow(), bundled("transpose"))


def test_rows_of_several_blocks_one_after_the_other():
    text = """
__global__ void k(float* out, const float* x, int n) {
  for (int r = 0; r < 4; ++r) {
    const int block = blockIdx.x * 4 + r;
    const float* from = x + block * n;
    float total = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) total += from[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[block * n + i] = from[i] / total;
  }
}
"""
    assert "out[block * n + i] = kept_row[i] / total;" in applied(KeepRow(), small(text)).alternatives[1].text
