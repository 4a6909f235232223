"""The bench: times and verdicts for candidates on workloads. Owns the measuring worker and survives its crashes.

What a crash loses is attached and loaded again when next needed, so a call works after any outcome.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.core.outcome import Crashed, LaunchFailed, TimedOut, Verdict
from warpsmith.devices.base import CHECK_REPORT, Binary, reserves_addresses
from warpsmith.devices.registry import load_device
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.process import STARTUP_DEADLINE_S, WorkerDied, WorkerProcess, WorkerTimedOut
from warpsmith.measure.caches import host_caches
from warpsmith.measure.jobs import Attach, Count, LaunchArgument, LaunchJob, Load, Open, Prepare, Read, Time, Unload
from warpsmith.measure.policy import LAUNCH_DEADLINE_S
from warpsmith.spec.kernel import Buffer, Role
from warpsmith.verify.pool import FIRST
from warpsmith.verify.prepared import PreparedWorkload

Reply = TypeVar("Reply")


BenchFailure: TypeAlias = LaunchFailed | Crashed | TimedOut

_WORKER = "warpsmith.measure.worker"
_LOADED_AT_ONCE = 128


@dataclass(frozen=True)  # no slots: what is derived is kept
class Candidate:
    """One kernel launch per workload. `scalars` holds the bytes of scalar arguments at their positions, None elsewhere."""

    name: str
    binaries: Mapping[str, Binary]
    geometries: Mapping[str, Geometry]
    scalars: Mapping[str, tuple[bytes | None, ...]]

    @cached_property
    def programs(self) -> Mapping[str, str]:
        """A name for each workload's code, which messages to the worker use repeatedly."""
        return {w: fingerprint(b.code, b.entry, dict(b.device_data)) for w, b in self.binaries.items()}

    @cached_property
    def identity(self) -> str:
        """Equal for candidates with the same code and launch."""
        code = {w: (fingerprint(b.code), b.entry, dict(b.device_data)) for w, b in self.binaries.items()}
        launches = {w: (g.grid, g.block, g.shared_bytes, self.scalars[w]) for w, g in self.geometries.items()}
        return fingerprint(repr(sorted(code.items())), repr(sorted(launches.items())))


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Kernels launched before each timed launch, so that it finds no leftovers of the previous one (`measure.scrub`).

    With a `filler` (`devices.memory`) the launch's inputs are made on the device.
    """

    prepared: PreparedWorkload | None
    always: tuple[Candidate, ...] = ()
    of_shared: Candidate | None = None
    of_stack: Candidate | None = None
    filler: Binary | None = None

    def before(self, workload: str, sequence: Sequence[Candidate]) -> list[Candidate]:
        """Memory that none of these has need not be overwritten."""
        launched = [(c.binaries[workload].resources, c.geometries[workload]) for c in sequence]
        has_shared = any(resources.shared_bytes or geometry.shared_bytes for resources, geometry in launched)
        has_stack = any(resources.stack_bytes != 0 for resources, _ in launched)
        wanted = (self.of_shared if has_shared else None, self.of_stack if has_stack else None)
        return [*self.always, *(candidate for candidate in wanted if candidate is not None)]


class Bench:
    """One device in one worker process at a time. `memory_bytes` is what a worker may use beyond the workloads themselves.

    Under a `checker` (a command line) times are meaningless. Buffers have no guard zones then: the checker finds out-of-bounds
    accesses itself, and would take guards for part of the buffer.
    """

    def __init__(
        self,
        device: str,
        workloads: Sequence[PreparedWorkload],
        *,
        compute_units: int | None = None,
        cores: frozenset[int] | None = None,
        memory_bytes: int = 8 << 30,
        launch_deadline_s: float = LAUNCH_DEADLINE_S,
        checker: Sequence[str] = (),
        scrubber: Scrubber | None = None,
    ) -> None:
        self.restarts = 0
        self.device = device
        self._checker = tuple(checker)
        self._memory_by_addresses = not reserves_addresses(load_device(device))
        self._workloads = {workload.name: workload for workload in workloads}
        self._scrubber = scrubber
        self._compute_units = compute_units
        self._cores = cores
        self._memory_bytes = memory_bytes + 2 * sum(workload.arena.nbytes for workload in workloads)
        self.launch_deadline_s = launch_deadline_s
        self.slowest_turn_s = 0.0
        """The longest average time per timed launch in a series, including all overhead."""
        self._attachment: _Attachment | None = None
        self._abandoned = False
        self._doubtful: set[str] = set()
        """Workloads whose memory is in an unknown state."""

    def run_once(self, candidate: Candidate, workload_name: str, draw: int = FIRST) -> int | BenchFailure:
        """Launch once on fresh memory; device nanoseconds. The workload's `verdict_after_launch` can judge the result."""
        fresh = self._on_fresh_memory
        return self._once_more_if_killed(lambda: fresh(candidate, workload_name, LaunchJob, self.launch_deadline_s, draw))

    def verify(self, candidate: Candidate, workload_name: str) -> Verdict | BenchFailure:
        """Launch once on fresh memory and judge the result in this process."""
        ran = self.run_once(candidate, workload_name)
        if not isinstance(ran, int):
            return ran
        workload = self._workloads[workload_name]
        verdict = workload.verdict_after_launch()
        if workload.memory_damaged:
            self.start_anew()  # what was written beyond the arena is unknown; the next candidate must not suffer for it
        elif verdict.passed:
            self._doubtful.discard(workload_name)
        return verdict

    def workload(self, name: str) -> PreparedWorkload:
        return self._workloads[name]

    def time(
        self, workload_name: str, sequence: Sequence[Candidate], draws: Sequence[int], *, looked_at: bool = True
    ) -> list[int] | BenchFailure:
        """Launch each candidate once, in that order, each with its draw of the workload's inputs; device nanoseconds.

        The last launch's result is in the arena, unless it is not `looked_at`: then it may stay on the device.
        """
        return self._once_more_if_killed(lambda: self._time(workload_name, sequence, draws, looked_at=looked_at))

    def _time(
        self, workload_name: str, sequence: Sequence[Candidate], draws: Sequence[int], *, looked_at: bool
    ) -> list[int] | BenchFailure:
        workload, rewritten = self._workloads[workload_name], workload_name in self._doubtful
        if rewritten:
            workload.arena.reset()
        if draws:
            workload.arena.mark_touched(draws[-1])
        self._doubtful.add(workload_name)
        try:
            worker = self._attached()
            numbers: dict[int, int] = {}
            for candidate in {id(candidate): candidate for candidate in sequence}.values():
                run = worker.run_number(candidate, workload)
                if isinstance(run, LaunchFailed):
                    return run
                numbers[id(candidate)] = run
            runs = tuple(numbers[id(candidate)] for candidate in sequence)
            job = Time(runs, tuple(draws), self._scrub(worker, workload_name, sequence), rewritten=rewritten, looked_at=looked_at)
            began = time.monotonic()
            result = worker.call(job, self.launch_deadline_s * max(len(runs), 1))
        except (WorkerDied, WorkerTimedOut) as error:
            return self._failure(error)
        if isinstance(result, list):
            self._doubtful.discard(workload_name)
            self.slowest_turn_s = max(self.slowest_turn_s, (time.monotonic() - began) / max(len(runs), 1))
        return result

    def reading(self) -> Reading | None:
        """The device's clocks and temperature right after the last job; None if it reports none."""
        try:
            return self._attached().call(Read(), STARTUP_DEADLINE_S)
        except (WorkerDied, WorkerTimedOut):
            self.start_anew()
            return None

    def counters(self, candidate: Candidate, workload_name: str) -> Counters | NotCounted | BenchFailure:
        """Device counters for launches on fresh memory. The worker must not be used for timing afterwards."""
        return self._once_more_if_killed(lambda: self._on_fresh_memory(candidate, workload_name, Count, STARTUP_DEADLINE_S))

    def checked(self, deadline_s: float) -> str:
        """End the worker; what its checker reported."""
        attachment, self._attachment = self._attachment, None
        return attachment.process.finish(CHECK_REPORT, deadline_s) if attachment is not None else ""

    def start(self) -> int:
        """Make sure that a worker runs; its process id, for monitors of the machine's load."""
        return self._attached().process.pid

    def start_anew(self) -> None:
        """End the worker; the next call starts a new one."""
        self.close()
        self.restarts += 1

    def close(self) -> None:
        if self._attachment is not None:
            self._attachment.process.close()
            self._attachment = None

    def abandon(self) -> None:
        """End the worker and start no other, from any thread: a call in progress there ends in `Crashed`."""
        self._abandoned = True
        if (attachment := self._attachment) is not None:
            attachment.process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _on_fresh_memory(
        self, candidate: Candidate, workload_name: str, job: Callable[[int], Job[Reply]], deadline_s: float, draw: int = FIRST
    ) -> Reply | BenchFailure:
        workload = self._workloads[workload_name]
        workload.arena.reset(draw)
        workload.arena.mark_touched()
        self._doubtful.add(workload_name)
        try:
            worker = self._attached()
            run = worker.run_number(candidate, workload)
            return run if isinstance(run, LaunchFailed) else worker.call(job(run), deadline_s)
        except (WorkerDied, WorkerTimedOut) as error:
            return self._failure(error)

    def _scrub(self, worker: _Attachment, workload_name: str, sequence: Sequence[Candidate]) -> tuple[int, ...]:
        if self._scrubber is None or (prepared := self._scrubber.prepared) is None:
            return ()
        runs = (worker.run_number(candidate, prepared) for candidate in self._scrubber.before(workload_name, sequence))
        return tuple(run for run in runs if isinstance(run, int))

    def _attached(self) -> _Attachment:
        if self._abandoned:
            raise WorkerDied("the bench was abandoned")
        if self._attachment is not None and not self._attachment.process.alive:
            self.start_anew()  # it died between two launches: nobody's outcome
        if self._attachment is None:
            process = WorkerProcess(
                _WORKER,
                cores=self._cores,
                memory_bytes=self._memory_bytes,
                memory_by_addresses=self._memory_by_addresses,
                wrapper=self._checker,
            )
            attachment = _Attachment(process, guarded=not self._checker)
            filler = self._scrubber.filler if self._scrubber is not None else None
            job = Open(self.device, self._compute_units, replace(filler, code=b"") if filler is not None else None)
            try:
                attachment.call(job, STARTUP_DEADLINE_S, [filler.code] if filler is not None else [])
            except BaseException:
                process.close()  # without an open device it is of no use to the next call either
                raise
            self._attachment = attachment
        return self._attachment

    def _once_more_if_killed(self, ask: Callable[[], Reply | BenchFailure]) -> Reply | BenchFailure:
        """Retry once if something else killed the worker, which says nothing about the candidate; a second kill is an outcome."""
        try:
            return ask()
        except WorkerDied:
            try:
                return ask()
            except WorkerDied as error:
                return Crashed(f"{error.reason}; so was a second worker")

    def _failure(self, error: WorkerDied | WorkerTimedOut) -> Crashed | TimedOut:
        self.start_anew()
        if isinstance(error, WorkerTimedOut):
            return TimedOut(f"did not finish within {error.limit_s:g} s", error.limit_s)
        if error.from_outside:
            raise error  # to `_once_more_if_killed`
        return Crashed(error.reason)


