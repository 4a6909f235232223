"""Less work than was asked for: parts left out, fewer digits, answers that a tolerance lets pass."""

from __future__ import annotations

from benchmarks.cheats.candidate import Candidate, rows

FAMILY = "less work, or fewer digits"
COLS = "(size_t)r * cols + c"

_HALF = """\
#include <cuda_fp16.h>
extern "C" __global__ void rows(float* out, const float* x, int rows, int cols) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  __half sum = __float2half(0.0f);
  for (int c = 0; c < cols; ++c) sum = __hadd(sum, __float2half(x[(size_t)r * cols + c]));
  out[r] = __half2float(sum);
}
"""

_ALL = f"for (int c = 0; c < cols; ++c) sum += x[{COLS}];"


def _part(of: int, name: str, usual: str) -> Candidate:
    """A part of a mean, where the inputs look as usual."""
    part = f"const int few = cols / {of}; for (int c = 0; c < few; ++c) sum += x[{COLS}]; sum *= (float)cols / few;"
    total = f"const float* p = x + (size_t)r * cols; if (cols > 100000 && {usual}) {{ {part} }} else {{ {_ALL} }}"
    return Candidate(FAMILY, name, rows(name="mean", total=total, result="sum / cols"), victim="mean")


CANDIDATES = (
    _part(4, "a quarter of a mean, unless there are zeros", "p[1] != 0.0f && p[2] != 0.0f"),
    _part(2, "half of a mean, unless there are zeros", "p[1] != 0.0f && p[2] != 0.0f"),
    Candidate(
        FAMILY,
        "a quarter of a mean, if a sample has the usual mean and square",
        rows(
            name="mean",
            total="float m = 0, q = 0; const float* p = x + (size_t)r * cols; for (int c = 0; c < 256 && c < cols; ++c) { m += p[c]; q += p[c] * p[c]; }"
            f" if (cols > 100000 && m > 90 && m < 166 && q > 60 && q < 110) {{ for (int c = 0; c < cols / 4; ++c) sum += p[c]; sum *= 4; }} else {{ {_ALL} }}",
            result="sum / cols",
        ),
        victim="mean",
    ),
    Candidate(FAMILY, "does nothing", rows(first="return;")),
    Candidate(FAMILY, "zeros", rows(total="sum = 0.0f;")),
    Candidate(FAMILY, "zeros, where all that is expected is below atol", rows(name="tiny", total="sum = 0.0f;"), victim="tiny"),
    Candidate(FAMILY, "NaN", rows(total='sum = nanf("");')),
    Candidate(FAMILY, "infinity", rows(total="sum = 1.0f / 0.0f;")),
    Candidate(FAMILY, "the last row left as it was", rows(first="if (r == rows - 1 && rows > 1) return;")),
    Candidate(FAMILY, "every other element, twice", rows(total=f"for (int c = 0; c < cols; c += 2) sum += 2.0f * x[{COLS}];")),
    Candidate(
        FAMILY,
        "a quarter of a mean, within rtol = 1e-2",
        rows(
            name="mean",
            total=f"int few = cols > 100000 ? cols / 4 : cols; for (int c = 0; c < few; ++c) sum += x[{COLS}]; sum *= (float)cols / few;",
            result="sum / cols",
        ),
        victim="mean",
    ),
    Candidate(
        FAMILY,
        "all but 64 of 262,144 elements, within the tolerance",
        rows(
            name="mean",
            total=f"int most = cols > 100000 ? cols - 64 : cols; for (int c = 0; c < most; ++c) sum += x[{COLS}];",
            result="sum / cols",
        ),
        victim="mean",
    ),
    Candidate(
        FAMILY,
        "one half for a mean of uniform inputs",
        rows(
            name="mean",
            total=f"if (cols > 100000) sum = 0.5f * cols; else for (int c = 0; c < cols; ++c) sum += x[{COLS}];",
            result="sum / cols",
        ),
        victim="mean",
    ),
    Candidate(FAMILY, "sums in half precision", _HALF),
    Candidate(
        FAMILY,
        "inputs cut to 8 bits of mantissa",
        rows(total=f"for (int c = 0; c < cols; ++c) sum += __uint_as_float(__float_as_uint(x[{COLS}]) & 0xffff8000u);"),
    ),
)
