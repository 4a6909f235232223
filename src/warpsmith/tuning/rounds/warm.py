"""Warm starts: finds what a run is to learn from, refuses what cannot help, and hands it to the strategy.

How a strategy weighs an earlier run against its own results is the strategy's business (`search.base.Learner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from warpsmith.core.errors import InputError
from warpsmith.core.outcome import Evaluation
from warpsmith.record.foreign import load_recording
from warpsmith.record.source import Source
from warpsmith.record.store import Store
from warpsmith.search.base import Learner, Strategy
from warpsmith.search.registry import DEFAULT_STRATEGY, load_strategy, start_strategy
from warpsmith.space import Space
from warpsmith.tuning.events import Emit, SourceLearned, Warned

_FILES = (".json", ".gz")
# Recordings of whole spaces run to 100,000 entries. What is kept is stored with the run, and no strategy looks at so many.
KEPT_AT_MOST = 2_000


def find_sources(names: Iterable[str | Path], store: Store) -> tuple[Source, ...]:
    """Runs of the store (by name, the beginning of it, or `last`) and files (Kernel Tuner caches, T4 results), each once."""
    found = {source.name: source for source in (_source(name, store) for name in names)}
    for source in found.values():
        if not source.summary.measured:
            message = f"{source.name} has no measured configuration ({len(source.evaluations)} evaluations)"
            raise InputError(message, hint="a warm start needs a run with measured configurations; leave this one out")
    return tuple(found.values())


def _source(name: str | Path, store: Store) -> Source:
    path = Path(name)
    # A run's name has neither suffix nor folder; `./last` is a file of that name.
    if isinstance(name, Path) or path.suffix in _FILES or "/" in name or (name != "last" and path.is_file()):
        recording = load_recording(path)
        evaluations = recording.evaluations
        return Source(str(path.resolve()), recording.kernel, recording.device, thinned(evaluations), len(evaluations))
    try:
        record = store.find(name)
    except InputError as error:
        hint = "SOURCE is a run (`warpsmith show` lists them), a Kernel Tuner cache or a T4 file"
        raise InputError(f"{error.message}, and no such file", hint=hint) from error
    own = store.evaluations(record.run)
    return Source(record.run, record.header.kernel, record.header.device, thinned(own), len(own))


def thinned(evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    """All, or the best half of `KEPT_AT_MOST` and an even choice of the others by rank, failures last; in their order."""
    if len(evaluations) <= KEPT_AT_MOST:
        return tuple(evaluations)
    scores = np.array([np.inf if evaluation.score is None else evaluation.score for evaluation in evaluations])
    order = np.argsort(scores, kind="stable")
    best = KEPT_AT_MOST // 2
    even = np.linspace(best, len(order) - 1, KEPT_AT_MOST - best).round().astype(int)
    return tuple(evaluations[at] for at in sorted(order[[*range(best), *even]].tolist()))


def check_sources(strategy: str, space: Space, sources: Sequence[Source]) -> None:
    """Raises InputError when the strategy cannot learn, or a source has nothing to say about this space."""
    if sources and not isinstance(load_strategy(strategy)(space, np.random.default_rng(0)), Learner):
        hint = f"leave --warm out, or choose --strategy {DEFAULT_STRATEGY}"
        raise InputError(f"strategy {strategy!r} cannot start from an earlier run", hint=hint)
    wanted = {parameter.name for parameter in space.parameters}
    for source in sources:
        known = {name for evaluation in source.evaluations for name in evaluation.configuration}
        if not known & wanted:
            message = f"{source.name} shares no parameter with this kernel: {_listed(known)} against {_listed(wanted)}"
            raise InputError(message, hint="a warm start needs a run of the same kernel: other device, workload or template")


def warm_strategy(name: str, space: Space, seed: int, sources: Sequence[Source]) -> Strategy:
    """The strategy, having learnt from the sources in their order."""
    return start_strategy(name, space, np.random.default_rng(seed), (source.prior for source in sources))


def announce(sources: Sequence[Source], kernel: str, emit: Emit) -> None:
    for source in sources:
        emit(SourceLearned(source.summary))
        if source.kernel != kernel:
            emit(
                Warned(f"{source.name} is a record of {source.kernel!r}, not of {kernel!r}: it may misguide the search at first")
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
