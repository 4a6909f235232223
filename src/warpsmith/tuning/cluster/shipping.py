"""Serialisation of trials: binaries are addressed by content, so that each is sent once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices.base import Binary
from warpsmith.measure.bench import Candidate
from warpsmith.tuning.evaluation.judge import Incumbent, Trial

_KEPT = 1024  # binaries: those of a long run's latest trials, many times over


@dataclass(frozen=True, slots=True)
class Shipped:
    """A trial whose binaries have no code; `codes` has, by candidate and workload, its hash and where to get it."""

    trial: Trial
    codes: Mapping[str, Mapping[str, tuple[str, Any]]]


class Shipper:
    """`put` makes bytes available to all machines and gives what they are fetched by."""

    def __init__(self, put: Callable[[bytes], Any]) -> None:
        self._put = put
        self._known: OrderedDict[str, Any] = OrderedDict()

    def ship(self, trial: Trial) -> Shipped:
        codes = {role: self._codes(candidate) for role, candidate in _candidates(trial).items()}
        return Shipped(_with(trial, {role: _without_code(c) for role, c in _candidates(trial).items()}), codes)

    def _codes(self, candidate: Candidate) -> dict[str, tuple[str, Any]]:
        found = {}
        for workload, binary in candidate.binaries.items():
            key = fingerprint(binary.code)
            if key not in self._known:
                self._known[key] = self._put(binary.code)
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            found[workload] = key, self._known[key]
        return found


class Unshipper:
    """The other end: `get` fetches what `put` made available."""

    def __init__(self, get: Callable[[Any], bytes]) -> None:
        self._get = get
        self._known: OrderedDict[str, bytes] = OrderedDict()

    def unship(self, shipped: Shipped) -> Trial:
        found = {}
        for role, candidate in _candidates(shipped.trial).items():
            codes = shipped.codes[role]
            binaries = {w: replace(binary, code=self._code(*codes[w])) for w, binary in candidate.binaries.items()}
            found[role] = replace(candidate, binaries=binaries)
        return _with(shipped.trial, found)

    def _code(self, key: str, where: Any) -> bytes:
        if key not in self._known:
            self._known[key] = self._get(where)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def _candidates(trial: Trial) -> dict[str, Candidate]:
    found = {"candidate": trial.candidate, "original": trial.original}
    if trial.incumbent is not None:
        found["incumbent"] = trial.incumbent.candidate
    if trial.fallback is not None:
        found["fallback"] = trial.fallback.candidate
    return found


def _with(trial: Trial, candidates: Mapping[str, Candidate]) -> Trial:
    def of(role: str, incumbent: Incumbent | None) -> Incumbent | None:
        return replace(incumbent, candidate=candidates[role]) if incumbent is not None else None

    return replace(
        trial,
        candidate=candidates["candidate"],
        original=candidates["original"],
        incumbent=of("incumbent", trial.incumbent),
        fallback=of("fallback", trial.fallback),
    )


def _without_code(candidate: Candidate) -> Candidate:
    bare: dict[str, Binary] = {w: replace(binary, code=b"") for w, binary in candidate.binaries.items()}
    return replace(candidate, binaries=bare)
