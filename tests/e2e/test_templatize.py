"""`warpsmith templatize` as people use it: from a plain kernel to a folder that every other command takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from warpsmith.cli.render_templatize import render_template
from warpsmith.devices._clang.binary import clang_binary

SOURCE = """\
// y = a * x + y, the way everybody writes it first.
__global__ void saxpy(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i] + y[i];
  }
}
"""

TOML = """\
[kernel]
name   = "saxpy"
source = "saxpy.cu"
entry  = "saxpy"

[arguments]
y = { dtype = "f32", shape = ["n"], role = "inout", init = "normal" }
x = { dtype = "f32", shape = ["n"], role = "in", init = "normal" }
a = { dtype = "f32", value = 1.5 }
n = { dtype = "i32", value = "n" }

[launch]
grid  = [64]
block = [256]

[workloads]
typical = { n = 100000 }
odd     = { n = 12345, heldout = true }
"""


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    folder = tmp_path / "saxpy"
    folder.mkdir()
    (folder / "saxpy.cu").write_text(SOURCE)
    (folder / "kernel.toml").write_text(TOML)
    return folder


def test_from_a_plain_kernel_to_a_template_that_every_command_takes(saxpy, tmp_path, home, as_json, capsys) -> None:
    made = home / "templates" / "saxpy"
    result = as_json("templatize", saxpy, "--passes", "block_size,whole_steps,unroll,map_2d")
    assert result["certificate"] == {"level": "tokens", "detail": "same tokens after preprocessing"}
    assert Path(result["template"]) == made / "saxpy.template.cu"
    assert result["parameters"], result["passes"]
    for name, entry in result["parameters"].items():
        assert entry["default"] in entry["values"], name
        assert len(entry["values"]) > 1
        assert entry["meaning"]
        assert entry["pass"] in {applied["name"] for applied in result["passes"]["applied"]}
    assert all(entry["reason"] for entry in result["passes"]["not_applied"])
    render_template(result)
    words = capsys.readouterr().out
    assert "--- saxpy.cu" in words
    assert "with its default values the template is the original" in words
    for kind, passes in result["passes"].items():
        assert all(f"{kind.replace('_', ' '):<13}{entry['name']}:" in words for entry in passes)
    # What it says is what the folder has, to the commands that know nothing of templatize.
    checked = as_json("check", made)
    assert set(checked["parameters"]) == set(result["parameters"])
    assert as_json("space", made)["feasible"] == result["configurations"]["feasible"]
    tuned = as_json("tune", made, "--evaluations", "3", "--agent", "none")
    assert tuned["template"]["certificate"]["level"] == "tokens"
    assert tuned["evaluations"]["Measured"] == 3
    # And to a compiler that knows nothing of Warpsmith.
    name, entry = next(iter(result["parameters"].items()))
    value = next(v for v in entry["values"] if v != entry["default"])
    command = [
        clang_binary(),
        "clang",
        "-fsyntax-only",
        "-x",
        "c++",
        "-D__global__=",
        f"-D{name}={value}",
        "-include",
        tmp_path / "cuda.h",
    ]
    (tmp_path / "cuda.h").write_text("struct D { unsigned x, y, z; }; extern D threadIdx, blockIdx, blockDim, gridDim;\n")
    subprocess.run([*command, result["template"]], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--passes", "unrol"], "no pass 'unrol'"),
        (["--agent", "nobody"], "unknown agent 'nobody'"),
    ],
)
def test_wrong_names_are_bad_input(saxpy, warpsmith, options, message) -> None:
    done = warpsmith("templatize", saxpy, *options, expect=2)
    assert message in done.stderr


def test_it_does_not_write_over_the_kernel(saxpy, warpsmith) -> None:
    done = warpsmith("templatize", saxpy, "-o", saxpy, "--passes", "unroll", expect=2)
    assert "templatize did not write" in done.stderr
    assert (saxpy / "kernel.toml").read_text() == TOML


def test_an_input_that_the_original_writes_is_named(saxpy, warpsmith) -> None:
    (saxpy / "saxpy.cu").write_text(SOURCE.replace("const float* x", "float* x").replace("y[i];", "y[i]; x[i] = 2.0f;"))
    done = warpsmith("templatize", saxpy, "--passes", "unroll", expect=1)
    assert "x: an input was changed" in done.stderr
    assert """'x' has role "in", but the kernel writes it""" in done.stderr
    assert "does not repeat" not in done.stderr
