"""Whether a kernel is still the one that a run was about."""

from pathlib import Path

import pytest

from warpsmith.spec.load import load_kernel
from warpsmith.tuning.order import kernel_fingerprint

FILES = {
    "kernel.toml": """
[kernel]
name = "scale"
source = "scale.cu"
entry = "scale"
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"], init = { python = "fill.py:fill" } }
n = { dtype = "i32", value = "n" }
[launch]
grid = ["ceildiv(n, 64)"]
block = [64]
[workloads]
only = { n = 100 }
[reference]
python = "reference.py:scale"
""",
    "scale.cu": '#include "inc/outer.h"\n__global__ void scale(float* out, const float* in, int n) {}\n',
    "inc/outer.h": '#include "inner.h"\n',
    "inc/inner.h": "#define FACTOR 2.0f\n",
    "fill.py": "def fill(shape): ...\n",
    "reference.py": "def scale(): ...\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def fingerprint(folder: Path) -> str:
    return kernel_fingerprint(load_kernel(folder))


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_a_kernel_counts(folder: Path, name: str):
    before = fingerprint(folder)
    assert fingerprint(folder) == before
    comment = "\n# more\n" if name.endswith((".py", ".toml")) else "\n// more\n"
    (folder / name).write_text(FILES[name] + comment)
    assert fingerprint(folder) != before


def test_other_files_do_not(folder: Path):
    before = fingerprint(folder)
    (folder / "inc" / "another.h").write_text("#define FACTOR 3.0f\n")
    assert fingerprint(folder) == before
