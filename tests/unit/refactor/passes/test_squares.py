"""`squares`: what counts as a matrix being turned, what the form launches and calls, and what is left alone."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Tunable, Variant
from warpsmith.refactor.passes.squares import Squares

PLAIN = """
__global__ void k(float* out, const float* x, int n, int m) {{
  const int i = blockIdx.x * 32 + threadIdx.x;
  const int j = blockIdx.y * 16 + threadIdx.y;
  {work}
}}
"""
GUARDED = "if (i < n && j < m) {}"
WORK = GUARDED.format("out[i * m + j] = x[j * n + i];")
ROWS = "for (int t = 0; t < 64; t += 16) {{ {} }}"


def plain(work: str = WORK, text: str = PLAIN, **options: object) -> Subject:
    options = {"grid": ("ceildiv(n, 32)", "ceildiv(rows, 16)"), "block": ("32", "16"), **options}
    return small(text.format(work=work), scalars={"n": "n", "m": "rows"}, **options)


def made(subject: Subject) -> Variant:
    return applied(Squares(), subject).alternatives[1]


@pytest.mark.parametrize(
    "work",
    [
        WORK,
        "if (i >= n || j >= m) return; out[i * m + j] = x[j * n + i];",
        "const bool inside = n > i && j <= m - 1; if (inside) { const float v = x[j * n + i]; out[i * m + j] = v; }",
        "if (i >= n) return; if (j < m) out[i * m + j] = i < n ? x[j * n + i] : 0.0f;",
    ],
)
def test_any_spelling_of_a_matrix_being_turned(work):
    form = made(plain(work))
    assert form.block == ("1",)
    assert [extent.replace("(rows - 1) + 1", "rows") for extent in form.grid] == ["ceildiv(n, WIDE)", "ceildiv(rows, DEEP)"]
    assert "int m) { turn_part(out, x, m, n, m, n); }" in squeezed(form.text)


def test_a_thread_s_rows_and_a_tile_that_it_can_do_without():
    """Its x and y change between filling the tile and reading it."""
    form = made(bundled("transpose"))
    assert form.grid == ("ceildiv(cols, WIDE)", "ceildiv(rows, DEEP)")
    assert "turn_part(out, input, rows, cols, rows, cols);" in form.text
    assert "float* __restrict__ to" in form.text


def test_strides_and_starts_of_parts_of_larger_matrices():
    work = GUARDED.format("out[blockIdx.z * n * m + i * 100 + j + 3] = (x + 5)[j * (n + 7) + i];")
    form = made(plain(work, grid=("ceildiv(n, 32)", "ceildiv(rows, 16)", "4")))
    assert form.grid[2:] == ("4",)
    start = "out + 3 + static_cast<long long>(static_cast<int>(blockIdx.z)) * m * n"
    assert f"turn_part({start}, x + 5, 100, 7 + n, m, n);" in form.text


def test_parameters_that_only_shaped_the_blocks_count_no_more():
    tile = Tunable("TILE", (16, 32), 32, "")
    text = PLAIN.replace("32", "TILE").replace("16", "TILE")
    form = made(plain(text=text, grid=("ceildiv(n, TILE)", "ceildiv(rows, TILE)"), block=("TILE", "TILE"), tunables=(tile,)))
    assert [tunable.name for tunable in form.tunables] == ["WIDE", "DEEP"]


def test_other_types_of_four_bytes_and_names_that_are_taken():
    text = PLAIN.replace("float", "int").replace("__global__", "struct Four {};\n__global__")
    form = made(plain(text=text.replace("struct Four {}", "struct Four {{}}")))
    assert "typedef int Four_2 __attribute__((ext_vector_type(4)));" in form.text
    assert "elements are double" in declined(Squares(), plain(text=PLAIN.replace("float", "double")))


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (
            GUARDED.format("out[j * n + i] = x[j * n + i];"),
            "no access runs along threadIdx.y while another runs along threadIdx.x",
        ),
        ("__syncthreads(); " + WORK, "has barriers"),
        ("float v = __shfl_xor_sync(~0u, x[i], 1); " + WORK, "exchanges values"),
        ("__threadfence(); " + WORK, "may wait for each other"),
        ("out[0] = 1.0f; " + WORK, "the work is more than one store"),
        (WORK + " else out[i] = 0.0f;", "the work is more than one store"),
        (GUARDED.format("out[i * m + j] = 2.0f * x[j * n + i];"), "more than a loaded value"),
        (GUARDED.format("out[i * m + j] = out[j * n + i];"), "out may be written between the load and the store"),
        (
            GUARDED.format("out[i * m + j] = x[j * n + i + threadIdx.x];"),
            "element indices do not follow from the thread's index in the grid",
        ),
        (
            GUARDED.format("out[i * m + j] = x[j * i + i];"),
            "no access runs along threadIdx.y while another runs along threadIdx.x",
        ),
        (GUARDED.format("out[i * m + j] = x[j * n + i + n / 3];"), "is not a size of a matrix"),
        (GUARDED.format("out[i * m + j] = j < 3 ? x[j * n + i] : 0.0f;"), "there are two bounds along y"),
        ("if (i < n) out[i * m + j] = x[j * n + i];", "no bounds check gives the matrix's extent along threadIdx.y"),
        ("if (i + j < n && j < m) out[i * m + j] = x[j * n + i];", "a condition is not a bounds check of the matrix"),
        ("if (i < n && i > 0 && j < m) out[i * m + j] = x[j * n + i];", "a condition is not a bounds check of the matrix"),
        ("n = 3; " + WORK, "is not a size of a matrix"),
        (
            ROWS.format(GUARDED.format("out[i * m + j + t] = x[(j + t) * n + i];")),
            "element indices do not follow from the thread's index in the grid",
        ),
    ],
)
def test_what_is_left_alone(work, reason):
    assert reason in declined(Squares(), plain(work))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (
            "if (i < n && j + t < m) out[i * m + j + t] = x[(j + 2 * t) * n + i];",
            "element indices do not follow from the thread's index in the grid",
        ),
        (
            "if (i < n && j < m) out[i * m + j + t] = x[(j + t) * n + i];",
            "element indices do not follow from the thread's index in the grid",
        ),
    ],
)
def test_rows_that_are_not_alike(step, reason):
    text = PLAIN.replace("blockIdx.y * 16", "blockIdx.y * 64")
    good = ROWS.format("if (i < n && j + t < m) out[i * m + j + t] = x[(j + t) * n + i];")
    grid = ("ceildiv(n, 32)", "ceildiv(rows, 64)")
    assert "turn_part(out, x, m, n, m, n);" in made(plain(good, text=text, grid=grid)).text
    assert reason in declined(Squares(), plain(ROWS.format(step), text=text, grid=grid))


def test_a_grid_that_does_not_reach_all_elements_is_left_alone():
    assert "does not cover all elements along x" in declined(Squares(), plain(grid=("n / 64", "ceildiv(rows, 16)")))


def test_a_tile_that_is_more_than_a_copy_is_left_alone():
    assert "cannot be removed: tile" in declined(Squares(), plain("__shared__ float tile[2]; tile[0] = 2 * x[i]; " + WORK))


def test_opencl_is_left_alone():
    text = "__kernel void k(__global float* out, __global const float* x, int n, int m) {{\n  {work}\n}}\n"
    assert "C++" in declined(Squares(), plain("out[0] = x[0];", text=text, language=Language.OPENCL))
