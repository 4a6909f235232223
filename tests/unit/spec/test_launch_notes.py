from __future__ import annotations

import pytest

from warpsmith.spec.launch_notes import launch_notes
from warpsmith.spec.load import load_kernel

TOML = """[kernel]
name = "k"
source = "k.cl"
entry = "k"
[arguments]
x = {{ dtype = "f32", shape = ["n"], role = "inout" }}
count = {{ dtype = "i32", value = "n" }}
[launch]
grid = ["{grid}"]
block = [{block}]
[workloads]
a = {{ n = 64 }}
"""


@pytest.mark.parametrize(
    ("body", "grid", "block", "is_noted"),
    [
        ("int i = get_global_id(0); if (i < count) x[i] = 1;", "n", 64, True),
        ("size_t i = get_global_id(0); if (i >= (uint)count) return; x[i] = 1;", "n", 64, True),
        ("if (get_global_id(0) < count) x[0] = 1;", "n", 64, True),
        ("int i = get_global_id(0); if (i < count) x[i] = 1;", "ceildiv(n, 64)", 64, False),
        ("int i = get_global_id(0); if (i < count) x[i] = 1;", "n", 1, False),
        ("int row = get_global_id(0) / 64; if (row < count) x[row] = 1;", "n", 64, False),
    ],
)
def test_a_global_size_in_the_place_of_a_grid(tmp_path, body: str, grid: str, block: int, is_noted: bool):
    (tmp_path / "k.cl").write_text(f"__kernel void k(__global float* x, __local float* s, int count) {{ {body} }}")
    (tmp_path / "kernel.toml").write_text(TOML.format(grid=grid, block=block))
    notes = launch_notes(load_kernel(tmp_path))
    assert bool(notes) is is_noted
    if notes:
        assert "ceildiv(n, 64)?" in notes[0]
