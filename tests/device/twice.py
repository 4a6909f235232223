"""A kernel as small as one can be, in a folder of its own: every element doubled. And the same as a template, with forms."""

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


TEMPLATE = """
#ifndef BLOCK
#define BLOCK 64
#endif
#ifndef FORM
#define FORM 0
#endif
__global__ void twice(float* y, const float* x, int n) {{
  int i = blockIdx.x * BLOCK + threadIdx.x;
{body}
}}
"""

TEMPLATE_TOML = """
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"
[arguments]
y = {{ dtype = "f32", shape = ["n"], role = "out" }}
x = {{ dtype = "f32", shape = ["n"] }}
n = {{ dtype = "i32", value = "n" }}
[launch]
grid = ["ceildiv(n, BLOCK)"]
block = ["BLOCK"]
[workloads]
only = {{ n = 4096 }}
[reference]
python = "reference.py:twice"
[parameters]
BLOCK = {{ values = {blocks}, default = 64 }}
FORM = {{ values = [0, 1, 2], default = 0 }}
"""


def twice_template(folder: Path, body: str, *, blocks: list[int]) -> Kernel:
    """`body` has three forms by FORM, of which 0 is right: `i` is the element of `y` and `x`, of which there are `n`."""
    (folder / "kernel.toml").write_text(TEMPLATE_TOML.format(blocks=blocks))
    (folder / "twice.cu").write_text(TEMPLATE.format(body=body))
    (folder / "reference.py").write_text("def twice(x, **_):\n    return 2 * x\n")
    return load_kernel(folder)