class _Attachment:
    """A worker process and its state: lazily loaded programs, mapped memory, numbered runs."""

    def __init__(self, process: WorkerProcess, *, guarded: bool = True) -> None:
        self.process = process
        self._guarded = guarded
        self._workloads: set[str] = set()
        self._programs: OrderedDict[str, set[tuple[Any, ...]]] = OrderedDict()
        """Loaded programs, least recently used first, with the keys of their runs."""
        self._runs: dict[tuple[Any, ...], int] = {}
        self._numbers_given = 0

    def call(self, job: Job[Reply], deadline_s: float, blobs: Sequence[bytes] = (), fds: Sequence[int] = ()) -> Reply:
        reply, _ = self.process.call(job, blobs, fds, deadline_s=deadline_s)
        return reply

    def run_number(self, candidate: Candidate, workload: PreparedWorkload) -> int | LaunchFailed:
        """The worker's number for this launch, after sending what it does not have yet."""
        binary, geometry = candidate.binaries[workload.name], candidate.geometries[workload.name]
        scalars = candidate.scalars[workload.name]
        program = candidate.programs[workload.name]
        key = (program, workload.name, geometry, scalars)
        if program in self._programs:
            self._programs.move_to_end(program)
        elif (failed := self._load(program, binary)) is not None:
            return failed
        if key not in self._runs:
            self._attach(workload)
            self._numbers_given += 1
            arguments = tuple(_argument(item, scalar) for item, scalar in zip(workload.kernel.arguments, scalars, strict=True))
            self.call(Prepare(self._numbers_given, program, workload.name, arguments, geometry), STARTUP_DEADLINE_S)
            self._runs[key] = self._numbers_given
            self._programs[program].add(key)
        return self._runs[key]

    def _load(self, program: str, binary: Binary) -> LaunchFailed | None:
        failed = self.call(Load(program, replace(binary, code=b"")), STARTUP_DEADLINE_S, [binary.code])
        if failed is None:
            self._programs[program] = set()
            if len(self._programs) > _LOADED_AT_ONCE:
                oldest, runs = self._programs.popitem(last=False)
                self.call(Unload(oldest), STARTUP_DEADLINE_S)
                for key in runs:
                    del self._runs[key]
        return failed

    def _attach(self, workload: PreparedWorkload) -> None:
        if workload.name in self._workloads:
            return
        arena, constants = workload.arena, workload.constants
        buffers = [item for item in workload.kernel.buffers if not item.null]
        recipes = workload.pool.recipes
        # An input that is always the same is written once, by the tuner; if a launch changes it, that is found.
        filled = tuple(r for b in buffers if (r := recipes.get(b.name)) is not None and (r.varies or b.role is Role.INOUT))
        poisoned = tuple((item.name, item.dtype) for item in buffers if item.role is Role.OUT)
        layout = arena.layout if self._guarded else tuple(replace(p, guard_before=0, guard_after=0) for p in arena.layout)
        restored = tuple(item.name for item in buffers if item.role is Role.INOUT)
        written = {recipe.name for recipe in filled} | {name for name, _ in poisoned}
        caches = host_caches()
        exceeds_caches = caches is not None and sum(p.nbytes for p in layout if p.name in written) > caches.all_bytes
        job = Attach(workload.name, layout, filled, restored, poisoned, tuple(constants), exceeds_caches)
        self.call(job, STARTUP_DEADLINE_S, list(constants.values()), [arena.fd, workload.pool.fd])
        self._workloads.add(workload.name)


def _argument(item: Any, scalar: bytes | None) -> LaunchArgument:
    if isinstance(item, Buffer):
        return LaunchArgument() if item.null else LaunchArgument(buffer=item.name)
    if scalar is None:
        raise ValueError(f"no value for the scalar argument {item.name}")
    return LaunchArgument(scalar=scalar.hex())
