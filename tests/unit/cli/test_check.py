"""What `warpsmith check` says to people."""

import json
import sys
from pathlib import Path

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


SOURCE = 'extern "C" __global__ void k(float* y) { y[blockIdx.x] = 1; }\n'


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "home"))


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Runs `warpsmith check` in the folder: its exit code and the object that it prints."""

    def call(source=SOURCE, toml=TOML, reference=None):
        (tmp_path / "k.cu").write_text(source)
        (tmp_path / "kernel.toml").write_text(toml)
        if reference is not None:
            (tmp_path / "reference.py").write_text(reference)
            with (tmp_path / "kernel.toml").open("a") as file:
                file.write('[reference]\npython = "reference.py:k"\n')
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["warpsmith", "check", "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, json.loads(capsys.readouterr().out)

    return call


def test_a_finished_kernel_has_no_findings(check):
    code, result = check(reference="def k(y, n, in_=None): return y")
    assert (code, result["ok"], result["findings"]) == (0, True, [])


def test_what_does_not_compile_is_a_mistake_at_its_line(check):
    code, result = check(SOURCE.replace("= 1", "= one"))
    [mistake] = result["findings"]
    assert (code, result["ok"]) == (2, False)
    assert (mistake["level"], Path(mistake["file"]).name, mistake["line"]) == ("mistake", "k.cu", 1)
    assert '"one" is undefined' in mistake["message"]


def test_what_only_gpus_have_is_a_warning(check):
    source = '#include <mma.h>\nextern "C" __global__ void k(float* y) {\n'
    source += "  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;\n"
    source += "  nvcuda::wmma::fill_fragment(c, 1.0f);\n  y[blockIdx.x] = c.x[0];\n}\n"
    code, result = check(source)
    assert code == 0
    assert [finding["level"] for finding in result["findings"]] == ["warning"]
    assert "compiles for a GPU" in result["findings"][0]["message"]


def test_a_reference_that_asks_for_what_there_is_not(check):
    code, result = check(reference="\ndef k(y, alpha): return y")
    [mistake] = result["findings"]
    assert (code, mistake["level"], mistake["line"]) == (2, "mistake", 2)
    assert "'alpha'" in mistake["message"]


def test_marks_that_are_left_and_integers_that_are_too_wide(check):
    source = 'extern "C" __global__ void k(float* y, int n) { y[blockIdx.x] = n; }\n'
    toml = TOML.replace("[launch]", 'n = { dtype = "i64", value = "n" }\n[launch]  # FILL IN: what it is')
    code, result = check(source, toml)
    assert code == 0
    assert [(f["level"], f["line"]) for f in result["findings"]] == [("unfinished", 8), ("warning", None)]
    assert "FILL IN" in result["findings"][0]["message"]
    assert "i32?" in result["findings"][1]["message"]


def test_what_there_is_none_of_is_said(tmp_path, monkeypatch, capsys):
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "kernel.toml").write_text(TOML)
    monkeypatch.setattr(sys, "argv", ["warpsmith", "check", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "heldout none" in lines
    assert "constraints none" in lines
    assert "reference none: results are compared with the original's" in lines
