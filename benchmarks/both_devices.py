"""Public kernels on the CPU device and on the tests' stand-in for NVIDIA's driver, compared: what runs there is what NVRTC makes
of them for a GPU. All of `extraction_kernels` that have a reference, or those named in KERNELS. GUESSED=n: instead of these the
first n open kernels of each of PACKAGES, as `reach` makes them; most have shapes that nobody meant, and many run nowhere.

`alike` are outputs that agree within twice the tolerance (both may be as far from the truth as it goes); `equal` to the last bit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.downloads import unpacked
from benchmarks.extraction_kernels.catalogue import catalogue
from benchmarks.extraction_kernels.running import placed
from benchmarks.reach import drawn_of, folder_with
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.arrays import Array
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.original import judge_original
from warpsmith.verify.compare import agree
from warpsmith.verify.oracle import outputs_of
from warpsmith.verify.prepared import PreparedWorkload

_TESTS = Path(__file__).parents[1] / "tests"
_STAND_IN = "standin"
_DEADLINE_S = 120.0

Outputs: TypeAlias = Mapping[tuple[str, str], tuple[Array, tuple[float, float]]]
"""By workload and argument, with the tolerance."""


def main() -> None:
    if "STAND_IN" not in os.environ:
        sys.path.append(str(_TESTS))
        import stand_in  # type: ignore[import-not-found]  # noqa: PLC0415 - the tests' own

        with tempfile.TemporaryDirectory() as folder:
            environment = {**stand_in.environment(Path(folder)), "STAND_IN": "1"}
            subprocess.run([sys.executable, "-m", "benchmarks", "both_devices"], check=True, env=environment)
        return
    print("| kernel | workloads | outputs | of these alike | equal | |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        pools = {device: stack.enter_context(CompilePool(device, cache_dir=None)) for device in ("cpu", _STAND_IN)}
        for name, place in _guessed() if "GUESSED" in os.environ else _catalogued(Path(scratch)):
            try:
                kernel = load_kernel(place())
                cells = _compared(kernel, *(_ran(kernel, pool, device) for device, pool in pools.items()))
            except WarpsmithError as error:
                cells = f"| | | | {error.message.splitlines()[0]}"
            print(f"| {name} | {cells} |", flush=True)


def _catalogued(scratch: Path) -> Iterator[tuple[str, Callable[[], Path]]]:
    wanted = os.environ.get("KERNELS", "").split()
    for entry in catalogue()[0]:
        if entry.folder is not None and (not wanted or entry.name in wanted):
            package = unpacked(entry.code_base.requirement)
            yield entry.name, partial(placed, entry, package, scratch / entry.name)


def _guessed() -> Iterator[tuple[str, Callable[[], Path]]]:
    taken = Counter[str]()
    for found in drawn_of(2 * int(os.environ["GUESSED"])):
        folder = folder_with(found) if not found.is_held_out and taken[found.package] < int(os.environ["GUESSED"]) else ""
        if isinstance(folder, Path):
            taken[found.package] += 1
            yield found.name, partial(Path, folder)


def _ran(kernel: Kernel, pool: CompilePool, device: str) -> Outputs:
    """What the original leaves on every workload, verified. Raises WarpsmithError."""
    builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
    default, found = kernel.default_configuration, dict[tuple[str, str], tuple[Array, tuple[float, float]]]()
    with ExitStack() as stack:
        prepared = [
            stack.enter_context(PreparedWorkload.prepare(kernel, w, 0, builder.binder.geometry(default, w)))
            for w in kernel.workloads
        ]
        bench = stack.enter_context(Bench(device, prepared, launch_deadline_s=_DEADLINE_S))
        for workload in prepared:
            verdict = judge_original(builder, bench, workload)
            if not isinstance(verdict, Verdict):
                raise WarpsmithError(f"{device}, {workload.name}: {verdict.reason}")
            if not verdict.passed:
                raise WarpsmithError(f"{device}, {workload.name}: {verdict.failure}")
            left = workload.outputs()
            found |= {(workload.name, b.name): (left[b.name], workload.tolerance(b)) for b in outputs_of(kernel)}
    return found


def _compared(kernel: Kernel, here: Outputs, there: Outputs) -> str:
    equal = sum(np.array_equal(array.view(np.uint8), there[key][0].view(np.uint8)) for key, (array, _) in here.items())
    unlike = [
        " of ".join(reversed(key))
        for key, (array, (rtol, atol)) in here.items()
        if not agree(array, there[key][0], 2 * rtol, 2 * atol)
    ]
    return f"{len(kernel.workloads)} | {len(here)} | {len(here) - len(unlike)} | {equal} | {', '.join(unlike)}"
