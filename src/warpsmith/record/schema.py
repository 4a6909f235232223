"""The database's tables and their versions. A new version adds a step to `MIGRATIONS`; old files are migrated when opened."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from warpsmith.core.errors import InputError
from warpsmith.record.faults import record_fault

_VERSION_1 = """
CREATE TABLE runs (
    run         TEXT PRIMARY KEY,
    kernel      TEXT NOT NULL,
    kernel_path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,      -- of the kernel's files: a resumed run must still mean the same kernel
    device      TEXT NOT NULL,
    agent       TEXT NOT NULL,
    strategy    TEXT NOT NULL,
    seed        INTEGER NOT NULL,
    created_at  REAL NOT NULL,
    settings    TEXT NOT NULL,      -- JSON: budget and options
    device_info TEXT NOT NULL,      -- JSON
    seconds     REAL NOT NULL DEFAULT 0,
    status      TEXT NOT NULL DEFAULT 'running',
    result      TEXT                -- JSON, once finished
) STRICT;
CREATE TABLE evaluations (
    run           TEXT NOT NULL REFERENCES runs(run),
    number        INTEGER NOT NULL,
    configuration TEXT NOT NULL,    -- canonical JSON
    kind          TEXT NOT NULL,
    outcome       TEXT NOT NULL,    -- JSON
    seconds       REAL NOT NULL,
    started_at    REAL NOT NULL,
    PRIMARY KEY (run, number),
    UNIQUE (run, configuration)     -- nothing is evaluated twice
) STRICT;
"""

# What a run started from is kept with it: it must resume the same way when the source has changed or is gone.
_VERSION_2 = """
CREATE TABLE sources (
    run    TEXT NOT NULL REFERENCES runs(run),
    place  INTEGER NOT NULL,        -- the order in which they were given
    source TEXT NOT NULL,           -- a run's name, or a file
    kernel TEXT NOT NULL,
    device TEXT NOT NULL,
    found  INTEGER NOT NULL,        -- evaluations that the source had; those below may be fewer
    PRIMARY KEY (run, place)
) STRICT;
CREATE TABLE source_evaluations (
    run           TEXT NOT NULL,
    place         INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    configuration TEXT NOT NULL,
    kind          TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    seconds       REAL NOT NULL,
    started_at    REAL NOT NULL,
    PRIMARY KEY (run, place, number),
    FOREIGN KEY (run, place) REFERENCES sources(run, place)
) STRICT;
"""

# A round has a template of its own; the results of runs before there were rounds belong to the first.
_VERSION_3 = """
CREATE TABLE rounds (
    run         TEXT NOT NULL REFERENCES runs(run),
    number      INTEGER NOT NULL,
    plan        TEXT NOT NULL,      -- JSON: the passes, the reason, the findings it rests on
    kernel_path TEXT NOT NULL,      -- the kernel.toml of the round's template
    fingerprint TEXT NOT NULL,      -- of its files
    report      TEXT NOT NULL,      -- JSON: what each pass did, or why it did not apply
    PRIMARY KEY (run, number)
) STRICT;
ALTER TABLE evaluations ADD COLUMN round INTEGER NOT NULL DEFAULT 1;
"""

# What was said to models and by them; runs of earlier versions spoke to none.
_VERSION_4 = """
CREATE TABLE messages (
    run           TEXT NOT NULL REFERENCES runs(run),
    number        INTEGER NOT NULL,
    round         INTEGER NOT NULL,
    role          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    model         TEXT,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    usd           REAL,             -- NULL: the model has no known price
    seconds       REAL NOT NULL,
    said_at       REAL NOT NULL,
    PRIMARY KEY (run, number)
) STRICT;
CREATE TABLE adversaries (          -- workloads that a tester added to verification
    run   TEXT NOT NULL REFERENCES runs(run),
    name  TEXT NOT NULL,
    sizes TEXT NOT NULL,            -- JSON
    scale REAL NOT NULL,            -- of random inputs
    PRIMARY KEY (run, name)
) STRICT;
"""

# Why a run failed, as JSON of what `--json` prints; those of earlier versions did not say.
_VERSION_5 = """
ALTER TABLE runs ADD COLUMN error TEXT;
"""

MIGRATIONS: Sequence[str] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5)
_WAIT_S = 30.0


def open_database(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    """Open, create or migrate. Every commit is on disk when it returns (WAL with full synchronisation).

    `reading`: a record that cannot be written is read all the same, and one that is not there is empty. Raises InputError for
    what is no record, UnavailableError where the system is in the way.
    """
    try:
        if reading and not path.exists():
            return _ready(sqlite3.connect(":memory:", isolation_level=None), path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return _ready(_writable(path), path)
    except (sqlite3.Error, OSError) as error:
        found = _read_only(path) if reading else None
        if found is None:
            raise record_fault(error, path) from error
        return found


def _writable(path: Path) -> sqlite3.Connection:
    if path.exists() and not os.access(path, os.W_OK):  # SQLite would open it all the same, and complain at the first commit
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _read_only(path: Path) -> sqlite3.Connection | None:
    """None where it cannot be read either."""
    # SQLite wants to write beside the file even to read it, unless told that nobody changes it: true enough of a file whose
    # folder cannot be written, but what a killed process left in the log beside it would not be seen.
    log = path.with_name(f"{path.name}-wal")
    with contextlib.suppress(OSError):
        for options in ("mode=ro", *(() if log.exists() and log.stat().st_size else ("mode=ro&immutable=1",))):
            with contextlib.suppress(sqlite3.Error):
                return _ready(_current(f"{path.absolute().as_uri()}?{options}"), path)
    return None


def _current(address: str) -> sqlite3.Connection:
    """An older version is migrated in memory."""
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT_S, isolation_level=None)
    try:
        if _version(connection) >= len(MIGRATIONS):
            return connection
        copy = sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(copy)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return copy


def _ready(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """With the tables of this version."""
    connection.row_factory = sqlite3.Row
    try:
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    _require_known(_version(connection), path)
    if _version(connection) == len(MIGRATIONS):
        return
    # The lock first, the version after: another process may be migrating the same file.
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection)
    for step in MIGRATIONS[version:]:
        for statement in step.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
    connection.execute("COMMIT")
    _require_known(version, path)


def _require_known(version: int, path: Path) -> None:
    if version > len(MIGRATIONS):
        raise InputError(
            f"{path} has schema version {version}, this Warpsmith knows up to {len(MIGRATIONS)}", hint="upgrade Warpsmith"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
