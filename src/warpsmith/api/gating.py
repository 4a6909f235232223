"""Stored winners, verified and measured again: the gate of continuous integration."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpsmith.analysis import parse_target
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, Location
from warpsmith.measure.policy import FALSE_ALARMS
from warpsmith.record.faults import system_fault
from warpsmith.record.store import Store
from warpsmith.settings import claim_processes, read_settings
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.events import Emit, ignore
from warpsmith.tuning.gate.accepted import Baseline
from warpsmith.tuning.gate.gate import Demands, gate
from warpsmith.tuning.gate.winners import Accepted, Unusable, find_winners, tuned_configuration


def gate_winners(
    folder: str | Path,
    baseline: str | Path,
    *,
    device: str = "cpu",
    targets: Iterable[str] = (),
    times: bool = True,
    update: bool = False,
    seeds: int = 1,
    find: float = 0.05,
    tolerance: float = 0.02,
    emit: Emit = ignore,
) -> dict[str, Any]:
    """Verify and measure the winners stored below a folder, and return the object that `warpsmith gate --json` prints.

    They are compared with their originals, timed interleaved with them, and with the accepted figures in the file `baseline`.
    `update` accepts the current figures; own templates then get the configuration of the latest run of that kernel.
    `times` off skips timing; `targets` are GPUs that winners are also compiled for, without the hardware. `find` is the
    slowdown to be found: more processes are measured where noise would hide it. One up to `tolerance` is no regression.
    """
    for name, value in (("find", find), ("tolerance", tolerance)):
        if not 0 <= value < 1 or (name == "find" and not value):
            raise InputError(f"{name} must be a slowdown between 0 and 1, not {value}", hint="0.05: 5 % longer")
    claim_processes()
    names = tuple(dict.fromkeys(targets))
    for name in names:
        parse_target(name)
    settings = read_settings()
    root = Path(folder).expanduser()
    accepted = Baseline.read(Path(baseline).expanduser(), may_be_missing=update)
    winners = find_winners(root, _tuned_or_accepted(root, accepted) if update else accepted.configuration)
    demands = Demands(device, names, times, seeds, find, tolerance)
    gated = gate(winners, accepted, demands, settings, emit)
    passed = gated.passed
    if update:
        # What is slower is what somebody wants to accept; what is wrong nobody does.
        wrong = [r for r in gated.reports if not r.passed and r.winner not in gated.accepting and r.kernel is not None]
        passed = not wrong and not any(isinstance(one, Unusable) and one.is_wrong for one in winners)
        accepted.keep({one.name for one in winners})
        for name, (config, devices, compiled) in gated.accepting.items():
            accepted.accept(name, config, devices, compiled)
        try:
            accepted.write()
        except OSError as error:
            raise system_fault(error, accepted.file) from error
    return {
        "passed": passed,
        "device": device,
        "device_description": gated.description,
        "baseline": str(accepted.file),
        "updated": sorted(gated.accepting) if update else [],
        "level": FALSE_ALARMS,
        "tolerance": tolerance,
        "find": find,
        "winners": [report.as_dict() for report in gated.reports],
    }


def _tuned_or_accepted(folder: Path, accepted: Baseline) -> Accepted:
    """What was tuned here since takes the place of what was accepted."""

    def configuration(name: str) -> Configuration | None:
        kernel = load_kernel(folder / name)
        with Store(read_settings().database, reading=True) as store:
            return tuned_configuration(kernel, store) or accepted.configuration(name)

    return configuration


def write_report(text: str, file: Path) -> None:
    """Raises InputError for a place where no file can be, UnavailableError where the system refuses."""
    if file.is_dir():
        raise InputError("this is a folder, expected a file", location=Location(file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise system_fault(error, file) from error
