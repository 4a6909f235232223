"""The database's tables and their versions. A new version adds a step to `MIGRATIONS`; old files are migrated when opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from warpsmith.core.errors import InputError

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

MIGRATIONS: Sequence[str] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4)


def open_database(path: Path) -> sqlite3.Connection:
    """Open, create or migrate. Every commit is on disk when it returns (WAL with full synchronisation)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{path} cannot be used as a record of runs: {error}", hint="move the file away; a new one is made at the next run"
        ) from error
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) == len(MIGRATIONS):
        return
    # The lock first, the version after: another process may be migrating the same file.
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection)
    if version > len(MIGRATIONS):
        connection.execute("ROLLBACK")
        raise InputError(
            f"{path} has schema version {version}, this Warpsmith knows up to {len(MIGRATIONS)}", hint="upgrade Warpsmith"
        )
    for step in MIGRATIONS[version:]:
        for statement in step.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
