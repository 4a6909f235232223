"""A kernel's template searched by hand: configurations are judged on the device one by one."""

from pathlib import Path

import pytest

from warpsmith import KernelStudy, load_kernel
from warpsmith.core.errors import BaselineError
from warpsmith.core.outcome import CompileFailed, Measured, WrongResult

TOML = """
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }
[launch]
grid = ["ceildiv(n, BLOCK)"]
block = ["BLOCK"]
[workloads]
only = { n = 4096 }
[reference]
python = "reference.py:twice"
[parameters]
BLOCK = { values = [64, 128], default = 64 }
FORM = { values = [0, 1, 2], default = 0 }
"""
SOURCE = """
__global__ void twice(float* y, const float* x, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
#if FORM == 2
  if (i < n) y[i] = nowhere;
#else
  if (i < n) y[i] = (2 + FORM) * x[i];
#endif
}
"""


@pytest.fixture(autouse=True, scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPSMITH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def kernel(tmp_path: Path):
    (tmp_path / "kernel.toml").write_text(TOML)
    (tmp_path / "twice.cu").write_text(f"#ifndef BLOCK\n#define BLOCK 64\n#endif\n#ifndef FORM\n#define FORM 0\n#endif\n{SOURCE}")
    (tmp_path / "reference.py").write_text("def twice(x, **_):\n    return 2 * x\n")
    return load_kernel(tmp_path)


def test_what_is_wrong_or_does_not_compile_is_told_as_that(kernel):
    with KernelStudy(kernel) as study:
        assert isinstance(study.baseline.outcome, Measured)
        assert study.best is None
        kinds = {}
        while asked := study.ask(2):
            kinds |= {(c["BLOCK"], c["FORM"]): type(study.evaluate(c).outcome) for c in asked}
        assert kinds == {(b, form): kind for b in (64, 128) for form, kind in enumerate((Measured, WrongResult, CompileFailed))}
        assert study.best.configuration["FORM"] == 0


def test_an_original_that_is_wrong_is_no_reference(kernel, tmp_path: Path):
    (tmp_path / "reference.py").write_text("def twice(x, **_):\n    return 3 * x\n")
    with pytest.raises(BaselineError, match="does not pass"):
        KernelStudy(kernel)
