"""The bandwidth and arithmetic peak that the machine reached in the processes that measured the claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from warpsmith.record.result import RooflineEntry
from warpsmith.tuning.claims.interleaved import ProcessMeasurement

Lane = TypeVar("Lane")


def machine_of(processes: Sequence[ProcessMeasurement[Lane]]) -> RooflineEntry:
    """Medians; what a process could not probe is left out."""
    probed = [process.probed for process in processes if process.probed is not None]
    if not probed:
        return RooflineEntry()
    known = [workload for workload in probed[0].stream_us if all(workload in found.stream_us for found in probed)]
    per_flop = [found.us_per_flop for found in probed if found.us_per_flop > 0]
    return RooflineEntry(
        stream_us={w: round(float(np.median([found.stream_us[w] for found in probed])), 4) for w in known},
        gflops=round(1e-3 / float(np.median(per_flop)), 3) if per_flop else None,
    )
