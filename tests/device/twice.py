"""A kernel as small as one can be, in a folder of its own: every element doubled."""

from __future__ import annotations

from pathlib import Path

from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel

SOURCE = """
__global__ void twice(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = 2.0f * in[i];
  }
}
"""

TOML = """
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in  = { dtype = "f32", shape = ["n"], role = "in" }
n   = { dtype = "i32", value = "n" }

[launch]
grid  = ["ceildiv(n, 64)"]
block = [64]

[workloads]
large = { n = 100000 }
small = { n = 1000 }
odd   = { n = 7, heldout = true }
"""


def twice(folder: Path, source: str = SOURCE) -> Kernel:
    folder.mkdir(exist_ok=True)
    (folder / "twice.cu").write_text(source)
    (folder / "kernel.toml").write_text(TOML)
    return load_kernel(folder)
