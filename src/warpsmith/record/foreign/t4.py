"""T4 result files, the exchange format that several tuners share. Owns its fields and its words for what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError, Location
from warpsmith.core.outcome import CompileFailed, LaunchFailed, TimedOut
from warpsmith.record.foreign.recording import WRONG_ELSEWHERE, Entry, Failure, Objective, Recording, RecordingFacts, assemble
from warpsmith.record.foreign.values import column, duration, positive

_OUTSIDE = "constraints"
_SECONDS = {"seconds": 1.0, "s": 1.0, "milliseconds": 1e-3, "ms": 1e-3, "microseconds": 1e-6, "us": 1e-6, "nanoseconds": 1e-9}
_HINT = 'a T4 file has "results", each with "configuration", "times", "invalidity" and "measurements"'


def read_t4(name: str, file: Path, document: Mapping[str, Any], notes: tuple[str, ...]) -> Recording:
    results = document["results"]
    if not isinstance(results, list) or not all(_is_result(result) for result in results):
        raise InputError('"results" does not hold configurations', location=Location(file), hint=_HINT)
    for number, result in enumerate(results):
        _require_lists(result, number, file)
    inside = [result for result in results if result.get("invalidity") != _OUTSIDE]
    parameters, rows = _configurations(inside, file)
    objective = _objective(inside, file)
    metadata = document.get("metadata")
    about: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    unit_s = _SECONDS.get(str(about.get("timeunit", "milliseconds")).lower(), 1e-3)
    facts = RecordingFacts(
        name=name,
        file=file,
        kernel=str(about.get("kernel_name") or document.get("kernel_name") or name),
        device=str(about.get("device_name") or document.get("device_name") or "unknown device"),
        objective=objective,
        parameters=parameters,
        left_out=len(results) - len(inside),
        notes=notes,
    )
    numbers = {id(result): number for number, result in enumerate(results)}
    entries = [_entry(result, objective, unit_s, f"result {numbers[id(result)]}", file) for result in inside]
    return assemble(facts, rows, entries)


def _is_result(result: object) -> bool:
    return isinstance(result, dict) and isinstance(result.get("configuration"), dict) and bool(result["configuration"])


def _require_lists(result: Mapping[str, Any], number: int, file: Path) -> None:
    times = result.get("times")
    runtimes = times.get("runtimes") if isinstance(times, dict) else None
    lists = {"runtimes": runtimes, "measurements": result.get("measurements"), "objectives": result.get("objectives")}
    for name, value in lists.items():
        if value is not None and not isinstance(value, list):
            raise InputError(f'"{name}" of result {number} is {value!r}, not a list', location=Location(file), hint=_HINT)


def _configurations(results: Sequence[Mapping[str, Any]], file: Path) -> tuple[dict[str, list[Value]], NDArray[np.int32]]:
    """T4 does not list the parameters' values: they are those that occur."""
    configurations = [result["configuration"] for result in results]
    names = list(configurations[0]) if configurations else []
    for number, configuration in enumerate(configurations):
        if configuration.keys() != configurations[0].keys():
            message = f"result {number} has the parameters {', '.join(configuration)}; the first one has {', '.join(names)}"
            raise InputError(message, location=Location(file), hint="all results of one file are of one kernel")
    parameters: dict[str, list[Value]] = {}
    rows = np.empty((len(results), len(names)), dtype=np.int32)
    for at, name in enumerate(names):
        written = [configuration[name] for configuration in configurations]
        parameters[name], rows[:, at] = column(name, written, (), lambda i: f"result {i}", file)
    return parameters, rows


def _objective(results: Sequence[Mapping[str, Any]], file: Path) -> Objective:
    named = next((n for result in results for n in result.get("objectives") or () if isinstance(n, str)), "time")
    return Objective.named(named, None, file)


def _entry(result: Mapping[str, Any], objective: Objective, unit_s: float, where: str, file: Path) -> Entry:
    given = result.get("times")
    times: Mapping[str, Any] = given if isinstance(given, dict) else {}
    compiling = times.get("compilation", times.get("compilation_time"))
    runtimes = [t for t in (positive(v) for v in times.get("runtimes") or ()) if t is not None]
    costs = {"compilation": compiling, "validation": times.get("validation"), "benchmark": times.get("benchmark", sum(runtimes))}
    seconds = duration(costs, where, file) * unit_s
    return Entry(_result(result, objective, runtimes, seconds), seconds)


def _result(result: Mapping[str, Any], objective: Objective, runtimes: Sequence[float], seconds: float) -> float | Failure:
    match result.get("invalidity"):
        case "compile":
            return CompileFailed("recorded as failed to compile")
        case "correctness":
            return WRONG_ELSEWHERE
        case "timeout":
            return TimedOut("recorded as timed out", seconds)
        case "runtime":
            return LaunchFailed("recorded as failed at run time")
    measurements = result.get("measurements") or ()
    found = next((m.get("value") for m in measurements if isinstance(m, dict) and m.get("name") == objective.name), None)
    value = positive(found)
    if value is None and objective.name == "time" and runtimes:
        value = fmean(runtimes)
    return value if value is not None else LaunchFailed(f"recorded as {found!r}")
