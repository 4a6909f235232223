"""Counters and estimated times of GPUs that are not here, against recordings: `python -m benchmarks absent_gpu HUB SPACE…`.

HUB is a checkout of the AutoTuning Association's benchmark_hub, for the kernels' sources, which are nobody's to ship with this.
SPACE is a recorded space (a Kernel Tuner cache) or recorded counters (KTT's results with ncu's metrics), gzip'd, as
`KERNEL-GPU.json.gz`, or a folder of such; without any, those that WARPSMITH_SPACES names. Nothing of the estimates was fitted;
which spaces were looked at while they were made stands in docs/lab.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from warpsmith.analysis.estimate import estimate
from warpsmith.analysis.profile import LaunchProfile, Profiler
from warpsmith.analysis.targets import Target, parse_target
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError, UnsupportedFeature
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.verify.launch_arguments import launch_arguments

GPUS = {
    "a100": "a100-pcie-40gb",
    "a4000": "rtx-a4000",
    "a6000": "rtx-a6000",
    "3060": "rtx-3060-laptop",
    "3090": "rtx-3090",
    "2080ti": "rtx-2080-ti",
    "titan": "titan-rtx",
}
"""By what the name of a recording has in it.

Recordings of an RTX 3060 were made on a laptop's, those of an A100 on one with PCIe."""
_IMAGE = """
[arguments]
output = { dtype = "f32", shape = ["4096 * 4096"], role = "out" }
input = { dtype = "f32", shape = ["4110 * 4110"], role = "in" }
filter = { dtype = "f32", shape = [225], role = "in" }
[launch]
grid = ["ceildiv(4096, block_size_x * tile_size_x)", "ceildiv(4096, block_size_y * tile_size_y)"]
block = ["block_size_x", "block_size_y"]
"""
_DEDISPERSION = """
[arguments]
input = { dtype = "u8", shape = ["25650 * 1536"], role = "in" }
output = { dtype = "f32", shape = ["2048 * 25000"], role = "out" }
shifts = { dtype = "f32", shape = [1536], role = "in", init = { python = "shifts.py:shifts" } }
[launch]
grid = ["ceildiv(25000, block_size_x * tile_size_x)", "ceildiv(2048, block_size_y * tile_size_y)"]
block = ["block_size_x", "block_size_y"]
"""
# The delay of each channel, in samples a unit of the dispersion measure, as the hub's own script has it; and some polygon with as
# many vertices as the hub's, which is not there.
_SHIFTS = """
import numpy as np
from scipy.stats import spearmanr

def shifts(shape):
    frequency = 1425.0 + np.arange(1536, dtype=np.float32) * 0.1953125
    found = 4148.808 * (1 / frequency**2 - 1 / (1425.0 + 1535 * 0.1953125) ** 2) / 0.00004096
    found[-1] = 0
    return found.astype(np.float32)

def polygon(shape, rng):
    angle, radius = np.sort(rng.random(600)) * 2 * np.pi, 0.4 + 0.5 * rng.random(600)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(shape).astype(np.float32)
"""
_GEMM = """
[arguments]
m = { dtype = "i32", value = 4096 }
n = { dtype = "i32", value = 4096 }
k = { dtype = "i32", value = 4096 }
alpha = { dtype = "f32", value = 1 }
beta = { dtype = "f32", value = 1 }
A = { dtype = "f32", shape = ["4096 * 4096"], role = "in" }
B = { dtype = "f32", shape = ["4096 * 4096"], role = "in" }
C = { dtype = "f32", shape = ["4096 * 4096"], role = "inout" }
b_offset = { dtype = "i32", value = 0 }
c_offset = { dtype = "i32", value = 0 }
[launch]
grid = ["4096 / MWG", "4096 / NWG"]
block = ["MDIMC", "NDIMC"]
"""
_HOTSPOT = """
[arguments]
power = { dtype = "f32", shape = ["4116 * 4116"], role = "in" }
temp = { dtype = "f32", shape = ["4116 * 4116"], role = "in" }
temp_dst = { dtype = "f32", shape = ["4096 * 4096"], role = "out" }
Rx = { dtype = "f32", value = "0.1" }
Ry = { dtype = "f32", value = "0.1" }
Rz = { dtype = "f32", value = "3.05" }
step = { dtype = "f32", value = "21.8" }
[launch]
grid = ["ceildiv(4096, block_size_x * tile_size_x)", "ceildiv(4096, block_size_y * tile_size_y)"]
block = ["block_size_x", "block_size_y"]
"""
_POINTS = """
[arguments]
bitmap = { dtype = "i32", shape = [20000000], role = "out" }
points = { dtype = "f32", shape = [40000000], role = "in", init = { kind = "uniform", low = -1, high = 1 } }
n = { dtype = "i32", value = 20000000 }
[constants]
d_vertices = { dtype = "f32", shape = [1200], init = { python = "shifts.py:polygon" } }
d_slopes = { dtype = "f32", shape = [600], init = "normal" }
[launch]
grid = ["ceildiv(20000000, block_size_x * tile_size)"]
block = ["block_size_x"]
"""


