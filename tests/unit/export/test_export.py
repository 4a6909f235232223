"""What may ship, what is written, and that nothing appears when the written files do not pass."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.results import stored

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, WarpsmithError
from warpsmith.core.jsonable import from_json
from warpsmith.export.base import Pick
from warpsmith.export.delivery import deliver
from warpsmith.export.parts import with_defines
from warpsmith.export.shipment import NothingToShip, shipment_of
from warpsmith.export.templated import Templated
from warpsmith.record.result import Claim
from warpsmith.record.run import RunHeader, RunRecord
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.spec.load import load_kernel

TOML = """\
[kernel]
name = "k"
source = "k.cu"
entry = "k<VEC>"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
n = { dtype = "i32", value = "n / VEC" }
[launch]
grid = ["ceildiv(n, BLOCK)"]
block = ["min(BLOCK, max_threads_per_block)"]
[workloads]
a = { n = 64 }
b = { n = 128 }
odd = { n = 96, heldout = true }
[parameters]
BLOCK = { values = [32, 64], default = 32 }
VEC = { values = [1, 2], default = 1 }
[[constraints]]
expr = "VEC == 1 or n % VEC == 0"
reason = "no tail handling"
"""
SOURCE = """\
#include "own.h"
#include <vector>
#ifndef VEC
#define VEC 1
#endif
template <int V> __global__ void k(float* y, int n) {
#if VEC == 2
  y[threadIdx.x] = 2;
#else
  y[threadIdx.x] = 1;
#endif
}
"""
LIMITS = {
    "max_threads_per_block": 1024,
    "max_block_x": 1024,
    "max_block_y": 1024,
    "max_block_z": 64,
    "shared_bytes_per_block": 49152,
    "warp_size": 32,
    "compute_units": 4,
}


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "kernel.toml").write_text(TOML)
    (folder / "k.cu").write_text(SOURCE)
    (folder / "own.h").write_text("// ours\n")
    return load_kernel(folder)


def claim(speedup: float, low: float, high: float, *, verified: bool = True, **config: int) -> dict[str, Any]:
    return {
        "config": config or {"BLOCK": 64, "VEC": 1},
        "speedup": speedup,
        "ci95": [low, high],
        "median_us": 1.0,
        "verified": verified,
        "roofline_fraction": None,
        "max_error": 0.0,
    }


def record(kernel: Kernel, general: dict[str, Any] | None, *, status: str = "finished", **own: dict[str, Any]) -> RunRecord:
    result = general and {
        **stored(),
        "general": {**general, "workloads": {"a": general, "b": general}},
        "per_workload": {"a": general, "b": general, **own},
        "heldout": {"odd": claim(0.8, 0.7, 0.9)},
        "evaluations": {"Measured": 3},
        "evidence": {},
        "template": {"certificate": {"level": "tokens", "detail": "identical source"}},
    }
    info = {"description": "some device", "limits": LIMITS, "versions": {}}
    header = RunHeader("k", str(kernel.path), "f", "cpu", "none", "gp", 0, {}, info)
    return RunRecord("k-run", header, 0.0, 1.0, status, result)


@pytest.mark.parametrize(
    ("general", "status", "error", "said"),
    [
        (None, "interrupted", InputError, "it has no result"),
        (claim(2.0, 1.9, 2.1, verified=False), "finished", NothingToShip, "passed verification on every workload"),
        (claim(1.02, 0.98, 1.06), "finished", NothingToShip, "from 0.980 to 1.060 that includes 1"),
        (claim(1.0, 1.0, 1.0, BLOCK=32, VEC=1), "finished", NothingToShip, "nothing faster than the original"),
    ],
)
def test_what_must_not_ship_does_not(kernel, general, status, error, said) -> None:
    with pytest.raises(error) as caught:
        shipment_of(record(kernel, general, status=status), Templated.of(kernel))
    assert said in caught.value.message
    assert caught.value.hint


def test_a_gain_that_is_not_certain_ships_by_force_only(kernel) -> None:
    found = record(kernel, claim(1.0, 1.0, 1.0, BLOCK=32, VEC=1))
    best = claim(1.02, 0.98, 1.06)
    found.result["uncertain"] = {**best, "workloads": {"a": best, "b": best}, "heldout": {"odd": claim(0.4, 0.3, 0.5)}}
    with pytest.raises(NothingToShip) as caught:
        shipment_of(found, Templated.of(kernel))
    assert "from 0.980 to 1.060 that includes 1" in caught.value.message
    forced = shipment_of(found, Templated.of(kernel), force=True)
    assert dict(forced.general.configuration) == best["config"]
    assert forced.provenance["heldout"]["odd"]["speedup"] == 0.4


def test_force_ships_what_has_no_gain_but_nothing_unverified(kernel) -> None:
    assert shipment_of(record(kernel, claim(1.02, 0.98, 1.06)), Templated.of(kernel), force=True).general.claim.speedup == 1.02
    with pytest.raises(NothingToShip):
        shipment_of(record(kernel, claim(2.0, 1.9, 2.1, verified=False)), Templated.of(kernel), force=True)


def test_a_winner_for_the_declared_shapes_alone_ships_with_a_warning(kernel, tmp_path) -> None:
    found = record(kernel, claim(2.0, 1.9, 2.1))
    wrong = {"workload": "odd-1", "sizes": {"n": 192}, "passed": False, "reason": "y: written out of bounds"}
    found.result["evidence"] = {**found.result["evidence"], "odd_shapes": [{**wrong, "passed": True, "sizes": {"n": 37}}, wrong]}
    warnings = deliver(shipment_of(found, Templated.of(kernel)), "source", tmp_path / "out", None)["warnings"]
    assert (
        warnings[-1] == "for the declared shapes only: wrong where the original is correct, at n=192 (y: written out of bounds)"
    )
    assert not [warning for warning in warnings if "n=37" in warning]


def test_the_files_stand_alone_and_the_manifest_says_how_to_launch_them(kernel, tmp_path) -> None:
    better = claim(3.0, 2.9, 3.1, BLOCK=32, VEC=2)
    shipment = shipment_of(record(kernel, claim(2.0, 1.9, 2.1), b=better), Templated.of(kernel))
    seen = {}

    def recheck(builds: Any) -> dict[str, Any]:
        seen.update({build.file.name: (build.file.read_text(), build.workloads) for build in builds})
        return {"device": "cpu"}

    found = deliver(shipment, "source", tmp_path / "out", recheck)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["export.json", "k.b.cu", "k.cu", "own.h"]
    assert "y[threadIdx.x] = 1" in seen["k.cu"][0]
    assert "#if" not in seen["k.cu"][0]
    assert "y[threadIdx.x] = 2" in seen["k.b.cu"][0]
    assert seen["k.cu"][1] == ("a", "b", "odd")
    assert seen["k.b.cu"][1] == ("b",)
    assert json.loads((tmp_path / "out" / "export.json").read_text())["dispatch"] == found["dispatch"]
    general, own = found["general"], found["dispatch"]["b"]
    assert (general["entry"], general["grid"], general["block"]) == (
        "k<1>",
        ["ceildiv(n, 64)"],
        ["min(64, max_threads_per_block)"],
    )
    assert (own["file"], own["entry"], own["grid"]) == ("k.b.cu", "k<2>", ["ceildiv(n, 32)"])
    assert found["limits"] == {"max_threads_per_block": 1024}
    assert general["requires"] == []
    assert own["requires"] == [{"expr": "n % 2 == 0", "reason": "no tail handling"}]
    assert "// Only where n % 2 == 0: no tail handling.\n" in seen["k.b.cu"][0]
    assert "Only where" not in seen["k.cu"][0]
    assert found["dispatch"]["odd"]["file"] == "k.cu"
    assert found["warnings"] == ["slower than the original on the held-out workload 'odd': 0.800x"]


def test_workloads_whose_names_make_the_same_file_name_get_files_of_their_own(kernel, tmp_path) -> None:
    sizes = (("x.1", 64), ("x-1", 128), ("X 1", 192))
    kernel = replace(kernel, workloads=tuple(Workload(name, {"n": n}) for name, n in sizes))
    better = claim(3.0, 2.9, 3.1)
    configurations = ({"BLOCK": 64, "VEC": 1}, {"BLOCK": 64, "VEC": 2}, {"BLOCK": 32, "VEC": 2})
    own = {name: Pick(Configuration.of(c), from_json(Claim, better)) for (name, _), c in zip(sizes, configurations, strict=True)}
    general = Pick(Configuration.of({"BLOCK": 32, "VEC": 1}), from_json(Claim, claim(2, 1.9, 2.1)))
    about = shipment_of(record(kernel, claim(2.0, 1.9, 2.1)), Templated.of(kernel))
    shipment = replace(about, general=general, per_workload=own)
    found = deliver(shipment, "source", tmp_path / "out", None)
    files = {name: entry["file"] for name, entry in found["dispatch"].items()}
    assert files == {"x.1": "k.x-1.cu", "x-1": "k.x-1-2.cu", "X 1": "k.X-1-3.cu"}
    assert "= 1" in (tmp_path / "out" / files["x.1"]).read_text()
    assert "= 2" in (tmp_path / "out" / files["x-1"]).read_text()


def test_nothing_appears_when_the_written_files_do_not_pass(kernel, tmp_path) -> None:
    def recheck(_builds: Any) -> dict[str, Any]:
        raise WarpsmithError("the exported source is wrong")

    with pytest.raises(WarpsmithError):
        deliver(shipment_of(record(kernel, claim(2.0, 1.9, 2.1)), Templated.of(kernel)), "source", tmp_path / "out", recheck)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kernel"]


def test_an_earlier_export_is_replaced_and_a_folder_of_somebody_elses_is_not(kernel, tmp_path) -> None:
    first = shipment_of(record(kernel, claim(2.0, 1.9, 2.1), b=claim(3.0, 2.9, 3.1, BLOCK=32, VEC=2)), Templated.of(kernel))
    deliver(first, "source", tmp_path / "out", None)
    deliver(shipment_of(record(kernel, claim(2.0, 1.9, 2.1)), Templated.of(kernel)), "source", tmp_path / "out", None)
    assert not (tmp_path / "out" / "k.b.cu").exists()
    with pytest.raises(InputError, match="files that are not from an export"):
        deliver(first, "source", tmp_path / "kernel", None)


def test_an_unknown_format_is_bad_input(kernel, tmp_path) -> None:
    with pytest.raises(InputError, match="unknown export format 'elf'"):
        deliver(shipment_of(record(kernel, claim(2.0, 1.9, 2.1)), Templated.of(kernel)), "elf", tmp_path / "out", None)


def test_what_the_host_defines_is_written_down_unless_a_parameter_took_its_place(kernel: Kernel):
    kernel = replace(kernel, defines={"VEC": 1, "WITH_BIAS": 1})
    original, settled = "float f = VEC;\n", "#define VEC 4\nfloat f = VEC;\n"
    bias = "#ifndef WITH_BIAS\n#define WITH_BIAS 1\n#endif\n"
    assert with_defines(original, kernel) == f"#ifndef VEC\n#define VEC 1\n#endif\n{bias}\n{original}"
    assert with_defines(settled, kernel) == f"{bias}\n{settled}"
