"""The record of a run and of its rounds."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from warpsmith.core.file_names import as_file_name

NO_AGENT = "none"  # in a run's header: the kernel's own template was searched as it is


class Status(StrEnum):
    """Of a run. The record has no `killed` and no `unreadable`: it is found out when a run is looked at."""

    RUNNING = "running"
    FINISHED = "finished"
    SEARCHED = "searched"  # of a comparison, which claims for all of its runs together; or of a batch, which may go on with it
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    KILLED = "killed"  # its process is gone without a word
    UNREADABLE = "unreadable"  # what the record has of it is damaged


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What a run is about; fixed when it starts."""

    kernel: str
    kernel_path: str
    fingerprint: str
    device: str
    agent: str
    strategy: str
    seed: int
    settings: Mapping[str, Any]
    device_info: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunRecord:
    run: str
    header: RunHeader
    created_at: float
    seconds: float
    status: Status
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None = None  # of a failed run: as `--json` prints it


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A round as it was planned, with the template that was searched in it."""

    number: int
    plan: Mapping[str, Any]
    kernel_path: str
    fingerprint: str
    report: Mapping[str, Any]


def new_run_name(kernel: str) -> str:
    return f"{as_file_name(kernel, 'kernel')}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
