"""`Workshop`: what all parts of one run work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench
from warpsmith.record.store import Store
from warpsmith.record.transcript import Message
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.events import Emit
from warpsmith.tuning.order import Order
from warpsmith.tuning.profile import Profiler
from warpsmith.tuning.targets import Targets


@dataclass(frozen=True, slots=True)
class Workshop:
    run: str
    order: Order
    store: Store
    pool: CompilePool
    info: DeviceInfo
    targets: Targets
    bench: Bench
    rng: np.random.Generator
    emit: Emit
    elapsed_s: Callable[[], float]
    folder: Path  # of the run
    note: Callable[[Message], None]
    profiler: Profiler
    adversaries: tuple[Workload, ...] = ()  # what a tester added to verification
    more_benches: tuple[Bench, ...] = ()  # of devices that search beside that of `bench`
