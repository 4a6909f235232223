"""Evaluations a second beside Kernel Tuner, on the same OpenCL kernels, spaces, inputs and cores. Needs the group `bench`.

    python -m benchmarks throughput [SECONDS] [FOLDER with a kernel.toml]…

Both search at random for so many seconds and verify every configuration against the same outputs; each is a process of its own,
and they take turns. Both runs of a pair share whatever else loads the machine, so the ratio of a pair counts, not the rates. The
whole command's time is that of the process: with Warpsmith it has the claims (fresh processes, checks) and the report in it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kernel_tuner_peer import installed
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import describe_device
from warpsmith.devices._clruntime.loader import cpu_runtime_library
from warpsmith.space import Space
from warpsmith.spec.kernel import Buffer, Kernel, Role
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.verify.inputs import make_material
from warpsmith.verify.oracle import expected_outputs

EXAMPLES = Path(__file__).parent.parent / "examples"
KERNELS = ("convolution_opencl", "matmul_opencl")
SECONDS = 20
PAIRS = 2
_BLOCK = ("block_size_x", "block_size_y", "block_size_z")


def main() -> None:
    if not installed():
        print("kernel-tuner is not installed (pip install --group bench)")
        return
    named = [argument for argument in sys.argv[1:] if Path(argument).is_dir()]
    seconds = next((int(argument) for argument in sys.argv[1:] if argument.isdecimal()), SECONDS)
    for given in named or [str(EXAMPLES / name) for name in KERNELS]:
        with tempfile.TemporaryDirectory() as folder:
            kernel = _with_one_workload(Path(given), Path(folder))
            ratios = []
            for pair in range(PAIRS):
                ours, theirs = _ours(kernel, seconds, pair, Path(folder)), _theirs(kernel, seconds, pair)
                ratios.append(ours["rate"] / theirs["rate"])
                for name, found in (("warpsmith", ours), ("kernel tuner", theirs)):
                    rate = f"{found['evaluations']:4} evaluations, {found['rate']:6.2f} a second"
                    print(f"{kernel.name:20} {name:12} {rate}; whole command {found['whole_s']:6.1f} s", flush=True)
            listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(
                f"{kernel.name:20} ratio of the rates {listed}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
                flush=True,
            )


def _with_one_workload(given: Path, folder: Path) -> Path:
    """Kernel Tuner has one problem size. A copy with the neighbours, where references of several kernels may lie."""
    shutil.copytree(given.parent, folder / "kernels", ignore=shutil.ignore_patterns("notebook", ".*"))
    copy = folder / "kernels" / given.name
    text = (copy / "kernel.toml").read_text()
    before, _, rest = text.partition("[workloads]\n")
    listed, *after = re.split(r"\n(?=\[)", rest, maxsplit=1)
    first = next(line for line in listed.splitlines() if "=" in line and not line.lstrip().startswith("#"))
    (copy / "kernel.toml").write_text("\n".join([f"{before}[workloads]\n{first}\n", *after]))
    return copy


def _ours(kernel: Path, seconds: int, seed: int, folder: Path) -> dict[str, Any]:
    home = {**os.environ, "WARPSMITH_HOME": str(folder / f"home-{seed}")}
    own = str(Path(sys.executable).with_name("warpsmith"))
    command = [own, "tune", str(kernel), "-t", f"{seconds}s", "-s", "random", "--seed", str(seed), "--json"]
    began = time.perf_counter()
    done = subprocess.run(command, env=home, capture_output=True, check=True)
    whole_s = time.perf_counter() - began
    result = json.loads(done.stdout)
    count = sum(result["evaluations"].values()) - 1  # the original is measured before the search
    prepared = re.search(rb"prepared +in ([\d.]+) s", done.stderr)
    assert prepared is not None, "the terminal says what the wait went into"
    return {"evaluations": count, "rate": count / max(seconds - float(prepared[1]), 1.0), "whole_s": whole_s}


def _theirs(kernel: Path, seconds: int, seed: int) -> dict[str, Any]:
    own = [sys.executable, "-c", _THEIRS, json.dumps(sys.path), str(kernel), str(seconds), str(seed)]
    began = time.perf_counter()
    done = subprocess.run(own, env={**os.environ, "OCL_ICD_VENDORS": str(cpu_runtime_library())}, capture_output=True, check=True)
    whole_s = time.perf_counter() - began
    found = json.loads(done.stdout.splitlines()[-1])
    return {"evaluations": found["evaluations"], "rate": found["evaluations"] / found["seconds"], "whole_s": whole_s}


_THEIRS = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from pathlib import Path
from benchmarks.throughput import tuned_by_kernel_tuner
found = tuned_by_kernel_tuner(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
print()
print(json.dumps(found))
"""


# ── in a process of its own ──


def tuned_by_kernel_tuner(path: Path, seconds: int, seed: int) -> dict[str, Any]:
    """The same space, inputs, outputs and tolerances. Time counts from the first configuration."""
    from constraint import FunctionConstraint  # noqa: PLC0415 - a peer's dependency
    from kernel_tuner import tune_kernel  # noqa: PLC0415 - a peer

    kernel = load_kernel(path)
    limits = describe_device("cpu").limits
    template, workload = template_of(kernel), kernel.workloads[0]
    space = Space.build(kernel.parameters, kernel.constraints, kernel.launch, kernel.tuning_workloads, limits)
    binder = Binder(kernel, limits)
    names = [parameter.name for parameter in kernel.parameters]
    geometries = {tuple(c[name] for name in names): binder.geometry(c, workload) for c in space}
    inputs, _ = make_material(kernel, workload, seed)
    default = binder.geometry(kernel.default_configuration, workload)
    expected = expected_outputs(kernel, workload, inputs, default) or {}
    first: list[float] = []
    allowed = {(*values, *geometry.block) for values, geometry in geometries.items()}

    def grid(config: dict[str, Any]) -> tuple[int, ...]:
        first.append(time.perf_counter())
        return geometries[tuple(config[name] for name in names)].grid

    blocks = {name: sorted({geometry.block[axis] for geometry in geometries.values()}) for axis, name in enumerate(_BLOCK)}
    results, _ = tune_kernel(
        kernel.entry,
        template.source,
        grid,
        _arguments(kernel, workload.sizes, inputs),
        {parameter.name: list(parameter.values) for parameter in kernel.parameters} | blocks,
        grid_div_x=[],
        grid_div_y=[],
        grid_div_z=[],
        restrictions=[FunctionConstraint(lambda *values: values in allowed)],
        answer=[expected.get(argument.name) for argument in kernel.arguments],
        atol=max(kernel.reference.atol or 0.0, kernel.reference.rtol or 0.0),
        lang="OpenCL",
        strategy="random_sample",
        strategy_options={"time_limit": seconds, "max_fevals": len(geometries)},
        quiet=True,
        seed=seed,
    )
    distinct = {tuple(result[name] for name in names) for result in results}
    return {"evaluations": len(distinct), "seconds": min(float(seconds), time.perf_counter() - first[0])}


def _arguments(kernel: Kernel, sizes: Any, inputs: Any) -> list[Any]:
    found = []
    for argument in kernel.arguments:
        if isinstance(argument, Buffer):
            shape = [int(extent.evaluate(sizes)) for extent in argument.shape]
            found.append(inputs[argument.name] if argument.role is not Role.OUT else np.zeros(shape, argument.dtype.numpy))
        else:
            found.append(argument.dtype.numpy.type(argument.value.evaluate(sizes)))
    return found
