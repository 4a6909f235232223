"""`direct_reads`: what counts as a tile, how its reads are written, and what is left alone."""

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, declined, small, squeezed

from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.lift_constants import LiftConstants

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  __shared__ float tile[8][32];
  {fill}
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = {read};
}}
"""
FILL = "tile[threadIdx.y][threadIdx.x] = x[(blockIdx.x * 8 + threadIdx.y) * n + threadIdx.x];"

PADDING = "tile[threadIdx.y][threadIdx.x] = 0;"


def made(fill: str = FILL, read: str = "tile[7 - threadIdx.y][threadIdx.x]") -> str:
    rewrite = applied(DirectReads(), small(KERNEL.format(fill=fill, read=read), block=("32", "8")))
    return squeezed(rewrite.alternatives[1].text)


def test_the_address_follows_from_the_subscripts():
    text = made()
    assert "const auto* tile_source = x + static_cast<long long>(static_cast<int>(blockIdx.x)) * n * 8;" in text
    read = "(tile_source + static_cast<long long>(static_cast<int>(7 - threadIdx.y)) * n)[static_cast<int>(threadIdx.x)]"
    assert f"= {read};" in text
    assert "__shared__" not in text
    assert "__syncthreads" not in text


def test_guards_and_fillings_travel_along():
    text = made("tile[threadIdx.y][threadIdx.x] = threadIdx.x < n ? x[threadIdx.y * n + threadIdx.x] : -1.0f;")
    assert "(static_cast<int>(threadIdx.x) < n ? (tile_source + " in text
    assert "] : -1.0f);" in text


@pytest.mark.parametrize("fill", ["if (threadIdx.x < n) {0} else {1}", "if (threadIdx.x < n) {{ {0} }} else {{\n    {1}\n  }}"])
def test_what_is_put_there_otherwise_travels_along_too(fill):
    text = made(
        fill.format("tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];", "tile[threadIdx.y][threadIdx.x] = 2;")
    )
    assert "(static_cast<int>(threadIdx.x) < n ? (tile_source + " in text
    assert "] : 2);" in text
    assert "tile[" not in text


def test_a_variable_that_changes_later_has_its_value_of_the_time():
    rewrite = applied(DirectReads(), bundled("transpose"))
    text = squeezed(rewrite.alternatives[1].text)
    assert "static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.y + j) < cols" in text


def test_on_a_cpu_one_of_the_factors_of_a_product_stays_in_shared_memory():
    assert applied(DirectReads(), bundled("matmul")).choice.values == (0, 1, 2, 3)
    rewrite = applied(DirectReads(), bundled("matmul", CPU_LIMITS))
    assert rewrite.choice.values == (0, 1, 2)
    assert [form.text.count("__shared__") for form in rewrite.alternatives.values()] == [1, 1]
    assert [form.text.count("__syncthreads") for form in rewrite.alternatives.values()] == [2, 2]


def test_two_tiles_that_are_filled_once_give_each_alone_and_both():
    both = KERNEL.replace("tile[8][32];", "tile[8][32];\n  __shared__ float other[32];")
    text = both.format(fill=FILL + "\n  other[threadIdx.x] = x[threadIdx.x];", read="tile[0][threadIdx.x] * other[threadIdx.x]")
    rewrite = applied(DirectReads(), small(text, block=("32", "8")))
    assert rewrite.choice.values == (0, 1, 2, 3)
    assert [form.text.count("__syncthreads") for form in rewrite.alternatives.values()] == [1, 1, 0]


def test_only_what_is_left_must_fit():
    subject = bundled("matmul")
    lifted = Subject(subject.kernel, subject.limits, applied(LiftConstants(), subject).variant)
    rewrite = applied(DirectReads(), lifted)
    fits = [[r.expression for r in form.rules if "shared_bytes" in r.expression] for form in rewrite.alternatives.values()]
    shared = " <= static_shared_bytes_per_block"
    assert fits == [[f"4 * TILE_K * TILE_N{shared}"], [f"4 * TILE_K * TILE_M{shared}"], []]


@pytest.mark.parametrize(
    ("fill", "read", "reason"),
    [
        ("tile[threadIdx.y][threadIdx.x] = 2 * x[threadIdx.x];", "tile[0][0]", "more than a loaded value"),
        ("tile[threadIdx.y][threadIdx.x] = out[threadIdx.x];", "tile[0][0]", "read-only"),
        ("tile[threadIdx.y][threadIdx.x] = x[threadIdx.z];", "tile[0][0]", "does not follow"),
        ("tile[threadIdx.y][threadIdx.x / 2] = x[threadIdx.x];", "tile[0][0]", "does not follow"),
        (FILL + " tile[0][0] += 1;", "tile[0][0]", "is changed"),
        (FILL, "first(tile)", "as a whole"),
        (FILL + " " + FILL.replace("x[(", "x[1 + ("), "tile[0][0]", "in different ways"),
        ("if (n & 1) " + FILL, "tile[0][0]", "more than comparisons"),
        ("for (int t = 0; t < n; ++t) { if (t < 1) " + FILL + " out[t] = tile[0][0]; }", "1", "keeps stale values"),
        (
            "for (int t = 0; t < n; ++t) { if (t < 1) { if (t < n) " + FILL + f" else {PADDING} }} out[t] = tile[0][0]; }}",
            "1",
            "keeps stale values",  # where the outer condition does not hold
        ),
        ("if (threadIdx.x < n) " + FILL + " else tile[threadIdx.y][0] = 0;", "tile[0][0]", "in different ways"),
        ("if (threadIdx.x < n) " + FILL + f" else {{ {PADDING} out[0] = 1; }}", "tile[0][0]", "also changes"),
        ("if (threadIdx.x < n) " + FILL + f" else while (n > 2) {PADDING}", "tile[0][0]", "in different ways"),
        ("if (threadIdx.x < n) " + FILL + f" else if (n > 2) {PADDING}", "tile[0][0]", "in different ways"),
        (
            "for (int t = threadIdx.x; t < n; t += 32) { tile[0][threadIdx.x] = x[t]; out[t] = tile[0][1]; }",
            "1",
            "does not follow",  # each thread has its own t
        ),
        ("{ int m = n; m *= 2; " + FILL.replace("* n", "* m") + " }", "tile[0][0]", "is not available where"),
    ],
)
def test_what_is_not_a_tile(fill, read, reason):
    assert reason in declined(DirectReads(), small(KERNEL.format(fill=fill, read=read), block=("32", "8")))


def test_of_several_that_are_declared_together_the_others_stay():
    text = KERNEL.replace("tile[8][32];", "tile[8][32], other[8];").format(fill=FILL, read="tile[0][0] + other[0]")
    (form,) = applied(DirectReads(), small(text, block=("32", "8"))).alternatives.values()
    assert "__shared__ float other[8];" in form.text


def test_no_tiles():
    assert "no shared array" in declined(DirectReads(), bundled("silu_and_mul"))
