"""The compile pool: requests in, futures of outcomes out. One thread per worker process; a crashed worker costs one request."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from warpsmith.compile.assistants import Assistants
from warpsmith.compile.cache import DiskCache
from warpsmith.compile.gate import Gate
from warpsmith.compile.jobs import Compile, Count, Describe, Instructions, MachineCode, Preprocess
from warpsmith.compile.keys import environment_key, included_files, request_key
from warpsmith.compile.slot import Folders, Slot
from warpsmith.core.counted import Counted, LaunchArgument, NeedsInput
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.hardware import Geometry
from warpsmith.core.outcome import CompileFailed, Crashed, TimedOut
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo, HasDriver, reserves_addresses
from warpsmith.devices.registry import load_device
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.process import WorkerProcess

CompileOutcome: TypeAlias = Binary | CompileFailed | Crashed | TimedOut

Blobs: TypeAlias = tuple[bytes, ...]
_Task: TypeAlias = tuple[Job[Any], Future[Any], Blobs]

_WORKER = "warpsmith.compile.worker"
_REMEMBERED = 512
_ASSISTANT_WAIT_S = 0.02
_ASSISTANTS_AT_MOST = 2  # more than are asked for ahead have nothing to do


def describe_device(name: str) -> DeviceInfo:
    """The device of that name, as described by a worker. Raises UnavailableError if it is not available."""
    with CompilePool(name, cache_dir=None) as pool:
        return pool.describe()


class CompilePool:
    """Results are shared: equal requests (by the device's own key) compile once, also in later runs with a `cache_dir`.

    Workers can read the folders of earlier requests. Naming them in advance (`folders`) avoids replacing a worker that was
    started to describe the device.
    """

    def __init__(
        self,
        device: str,
        *,
        workers: int = 1,
        cache_dir: Path | None,
        deadline_s: float = 60.0,
        memory_bytes: int = 4 << 30,
        cores: frozenset[int] | None = None,
        lendable: frozenset[int] | None = None,
        folders: Iterable[Path] = (),
    ) -> None:
        """`lendable` are cores of another owner, who may lend them (`lent`)."""
        self._name = device
        self.device = load_device(device)
        self._disk = DiskCache(cache_dir) if cache_dir is not None else None
        self._deadline_s = deadline_s
        self._memory_bytes = memory_bytes
        self._pinned = cores is not None
        self.workers = workers
        self._folders: Folders = frozenset(folders)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[CompileOutcome]] = OrderedDict()
        self._info: DeviceInfo | None = None
        self._environment = ""
        self._gate = Gate()
        self._closed = threading.Event()
        self._slots = [Slot(partial(self._start, cores=cores)) for _ in range(workers)]
        self._threads = [threading.Thread(target=self._work, args=(slot,), daemon=True) for slot in self._slots]
        for thread in self._threads:
            thread.start()
        lent = [Slot(partial(self._start, cores=frozenset({core}))) for core in sorted(lendable or ())[:_ASSISTANTS_AT_MOST]]
        self._assistants = Assistants(lent, self._take)

    def describe(self) -> DeviceInfo:
        """The device, as described by a worker. Raises UnavailableError if it is not available."""
        if self._info is None:
            has_driver = self.device if isinstance(self.device, HasDriver) else None
            if has_driver is not None:
                has_driver.make_ready()
            info: DeviceInfo = self._result_of(self._call(Describe(self._name, tuple(os.sched_getaffinity(0)))))
            if has_driver is not None:
                has_driver.learn(info)
            self._environment = environment_key(self.device, info)
            self._info = info
        return self._info

    def submit(self, request: CompileRequest) -> Future[CompileOutcome]:
        self._open_folders(request)
        self.describe()
        included = included_files(request)
        key = self._key(request, included)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
            future: Future[CompileOutcome] = Future()
            self._known[key] = future
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        # If an include cannot be determined from the text, its content is unknown too: no cached result is safe.
        disk = self._disk if included is not None else None
        # Compiler errors name lines of the source, so they are only cached for that exact text.
        exact = self._key(replace(request, meaning=None), included)
        stored = (disk.get(key) or disk.get(exact)) if disk is not None else None
        if stored is not None:
            future.set_result(stored)
            return future
        future.add_done_callback(lambda done: self._keep(key, exact, done, disk))
        self._put(Compile(self._name, request), future)
        return future

    def compile(self, request: CompileRequest) -> CompileOutcome:
        return self.submit(request).result()

    def preprocess(self, request: CompileRequest) -> list[str]:
        """The source's tokens after preprocessing. Raises InputError if preprocessing fails."""
        self._open_folders(request)
        tokens: list[str] = self._result_of(self._call(Preprocess(self._name, request)))
        return tokens

    def machine_code(self, request: CompileRequest) -> str | None:
        """Equal for requests that compile to the same instructions, whatever else is in their binaries; None if unknown."""
        self._open_folders(request)
        code: str | None = self._result_of(self._call(MachineCode(self._name, request)))
        return code

    def instructions(self, request: CompileRequest) -> list[str] | str:
        """The machine code as text; or why it is unavailable."""
        self._open_folders(request)
        found: list[str] | str = self._result_of(self._call(Instructions(self._name, request)))
        return found

    def count(
        self,
        binary: Binary,
        geometry: Geometry,
        arguments: Sequence[LaunchArgument],
        constants: Mapping[str, bytes],
        contents: Callable[[str], bytes],
    ) -> Counted:
        """Counters of a launch, computed without the hardware; `contents` are made only if something depends on them.

        Raises UnsupportedFeature, naming what cannot be followed.
        """
        inputs: dict[str, bytes] = {}
        while True:
            job = Count(self._name, replace(binary, code=b""), geometry, tuple(arguments), tuple(constants), tuple(inputs))
            blobs = (binary.code, *constants.values(), *inputs.values())
            answer: Counted | NeedsInput = self._result_of(self._call(job, blobs))
            if isinstance(answer, Counted):
                return answer
            inputs[answer.name] = contents(answer.name)

    def pause(self) -> None:
        """Returns when nothing compiles any more; later requests, by any method, wait for `resume`."""
        self._gate.shut()

    def resume(self) -> None:
        self._gate.open()

    @contextlib.contextmanager
    def lent(self, waited_for: Sequence[Future[CompileOutcome]]) -> Iterator[None]:
        """While these are awaited, other requests also compile on the lendable cores.

        Nothing compiles there after leaving. Does nothing if all of them are done already.
        """
        if all(future.done() for future in waited_for):
            yield
            return
        with self._assistants.lent():
            yield

    @contextlib.contextmanager
    def reinforced(self, cores: frozenset[int] | None) -> Iterator[None]:
        """A pool restricted to its own cores also gets a worker on each of these, while nothing is measured there."""
        others = sorted(cores or ()) if self._pinned else ()
        extra = [Slot(partial(self._start, cores=frozenset({core}))) for core in others]
        done = threading.Event()
        threads = [threading.Thread(target=self._assist, args=(slot, done), daemon=True) for slot in extra]
        for thread in threads:
            thread.start()
        try:
            yield
        except BaseException:
            for slot in extra:
                slot.shut()
            raise
        finally:
            done.set()
            for thread in threads:
                thread.join()

    def close(self) -> None:
        """End the workers, also busy ones; futures that have not started are cancelled."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._gate.open()
        self._assistants.close()
        for slot in self._slots:
            self._tasks.put(None)
            slot.shut()
        for thread in self._threads:
            thread.join()
        while not self._tasks.empty():
            task = self._tasks.get()
            if task is not None:
                task[1].cancel()
        if self._disk is not None:
            self._disk.prune()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _start(self, folders: Folders, cores: frozenset[int] | None) -> WorkerProcess:
        # Compilers are separate programs: this worker exists to start them.
        return WorkerProcess(
            _WORKER,
            cores=cores,
            memory_bytes=self._memory_bytes,
            memory_by_addresses=not reserves_addresses(self.device),
            folders=folders,
            may_start_processes=True,
        )

    def _open_folders(self, request: CompileRequest) -> None:
        with self._lock:
            self._folders |= {request.source_file.parent, *request.include_dirs}

    def _call(self, job: Job[Any], blobs: Blobs = ()) -> Any:
        future: Future[Any] = Future()
        self._put(job, future, blobs)
        return future.result()

    def _result_of(self, answer: Any) -> Any:
        if isinstance(answer, Crashed | TimedOut):
            raise WarpsmithError(f"the compile worker failed: {answer.reason}")
        return answer

    def _put(self, job: Job[Any], future: Future[Any], blobs: Blobs = ()) -> None:
        if self._closed.is_set():
            raise RuntimeError("the compile pool is closed")
        self._tasks.put((job, future, blobs))
        self._assistants.there_is_more()

    def _take(self) -> Callable[[Slot], None] | None:
        """The next task that an assistant may take; None if there is none."""
        task = self._tasks.get_nowait()
        if task is None:  # meant for one of the pool's own
            self._tasks.put(None)
            return None
        return partial(self._guarded, task)

    def _guarded(self, task: _Task, slot: Slot) -> None:
        with self._gate:
            self._run(slot, *task)

    def _key(self, request: CompileRequest, included: Mapping[str, str] | None) -> str:
        return request_key(self._environment, self.device.compile_key(request), included or {})

    def _keep(self, key: str, exact: str, done: Future[CompileOutcome], disk: DiskCache | None) -> None:
        outcome = None if done.cancelled() or done.exception() else done.result()
        if isinstance(outcome, Binary | CompileFailed):
            if disk is not None:
                disk.put(key if isinstance(outcome, Binary) else exact, outcome)
        else:  # a crash or a timeout may be the machine's fault: whoever asks again gets another try
            with self._lock:
                self._known.pop(key, None)

    def _work(self, slot: Slot) -> None:
        try:
            while (task := self._tasks.get()) is not None:
                with self._gate:
                    self._run(slot, *task)
        finally:
            slot.close()

    def _assist(self, slot: Slot, done: threading.Event) -> None:
        """As `_work`, until it is done.

        Polls instead of waiting on the queue: CPython's SimpleQueue, with a 50 ms timeout, hangs for ever if another thread
        takes the task that it was woken for just as its timeout expires.
        """
        try:
            while not done.is_set():
                try:
                    task = self._tasks.get_nowait()
                except queue.Empty:
                    done.wait(_ASSISTANT_WAIT_S)
                    continue
                if task is None:  # meant for one of the pool's own
                    self._tasks.put(None)
                    return
                with self._gate:
                    self._run(slot, *task)
        finally:
            slot.close()

    def _run(self, slot: Slot, job: Job[Any], future: Future[Any], blobs: Blobs) -> None:
        if self._closed.is_set():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = slot.run(job, blobs, self._deadline_s, self._folders)
        except BaseException as error:  # noqa: BLE001 - the future's owner gets it
            future.set_exception(error)
        else:
            future.set_result(result)
