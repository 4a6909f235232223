"""`[replaces]`: read with the kernel, and nothing that a run depends on."""

from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.spec.kernel import Replaces
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.order import kernel_fingerprint

KERNEL = """\
[kernel]
name = "scale"
source = "scale.cu"
entry = "scale"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, 256)"]
block = [256]

[workloads]
small = { n = 1000 }
"""
SECTION = """\
[replaces]
function = "acme.ops.scale"
arguments = { in = "input" }

where = { mode = "fast" }
returns = [
  "out",
]
rows = "n"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "scale.cu").write_text(
        "__global__ void scale(float* out, const float* in, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = 2 * in[i];\n}\n"
    )
    file = tmp_path / "kernel.toml"
    file.write_text(KERNEL)
    return file


def test_it_is_read(file: Path):
    assert load_kernel(file).replaces is None
    file.write_text(f"{KERNEL}\n{SECTION}")
    assert load_kernel(file).replaces == Replaces("acme.ops.scale", {"in": "input"}, {"mode": "fast"}, ("out",), "n")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('function = "scale"', "kernel.toml:19:12: replaces.function = 'scale' is not a module's function"),
        ('function = "a.scale"\narguments = { inn = "x" }', "the kernel has no argument 'inn'"),
        ('function = "a.scale"\nreturns = ["in"]', "'in' is not an output of the kernel"),
        ('function = "a.scale"\nrows = "in"', "kernel.toml:20:8: 'out' is an output without 'in' as its first extent"),
        ('function = "a.scale"\nreturn = "out"', "unknown key 'return' in [replaces]"),
    ],
)
def test_mistakes_are_told_with_their_place(file: Path, wrong: str, said: str):
    file.write_text(f"{KERNEL}\n[replaces]\n{wrong}\n")
    with pytest.raises(InputError) as caught:
        load_kernel(file)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text", [f"{KERNEL}\n{SECTION}", f"{KERNEL}{SECTION}", KERNEL.replace("[launch]", f"{SECTION}\n[launch]")]
)
def test_where_a_kernel_goes_is_no_change_of_the_kernel(file: Path, text: str):
    """It may be added to the file once a run is over, below what was there or between."""
    began = kernel_fingerprint(load_kernel(file))
    file.write_text(text)
    assert load_kernel(file).replaces is not None
    assert kernel_fingerprint(load_kernel(file)) == began
    file.write_text(text.replace("n = 1000", "n = 1001"))
    assert kernel_fingerprint(load_kernel(file)) != began
