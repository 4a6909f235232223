"""Whether Kernel Tuner itself reads what `export --format kernel-tuner` writes: the T1 as a space, the cache in simulation mode.

Every bundled kernel that has a template of its own is tuned for a few evaluations. Kernel Tuner then lists the space of each T1,
which has to be the one that was searched, and finds the best time in each cache.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from warpsmith import Budget, api, load_kernel
from warpsmith.space import space_of
from warpsmith.spec.bundled import bundled_names
from warpsmith.template import template_of

EVALUATIONS = 4


def main() -> None:
    wrong = [name for name in sys.argv[2:] or bundled_names() if not _agrees(name)]
    if wrong:
        sys.exit(f"Kernel Tuner sees it differently: {', '.join(wrong)}")


def _agrees(name: str) -> bool:
    kernel = load_kernel(name)
    if kernel.language.value == "hip":
        print(f"{name:32} T1 has no HIP kernels")
        return True
    if not kernel.parameters:
        print(f"{name:32} has no template of its own")
        return True
    with tempfile.TemporaryDirectory() as folder:
        run = api.tune(kernel, agent="none", strategy="random", budget=Budget(EVALUATIONS))
        api.export_run(run["run"], output=Path(folder) / "out", format_name="kernel-tuner", verify=False, force=True)
        feasible = space_of(kernel, template_of(kernel), api.describe_device("cpu").limits).size
        files = sorted((Path(folder) / "out").glob("*.T1.json"))
        seen = [_seen(t1, t1.with_name(t1.name.replace(".T1.", ".cache."))) for t1 in files]
    for file, (size, best, expected) in zip(files, seen, strict=True):
        print(f"{file.name:32} {size:>9,} configurations of {feasible:,}; best of the cache {best:.4f} ms of {expected:.4f}")
    return all(size == feasible and best == expected for size, best, expected in seen)


def _seen(t1: Path, cache: Path) -> tuple[int, float, float]:
    """How many configurations Kernel Tuner makes of the space, the best time that it finds in the cache, and what is there."""
    from constraint import FunctionConstraint  # noqa: PLC0415 - a peer's dependency
    from kernel_tuner import tune_kernel  # noqa: PLC0415
    from kernel_tuner.searchspace import Searchspace  # noqa: PLC0415

    warnings.simplefilter("ignore")  # that no parameter is called block_size_x
    space = json.loads(t1.read_text())["ConfigurationSpace"]
    values = {p["Name"]: eval(p["Values"]) for p in space["TuningParameters"]}
    size = Searchspace(values, [c["Expression"] for c in space["Conditions"]], 1024).size
    recorded: dict[str, Any] = json.loads(cache.read_text())
    members = {tuple(entry[name] for name in recorded["tune_params_keys"]) for entry in recorded["cache"].values()}
    results, _ = tune_kernel(
        recorded["kernel_name"],
        "",
        (1,),
        [],
        recorded["tune_params"],
        restrictions=[FunctionConstraint(lambda *given: given in members)],
        cache=str(cache),
        simulation_mode=True,
        strategy="brute_force",
        lang="CUDA",
        quiet=True,
    )
    times = [entry["time"] for entry in recorded["cache"].values() if "time" in entry]
    return size, min(r["time"] for r in results if "__error__" not in r), min(times)
