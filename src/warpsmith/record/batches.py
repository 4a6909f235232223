"""The record of batches: the kernels that share a budget, its allocation, and the outcome of each share."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from warpsmith.core.errors import InputError
from warpsmith.record.run import RunRecord, Status, new_run_name
from warpsmith.record.schema import open_database

_NAME = "batch"


@dataclass(frozen=True, slots=True)
class Member:
    """One kernel of a batch, and the name of its run, which may not have begun."""

    place: int
    kernel: str
    kernel_path: str
    run: str
    error: Mapping[str, Any] | None = None  # as `--json` prints it


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Up to which budget, in all, a member's run may go on in a stage. `found` is there once it did."""

    stage: int
    place: int
    evaluations: int | None
    seconds: float | None
    reason: str
    found: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BatchRecord:
    batch: str
    created_at: float
    settings: Mapping[str, Any]
    status: Status
    members: tuple[Member, ...]
    shares: tuple[BatchShare, ...]


class Batches:
    """All batches of one record. What a method writes is durable, all of it or nothing, when it returns."""

    def __init__(self, path: Path, *, reading: bool = False) -> None:
        self._connection = open_database(path, reading=reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def begin(self, settings: Mapping[str, Any], members: Sequence[tuple[str, str, Mapping[str, Any] | None]]) -> str:
        """`members` are kernels, their paths, and what is wrong with those that cannot be tuned."""
        batch = new_run_name(_NAME)
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(
                "INSERT INTO batches (batch, created_at, settings) VALUES (?, ?, ?)", (batch, time.time(), json.dumps(settings))
            )
            self._connection.executemany(
                "INSERT INTO batch_members (batch, place, kernel, kernel_path, run, error) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (batch, place, kernel, path, new_run_name(kernel), json.dumps(error) if error else None)
                    for place, (kernel, path, error) in enumerate(members)
                ),
            )
        return batch

    def mark(self, batch: str, status: Status) -> None:
        self._connection.execute("UPDATE batches SET status = ? WHERE batch = ?", (status, batch))

    def leave(self, batch: str, place: int, error: Mapping[str, Any] | None) -> None:
        """The member gets no further share; None: it may have another try."""
        self._connection.execute(
            "UPDATE batch_members SET error = ? WHERE batch = ? AND place = ?",
            (json.dumps(error) if error else None, batch, place),
        )

    def share_out(self, batch: str, shares: Sequence[BatchShare]) -> None:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT INTO batch_shares (batch, stage, place, evaluations, seconds, reason) VALUES (?, ?, ?, ?, ?, ?)",
                ((batch, s.stage, s.place, s.evaluations, s.seconds, s.reason) for s in shares),
            )

    def spent(self, batch: str, share: BatchShare, found: Mapping[str, Any]) -> None:
        self._connection.execute(
            "UPDATE batch_shares SET found = ? WHERE batch = ? AND stage = ? AND place = ?",
            (json.dumps(found), batch, share.stage, share.place),
        )

    def all(self) -> list[BatchRecord]:
        """The latest first."""
        rows = self._connection.execute("SELECT * FROM batches ORDER BY created_at DESC, batch DESC").fetchall()
        found = []
        for row in rows:
            with contextlib.suppress(ValueError, TypeError):  # one that is damaged must not keep the others from being seen
                found.append(self._record(row))
        return found

    def find(self, name: str) -> BatchRecord:
        """By its name or an unambiguous beginning of it."""
        known = [row["batch"] for row in self._connection.execute("SELECT batch FROM batches ORDER BY batch")]
        meant = [b for b in known if b == name] or [b for b in known if b.startswith(name)]
        if len(meant) != 1:
            said = f"batch {name!r} is ambiguous: {', '.join(meant[:5])}" if meant else f"no batch {name!r}"
            raise InputError(said, hint="`warpsmith show` lists the batches")
        return self._record(self._connection.execute("SELECT * FROM batches WHERE batch = ?", (meant[0],)).fetchone())

    def meant_by(self, name: str, runs: Sequence[RunRecord]) -> str | None:
        """The batch that a name means which may also be a run's. `last` is a batch unless a run of none began after it."""
        batches = self.all()
        if name != "last":
            is_run = any(record.run.startswith(name) for record in runs)
            return next((b.batch for b in batches if b.batch.startswith(name)), None) if not is_run else None
        if not batches:
            return None
        latest = batches[0]
        of_none = (r for r in runs if r.header.settings.get("batch") is None)
        return None if any(r.created_at > latest.created_at for r in of_none) else latest.batch

    def _record(self, row: sqlite3.Row) -> BatchRecord:
        name = row["batch"]
        members = self._connection.execute("SELECT * FROM batch_members WHERE batch = ? ORDER BY place", (name,))
        shares = self._connection.execute("SELECT * FROM batch_shares WHERE batch = ? ORDER BY stage, place", (name,))
        return BatchRecord(
            name,
            row["created_at"],
            json.loads(row["settings"]),
            Status(row["status"]),
            tuple(Member(m["place"], m["kernel"], m["kernel_path"], m["run"], _object(m["error"])) for m in members),
            tuple(
                BatchShare(s["stage"], s["place"], s["evaluations"], s["seconds"], s["reason"], _object(s["found"]))
                for s in shares
            ),
        )


def _object(text: str | None) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = json.loads(text) if text is not None else None
    return found
