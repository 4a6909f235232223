"""From a code base to a kernel that runs: extract, fill in the kernel.toml, check, tune."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

ACME = Path(__file__).parents[1] / "unit" / "source" / "extract" / "acme"

# What a person makes of the skeleton: shapes, launch, workloads, and parameters to tune.
FILLED = """
[kernel]
name   = "scale"
source = "packed_scale_kernel.cu"
entry  = "acme::packed_scale_kernel"

[arguments]
input  = { dtype = "f32", shape = ["n"], role = "in" }
output = { dtype = "f32", shape = ["n"], role = "out" }
factor = { dtype = "f32", value = 1.0 }
n      = { dtype = "i32", value = "n" }

[launch]
grid  = ["ceildiv(n / 2, 128)"]
block = [128]

[workloads]
large = { n = 65536 }

[reference]
python = "reference.py:scale"
"""


def test_a_kernel_leaves_its_code_base_and_runs(as_json: Callable[..., Any], warpsmith: Callable[..., Any], tmp_path: Path):
    folder = tmp_path / "out"
    wanted = ("extract", ACME / "src" / "scale.cu", "--kernel", "packed_scale_kernel", "--unpack")
    options = ("-D", "ACME_ARCH=800", "-o", folder)
    result = as_json(*wanted, *options)
    assert result["entry"] == "acme::packed_scale_kernel"
    assert result["folders"] == [str(ACME / "include")], "found without -I"
    assert Path(result["source"]).name == "packed_scale_kernel.cu"
    assert {Path(file).name for file in result["files"]} == {"config.h", "vec.cuh", "scale.cu"}
    assert "mistake" not in warpsmith("check", folder).stdout, "the skeleton loads as it is"

    assert "already exists" in warpsmith(*wanted, *options, expect=2).stderr

    (folder / "kernel.toml").write_text(FILLED)
    (folder / "reference.py").write_text("def scale(input):\n    return 2 * input\n")
    tuned = as_json("tune", folder, "--evaluations", 1, "--rounds", 1)
    assert tuned["baseline"]["verified"] is True


def test_mistakes_name_the_place(warpsmith: Callable[..., Any], tmp_path: Path):
    options = ("--kernel", "scale_kernel", "-I", ACME / "include", "-D", "ACME_ARCH=800", "-o", tmp_path)
    said = warpsmith("extract", ACME / "src" / "scale.cu", *options, expect=2).stderr
    assert "scale.cu:19" in said
    assert '--instance "scale_kernel<…>"' in said
