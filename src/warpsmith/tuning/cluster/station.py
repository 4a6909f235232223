"""`Station`: one device of another machine, in a process there. It confines what it runs as a single machine does.

It judges what it is sent and knows neither strategy nor record. Whether its device is one of the run's kind, and what the
original does on it, it finds out by itself before it judges anything.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.compile.keys import environment_key
from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.outcome import Verdict
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench
from warpsmith.measure.scrub import make_scrubber
from warpsmith.tuning.cluster.parcel import Parcel, unpack
from warpsmith.tuning.cluster.shipping import Shipped, Unshipper
from warpsmith.tuning.evaluation.alike import kind_of
from warpsmith.tuning.evaluation.cores import divide_cores
from warpsmith.tuning.evaluation.judge import Judge, Judgement, Trial

_LAUNCHES = 5
_BOOT = Path("/proc/sys/kernel/random/boot_id")
# How workers are confined is the run's to say; where a machine keeps things, and secrets, are not.
_ENVIRONMENT = ("WARPSMITH_CONFINEMENT",)


@dataclass(frozen=True, slots=True)
class Duty:
    """What a station is for. `place` is where the run measures itself; `of_original` a trial of nothing but the original."""

    device: str
    info: DeviceInfo
    toolchain: str
    place: str
    weights: Mapping[str, float]
    launch_deadline_s: float
    of_original: Shipped
    environment: Mapping[str, str]
    shares_machine: bool  # with the run or other stations: then it is not told from these by its place


@dataclass(frozen=True, slots=True)
class Stand:
    """What a station found: `baseline_us` of the original by workload; `problem` is why it cannot take part."""

    place: str
    description: str = ""
    baseline_us: Mapping[str, float] | None = None
    problem: str | None = None


def environment_of_run() -> dict[str, str]:
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


def place_of(device: str) -> str:
    """Equal for the same device of the same machine, under whatever number processes see it."""
    base, _, selector = device.partition(":")
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    visible = {"cuda": "CUDA_VISIBLE_DEVICES", "hip": "HIP_VISIBLE_DEVICES"}.get(base, "")
    numbers = [number for number in os.environ.get(visible, "").split(",") if number]
    at = int(selector) if selector.isdecimal() else 0
    return " ".join((socket.gethostname(), boot, base, numbers[at] if at < len(numbers) else str(at)))


def toolchain_of(pool: CompilePool, info: DeviceInfo) -> str:
    """Equal where the same text becomes the same binary, and is judged by the same rules."""
    return f"{metadata.version('warpsmith')} {environment_key(pool.device, replace(info, name='', description=''))}"


class Station:
    """`get` fetches binaries. Nothing is raised while it begins: what is wrong is its `stand`."""

    def __init__(self, duty: Duty, parcel: Parcel, get: Callable[[Any], bytes]) -> None:
        os.environ.update(duty.environment)
        self._duty = duty
        self._unshipper = Unshipper(get)
        self._stack = ExitStack()
        self._judge: Judge | None = None
        place = place_of(duty.device)
        try:
            self._stand = self._begin(parcel, place)
        except WarpsmithError as error:
            self._stand = Stand(place, problem=str(error))

    def alive(self) -> int:
        return os.getpid()

    def stand(self) -> Stand:
        return self._stand

    def judge(self, shipped: Shipped) -> Judgement:
        assert self._judge is not None, f"it cannot verify: {self._stand.problem}"
        return self._judge.judge(self._unshipper.unship(shipped))

    def close(self) -> None:
        self._stack.close()

    def _begin(self, parcel: Parcel, place: str) -> Stand:
        duty = self._duty
        if place == duty.place and not duty.shares_machine:
            return Stand(place, problem="it is the run's own device")
        cores = divide_cores()
        with CompilePool(duty.device, cache_dir=None, cores=cores.compiling) as pool:
            info = pool.describe()
            if kind_of(info) != kind_of(duty.info):
                return Stand(place, info.description, problem=f"{info.description} is not {duty.info.description}")
            if toolchain_of(pool, info) != duty.toolchain:
                return Stand(place, info.description, problem="its Warpsmith, driver or compiler has a different version")
            scrubber = make_scrubber(pool, info, cores.measuring_units)
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="warpsmith-station-")))
        rng = np.random.default_rng()
        prepared = [self._stack.enter_context(workload) for workload in unpack(parcel, folder, rng)]
        bench = self._stack.enter_context(
            Bench(
                duty.device,
                prepared,
                compute_units=cores.measuring_units,
                cores=cores.measuring,
                launch_deadline_s=duty.launch_deadline_s,
                scrubber=scrubber,
            )
        )
        self._judge = Judge(bench, duty.weights, rng=rng)
        return _anchored(bench, self._unshipper.unship(duty.of_original), Stand(place, info.description))


def _anchored(bench: Bench, trial: Trial, stand: Stand) -> Stand:
    """With the original's own times there, if it is right."""
    baseline_us = {}
    for workload in trial.verified_on:
        verdict = bench.verify(trial.original, workload)
        if not isinstance(verdict, Verdict):
            return replace(stand, problem=f"the original does not run there: {verdict.reason}")
        if not verdict.passed:
            return replace(stand, problem="the original gives a wrong result there")
        pool = bench.workload(workload).pool
        draws = [pool.fresh_draw() for _ in range(_LAUNCHES)]
        times = bench.time(workload, [trial.original] * _LAUNCHES, draws, looked_at=False)
        if not isinstance(times, list):
            return replace(stand, problem=f"the original cannot be timed there: {times.reason}")
        baseline_us[workload] = float(np.median(times)) / 1e3
    return replace(stand, baseline_us=baseline_us)
