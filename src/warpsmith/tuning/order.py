"""`Order`: what to tune and how; and the same again from a run's record, if its kernel is still what it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.fingerprint import fingerprint
from warpsmith.record.source import Source
from warpsmith.record.store import RunRecord, Store
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agents import NO_AGENT
from warpsmith.tuning.budget import Budget

DEFAULT_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Order:
    """What to tune and how: everything that a run's record must know to be resumed."""

    kernel: Kernel
    device: str = "cpu"
    strategy: str = DEFAULT_STRATEGY
    budget: Budget = Budget()  # noqa: RUF009 - frozen
    seed: int = 0
    warm: tuple[Source, ...] = ()
    agent: str = NO_AGENT
    rounds: int = DEFAULT_ROUNDS


def order_of(record: RunRecord, store: Store) -> Order:
    header = record.header
    budget = Budget(header.settings["evaluations"], header.settings["seconds"])
    rounds = header.settings.get("rounds", DEFAULT_ROUNDS)  # runs of earlier versions had one, and no agent
    sources = store.sources(record.run)
    return Order(kernel_of(record), header.device, header.strategy, budget, header.seed, sources, header.agent, rounds)


def kernel_of(record: RunRecord) -> Kernel:
    """The kernel that the run was about. Raises InputError when its files are no longer what they were."""
    kernel = load_kernel(Path(record.header.kernel_path))
    if kernel_fingerprint(kernel) != record.header.fingerprint:
        raise InputError(
            f"the kernel's files changed since run {record.run} began, so its evaluations no longer mean this kernel",
            location=Location(kernel.path),
            hint="start a new run with `warpsmith tune`, or bring the files back",
        )
    return kernel


def kernel_fingerprint(kernel: Kernel) -> str:
    files = [kernel.path, kernel.source, kernel.template_source, kernel.reference.file]
    return fingerprint(*(file.read_bytes() for file in files if file is not None))
