"""Constants that nothing ties to the launch: tried on the device, kept where they are right, dropped where they are not."""

from __future__ import annotations

from pathlib import Path

from warpsmith.refactor.passes.lift_constants import LiftConstants
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import laboratory
from warpsmith.tuning.templates.templating import MadeTemplate, templatize

TOML = """
[kernel]
name = "unpack"
source = "k.cu"
entry = "unpack"

[arguments]
out = { dtype = "i32", shape = ["8 * words"], role = "out" }
packed = { dtype = "u32", shape = ["words"], role = "in", init = "randint", low = 0, high = 2147483647 }
n = { dtype = "i32", value = "8 * words" }

[launch]
grid = ["GRID"]
block = [64]

[workloads]
small = { words = 96 }
odd = { words = 37, heldout = true }
"""
# A word holds eight numbers: the grid counts words, blocks are apart by numbers.
PACKED = """
#define BLOCK_K 128
extern "C" __global__ void unpack(int* out, const unsigned* packed, int n) {
  const int first = blockIdx.x * BLOCK_K;
  for (int k = threadIdx.x; k < BLOCK_K; k += 64) {
    if (first + k < n) out[first + k] = (packed[(first + k) / 8] >> (4 * ((first + k) % 8))) & 15;
  }
}
"""
# Blocks are apart by a number that does not follow.
UNROLLED = """
#define UNROLL 2
extern "C" __global__ void unpack(int* out, const unsigned* packed, int n) {
  for (int u = 0; u < UNROLL; ++u) {
    const int k = blockIdx.x * 128 + u * 64 + threadIdx.x;
    if (k < n) out[k] = (packed[k / 8] >> (4 * (k % 8))) & 15;
  }
}
"""


def templated(folder: Path, text: str, grid: str) -> MadeTemplate:
    (folder / "k.cu").write_text(text)
    (folder / "kernel.toml").write_text(TOML.replace("GRID", grid))
    kernel = load_kernel(folder)
    with laboratory(kernel, "cpu", binary_cache=folder / "binaries") as lab:
        return templatize(kernel, lab, passes=[LiftConstants()], folder=folder / "template", effort=Effort(0))


def test_the_grid_follows_by_its_own_numbers(tmp_path: Path) -> None:
    found = templated(tmp_path, PACKED, "ceildiv(words, 16)")
    (parameter,) = found.kernel.parameters
    assert (parameter.name, parameter.values, parameter.default) == ("BLOCK_K", (32, 64, 128, 256, 512), 128)
    assert parameter.assumes.startswith("results do not depend on BLOCK_K, although grid.x = ceildiv(words, 16) does not show")
    assert [str(extent) for extent in found.kernel.launch.grid] == ["ceildiv(words, 16 * BLOCK_K / 128)"]


def test_values_that_leave_work_undone_are_dropped(tmp_path: Path) -> None:
    found = templated(tmp_path, UNROLLED, "ceildiv(words, 16)")
    assert all(value >= parameter.default for parameter in found.kernel.parameters for value in parameter.values)
