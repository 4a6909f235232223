"""Kernel Tuner's caches. Owns their header, their entries, their marks for failures, and files that were never closed.

Kernel Tuner appends entry by entry and writes the closing braces last, so a run that was killed leaves the file open. Failures
are strings in place of the objective, in newer versions also under `__error__`. Times are in milliseconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError, Location
from warpsmith.core.outcome import CompileFailed, LaunchFailed
from warpsmith.record.foreign.recording import Entry, Failure, Objective, Recording, RecordingFacts, assemble
from warpsmith.record.foreign.values import column, duration, positive

_CACHE_OPENS = re.compile(r'"cache"\s*:\s*\{')
_BETWEEN = re.compile(r"[\s,:]*")
_COMPILE = "CompilationFailedConfig"
_OUTSIDE = "InvalidConfig"
_MARKS = frozenset({_COMPILE, _OUTSIDE, "RuntimeFailedConfig", "ErrorConfig"})


def without_repetitions(entry: dict[str, Any]) -> dict[str, Any]:
    """For `json.loads`: the single times, which nothing needs beside their mean, are a fifth of a large file's memory or more."""
    if entry.get("time") is not None and isinstance(entry.get("times"), list):
        del entry["times"]
    return entry


def reopened(text: str) -> tuple[dict[str, Any], str] | None:
    """The document of a cache that does not end, up to its last whole entry, and a note; None when it is no such thing."""
    opening = _CACHE_OPENS.search(text)
    if opening is None:
        return None
    try:
        header = json.loads(text[: opening.end()] + "}}")
    except json.JSONDecodeError:
        return None
    entries, at = _whole_entries(text, opening.end())
    left = text[at:].strip(" \t\r\n,}")
    cut = ", the last of them cut off" if left else ""
    return {**header, "cache": entries}, f"the file was never closed: {len(entries)} whole entries{cut}"


def _whole_entries(text: str, at: int) -> tuple[dict[str, Any], int]:
    """The entries from there on, and where the last whole one ends."""
    # Nearly always it ends at the last brace. Read in one go, all entries share the names of their fields.
    end = max(text.rfind("}") + 1, at)
    try:
        return json.loads("{" + text[at:end] + "}", object_hook=without_repetitions), end
    except json.JSONDecodeError:
        pass
    decoder = json.JSONDecoder(object_hook=without_repetitions)
    entries: dict[str, Any] = {}
    while True:
        try:
            key, end = decoder.raw_decode(text, _skip(text, at))
            value, end = decoder.raw_decode(text, _skip(text, end))
        except json.JSONDecodeError:
            break
        entries[str(key)] = value
        at = end
    return entries, at


def _skip(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def read_cache(name: str, file: Path, document: Mapping[str, Any], notes: tuple[str, ...]) -> Recording:
    cache = document["cache"]
    if not isinstance(cache, dict) or not all(isinstance(entry, dict) for entry in cache.values()):
        hint = 'a Kernel Tuner cache maps each configuration to an object: "16,1": {"block_size_x": 16, …, "time": 3.8}'
        raise InputError('"cache" does not hold configurations', location=Location(file), hint=hint)
    names = _names(document, file)
    marks = {key: _mark(entry, names) for key, entry in cache.items()}
    inside = [key for key, mark in marks.items() if mark != _OUTSIDE]
    objective, more = _objective(document, cache, file)
    parameters, rows = _configurations(document, names, {key: cache[key] for key in inside}, file)
    facts = RecordingFacts(
        name=name,
        file=file,
        kernel=str(document.get("kernel_name") or name),
        device=str(document.get("device_name") or "unknown device"),
        objective=objective,
        parameters=parameters,
        left_out=len(cache) - len(inside),
        notes=(*notes, *more),
    )
    return assemble(facts, rows, [_entry(cache[key], marks[key], objective, f"entry {key!r}", file) for key in inside])


def _names(document: Mapping[str, Any], file: Path) -> list[str]:
    names = document.get("tune_params_keys") or document.get("tune_params")
    if not names or not isinstance(names, (list, dict)) or not all(isinstance(name, str) for name in names):
        hint = 'a Kernel Tuner cache names its parameters in "tune_params_keys"'
        raise InputError("the parameters are not named", location=Location(file), hint=hint)
    if twice := next((name for at, name in enumerate(names) if name in list(names)[:at]), None):
        raise InputError(f'"tune_params_keys" names {twice!r} twice', location=Location(file), hint="each parameter has one name")
    return list(names)


def _objective(document: Mapping[str, Any], cache: Mapping[str, Any], file: Path) -> tuple[Objective, tuple[str, ...]]:
    """The header's objective if any entry has it (a metric may have been computed and not stored), else the time."""
    given, direction = document.get("objective"), document.get("objective_higher_is_better")
    wanted = given if isinstance(given, list) else [given]
    directions = direction if isinstance(direction, list) else [direction] * len(wanted)
    for name, higher in zip(wanted, directions, strict=False):
        if isinstance(name, str) and name != "time" and any(positive(entry.get(name)) is not None for entry in cache.values()):
            others = f"{len(wanted)} objectives; only {name} is searched"
            return Objective.named(name, higher, file), (others,) if len(wanted) > 1 else ()
    return Objective("time", higher_is_better=False), ()


def _configurations(
    document: Mapping[str, Any], names: Sequence[str], entries: Mapping[str, Any], file: Path
) -> tuple[dict[str, list[Value]], NDArray[np.int32]]:
    """Every parameter's values, as the header orders them; and the entries' positions in them."""
    lists = document.get("tune_params")
    declared = lists if isinstance(lists, dict) else {}
    keys = list(entries)
    parameters: dict[str, list[Value]] = {}
    rows = np.empty((len(entries), len(names)), dtype=np.int32)
    for at, name in enumerate(names):
        values = declared.get(name)
        if values is not None and not isinstance(values, list):
            message = f'"tune_params" has {values!r} for {name}'
            raise InputError(message, location=Location(file), hint="the values of a parameter are a list")
        written = [entry.get(name) for entry in entries.values()]
        parameters[name], rows[:, at] = column(name, written, values or (), lambda i: f"entry {keys[i]!r}", file)
    return parameters, rows


def _mark(entry: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The failure that the entry carries, wherever this version of Kernel Tuner wrote it."""
    return next((v for field, v in entry.items() if isinstance(v, str) and v in _MARKS and field not in names), None)


def _entry(entry: Mapping[str, Any], mark: str | None, objective: Objective, where: str, file: Path) -> Entry:
    costs = {name: entry.get(name) for name in ("compile_time", "verification_time", "benchmark_time")}
    milliseconds = duration(costs, where, file)
    written = entry.get(objective.name)
    if written is None and objective.name == "time":
        written = entry.get("times")  # some caches keep the repetitions alone
    return Entry(_result(written, mark), milliseconds / 1e3)


def _result(written: Any, mark: str | None) -> float | Failure:
    value = positive(written)
    if mark is None and value is not None:
        return value
    if mark == _COMPILE:
        return CompileFailed(f"recorded as {mark}")
    return LaunchFailed(f"recorded as {mark or repr(written)}")
