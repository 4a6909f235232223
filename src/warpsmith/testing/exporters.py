"""Conformance tests of exporters. A plug-in subclasses the suite and creates its exporter:

class TestMine(ExporterConformance):
    def make(self):
        return Mine()

The kernel is a small awkward one: nested headers, a scalar and an entry that depend on parameters, workloads whose names look
alike. The exported files run on the CPU device.
"""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import (
    ArgumentCheck,
    CompileFailed,
    Evaluation,
    Infeasible,
    Measured,
    Outcome,
    TimedOut,
    Verdict,
    WorkloadTime,
    WrongResult,
)
from warpsmith.export.base import Build, Exporter, Pick, Shipment
from warpsmith.export.earlier import read_export
from warpsmith.export.manifest import FILE_NAME, manifest
from warpsmith.record.result import Claim
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.afterwards.choices import OfTemplate
from warpsmith.tuning.afterwards.recheck import Adversaries, recheck

LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)

AWKWARD = {
    "kernel/kernel.toml": """\
[kernel]
name = "awkward"
source = "awkward.cu"
entry = "twice<float, VEC>"
include_dirs = ["include"]
defines = { OFFSET = 3 }
[arguments]
y = { dtype = "f32", shape = ["rows", "d"], role = "out" }
x = { dtype = "f32", shape = ["rows", "d"] }
packs = { dtype = "i32", value = "d / VEC" }
[launch]
grid = ["ceildiv(d, BLOCK * VEC)", "rows"]
block = ["min(BLOCK, max_threads_per_block)"]
shared = "4 * BLOCK if CHECKED else 0"
[workloads]
"x.1" = { rows = 4, d = 256 }
x-1 = { rows = 3, d = 512 }
odd = { rows = 5, d = 100, heldout = true }
[parameters]
BLOCK = { values = [32, 64, 128], default = 32 }
VEC = { values = [1, 2, 4], default = 1 }
CHECKED = { values = [false, true], default = false }
[[constraints]]
expr = "divides(VEC, d) and BLOCK * VEC <= 256"
""",
    "kernel/awkward.cu": """\
#include "parts/load.h"
#ifndef BLOCK
#define BLOCK 32
#endif
#ifndef VEC
#define VEC 1
#endif
#ifndef CHECKED
#define CHECKED 0
#endif
template <typename T, int V> __global__ void twice(T* y, const T* x, int packs) {
#if CHECKED
  extern __shared__ float staged[];
#endif
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= packs) return;
  const int from = (blockIdx.y * packs + at) * V;
#pragma unroll
  for (int i = 0; i < V; ++i) {
#if CHECKED
    staged[threadIdx.x] = loaded(x, from + i);
    y[from + i] = staged[threadIdx.x];
#else
    y[from + i] = loaded(x, from + i);
#endif
  }
}
""",
    "kernel/parts/load.h": '#pragma once\n#include "scale.h"\n#include <shift.h>\n#include "../../common/zero.h"\n'
    "template <typename T> __device__ T loaded(const T* x, int i) { return scaled(x[i]) + shift() + zero(); }\n",
    "kernel/parts/scale.h": "#pragma once\ntemplate <typename T> __device__ T scaled(T x) { return T(2) * x; }\n",
    "kernel/include/shift.h": "#pragma once\nstatic __device__ float shift() { return OFFSET; }\n",
    "common/zero.h": "#pragma once\nstatic __device__ float zero() { return 0; }\n",
}

_PASSED = Verdict((ArgumentCheck("x.1", "y", passed=True, max_error=0.0),))
_WRONG = Verdict((ArgumentCheck("x.1", "y", passed=False, max_error=1.0, problem="1 of 1,024 elements differ"),))


def awkward_kernel(folder: Path) -> Kernel:
    for name, text in AWKWARD.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return load_kernel(folder / "kernel")


def shipment_of_kernel(kernel: Kernel, general: Configuration, per_workload: dict[str, Configuration]) -> Shipment:
    """A run's outcome as if it had been measured, with every kind of outcome among the evaluations."""
    claim = Claim(config=general, speedup=2.0, ci95=(1.9, 2.1), median_us=3.5, verified=True, max_error=0.0)
    about = {"run": "awkward-run", "device": "cpu", "device_description": "some device", "heldout": {}, "evidence": {}}
    tried = [kernel.default_configuration, general, *per_workload.values()]
    times = tuple(WorkloadTime(w.name, 3500.0, 0.5, (0.4, 0.6), 9) for w in kernel.tuning_workloads)
    outcomes: list[Outcome] = [Measured(_PASSED, times, 0.5) for _ in tried]
    rows = product(*(parameter.values for parameter in kernel.parameters))
    everything = (Configuration.of(dict(zip(kernel.default_configuration, row, strict=True))) for row in rows)
    others = [configuration for configuration in everything if configuration not in tried]
    outcomes += [WrongResult(_WRONG), CompileFailed("no such name"), TimedOut("did not finish", 10.0), Infeasible("too many")]
    evaluations = [Evaluation(c, o, 0.25, 1.7e9) for c, o in zip([*tried, *others], outcomes, strict=False)]
    picks = {workload: Pick(configuration, claim) for workload, configuration in per_workload.items()}
    return Shipment(
        "awkward-run", OfTemplate.of(kernel), LIMITS, Pick(general, claim), picks, about, tuple(evaluations), ("sm_80", "sm_90")
    )


