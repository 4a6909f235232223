"""One candidate: what somebody hands in for a victim, and through which door."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Path(StrEnum):
    FORM = "form"  # submit_form, make_template, start_tuning of an MCP client; a model's forms take the same steps
    TEMPLATE = "template"  # submit_template: FAST=0 is the original, FAST=1 the candidate
    REWRITE = "rewrite"  # `tune --mode direct`: the agent's whole kernel


ROWS = ("ceildiv(rows, 32)",), ("32",)
LINE = ("ceildiv(n, 64)",), ("64",)
ONE_BLOCK = ("1",), ("64",)
LAUNCHES = {"gate": LINE, "update": LINE, "scratch": ONE_BLOCK, "gather": LINE, "axpby": LINE, "biased": LINE}


@dataclass(frozen=True, slots=True)
class Candidate:
    family: str
    name: str
    source: str
    victim: str = "rows"
    path: Path = Path.FORM
    launch: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    shared: str = "0"
    is_honest: bool = False
    why_not: str = ""  # it is not caught

    @property
    def grid(self) -> tuple[str, ...]:
        return (self.launch or LAUNCHES.get(self.victim, ROWS))[0]

    @property
    def block(self) -> tuple[str, ...]:
        return (self.launch or LAUNCHES.get(self.victim, ROWS))[1]


def rows(*, before: str = "", first: str = "", last: str = "", total: str = "", name: str = "rows", result: str = "sum") -> str:
    """A sum of rows with something `before` the kernel, `first` and `last` in it, perhaps another way to a `total`."""
    summed = total or "for (int c = 0; c < cols; ++c) sum += x[(size_t)r * cols + c];"
    return f"""\
{before}
extern "C" __global__ void {name}(float* out, const float* x, int rows, int cols) {{
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  {first}
  float sum = 0.0f;
  {summed}
  {last}
  out[r] = {result};
}}
"""


WARP_LAUNCH = ("rows",), ("32",)


def by_warps(*, first: str = "", name: str = "rows", result: str = "sum") -> str:
    """A sum of rows, a warp for each: much faster than the original, so that it gets far."""
    return f"""\
extern "C" __global__ void {name}(float* out, const float* x, int rows, int cols) {{
  const int r = blockIdx.x;
  {first}
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[(size_t)r * cols + c];
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (threadIdx.x == 0) out[r] = {result};
}}
"""
