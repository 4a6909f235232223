"""`Order`: what to tune and how; also restored from a run's record if its kernel is unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError, Location, UnavailableError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.record.run import NO_AGENT, RoundRecord, RunRecord
from warpsmith.record.source import Source
from warpsmith.record.store import Store
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.spec.includes import included_files
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.spec.replacing import without_replaces
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.budget import Budget

DEFAULT_ROUNDS = 3
_SEEDS = 1 << 63  # as many as the record can tell apart


class Mode(StrEnum):
    """Templates that are searched, or, for comparison, whole kernels that an agent rewrites one by one."""

    TEMPLATE = "template"
    DIRECT = "direct"


def parse_mode(text: str) -> Mode:
    try:
        return Mode(text)
    except ValueError:
        raise InputError(f"unknown mode {text!r}", hint=f"modes are {', '.join(Mode)}") from None


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
    mode: Mode = Mode.TEMPLATE
    allowance: Allowance = Allowance()  # noqa: RUF009 - frozen
    also_compile: tuple[str, ...] = ()  # targets on which every configuration must be able to run
    workers: int | None = None  # processes that compile; None: as the cores suggest
    cluster: str | None = None  # `ray` or `ray://HOST:PORT`: its devices search beside that of the run
    places: int = 0  # how many devices of it there were when the run began: as many are asked for ahead when it is resumed
    more_devices: tuple[str, ...] = ()  # alike, searching beside the first, which alone is measured for what is claimed
    proved_only: bool = False  # nothing is searched that a pass conjectured
    knowledge: bool = True  # it is told what was learnt on similar kernels
    comparison: str | None = None  # the name of one that the run belongs to: its claims are then measured with the others'
    batch: str | None = None  # the name of one that the run belongs to: which shares out its budget

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"there must be at least 1 compile worker, not {self.workers}", hint="at least 1")
        if not 0 <= self.seed < _SEEDS:
            raise InputError(f"seed {self.seed} is out of range", hint=f"a whole number from 0 to {_SEEDS - 1}")
        if self.mode is Mode.DIRECT and self.agent == NO_AGENT:
            raise InputError("--mode direct needs an agent that rewrites the kernel", hint="--agent rules, or PROVIDER:MODEL")
        if self.mode is Mode.DIRECT and (self.more_devices or self.cluster):
            raise InputError("--mode direct evaluates one rewrite at a time", hint="give one --device")
        if self.mode is Mode.DIRECT and self.warm:
            raise InputError(
                "--warm applies to template parameters, and a rewrite has none", hint="leave out --warm, or --mode direct"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """What of it a run's record keeps beside its header."""
        return {
            "evaluations": self.budget.evaluations,
            "seconds": self.budget.seconds,
            "rounds": self.rounds,
            "mode": self.mode,
            "max_usd": self.allowance.usd,
            "max_tokens": self.allowance.tokens,
            "also_compile": list(self.also_compile),
            "workers": self.workers,
            "cluster": self.cluster,
            "places": self.places,
            "more_devices": list(self.more_devices),
            "proved_only": self.proved_only,
            "knowledge": self.knowledge,
            "comparison": self.comparison,
            "batch": self.batch,
        }


def order_of(record: RunRecord, store: Store) -> Order:
    header, settings = record.header, record.header.settings
    if missing := {"evaluations", "seconds"} - settings.keys():  # without a budget it would go on for ever
        raise UnavailableError(
            f"the settings of run {record.run} are damaged in the record: they have no {', '.join(sorted(missing))}",
            hint="start another run with `warpsmith tune`",
        )
    return Order(
        kernel=kernel_of(record),
        device=header.device,
        strategy=header.strategy,
        budget=Budget(settings["evaluations"], settings["seconds"]),
        seed=header.seed,
        warm=store.sources(record.run),
        agent=header.agent,
        # Runs of earlier versions had one round and no agent, then no models.
        rounds=settings.get("rounds", DEFAULT_ROUNDS),
        mode=Mode(settings.get("mode", Mode.TEMPLATE)),
        allowance=Allowance(settings.get("max_usd"), settings.get("max_tokens")),
        also_compile=tuple(settings.get("also_compile", ())),
        workers=settings.get("workers"),
        cluster=settings.get("cluster"),
        places=settings.get("places", 0),
        more_devices=tuple(settings.get("more_devices", ())),
        proved_only=settings.get("proved_only", False),
        knowledge=settings.get("knowledge", False),
        comparison=settings.get("comparison"),
        batch=settings.get("batch"),
    )


def kernel_of(record: RunRecord) -> Kernel:
    """The kernel that the run was about. Raises InputError if its files have changed."""
    kernel = load_kernel(Path(record.header.kernel_path))
    if kernel_fingerprint(kernel) != record.header.fingerprint:
        raise InputError(
            f"the kernel's files changed since run {record.run} began, so its evaluations no longer apply",
            location=Location(kernel.path),
            hint="start a new run with `warpsmith tune`, or restore the files",
        )
    return kernel


def round_kernel(about: RoundRecord, run: str) -> Kernel:
    """The template of a round. Raises InputError when its files are no longer what was searched."""
    kernel = load_kernel(Path(about.kernel_path))
    if kernel_fingerprint(kernel) != about.fingerprint:
        raise InputError(
            f"the template of round {about.number} changed since run {run} searched it",
            location=Location(kernel.path),
            hint="start a new run with `warpsmith tune`, or restore the file",
        )
    return kernel


def kernel_fingerprint(kernel: Kernel) -> str:
    """Of all that the user's files say of it: headers it includes with quotes, and functions that fill its arguments, too."""
    sources = [kernel.source, *([kernel.template_source] if kernel.template_source is not None else [])]
    headers = {
        header.resolve()
        for source in sources
        for header, _ in included_files(source, source.read_text(encoding="utf-8", errors="replace"), kernel.include_dirs)
    }
    addresses = [b.init.python for b in (*kernel.buffers, *kernel.constants) if b.init.python is not None]
    functions = {kernel.path.parent / address.rpartition(":")[0] for address in addresses}
    reference = [kernel.reference.file] if kernel.reference.file is not None else []
    files = [*sources, *reference, *sorted(headers), *sorted(functions)]
    return fingerprint(without_replaces(kernel.path.read_bytes()), *(file.read_bytes() for file in files))
