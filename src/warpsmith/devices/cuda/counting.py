"""Counters of a launch, computed from its binary and its arguments by `execution`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from warpsmith.core.counted import Counted, CountedLine, LaunchArgument
from warpsmith.core.errors import UnsupportedFeature
from warpsmith.core.hardware import Geometry
from warpsmith.devices._gpu.requests import VARIABLE
from warpsmith.devices.base import Binary
from warpsmith.devices.cuda.execution.blocks import sample
from warpsmith.devices.cuda.execution.metrics import metrics
from warpsmith.devices.cuda.execution.run import Execution, Launch, Pointer
from warpsmith.devices.cuda.execution.tally import Column, Rows
from warpsmith.devices.cuda.execution.timeline import Latencies
from warpsmith.devices.cuda.sass import source_lines
from warpsmith.devices.cuda.target import CudaTarget
from warpsmith.devices.cuda.units import UNITS

_LEAST_CACHE_BYTES = 16 << 10


def count(
    binary: Binary,
    geometry: Geometry,
    arguments: Sequence[LaunchArgument],
    constants: Mapping[str, bytes],
    contents: Callable[[str], bytes],
    target: CudaTarget,
    resident: int,
) -> Counted:
    """`resident` blocks share a multiprocessor's L1 cache."""
    units = UNITS.get(target.capability)
    if units is None:
        known = ", ".join(f"sm_{10 * major + minor}" for major, minor in UNITS)
        raise UnsupportedFeature(f"launches on {target} cannot be counted without a GPU", hint=f"known are {known}")
    asked: list[str] = []

    def noted(name: str) -> bytes:
        asked.append(name)
        return contents(name)

    launch = Launch(
        binary.code,
        binary.entry,
        geometry,
        [bytes.fromhex(a.scalar) if a.scalar is not None else Pointer(a.name, a.nbytes) for a in arguments],
        {lowered: constants[name] for name, lowered in _variables(binary).items() if name in constants},
    )
    shared = (binary.resources.shared_bytes or 0) + geometry.shared_bytes
    cached = max(units.cache_bytes - resident * shared, _LEAST_CACHE_BYTES) / max(resident, 1)
    latencies = Latencies(units.first_cache_cycles, units.second_cache_cycles, units.shared_cycles)
    execution = Execution(launch, noted, cached_bytes=cached, latencies=latencies)
    found = sample(geometry.grid, execution.run, execution.memory)
    return Counted(
        metrics(execution.instructions, found.rows),
        found.cycles,
        found.blocks,
        found.shared,
        float(found.rows[:, Column.FIRST].sum()),
        units.rates,
        tuple(asked),
        _lines(binary, execution, found.rows),
    )


def _lines(binary: Binary, execution: Execution, rows: Rows) -> tuple[CountedLine, ...]:
    """For a binary with line information; in source order."""
    if b"debug_line" not in binary.code:
        return ()
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for place, at in enumerate(source_lines(binary.code, binary.entry)):
        if at is not None and place < len(rows) and rows[place, Column.WARPS]:
            places[at].append(place)
    found = []
    for (file, line), chosen in sorted(places.items()):
        instructions = [execution.instructions[place] for place in chosen]
        counts = {name: value for name, value in metrics(instructions, rows[np.array(chosen)]).items() if value}
        found.append(CountedLine(file, line, counts))
    return tuple(found)


def _variables(binary: Binary) -> dict[str, str]:
    """Lowered names of constants, by source name."""
    return {
        name.removeprefix(VARIABLE): str(lowered) for name, lowered in binary.device_data.items() if name.startswith(VARIABLE)
    }
