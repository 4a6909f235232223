"""What could be done to a kernel is known before a plan is made."""

from pathlib import Path

from warpsmith.core.hardware import Limits
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.prospects import passes_for

LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
SOURCE = """
__global__ void turn(float* out, const float* in, int rows, int cols) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  const int y = blockIdx.y * 16 + threadIdx.y;
  if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
"""
KERNEL = """
[kernel]
name = "turn"
source = "turn.cu"
entry = "turn"
[arguments]
out = { dtype = "f32", shape = ["cols", "rows"], role = "out" }
in = { dtype = "f32", shape = ["rows", "cols"], role = "in" }
rows = { dtype = "i32", value = "rows" }
cols = { dtype = "i32", value = "cols" }
[launch]
grid = ["ceildiv(cols, 32)", "ceildiv(rows, 16)"]
block = ["32", "16"]
[workloads]
small = { rows = 100, cols = 200 }
"""


def test_a_pass_for_finished_forms_is_asked_about_those_of_others(tmp_path: Path):
    (tmp_path / "turn.cu").write_text(SOURCE)
    (tmp_path / "kernel.toml").write_text(KERNEL)
    declined = {report.name: report.declined for report in passes_for(load_kernel(tmp_path), LIMITS)}
    assert declined["squares"] is None
    assert declined["unroll"] is None, "the kernel has no loop, but its squares have"
    assert "the kernel calls no block reduction made of warp shuffles and a shared array" in (declined["reduction_style"] or "")


def test_so_is_one_that_restructures():
    declined = {report.name: report.declined for report in passes_for(load_kernel("fused_add_rmsnorm"), LIMITS)}
    assert declined["joined_rows"] is None, "the row waits in shared memory, but can be read again"
