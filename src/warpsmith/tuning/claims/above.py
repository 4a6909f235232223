"""Claims above the roofline: measured again, then rejected if the arguments cannot move that fast, or reported as uncertain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from warpsmith.core.configuration import Value
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Candidate
from warpsmith.measure.caches import host_caches
from warpsmith.measure.floor import Floor, certain_bytes, floor_of
from warpsmith.measure.influence import influence
from warpsmith.measure.policy import ABOVE_ROOF
from warpsmith.measure.roofline import Probed, Roofline
from warpsmith.record.result import AboveRoofEntry
from warpsmith.tuning.claims.interleaved import Lane, ProcessMeasurement
from warpsmith.verify.prepared import PreparedWorkload

_MB = 1e6


@dataclass(frozen=True, slots=True)
class _Look:
    """At a claim: the least time that a launch can take, as far as it was shown, and whether the claim is below it."""

    floor: Floor | None
    is_below: bool


@dataclass(slots=True)
class AboveRoof(Generic[Lane]):
    """Examines the claims of one run, or of a comparison. `default` is the original's lane, `describe` a lane's configuration.

    `entries` are for the result: what was above the roof, what became of it, and why.
    """

    device: str
    info: DeviceInfo
    roofline: Roofline
    prepared: Mapping[str, PreparedWorkload]
    original: tuple[Lane, Candidate]
    describe: Callable[[Lane], Mapping[str, Value]]
    rng: np.random.Generator
    entries: list[AboveRoofEntry] = field(default_factory=list)
    _shares: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def refused(
        self,
        claimed: Mapping[str, Sequence[Lane]],
        processes: Sequence[ProcessMeasurement[Lane]],
        again: Callable[[], Sequence[ProcessMeasurement[Lane]]],
    ) -> Lane | None:
        """The first of the lanes, by workload, that is faster than any kernel can be, also when measured `again`."""
        suspects = [(w, lane) for w, some in claimed.items() for lane in some if self._fraction(w, lane, processes) > ABOVE_ROOF]
        self.entries = [entry for entry in self.entries if entry.refused]
        looks = {pair: self._look(*pair, processes) for pair in suspects}
        repeated = again() if any(look.is_below for look in looks.values()) else processes
        for (workload, lane), look in looks.items():
            second = self._look(workload, lane, repeated) if look.is_below else look
            if second.is_below:
                self._note(workload, lane, repeated, second)
                return lane
            self._note(workload, lane, processes, look, is_refuted=look.is_below)
        return None

    def _fraction(self, workload: str, lane: Lane, processes: Sequence[ProcessMeasurement[Lane]]) -> float:
        found = [
            p.roof_us[workload] / p.tables[workload].median_us[lane]
            for p in processes
            if workload in p.roof_us and lane in p.tables[workload].median_us
        ]
        return float(np.median(found)) if found else 0.0

    def _look(self, workload: str, lane: Lane, processes: Sequence[ProcessMeasurement[Lane]]) -> _Look:
        """Below in every process: one that others disturbed while the roof was measured says nothing."""
        probed = _fastest(processes)
        tables = [process.tables[workload] for process in processes]
        for is_shown in (False, True):  # showing takes launches, for which there is rarely a reason
            floor = self._floor(workload, probed, is_shown=is_shown or workload in self._shares)
            if floor is None or not all(
                table.median_us[lane] * ABOVE_ROOF < _believed_us(floor.us, table.median_us[self.original[0]]) for table in tables
            ):
                return _Look(floor, is_below=False)
        return _Look(floor, is_below=True)

    def _floor(self, workload: str, probed: Probed | None, *, is_shown: bool) -> Floor | None:
        """Of the bytes that are shown to move; else of all, which is at least as much."""
        if probed is None:
            return None
        ready = self.prepared[workload]
        shares = {buffer.name: 1.0 for buffer in ready.kernel.buffers if not buffer.null}
        if is_shown:
            if workload not in self._shares:
                self._shares[workload] = influence(self.device, self.original[1], ready, self.rng)
            shares = dict(self._shares[workload])
        caches = None if self.info.limits.has_banked_scratchpad else host_caches()
        certain = certain_bytes(ready, shares)
        return floor_of(ready, self.roofline.needs[workload], probed, certain, caches, is_cold=self.info.empties_caches)

    def _note(
        self,
        workload: str,
        lane: Lane,
        processes: Sequence[ProcessMeasurement[Lane]],
        look: _Look,
        *,
        is_refuted: bool = False,
    ) -> None:
        """`is_refuted`: that it is below the floor was not so when it was measured again."""
        taken = float(np.median([p.tables[workload].median_us[lane] for p in processes]))
        floor, is_refused = look.floor, look.is_below and not is_refuted
        if is_refused and floor is not None:
            least_time = f"{floor.us:,.0f} µs at the fastest rate measured with it"
            reason = f"{floor.certain.bytes / _MB:.3g} MB must be moved, which takes at least {least_time}, not {taken:,.0f} µs"
        else:
            doubts = floor.doubts if floor is not None else ()
            reason = f"roof uncertain: {'; '.join(doubts) or 'within the spread of streaming kernels'}"
        self.entries.append(
            AboveRoofEntry(
                workload=workload,
                config=self.describe(lane),
                roofline_fraction=round(self._fraction(workload, lane, processes), 4),
                least_us=None if floor is None else round(floor.us, 3),
                refused=is_refused,
                reason=reason,
            )
        )


def _fastest(processes: Sequence[ProcessMeasurement[Lane]]) -> Probed | None:
    """The fastest in any of them."""
    found = [p.probed for p in processes if p.probed is not None]
    if not found:
        return None
    names = {name for probed in found for name in probed.fastest_us}
    streams = {name: min(probed.fastest_us[name] for probed in found if name in probed.fastest_us) for name in names}
    return Probed(streams, min(probed.us_per_flop for probed in found), streams)


def _believed_us(floor_us: float, original_us: float) -> float:
    """Where the original itself is below the floor, that is off by so much at least: it is believed at twice the distance."""
    return min(floor_us, original_us**2 / floor_us) if floor_us > 0 else 0.0
