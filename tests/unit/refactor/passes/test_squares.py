"""`squares`: what becomes each element's own, how a thread's rows are taken apart, and what is left alone."""

import pytest
from pass_subjects import LIMITS, applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Rule, Subject, Tunable, Variant
from warpsmith.refactor.passes.squares import Squares
from warpsmith.refactor.passes.whole_tiles import WholeTiles

PLAIN = """
__global__ void k(float* out, const float* x, int n) {{
  const int m = n;
  const int i = blockIdx.x * 32 + threadIdx.x;
  const int j = blockIdx.y * 16 + threadIdx.y;
  {work}
}}
"""
WORK = "if (i < n && j < m) out[i * m + j] = x[j * n + i];"


def plain(work: str = WORK, **options: object) -> Subject:
    return small(PLAIN.format(work=work), grid=("n / 32", "rows / 16"), block=("32", "16"), **options)


def made(subject: Subject) -> Variant:
    return applied(Squares(), subject).alternatives[1]


def test_what_tells_threads_apart_moves_inside_and_the_rest_is_done_once():
    form = made(plain())
    text = squeezed(form.text)
    assert form.block == ("1",)
    assert form.rules == (Rule("16 % SIDE == 0", "a block is whole squares high"),)
    assert text.index("const int m = n;") < text.index("for (int strip = 0; strip < 32 / 16; ++strip) {")
    assert "const unsigned int at_x = strip * 16 + square * SIDE + along;" in text
    assert "const unsigned int at_y = turn * SIDE + down; const int i = blockIdx.x * 32 + at_x;" in text
    assert "threadIdx" not in text


def test_a_thread_s_rows_become_rows_of_squares():
    text = squeezed(made(bundled("transpose")).text)
    # The values that x and y have where the work begins, not those that they had for the tile.
    own = "const int j = turn * SIDE; const int x = blockIdx.y * kTile + at_x; const int y = blockIdx.x * kTile + at_y;"
    assert f"const unsigned int at_y = down; {own}" in text
    assert "j += kRows" not in text


def test_a_whole_tile_then_needs_no_checks():
    form = made(bundled("transpose"))
    unchecked = applied(WholeTiles(), Subject(bundled("transpose").kernel, LIMITS, form)).variant.text
    assert "out[static_cast<int64_t>(y + j) * rows + x] = (tile_source[" in squeezed(unchecked)


def test_a_return_goes_on_to_the_next_element():
    text = squeezed(made(plain("if (i >= n || j >= m) return; out[i * m + j] = x[j * n + i];")).text)
    assert "if (i >= n || j >= m) continue; out" in text


def test_what_the_work_changes_begins_anew_for_each_element():
    text = squeezed(made(plain("float sum = 0.0f; for (int t = 0; t < n; ++t) sum += x[j * n + i]; out[i * m + j] = sum;")).text)
    assert text.index("++along") < text.index("float sum = 0.0f;")


def test_extents_by_parameters_become_rules():
    tile = Tunable("TILE", (16, 32), 32, "")
    text = PLAIN.format(work=WORK).replace("32", "TILE").replace("16", "TILE")
    form = made(small(text, grid=("n / TILE", "rows / TILE"), block=("TILE", "TILE"), tunables=(tile,)))
    assert [rule.expression for rule in form.rules] == ["TILE % 16 == 0", "TILE % SIDE == 0"]


def test_opencl():
    text = "__kernel void k(__global float* out, __global const float* x, int n) {\n  const int i = get_global_id(0);\n"
    text += "  const int j = get_global_id(1);\n  out[i * n + j] = x[j * n + i];\n}\n"
    form = made(small(text, grid=("n / 32", "n / 16"), block=("32", "16"), language=Language.OPENCL))
    assert "const int j = (get_group_id(1) * 16 + at_y);" in form.text


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        ("out[j * n + i] = x[j * n + i];", "no access to memory runs along threadIdx.y"),
        ("__syncthreads(); " + WORK, "has barriers"),
        ("float v = __shfl_xor_sync(~0u, x[i], 1); " + WORK, "exchanges values"),
        ("__threadfence(); " + WORK, "may wait for each other"),
        ("int p = n; p = 2 * n; out[i * p + j] = x[j * n + i];", "p, the same for all threads, changes"),
        ("int p = i; p = p + j; out[i * m + p] = x[j * n + i];", "p is made of p, which changes"),
        ("int p = i; const int q = p; p = j; out[q * m + j] = x[j * n + i] + p;", "p: used before it changes"),
        ("for (int t = 0; t < n; ++t) { if (x[t] < i) return; out[i * m + j] = x[j * n + i]; }", "a loop returns"),
    ],
)
def test_what_is_left_alone(work, reason):
    assert reason in declined(Squares(), plain(work))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("out[i * n + j + t] = x[(j + t) * n + i] + t;", "t is more than an index or a bound"),
        ("out[i * n + j + t] = x[(j + 2 * t) * n + i];", "rows do not count as threadIdx.y + t alone"),
        ("last += x[(j + t) * n + i]; out[i * n + j + t] = last;", "last is carried from one step of t to the next"),
    ],
)
def test_rows_that_are_not_alike(step, reason):
    work = f"float last = 0.0f;\n  for (int t = 0; t < 64; t += 16) {{ {step} }}"
    assert reason in declined(Squares(), plain(work))


def test_an_unknown_block_is_left_alone():
    subject = small(PLAIN.format(work=WORK), grid=("n", "n"), block=("min(n, 32)", "16"))
    assert "is no fixed number" in declined(Squares(), subject)
    assert "cannot do without: tile" in declined(Squares(), plain("__shared__ float tile[2]; tile[0] = 2 * x[i]; " + WORK))
