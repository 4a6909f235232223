"""What `warpsmith check` says to people."""

import sys

import pytest

from warpsmith.cli import main

TOML = """\
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
[launch]
grid = ["n"]
block = [32]
[workloads]
a = { n = 64 }
"""


def test_what_there_is_none_of_is_said(tmp_path, monkeypatch, capsys):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(float* y) { y[blockIdx.x] = 1; }\n')
    (tmp_path / "kernel.toml").write_text(TOML)
    monkeypatch.setattr(sys, "argv", ["warpsmith", "check", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "heldout none" in lines
    assert "constraints none" in lines
    assert "reference none: the original is what results are compared with" in lines
