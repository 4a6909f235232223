"""Many trials in worker processes. Owns the processes, their single-threaded algebra and their stopping.

Workers read each recording once, when they first need it: as the parent has understood it, which is several times smaller and
quicker to read than the file's JSON. Trials run only in workers, also when there is just one: a linear
algebra library with several threads may add in another order, and then the same seed would not give the same trial.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np

from warpsmith.record.foreign import Recording
from warpsmith.replay.plan import ReplayPlan, ReplayTrial, Warm
from warpsmith.replay.trial import Trace, prior_from, run_trial
from warpsmith.search.base import Prior

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")


def run_trials(plan: ReplayPlan, jobs: int, recordings: Iterable[Recording]) -> Iterator[tuple[ReplayTrial, Trace]]:
    """Every trial of the plan as it finishes. Leaving early (an error, Ctrl-C) stops the workers within one evaluation.

    `recordings` are those of the plan, that of a warm start among them.
    """
    context = multiprocessing.get_context("spawn")  # forking a process that has threads (a progress bar) can deadlock
    stop = context.Event()
    with _single_threaded_algebra(), tempfile.TemporaryDirectory(prefix="warpsmith-replay-") as folder:
        stored = {recording.file: _stored(recording, Path(folder) / str(at)) for at, recording in enumerate(recordings)}
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(plan, stored, stop))
        try:
            with _interrupts_held():
                futures = {pool.submit(_run, trial): trial for trial in plan.trials}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _stored(recording: Recording, path: Path) -> Path:
    with path.open("wb") as file:
        pickle.dump(recording, file, protocol=pickle.HIGHEST_PROTOCOL)
    return path


@contextmanager
def _single_threaded_algebra() -> Iterator[None]:
    """Libraries read these when they are loaded, so they must be in the environment that workers are born with."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Workers keep the mask that they are born with, so Ctrl-C, which reaches the whole group, is for the parent to act on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ── in the worker ──


@dataclass(slots=True)
class _Worker:
    plan: ReplayPlan
    stored: dict[Path, Path]
    stop: Event


_worker: _Worker | None = None


def _start(plan: ReplayPlan, stored: dict[Path, Path], stop: Event) -> None:
    global _worker  # noqa: PLW0603 - what an initializer is for
    _worker = _Worker(plan, stored, stop)


def _run(trial: ReplayTrial) -> Trace:
    assert _worker is not None
    plan, stopped = _worker.plan, _worker.stop.is_set
    prior = None if plan.warm is None else _prior(plan.warm, trial.strategy, trial.seed)
    recording = _recording(plan.files[trial.space])
    rng = np.random.default_rng(trial.seed)
    return run_trial(
        recording, trial.strategy, rng, evaluations=plan.evaluations, prior=prior, at_once=plan.at_once, stopped=stopped
    )


@cache
def _recording(file: Path) -> Recording:
    assert _worker is not None
    with _worker.stored[file].open("rb") as stored:
        recording: Recording = pickle.load(stored)  # noqa: S301 - the parent wrote it, into a folder of its own
    return recording


@cache
def _prior(warm: Warm, strategy: str, seed: int) -> Prior:
    """The same for every target space: made once in each worker."""
    assert _worker is not None
    source = _recording(warm.file)
    rng = np.random.default_rng([seed, 1])  # another stream than the trial's own
    return prior_from(source, strategy, rng, warm.evaluations, _worker.stop.is_set)
