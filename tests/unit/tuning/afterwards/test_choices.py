"""What a run chose from, read back from its record: a template or rewrites, and what each configuration is as a kernel."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.export.base import Pick, Shipment
from warpsmith.export.header import HeaderExporter
from warpsmith.export.kernel_tuner import KernelTunerExporter
from warpsmith.export.source import SourceExporter
from warpsmith.record.result import Claim
from warpsmith.record.run import RoundRecord, RunHeader, RunRecord
from warpsmith.record.store import Store
from warpsmith.refactor.base import Rule
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.afterwards.choices import OfRewrites, choices_of
from warpsmith.tuning.order import kernel_fingerprint
from warpsmith.tuning.rounds.rewrites import rewrite_configuration

TOML = """\
[kernel]
name = "k"
source = "k.cu"
entry = "k<BLOCK>"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
n = { dtype = "i32", value = "n" }
[launch]
grid = ["ceildiv(n, BLOCK)"]
block = ["BLOCK"]
[workloads]
a = { n = 64 }
b = { n = 128 }
[parameters]
BLOCK = { values = [32, 64], default = 32 }
"""
SOURCE = """\
#include "own.h"
#ifndef BLOCK
#define BLOCK 32
#endif
template <int B> __global__ void k(float* y, int n) { y[blockIdx.x * B + threadIdx.x] = one(); }
"""
MINE = '#include "own.h"\ntemplate <int B> __global__ void k(float* y, int n) { y[threadIdx.x] = one(); }\n'
LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
CLAIM = Claim(config={}, speedup=2.0, ci95=(1.9, 2.1), median_us=3.5, verified=True)
RULES = (Rule("n % 4\n== 0", "no tail\u2028\r\nint door = system(0);\\"), Rule("n <= max_threads_per_block", "one block"))
PROPOSALS = (
    Proposal(1, MINE, ("1",), ("n",), entry="k<64>", rules=RULES, hypothesis="one\nblock\\"),
    Proposal(2, f"struct S {{ S(); }};\nS s;\n{MINE}", ("1",), ("n",)),
    Proposal(3, MINE.replace("one()", "1"), ("1",), ("n",), "4 * n"),
)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    (tmp_path / "kernel.toml").write_text(TOML)
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "own.h").write_text("__device__ float one() { return 1; }\n")
    kernel = load_kernel(tmp_path)
    info = {"limits": asdict(LIMITS)}
    header = RunHeader("k", str(kernel.path), kernel_fingerprint(kernel), "cpu", "rules", "gp", 0, {"mode": "direct"}, info)
    with Store(tmp_path / "runs.sqlite") as store:
        run = store.begin(header)
        for proposal in PROPOSALS:
            store.begin_round(run, RoundRecord(proposal.number, asdict(proposal), "gone.cu", "", {}))
        return store.find(run)


@pytest.fixture
def choices(record: RunRecord, tmp_path: Path) -> OfRewrites:
    with Store(tmp_path / "runs.sqlite", reading=True) as store:
        found = choices_of(record, store)
    assert isinstance(found, OfRewrites)
    return found


def shipped(choices: OfRewrites, general: int, **own: int) -> Shipment:
    picks = {workload: Pick(rewrite_configuration(number), CLAIM) for workload, number in own.items()}
    about = {"run": "k-1", "device": "cpu", "device_description": "some device", "heldout": {}}
    return Shipment("k-1", choices, LIMITS, Pick(rewrite_configuration(general), CLAIM), picks, about)


def test_a_rewrite_is_a_kernel_of_its_own_and_zero_is_the_original(choices: OfRewrites):
    mine, original = (choices.standalone(rewrite_configuration(number)) for number in (1, 0))
    assert (mine.text, mine.entry, mine.launch.block[0].text) == (MINE, "k<64>", "n")
    assert [c.expression.text for c in mine.conditions] == ["n % 4\n== 0", "n <= max_threads_per_block"]
    assert (original.entry, original.launch.grid[0].text) == ("k<32>", "ceildiv(n, 32)")
    assert original.conditions == ()
    assert choices.kernel.default_configuration == rewrite_configuration(0)
    assert choices.plain.parameters == ()


def test_what_is_more_than_device_code_or_is_not_there_has_no_kernel(choices: OfRewrites):
    with pytest.raises(InputError, match=r"rewrite 2: .*host"):
        choices.standalone(rewrite_configuration(2))
    builder = choices.builder(LIMITS, None)
    with pytest.raises(InputError, match=r"rewrite 2: .*host"):
        builder.requests.of(rewrite_configuration(2), choices.kernel.workloads)
    with pytest.raises(InputError, match="no rewrite 9"):
        builder.requests.of(rewrite_configuration(9), choices.kernel.workloads)
    with pytest.raises(InputError, match="rewrite 2"):
        SourceExporter().write(shipped(choices, 2), Path("nowhere"))


def test_another_device_judges_by_its_own_limits(choices: OfRewrites):
    small = replace(LIMITS, max_threads_per_block=96, max_block_x=96)
    assert rewrite_configuration(1) in choices.feasible(LIMITS)
    assert rewrite_configuration(1) not in choices.feasible(small), "workload b asks for 128 threads"
    # It is still what it is: whoever verifies it there compiles the rewrite, not the original.
    [request] = choices.builder(small, None).requests.of(rewrite_configuration(1), choices.kernel.workloads[1:]).values()
    assert (request.source, request.geometry.block) == (MINE, (128, 1, 1))
    names = {**small.names(), "REWRITE": 1, "n": 64}
    assert choices.feasible(LIMITS).allows({**names, **LIMITS.names()})
    assert not choices.feasible(LIMITS).allows({**names, **LIMITS.names(), "n": 66})


def test_rewrites_are_written_like_configurations_with_their_headers_and_their_own_launch(choices: OfRewrites, tmp_path: Path):
    (tmp_path / "out").mkdir()
    builds = SourceExporter().write(shipped(choices, 1, b=3), tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["k.b.cu", "k.cu", "own.h"]
    assert [(b.file.name, b.entry, b.workloads) for b in builds] == [("k.cu", "k<64>", ("a", "b")), ("k.b.cu", "k<32>", ("b",))]
    assert builds[1].expressions == {"grid": ["1"], "block": ["n"], "shared": "4 * n"}
    text = (tmp_path / "out" / "k.cu").read_text()
    assert "// k with REWRITE=1\n" in text
    assert "// The idea: one block/\n// Only where n % 4 == 0: no tail int door = system(0);/.\n" in text
    header = tmp_path / "header"
    header.mkdir()
    HeaderExporter().write(shipped(choices, 1, b=3), header)
    assert "launch.allowed = (expression::floor_mod(n, (4LL)) == (0LL)) && " in (header / "k.tuned.h").read_text()


def test_other_tuners_have_no_use_for_rewrites(choices: OfRewrites, tmp_path: Path):
    with pytest.raises(InputError, match="no parameter space") as caught:
        KernelTunerExporter().write(shipped(choices, 1), tmp_path)
    assert caught.value.hint


def test_a_kernel_whose_files_changed_is_not_what_was_rewritten(record: RunRecord, tmp_path: Path):
    (tmp_path / "own.h").write_text("__device__ float one() { return 2; }\n")
    with Store(tmp_path / "runs.sqlite", reading=True) as store, pytest.raises(InputError, match="files changed"):
        choices_of(record, store)


def test_other_runs_have_a_template(record: RunRecord, tmp_path: Path):
    searched = replace(record, run="other", header=replace(record.header, settings={}))
    with Store(tmp_path / "runs.sqlite", reading=True) as store:
        found = choices_of(searched, store)
    assert found.template is not None
    assert found.standalone(Configuration.of({"BLOCK": 64})).entry == "k<64>"
    assert found.plain.parameters == ()
