"""Preconditions of commands that need a run's result."""

from __future__ import annotations

from warpsmith.core.errors import InputError
from warpsmith.record.result import RunResult, read_result
from warpsmith.record.run import RunRecord, Status


def require_result(record: RunRecord, what_for: str) -> RunResult:
    """Raises InputError, with why there is none and what helps; `what_for` ends its sentence: `to export`."""
    if record.result is not None and isinstance(found := read_result(record.result), RunResult):
        return found
    if record.status is Status.FAILED:
        why = f": {record.error['message']}" if record.error else ""
        raise InputError(
            f"run {record.run} failed, so it has no result {what_for}{why}",
            hint=(record.error or {}).get("hint") or "fix the cause, then start another run with `warpsmith tune`",
        )
    raise InputError(
        f"run {record.run} is {record.status}: it has no result {what_for}",
        hint="wait for it to end" if record.status is Status.RUNNING else f"`warpsmith resume {record.run}` finishes it",
    )