class ExporterConformance:
    def make(self) -> Exporter:
        raise NotImplementedError

    def shipment(self, folder: Path) -> Shipment:
        kernel = awkward_kernel(folder)
        own = {
            "x.1": Configuration.of({"BLOCK": 64, "VEC": 4, "CHECKED": False}),
            "x-1": Configuration.of({"BLOCK": 128, "VEC": 2, "CHECKED": True}),
        }
        return shipment_of_kernel(kernel, Configuration.of({"BLOCK": 32, "VEC": 2, "CHECKED": False}), own)

    def test_it_says_what_it_is(self) -> None:
        exporter = self.make()
        assert re.fullmatch(r"[a-z][a-z0-9-]*", exporter.name)
        assert exporter.summary
        assert "\n" not in exporter.summary

    def test_the_first_build_is_the_general_one_and_all_are_in_the_folder(self, tmp_path: Path) -> None:
        shipment = self.shipment(tmp_path)
        before = _files(tmp_path)
        builds = self._written(shipment, tmp_path / "out")
        assert builds[0].configuration == shipment.general.configuration
        assert builds[0].workloads == tuple(workload.name for workload in shipment.kernel.workloads)
        for build in builds[1:]:
            assert {shipment.per_workload[workload].configuration for workload in build.workloads} == {build.configuration}
        assert all(build.file.is_relative_to(tmp_path / "out") and build.file.is_file() for build in builds)
        assert len({(build.file, build.entry) for build in builds}) == len(builds)
        assert {name: data for name, data in _files(tmp_path).items() if not name.startswith("out/")} == before

    def test_nothing_is_left_to_choose(self, tmp_path: Path) -> None:
        """Launches and scalars use sizes and device limits, and no parameter."""
        shipment = self.shipment(tmp_path)
        names = {parameter.name for parameter in shipment.kernel.parameters}
        for build in self._written(shipment, tmp_path / "out"):
            launch = build.launch
            for expression in (*launch.grid, *launch.block, launch.shared_bytes):
                assert not expression.names & names, expression
            assert not names & set(re.findall(r"\w+", build.entry)), build.entry

    def test_it_is_a_function_of_the_shipment(self, tmp_path: Path) -> None:
        shipment = self.shipment(tmp_path)
        for name in ("one", "two"):
            self._written(shipment, tmp_path / name)
        assert _files(tmp_path / "one") == _files(tmp_path / "two")

    def test_what_it_writes_can_be_read_back(self, tmp_path: Path) -> None:
        shipment = self.shipment(tmp_path)
        folder = tmp_path / "out"
        builds = self._written(shipment, folder)
        found = manifest(shipment, self.make().name, builds, folder, None)
        (folder / FILE_NAME).write_text(json.dumps(found), encoding="utf-8")
        again = read_export(folder).builds(shipment.kernel)
        assert [(b.file, b.entry, b.configuration, b.expressions) for b in again] == [
            (b.file, b.entry, b.configuration, b.expressions) for b in builds
        ]
        assert [b.workloads for b in again] == [b.workloads for b in builds]
        assert [[str(a) for a in b.arguments] for b in again] == [[str(a) for a in b.arguments] for b in builds]

    def test_what_it_writes_stands_alone_and_is_right(self, tmp_path: Path) -> None:
        """The files compile without access to the kernel's own folders, and are verified on every workload."""
        shipment = self.shipment(tmp_path)
        folder = tmp_path / "elsewhere" / "out"
        builds = self._written(shipment, folder)
        cache = tmp_path / "binaries"
        shown = recheck(OfTemplate.of(shipment.kernel), builds, "cpu", binary_cache=cache, adversaries=Adversaries())
        found = [(file["verified"], set(file["max_error"])) for file in shown["files"].values()]
        assert found == [(True, set(build.workloads)) for build in builds]

    def _written(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        folder.mkdir(parents=True)
        return self.make().write(shipment, folder)


def _files(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