@dataclass(frozen=True, slots=True)
class Known:
    """Where a kernel's source lies in the hub, what kernel.toml says of it, and what its parameters are when not recorded.

    `missing` are values of a parameter that the published source does not have.
    """

    entry: str
    files: tuple[str, ...]
    specification: str
    defines: Mapping[str, Value]
    missing: Mapping[str, Value]


_KERNELS = {
    "convolution2": Known("convolution_kernel", ("currently_unused/kernels/convolution.cu",), _IMAGE, {}, {}),
    "convolution": Known("convolution_kernel", ("kernels/convolution_milo.cu",), _IMAGE, {}, {"use_shmem": 0}),
    "dedispersion": Known(
        "dedispersion_kernel",
        ("kernels/dedisp_milo/dedispersion.cu",),
        _DEDISPERSION,
        {},
        {},
    ),
    "gemm": Known(
        "Xgemm",
        tuple(f"kernels/gemm_milo/{name}" for name in ("common.opencl", *(f"xgemm_part{part}.opencl" for part in (1, 2, 3, 4)))),
        _GEMM,
        {"GEMMK": 0, "KREG": 1},
        {},
    ),
    "hotspot": Known("calculate_temp", ("kernels/hotspot_milo.cu",), _HOTSPOT, {"kernel_tuner": 1, "block_size_z": 1}, {}),
    "pnpoly": Known("cn_pnpoly", ("currently_unused/kernels/pnpoly.cu",), _POINTS, {}, {}),
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One configuration: its time, and its counters where these were recorded."""

    configuration: dict[str, Value]
    time_us: float
    counters: Mapping[str, float]
    shared_bytes: int | None = None


def recorded(file: Path) -> list[Recorded]:
    data = json.loads(gzip.decompress(file.read_bytes()))
    return _from_ktt(data) if "Results" in data else _from_cache(data)


def _from_cache(data: Mapping[str, Any]) -> list[Recorded]:
    names = list(data["tune_params"])
    return [
        Recorded({name: entry[name] for name in names}, 1e3 * entry["time"], {})
        for entry in data["cache"].values()
        if isinstance(entry["time"], float | int)
    ]


def _from_ktt(data: Mapping[str, Any]) -> list[Recorded]:
    """The names of its parameters are those of the same kernel in CUDA elsewhere."""
    found = []
    for result in data["Results"]:
        if not result["ComputationResults"]:
            continue
        values = {entry["Name"].lower(): entry["Value"] for entry in result["Configuration"]}
        one = result["ComputationResults"][0]
        names = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "read_only")
        configuration = {name: values[name] for name in names}
        configuration |= {
            "filter_height": 2 * values["hfs"] + 1,
            "filter_width": 2 * values["hfs"] + 1,
            "use_padding": values["padding"],
        }
        counters = {counter["Name"]: counter["Value"] for counter in one["ProfilingData"]["Counters"]}
        found.append(Recorded(configuration, one["Duration"], counters, one["CompilationData"]["LocalMemorySize"]))
    return found


def specification(known: Known, hub: Path, folder: Path, rows: list[Recorded]) -> Path:
    """A kernel.toml in the folder, of the recorded parameters."""
    texts = [(hub / name).read_text(encoding="utf-8") for name in known.files]
    first = '#include "cl_to_cuda.h"\n' if known.files[0].endswith(".opencl") else ""
    values = {name: sorted({row.configuration[name] for row in rows}) for name in rows[0].configuration}
    defaults = "".join(
        f"#ifndef {name}\n#define {name} {value[0]}\n#endif\n#if {name}\n#endif\n" for name, value in values.items()
    )
    (folder / "recorded.cuh").write_text(first + "".join(texts), encoding="utf-8")
    (folder / "kernel.cu").write_text(f'{defaults}#include "recorded.cuh"\n', encoding="utf-8")
    (folder / "shifts.py").write_text(_SHIFTS, encoding="utf-8")
    lines = [
        "[kernel]",
        'name = "recorded"',
        'source = "kernel.cu"',
        f'entry = "{known.entry}"',
        f"include_dirs = [{json.dumps(str((hub / known.files[0]).parent.resolve()))}]",
        f"defines = {{ {', '.join(f'{name} = {value}' for name, value in known.defines.items() if name not in values)} }}",
        known.specification,
        "[workloads]",
        "recorded = { }",
        "[parameters]",
        *(f"{name} = {{ values = {value}, default = {value[0]} }}" for name, value in values.items()),
    ]
    (folder / "kernel.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder / "kernel.toml"


def known_of(file: Path) -> tuple[Known, Target]:
    """Raises InputError for a kernel or a GPU that is not known."""
    kernel, _, gpu = file.name.partition(".")[0].lower().replace("_", "-").partition("-")
    gpu = gpu.replace("-", "")
    name = next((name for part, name in GPUS.items() if part in gpu), None)
    if kernel not in _KERNELS or name is None:
        raise InputError(f"{file.name} is not named KERNEL-GPU", hint=f"kernels: {', '.join(_KERNELS)}; GPUs: {', '.join(GPUS)}")
    return _KERNELS[kernel], parse_target(name)


def profiles(
    file: Path, hub: Path, count: int, seed: int, workers: int
) -> tuple[Target, list[tuple[Recorded, LaunchProfile]], list[str]]:
    """Of configurations drawn at random from those whose source is published; and why others are not there."""
    known, target = known_of(file)
    rows = [
        row for row in recorded(file) if not any(row.configuration.get(name) == value for name, value in known.missing.items())
    ]
    chosen = [rows[number] for number in np.random.default_rng(seed).permutation(len(rows))[:count]]
    with tempfile.TemporaryDirectory() as folder:
        kernel = load_kernel(str(specification(known, hub, Path(folder), rows)))
        with (
            CompilePool(target.device, workers=workers, cache_dir=None, folders=kernel.folders, deadline_s=300) as pool,
            ThreadPoolExecutor(workers) as threads,
        ):
            profiler = Profiler(kernel, template_of(kernel), target, pool, partial(launch_arguments, kernel))
            workload = kernel.workloads[0]

            def one(row: Recorded) -> LaunchProfile | str:
                try:
                    return profiler.profile(Configuration.of(row.configuration), workload, lines=False)
                except (InputError, UnsupportedFeature) as error:
                    return error.message

            made = list(threads.map(one, chosen))
    found = [(row, profile) for row, profile in zip(chosen, made, strict=True) if isinstance(profile, LaunchProfile)]
    return target, found, [reason for reason in made if isinstance(reason, str)]


def of_counters(found: list[tuple[Recorded, LaunchProfile]]) -> None:
    """Of configurations whose block has as much shared memory as the recorded one: others are of another source."""
    same = [(row, profile) for row, profile in found if row.shared_bytes in {None, profile.resources.shared_bytes}]
    errors: dict[str, list[float]] = {}
    for row, profile in same:
        for name, value in row.counters.items():
            counted = profile.counted.metrics.get(name)
            if counted is not None and value:
                errors.setdefault(name, []).append(counted / value - 1)
    print(f"  counters of {len(same)} configurations: relative error, its median and its ninth decile")
    for name, values in errors.items():
        sizes = np.abs(values)
        print(f"    {name:66} {np.median(sizes):6.1%} {np.quantile(sizes, 0.9):6.1%}")


def of_times(target: Target, found: list[tuple[Recorded, LaunchProfile]]) -> float:
    times, estimates, limiters = [], [], Counter[str]()
    for row, profile in found:
        assert target.gpu is not None
        assert profile.occupancy is not None
        made = estimate(profile.counted, profile.geometry, profile.occupancy, target.gpu)
        assert made is not None
        times.append(row.time_us)
        estimates.append(made.us)
        limiters[made.limiter] += 1
    measured, estimated = np.array(times), np.array(estimates)
    rank = float(spearmanr(measured, estimated).statistic)
    ratio = measured / estimated
    after_one = np.median(np.abs(estimated * np.median(ratio) / measured - 1))
    favourites = measured.min() / measured[np.argsort(estimated)[:10]].min()
    rng = np.random.default_rng(0)
    by_chance = np.mean([measured.min() / rng.choice(measured, min(10, len(measured)), replace=False).min() for _ in range(1000)])
    print(
        f"  times of {len(measured)} configurations: rank correlation {rank:.3f}, measured over estimated {np.median(ratio):.2f},"
        f" median error after one scale {after_one:.1%}"
    )
    print(f"    the ten favourites reach {favourites:.3f} of the best drawn, ten at random {by_chance:.3f}")
    for name, values in (
        ("instructions executed", [profile.counted.metrics["smsp__inst_executed.sum"] for _, profile in found]),
        ("occupancy, reversed", [-profile.occupancy.fraction for _, profile in found if profile.occupancy]),
    ):
        print(f"    rank correlation of {name}: {float(spearmanr(measured, values).statistic):.3f}")
    print(f"    limited by {', '.join(f'{name} ({count})' for name, count in limiters.most_common())}", flush=True)
    return rank


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks absent_gpu")
    parser.add_argument("hub", type=Path)
    parser.add_argument("spaces", nargs="*", type=Path, default=[Path(p) for p in os.environ.get("WARPSMITH_SPACES", "").split()])
    parser.add_argument("--configurations", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args(arguments)
    ranks = []
    files = [f for given in options.spaces for f in (sorted(given.glob("*.json.gz")) if given.is_dir() else [given])]
    for file in files:
        began = time.perf_counter()
        target, found, refused = profiles(file, options.hub, options.configurations, options.seed, options.jobs)
        print(f"{file.name.removesuffix('.json.gz')} ({target.name}): {time.perf_counter() - began:.0f} s")
        for reason, count in Counter(refused).most_common(3):
            print(f"  {count} are not there: {reason}")
        if not found:
            continue
        if found[0][0].counters:
            of_counters(found)
        ranks.append(of_times(target, found))
    if len(ranks) > 1:
        print(f"rank correlation on average {np.mean(ranks):.3f}, at worst {min(ranks):.3f}")


if __name__ == "__main__":
    main()
