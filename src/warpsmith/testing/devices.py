"""Conformance tests of devices: compiling, launching, verifying, timing, and surviving misbehaving kernels.

To test a GPU, run `python -m warpsmith.testing.devices cuda` (or `hip`, `opencl:1`); pytest is not needed. A plug-in subclasses:

class TestMine(DeviceConformance):
    device = "mine"
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest import SkipTest

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import Crashed, Infeasible, LaunchFailed, Measured, Outcome, TimedOut, Verdict, WrongResult
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.spec.load import load_kernel
from warpsmith.testing import device_kernels as kernels
from warpsmith.testing import gpu_checks
from warpsmith.tuning.evaluation.evaluate import Evaluator
from warpsmith.tuning.evaluation.round import Round, make_round
from warpsmith.verify.pool import FIRST
from warpsmith.verify.prepared import PreparedWorkload

_LAUNCH_DEADLINE_S = 3.0


@dataclass(frozen=True, slots=True)
class Site:
    """One kernel on a bench, as in a run."""

    round: Round
    bench: Bench
    evaluator: Evaluator
    workloads: tuple[PreparedWorkload, ...]

    def outcome(self, **values: Value) -> Outcome:
        default = dict(self.round.kernel.default_configuration.pairs)
        return self.evaluator(Configuration.of({**default, **values})).outcome


class DeviceConformance:
    """The tests; each compiles and launches through the same workers as a tuning run."""

    device: ClassVar[str] = "cpu"
    pool: ClassVar[CompilePool]
    info: ClassVar[DeviceInfo]
    language: ClassVar[Language]
    _open: ClassVar[contextlib.ExitStack]
    _sites: ClassVar[dict[str, Site]]

    @classmethod
    def setup_class(cls) -> None:
        cls._open = contextlib.ExitStack()
        cls._sites = {}
        cls.pool = cls._open.enter_context(CompilePool(cls.device, cache_dir=None))
        cls.info = cls.pool.describe()
        cls.language = Language.CUDA if Language.CUDA in cls.info.languages else Language.OPENCL

    @classmethod
    def teardown_class(cls) -> None:
        cls._open.close()

    # ── description ──

    def test_limits_make_sense(self) -> None:
        limits = self.info.limits
        assert self.info.description
        assert self.info.languages
        assert all(value > 0 for value in limits.names().values()), limits
        assert limits.max_threads_per_block >= limits.warp_size
        assert limits.max_block_x * limits.max_block_y * limits.max_block_z >= limits.max_threads_per_block

    def test_limits_are_those_of_the_catalogue(self) -> None:
        gpu_checks.check_limits(self.device, self.info)

    def test_occupancy_is_the_drivers(self) -> None:
        site = self._deeds()
        gpu_checks.check_occupancy(self.device, self._candidate(site).binaries["odd"])

    # ── correct results ──

    def test_outputs_are_verified_on_every_shape(self) -> None:
        most = self.info.limits.max_threads_per_block
        site = self._deeds()
        for block in (64, most):
            found = site.outcome(BLOCK=block)
            assert isinstance(found, Measured), f"blocks of {block} threads: {found}"
            assert all(0 < timed.median_us < 1e6 * _LAUNCH_DEADLINE_S for timed in found.times), found.times

    def test_all_shared_memory_can_be_used(self) -> None:
        self._require(Language.CUDA)
        site = self._site("shared", lambda folder: kernels.shared(folder, self.info.limits))
        for parameter in site.round.template.parameters:
            for size in parameter.values:
                found = site.outcome(BYTES=size)
                assert isinstance(found, Measured), f"{size} bytes of dynamic shared memory: {found}"

    def test_templates_constants_lanes_and_atomics(self) -> None:
        self._require(Language.CUDA)
        site = self._site("language", kernels.language_features)
        found = site.outcome()
        assert isinstance(found, Measured), found

    # ── misbehaving candidates give outcomes, and the next one is served ──

    def test_wrong_results_are_found(self) -> None:
        site = self._deeds()
        for mode in (kernels.WRONG, kernels.CHANGES_INPUT):
            found = site.outcome(MODE=mode)
            assert isinstance(found, WrongResult), f"mode {mode}: {found}"
        self._still_serves(site)

    def test_writes_beyond_the_end_are_found(self) -> None:
        site = self._deeds()
        for mode in (kernels.BEYOND_THE_END, kernels.FAR_BEYOND):
            found = site.outcome(MODE=mode)
            assert isinstance(found, WrongResult | LaunchFailed | Crashed), f"mode {mode}: {found}"
            self._still_serves(site)

    def test_an_endless_kernel_is_ended(self) -> None:
        site = self._deeds()
        found = site.outcome(MODE=kernels.ENDLESS)
        assert isinstance(found, TimedOut), found
        self._still_serves(site)

    def test_a_trap_is_an_outcome(self) -> None:
        self._require(Language.CUDA)
        site = self._deeds()
        found = site.outcome(MODE=kernels.TRAPS)
        assert isinstance(found, LaunchFailed | Crashed), found
        self._still_serves(site)

    def test_what_does_not_fit_is_not_launched(self) -> None:
        most = self.info.limits.max_threads_per_block
        found = self._deeds().outcome(BLOCK=2 * most)
        assert isinstance(found, Infeasible), found
        assert str(2 * most) in found.reason, found
        assert str(most) in found.reason, found

    # ── time ──

    def test_the_clock_is_the_devices(self) -> None:
        """64 times the work takes about 64 times as long: neither copies nor waiting are included."""
        site = self._site("work", lambda folder: kernels.work(folder, self.language))
        nanoseconds = self._shortest(site)
        assert 16 < nanoseconds["long"] / nanoseconds["short"] < 256, nanoseconds

    def test_caches_are_emptied_before_a_launch(self) -> None:
        """Data that would fit into the cache is read no faster than data that does not."""
        rates = self._rates(gpu_checks.cache_bytes(self.device))
        assert rates["within"] < 1.5 * rates["beyond"], rates

    # ── optional abilities ──

    def test_readings_make_sense(self) -> None:
        site = self._deeds()
        self._still_serves(site)
        gpu_checks.check_reading(site.bench.reading())

    def test_counters_make_sense(self) -> None:
        site = self._deeds()
        gpu_checks.check_counters(self.device, site.workloads, self._candidate(site))

    def test_a_checker_sees_a_write_past_the_end(self) -> None:
        site = self._deeds()
        stray = self._candidate(site, MODE=kernels.BEYOND_THE_END)
        gpu_checks.check_checkers(self.device, site.workloads, self._candidate(site), stray)

    # ── helpers ──

    def _require(self, language: Language) -> None:
        if language not in self.info.languages:
            raise SkipTest(f"{self.device} does not run {language}")

    def _still_serves(self, site: Site) -> None:
        found = site.bench.verify(self._candidate(site), site.round.kernel.workloads[0].name)
        assert isinstance(found, Verdict), f"the original afterwards: {found}"
        assert found.passed, f"the original afterwards: {found.failure}"

    def _candidate(self, site: Site, **values: Value) -> Candidate:
        kernel = site.round.kernel
        chosen = Configuration.of({**dict(kernel.default_configuration.pairs), **values})
        built = site.round.builder.build(chosen, kernel.workloads)
        assert isinstance(built, Candidate), built
        return built

    def _shortest(self, site: Site) -> dict[str, int]:
        """Nanoseconds of the shortest of a few launches on each workload."""
        candidate = self._candidate(site)
        found = {}
        for workload in site.round.kernel.workloads:
            times = site.bench.time(workload.name, [candidate] * 9, [FIRST] * 9)
            assert isinstance(times, list), times
            found[workload.name] = min(times)
        return found

    def _rates(self, cache_bytes: int) -> dict[str, float]:
        """Bytes per nanosecond, for a copy that fits into half the cache and for one sixteen times as large."""
        site = self._site("copies", lambda folder: kernels.copies(folder, self.language, cache_bytes))
        moved = {w.name: 8 * int(w.sizes["n"]) for w in site.round.kernel.workloads}
        return {name: moved[name] / time_ns for name, time_ns in self._shortest(site).items()}

    def _deeds(self) -> Site:
        return self._site("deeds", lambda folder: kernels.deeds(folder, self.language, self.info.limits))

    def _site(self, name: str, write: Callable[[Path], Path]) -> Site:
        """One worker serves all tests of a kernel: it must survive them."""
        if name not in self._sites:
            folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="warpsmith-device-")))
            kernel = load_kernel(write(folder))
            searched = make_round(1, kernel, self.pool, self.info)
            geometry = searched.builder.binder.geometry
            prepared = [
                self._open.enter_context(PreparedWorkload.prepare(kernel, w, 0, geometry(kernel.default_configuration, w)))
                for w in kernel.workloads
            ]
            bench = self._open.enter_context(Bench(self.device, prepared, launch_deadline_s=_LAUNCH_DEADLINE_S))
            evaluator = Evaluator(searched.space, searched.builder, bench, rng=np.random.default_rng(0))
            self._sites[name] = Site(searched, bench, evaluator, tuple(prepared))
        return self._sites[name]


def main(arguments: list[str]) -> int:
    """Run all tests on the devices named; 0 if nothing failed, 3 if a device is not available."""
    failed = 0
    for name in arguments or ["cpu"]:
        suite: type[DeviceConformance] = type("Chosen", (DeviceConformance,), {"device": name})
        try:
            suite.setup_class()
        except WarpsmithError as error:
            suite.teardown_class()
            print(f"{name} is not available, so nothing was tested: {error}", file=sys.stderr)  # noqa: T201 - a command of its own
            return 3
        try:
            print(f"{name}: {suite.info.description}")  # noqa: T201
            failed += sum(not _passed(suite(), test) for test in dir(suite) if test.startswith("test_"))
        finally:
            suite.teardown_class()
    return 1 if failed else 0


def _passed(suite: DeviceConformance, name: str) -> bool:
    began, verdict, detail = time.perf_counter(), "ok", ""
    try:
        getattr(suite, name)()
    except SkipTest as reason:
        verdict, detail = "skipped", f": {reason}"
    except Exception:  # noqa: BLE001 - whatever it is, the other tests go on
        verdict, detail = "FAILED", f"\n{traceback.format_exc()}"
    what = name.removeprefix("test_").replace("_", " ")
    print(f"  {verdict:<8} {what} ({time.perf_counter() - began:.1f} s){detail}", flush=True)  # noqa: T201
    return verdict != "FAILED"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
