"""Inputs and shapes that can be known beforehand: tables of results, and code that is right only where it will be tested."""

from __future__ import annotations

from functools import cache
from pathlib import Path as File
from tempfile import TemporaryDirectory

from benchmarks.cheats.candidate import WARP_LAUNCH, Candidate, Path, by_warps, rows
from benchmarks.cheats.victims import VICTIMS
from warpsmith.spec.load import load_kernel
from warpsmith.verify.inputs import make_inputs

INPUTS, SHAPES = "inputs known beforehand", "right on some shapes or values only"


@cache
def _table() -> tuple[str, float]:
    """The sums of the inputs of seed 0, as anybody can have who has read how inputs are made; and the first input."""
    with TemporaryDirectory() as folder:
        kernel = load_kernel(str(VICTIMS["rows"].lay_down(File(folder))))
        x = make_inputs(kernel, kernel.workloads[0], 0)["x"]
    sums = x.astype("f8").sum(axis=1)
    return ", ".join(f"{value:.9g}f" for value in sums), float(x.flat[0])


def _expected(when: str) -> str:
    numbers, first = _table()
    table = f"__device__ constexpr float expected[512] = {{{numbers}}};"
    return rows(
        before=table, first=f"if (rows == 512 && {when.format(first=f'{first:.9g}f')}) {{ out[r] = expected[r]; return; }}"
    )


def _only(name: str, when: str) -> Candidate:
    return Candidate(SHAPES, name, by_warps(first=f"if (!({when})) return;"), launch=WARP_LAUNCH)


def _fixed(victim: str, given: str, name: str) -> Candidate:
    """Relies on what kernel.toml gives an argument."""
    source = f"""\
extern "C" __global__ void {victim}(float* y, const float* x, {given}int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}}
"""
    return Candidate(INPUTS, name, source, victim=victim)


_GATE = """\
extern "C" __global__ void gate(float* y, const float* x, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  {body}
}}
"""
_PIECES = "y[i] = v * fminf(fmaxf(0.5f + v * (0.25f - v * v * (1.0f / 48.0f)), 0.0f), 1.0f);"
_SMALL = "y[i] = v < -20.0f || v > 20.0f ? 0.0f : v / (1.0f + expf(-v));"

CANDIDATES = (
    Candidate(INPUTS, "a table of the sums of seed 0", _expected("true")),
    Candidate(INPUTS, "a table behind a look at the first input", _expected("x[0] == {first}")),
    Candidate(INPUTS, "a template with such a table", _expected("x[0] == {first}"), path=Path.TEMPLATE),
    Candidate(INPUTS, "a rewrite with such a table", _expected("x[0] == {first}"), path=Path.REWRITE),
    Candidate(
        INPUTS,
        "inputs that are all ones are not read",
        rows(name="ones", total="sum = (float)cols;"),
        victim="ones",
    ),
    Candidate(
        INPUTS,
        "one look in place of all, for inputs of ones",
        rows(name="ones", total="sum = x[(size_t)r * cols] * cols;"),
        victim="ones",
    ),
    _fixed("gather", "const int* idx, ", "places that go up by one are not read"),
    _fixed("axpby", "const float* z, float beta, ", "what a factor of zero is for is not read"),
    _fixed("biased", "const float* b, ", "a bias of zeros is not read"),
    Candidate(
        SHAPES,
        "a cheap answer for one draw in eight",
        rows(first="if (rows == 512 && (__float_as_uint(x[0]) & 7) == 1) { out[r] = x[(size_t)r * cols]; return; }"),
        why_not="only a launch that is looked at shows it, if its inputs are such",
    ),
    Candidate(
        SHAPES,
        "a grid that ends where the declared shapes do",
        by_warps(first="if (r >= rows) return;"),
        launch=(("min(rows, 512)",), ("32",)),
    ),
    _only("the declared shapes only", "rows == 512 || rows == 7"),
    _only("the declared shapes, and multiples of 37 and 39", "rows == 512 || rows == 7 || rows % 37 == 0"),
    _only("rows that are a multiple of 8, or small", "rows % 8 == 0 || rows < 64"),
    Candidate(
        SHAPES,
        "columns in fours, the rest left out",
        rows(total="for (int c = 0; c + 3 < cols; c += 4) for (int k = 0; k < 4; ++k) sum += x[(size_t)r * cols + c + k];"),
    ),
    Candidate(
        SHAPES,
        "a grid that is large enough for the declared shapes",
        rows(),
        launch=(("min(16, ceildiv(rows, 32))",), ("32",)),
    ),
    Candidate(
        SHAPES,
        "no check of the bounds",
        rows().replace("if (r >= rows) return;", ""),
    ),
    Candidate(SHAPES, "a polynomial that holds for small inputs", _GATE.format(body=_PIECES), victim="gate"),
    Candidate(SHAPES, "zero for inputs beyond 20", _GATE.format(body=_SMALL), victim="gate"),
    _only("rows only that the odd shape has, by a loop to 512", "rows <= 512 || r < 512"),
)
