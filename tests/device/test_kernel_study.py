"""A kernel's template searched by hand: configurations are judged on the device one by one."""

from pathlib import Path

import pytest
from twice import twice_template

from warpsmith import KernelStudy
from warpsmith.core.errors import BaselineError
from warpsmith.core.outcome import CompileFailed, Measured, WrongResult

BODY = """
#if FORM == 2
  if (i < n) y[i] = nowhere;
#else
  if (i < n) y[i] = (2 + FORM) * x[i];
#endif
"""


@pytest.fixture(autouse=True, scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPSMITH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def kernel(tmp_path: Path):
    return twice_template(tmp_path, BODY, blocks=[64, 128])


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
