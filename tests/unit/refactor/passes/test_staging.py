"""`staging`: which rows are a thread's own, where their values lie as well, and what the other forms look like."""

from dataclasses import replace

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.staging import Staging

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  {array}
  const float* from = x + blockIdx.x * n;
  float* to = out + blockIdx.x * n;
  float total = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {{
    {first}
  }}
  __syncthreads();
  for (int j = threadIdx.x; j < n; j += blockDim.x) {{
    {second}
  }}
}}
"""
ARRAY = "__shared__ float row[4096];"
LOADED = "const float v = from[i]; total += v; row[i] = v;"
STORED = "const float v = from[i] * 2.0f; to[i] = v; row[i] = v;"
READ = "to[j] = row[j] * total;"


def subject(array=ARRAY, first=LOADED, second=READ):
    return small(KERNEL.format(array=array, first=first, second=second))


def made(value=1, **parts):
    return squeezed(applied(Staging(), subject(**parts)).alternatives[value].text)


def test_a_loaded_row_is_read_again_under_the_other_loop_s_index():
    text = made()
    assert "to[j] = static_cast<float>(from[j]) * total;" in text
    assert "row" not in text


def test_the_default_is_the_original():
    given = subject()
    rewrite = applied(Staging(), given)
    assert rewrite.variant == given.variant
    assert (rewrite.choice.name, rewrite.choice.default, rewrite.choice.values) == ("KEEP", 0, (0, 1, 2, 4, 8, 16))


def test_a_row_in_registers_has_a_fixed_number_of_guarded_steps():
    rewrite = applied(Staging(), subject())
    form = rewrite.alternatives[4]
    text = squeezed(form.text)
    assert "float row[KEEP]; // the thread's own part of the row" in text
    assert "for (int step = 0; step < KEEP; ++step) { const int i = threadIdx.x + step * blockDim.x; if (i < n) {" in text
    assert "row[step] = v;" in text
    assert "to[j] = row[step] * total;" in text
    assert "__shared__" not in text
    assert [rule.expression for rule in form.rules] == ["ceildiv(n, 256) <= KEEP"]
    assert form == rewrite.alternatives[16]


def test_the_bundled_original_reads_what_it_stored_as_a_pack():
    rewrite = applied(Staging(), bundled("fused_add_rmsnorm"))
    again, registers = rewrite.alternatives[1], rewrite.alternatives[2]
    assert again.shared == registers.shared == "0"
    assert "const Packed staged_again = res[i];" in again.text
    assert "const float x = static_cast<float>(staged_again.lane[lane]);" in again.text
    assert "staged[" not in again.text
    assert "float staged[KEEP][kLanes];" in registers.text


def test_narrower_values_are_not_read_again_but_may_stay_in_registers():
    given = bundled("fused_add_rmsnorm")
    half = replace(given.variant, entry="fused_add_rmsnorm_kernel<__half>")
    assert set(applied(Staging(), Subject(given.kernel, given.limits, half)).alternatives) == {2, 4, 8, 16}


def test_opencl():
    text = """
__kernel void k(__global float* out, __global const float* x, int n) {
  __local float row[4096];
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) {
    row[i] = x[get_group_id(0) * n + i];
  }
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) {
    out[get_group_id(0) * n + i] = row[i] + 1.0f;
  }
}
"""
    rewrite = applied(Staging(), small(text, language=Language.OPENCL))
    assert "(float)(x[get_group_id(0) * n + i]) + 1.0f;" in rewrite.alternatives[1].text
    assert "__local" not in rewrite.alternatives[1].text
    assert "float row[KEEP];" in rewrite.alternatives[2].text


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"array": "float row[4096];"}, "no shared array"),
        ({"second": "to[j] = row[n - 1 - j];"}, "is also read where another thread wrote it"),
        ({"second": "to[j] = row[j + 1];"}, "is also read where another thread wrote it"),
        ({"first": "if (i & 1) row[i] = from[i];"}, "is not written in every iteration"),
        ({"first": "row[i] = from[i]; if (i > 5) break;"}, "can be left"),
        ({"first": "row[i] = from[i]; row[i] += 1.0f;"}, "changed in place"),
        ({"first": "row[i / 2] = from[i];"}, "cannot prove"),
        ({"first": "row[i + threadIdx.x] = from[i];"}, "cannot prove"),
        ({"second": "to[j] = first(row);"}, "used as a whole"),
        (
            {"second": "to[j] = row[j]; } for (int j = threadIdx.x; j < n / 2; j += blockDim.x) { to[j] += row[j];"},
            "another range",
        ),
        ({"second": "to[j] = 0; } for (int j = 0; j < n; ++j) { total += row[j];"}, "outside block-stride loops"),
        (
            {"second": "} if (n) { for (int j = threadIdx.x; j < n; j += blockDim.x) to[j] = row[j];"},
            "cannot prove that every read of",
        ),
        ({"array": "__shared__ float row[4096], other[32];"}, "is declared together with others, or is not one-dimensional"),
    ],
)
def test_what_is_not_a_thread_s_own_row(parts, reason):
    assert reason in declined(Staging(), subject(**parts))


@pytest.mark.parametrize(
    "parts",
    [
        {"first": STORED},  # `out` is written again
        {"first": "const float v = from[i] * 2.0f; row[i] = v; total += v;"},  # lies nowhere else
        {"first": "const float v = from[i]; row[i] = v + 1.0f;"},
        {"first": "float v = from[i]; row[i] = v; v = 0.0f;"},  # the name has two values
        {"first": "const float v = from[0]; row[i] = v;"},  # not a place of the step's own
        {"array": "__shared__ double row[4096];"},  # another type
    ],
)
def test_values_that_cannot_be_read_again_may_still_wait_in_registers(parts):
    assert set(applied(Staging(), subject(**parts)).alternatives) == {2, 4, 8, 16}


def test_what_was_stored_is_read_again_when_nobody_writes_there_any_more():
    text = made(first=STORED, second="total += row[j];")
    assert "total += static_cast<float>(to[j]);" in text


def test_a_place_that_all_blocks_write_is_not_read_again():
    first = "const float v = from[i] * 2.0f; out[i] = v; row[i] = v;"
    assert 1 not in applied(Staging(), subject(first=first, second="total += row[j];")).alternatives


def test_macros_may_hide_uses():
    hidden = "#define ROW(i) row[i]\n" + KERNEL.format(array=ARRAY, first=LOADED, second="to[j] = ROW(n - 1 - j);")
    assert "a macro mentions row" in declined(Staging(), small(hidden))
    hidden = "#define PUT(i) x[i] = 0.0f\n" + KERNEL.format(array=ARRAY, first=LOADED, second=READ + " PUT(j);")
    assert 1 not in applied(Staging(), small(hidden)).alternatives


def test_rows_of_several_blocks_one_after_the_other():
    text = """
__global__ void k(float* out, const float* x, int n) {
  __shared__ float row[4096];
  for (int r = 0; r < 4; ++r) {
    const int block = blockIdx.x * 4 + r;
    const float* from = x + block * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = from[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[block * n + i] = row[i];
  }
}
"""
    assert "out[block * n + i] = static_cast<float>(from[i]);" in applied(Staging(), small(text)).alternatives[1].text
