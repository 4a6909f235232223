"""What a run must have before something is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpsmith.core.errors import InputError
from warpsmith.record.run import RunRecord, Status


def require_result(record: RunRecord, what_for: str) -> Mapping[str, Any]:
    """Raises InputError, with why there is none and what helps; `what_for` ends its sentence: `to export`."""
    if record.result is not None:
        return record.result
    if record.status is Status.FAILED:
        why = f": {record.error['message']}" if record.error else ""
        raise InputError(
            f"run {record.run} failed, so it has no result {what_for}{why}",
            hint=(record.error or {}).get("hint") or "mend what it failed for, then start another run with `warpsmith tune`",
        )
    raise InputError(
        f"run {record.run} is {record.status}: it has no result {what_for}",
        hint="wait for it to end" if record.status is Status.RUNNING else f"`warpsmith resume {record.run}` finishes it",
    )
