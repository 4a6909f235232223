"""What people bring from Kernel Tuner: a script goes from `init` to a tuned kernel; an exported T1 file comes back as it went."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpsmith.spec.bundled import bundled_path
from warpsmith.spec.load import load_kernel

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "from-kernel-tuner.md"
SCRIPT = '''
import numpy as np
import kernel_tuner

SOURCE = """
__global__ void smooth(float *out, const float *in, float weight, int n) {
  for (int k = 0; k < items; ++k) {
    int i = (blockIdx.x * items + k) * block_size_x + threadIdx.x;
    if (i > 0 && i < n - 1) out[i] = weight * in[i] + 0.5f * (1.0f - weight) * (in[i - 1] + in[i + 1]);
    else if (i < n) out[i] = in[i];
  }
}
"""


def tune():
    n = 40000
    x = np.random.randn(n).astype(np.float32)
    out = np.zeros_like(x)
    tune_params = dict()
    tune_params["block_size_x"] = [32 * i for i in range(1, 9)]
    tune_params["items"] = [1, 2, 4]
    kernel_tuner.tune_kernel(
        "smooth", SOURCE, n, [out, x, np.float32(0.5), np.int32(n)], tune_params,
        grid_div_x=["block_size_x", "items"], restrictions=lambda p: p["block_size_x"] * p["items"] <= 512,
    )


tune()
'''


def test_a_script_is_tuned(warpsmith: Callable[..., Any], as_json: Callable[..., Any], tmp_path: Path):
    script = tmp_path / "smooth" / "tune_smooth.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    written = as_json("init", script)
    assert Path(written["source"]).name == "smooth.cu"
    assert "already exists" in warpsmith("init", script, expect=2).stderr
    assert "mistake" not in warpsmith("check", script.parent).stdout
    (script.parent / "kernel.toml").unlink()
    warpsmith("init", script)  # a source that is the same is no reason to ask
    (script.parent / "kernel.toml").unlink()
    (script.parent / "smooth.cu").write_text("something else\n")
    assert "smooth.cu: already exists" in warpsmith("init", script, expect=2).stderr
    assert not (script.parent / "kernel.toml").exists()
    warpsmith("init", script, "--force")
    assert as_json("space", script.parent)["feasible"] == 8 + 8 + 4
    result = as_json("tune", script.parent, "--evaluations", 3)
    assert result["evaluations"]["Measured"] == 3
    assert result["baseline"]["config"] == {"block_size_x": 32, "items": 1}


def test_the_guide_shows_what_is_written(warpsmith: Callable[..., Any], tmp_path: Path):
    source, script, toml = (
        re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)[0] for kind in ("cuda", "py", "toml")
    )
    (tmp_path / "blur.cu").write_text(source)
    (tmp_path / "tune_blur.py").write_text(script)
    warpsmith("init", tmp_path / "tune_blur.py")
    assert toml.strip() in (tmp_path / "kernel.toml").read_text()
    assert "mistake" not in warpsmith("check", tmp_path).stdout
    assert "init" in warpsmith("check", tmp_path / "tune_blur.py", expect=2).stderr


# Constants, OpenCL, f16, bf16 (which T1 has no name for), conditions by device limits.
@pytest.mark.parametrize(
    "name", ["matmul", "convolution_opencl", "softmax", "reduction", "merge_attn_states_lse_bf16", "rope", "transpose"]
)
def test_an_exported_t1_comes_back(
    name: str, warpsmith: Callable[..., Any], as_json: Callable[..., Any], recorded: Callable[..., str], tmp_path: Path
):
    bundled = bundled_path(name)
    assert bundled is not None
    shutil.copytree(bundled.parents[1], tmp_path / "examples")  # some share their sources
    folder = tmp_path / "examples" / name
    kernel = load_kernel(folder)
    recorded(folder, general=dict(kernel.default_configuration))
    files = as_json("export", "--format", "kernel-tuner", "--no-verify", "-o", tmp_path / "shared")["files"]
    t1 = next(file for file in files if file.endswith(".T1.json"))
    warpsmith("init", tmp_path / "shared" / t1)
    assert "mistake" not in warpsmith("check", tmp_path / "shared").stdout
    text = (tmp_path / "shared" / "kernel.toml").read_text()
    # What the mark means, which shapes matter, and rope's positions: T1 does not say between which bounds they are drawn.
    assert text.count("FILL IN") == (3 if name == "rope" else 2), text
    again = load_kernel(tmp_path / "shared")
    assert [(p.name, p.values, p.default) for p in again.parameters] == [(p.name, p.values, p.default) for p in kernel.parameters]
    assert [(a.name, a.dtype) for a in again.arguments] == [(a.name, a.dtype) for a in kernel.arguments]
    before, after = as_json("space", folder), as_json("space", tmp_path / "shared")
    assert after["feasible"] == before["feasible"]
