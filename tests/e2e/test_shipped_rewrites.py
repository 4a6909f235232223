"""A model rewrites a kernel: what is more than device code is not run, what wins is shipped, and verified whenever asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chat_server import Body, Response, answers, serving

TOML = """\
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in  = { dtype = "f32", shape = ["n"], role = "in" }
n   = { dtype = "i32", value = "n" }

[launch]
grid  = [1]
block = [1]

[workloads]
large = { n = 50000 }
odd   = { n = 7, heldout = true }
"""
SLOW = """\
__global__ void twice(float* out, const float* in, int n) {
  volatile float* to = out;
  for (int i = 0; i < n; ++i)
    for (int again = 0; again < 20; ++again) to[i] = in[i] / 0.5f;
}
"""
WIDE = """\
__global__ void twice(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
}
"""
HOST = '#include <stdlib.h>\nstruct Door { Door() { system("touch /tmp/open"); } };\nDoor door;\n'
TYPED = "a thread each \\"  # as a comment it must not swallow the next line


class Model:
    """Its rewrites: one with code for the host, which it has to write again; one that is wrong; one that is right."""

    def __init__(self, *rewrites: str) -> None:
        self.rewrites = list(rewrites)
        self.told: list[str] = []

    def __call__(self, body: Body) -> Response | None:
        said = body["messages"][-1]["content"]
        if "Tester" in body["messages"][1]["content"].split("\n")[0]:
            return answers({"workloads": [{"name": "short", "sizes": {"n": 33}}]})(body)
        self.told.append(said)
        launch = {"grid": ["ceildiv(n, 64)"], "block": [64]}
        return answers({"hypothesis": TYPED, "source": self.rewrites.pop(0), "launch": launch})(body)


def test_a_rewrite_that_wins_is_shipped_and_verified_and_a_hostile_one_is_not(
    as_json: Callable[..., Any], warpsmith: Callable[..., Any], environment: dict[str, str], tmp_path: Path
):
    folder = tmp_path / "twice"
    folder.mkdir()
    (folder / "twice.cu").write_text(SLOW)
    (folder / "kernel.toml").write_text(TOML)
    model = Model(HOST + WIDE, WIDE.replace("2.0f", "3.0f"), WIDE)
    with serving(model) as server:
        environment.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none", WARPSMITH_CONFINEMENT="best-effort")
        result = as_json("tune", folder, "--mode", "direct", "--agent", "openai-chat:fake", "--evaluations", 3)
    assert "this is code for the host" in model.told[1]
    assert [entry["outcome"] for entry in result["rewrites"]] == ["WrongResult", "Measured"]
    assert result["general"]["config"] == {"REWRITE": 2}
    own, asked_for = result["evidence"]["also_verified"]
    assert own["workload"] == "odd-1"
    assert own["sizes"]["n"] % 2 == 1
    assert asked_for == {"workload": "short", "sizes": {"n": 33}, "scale": 1.0}

    shipped = tmp_path / "shipped"
    about = as_json("export", "last", "-o", shipped)
    assert about["files"] == ["twice.cu"]
    assert about["general"]["grid"] == ["ceildiv(n, 64)"]
    assert about["general"]["claim"]["ci95"][0] > 1
    assert about["provenance"]["mode"] == "direct"
    assert about["recheck"]["files"]["twice.cu"]["same_tokens"]
    assert set(about["recheck"]["files"]["twice.cu"]["max_error"]) == {"large", "odd", "odd-1", "short"}
    text = (shipped / "twice.cu").read_text()
    assert text.endswith(WIDE)
    assert "// The idea: a thread each /\n" in text
    refused = warpsmith("export", "last", "--format", "kernel-tuner", "-o", tmp_path / "shared", expect=2).stderr
    assert "rewrote whole kernels" in refused
    assert "hint: --format source" in refused
    assert not (tmp_path / "shared").exists()

    found = as_json("verify", "last", "--seeds", 1)
    assert found["passed"]
    assert [(c["name"], c["config"]) for c in found["configurations"]] == [
        ("original", {"REWRITE": 0}),
        ("general, for large", {"REWRITE": 2}),
    ]
    assert {(c["workload"], c["kind"]) for c in found["checks"]} == {
        ("large", "tuning"),
        ("odd", "heldout"),
        ("odd-1", "adversarial"),
        ("short", "adversarial"),
    }
    (shipped / "twice.cu").write_text(text.replace("2.0f * in[i]", "2.0f * in[i] + 1"))
    edited = warpsmith("verify", f"{shipped}/", "--seeds", 1, expect=1).stdout
    assert re.search(r"general: twice.cu\n  large: FAILED on seed \d+: out: 50000 of 50000 elements differ", edited)


def test_a_rewrite_that_is_wrong_beyond_what_was_declared_wins_nothing(
    as_json: Callable[..., Any], warpsmith: Callable[..., Any], environment: dict[str, str], tmp_path: Path
):
    (tmp_path / "twice.cu").write_text(SLOW)
    (tmp_path / "kernel.toml").write_text(TOML)
    with serving(Model(WIDE.replace("if (i < n)", "if (i < n && n <= 50000)"))) as server:
        environment.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none", WARPSMITH_CONFINEMENT="best-effort")
        result = as_json("tune", tmp_path, "--mode", "direct", "--agent", "openai-chat:fake", "--evaluations", 2)
    assert [entry["outcome"] for entry in result["rewrites"]] == ["Measured"], "no shape of the search is that large"
    assert result["general"]["config"] == {"REWRITE": 0}
    wrong = [entry for entry in result["evidence"]["elsewhere"] if not entry["passed"]]
    assert [entry["config"] for entry in wrong] == [{"REWRITE": 1}]
    assert wrong[0]["sizes"]["n"] > 50000
    assert "wrong on an undeclared shape" in " ".join(warpsmith("show", "last").stdout.split())
