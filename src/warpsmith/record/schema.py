"""The database's tables and their versions. A new version adds a step to `MIGRATIONS`; old files are migrated when opened."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError, Location
from warpsmith.record.faults import MOVE_AWAY, RESTORE, record_fault

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

# Inputs are secret while a run is under way, and known afterwards: one seed for each process that worked on it.
_VERSION_6 = """
CREATE TABLE input_seeds (
    run    TEXT NOT NULL REFERENCES runs(run),
    number INTEGER NOT NULL,
    seed   INTEGER NOT NULL,
    PRIMARY KEY (run, number)
) STRICT;
"""

# Several kernels under one budget. A share is durable before anybody spends it, so a killed batch goes on with the same.
_VERSION_7 = """
CREATE TABLE batches (
    batch      TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    settings   TEXT NOT NULL,       -- JSON: budget and options
    status     TEXT NOT NULL DEFAULT 'running'
) STRICT;
CREATE TABLE batch_members (
    batch       TEXT NOT NULL REFERENCES batches(batch),
    place       INTEGER NOT NULL,   -- their order
    kernel      TEXT NOT NULL,
    kernel_path TEXT NOT NULL,
    run         TEXT NOT NULL,      -- by which name it is tuned, once it is
    error       TEXT,               -- JSON: why it was left
    PRIMARY KEY (batch, place)
) STRICT;
CREATE TABLE batch_shares (
    batch       TEXT NOT NULL,
    stage       INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    evaluations INTEGER,            -- that its run may have in all by then; NULL: no limit
    seconds     REAL,
    reason      TEXT NOT NULL,
    found       TEXT,               -- JSON, once it is spent
    PRIMARY KEY (batch, stage, place),
    FOREIGN KEY (batch, place) REFERENCES batch_members(batch, place)
) STRICT;
"""

# What a run was told of earlier ones, and what it taught: features and lessons of kernels.
_VERSION_8 = """
CREATE TABLE lessons (
    run      TEXT PRIMARY KEY REFERENCES runs(run),
    features TEXT NOT NULL,         -- JSON: what kind of kernel it is
    offered  TEXT NOT NULL,         -- JSON: of which runs it was told, and how similar their kernels are
    learnt   TEXT                   -- JSON, once it was searched
) STRICT;
"""

MIGRATIONS: Sequence[str] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, _VERSION_6, _VERSION_7, _VERSION_8)
_FIRST_TABLES = frozenset({"runs", "evaluations"})
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_WAIT_S = 30.0


def open_database(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    """Open, create or migrate. Every commit is on disk when it returns (WAL with full synchronisation).

    `reading`: a record that cannot be written is read all the same, and one that is not there is empty. Raises InputError for
    what is no record, UnavailableError where the system is in the way.
    """
    try:
        if not path.exists():
            if reading:
                return _ready(sqlite3.connect(":memory:", isolation_level=None, factory=_Connection), path)
            path.parent.mkdir(parents=True, exist_ok=True)
            _create(path)
        elif _is_cut_off(path):
            raise InputError("the record of runs is empty: the file was truncated", location=Location(path), hint=RESTORE)
        return _ready(_writable(path), path)
    except (sqlite3.Error, OSError) as error:
        found = _read_only(path) if reading else None
        if found is None:
            raise record_fault(error, path) from error
        return found


def _is_cut_off(path: Path) -> bool:
    """SQLite would take it for a new one, and throw away what is in the log beside it."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    return len(head) < _HEADER_BYTES and _MAGIC.startswith(head[: len(_MAGIC)])


def _create(path: Path) -> None:
    """Under another name first: a record that can be seen has its tables, whatever ends this process meanwhile."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        fresh = Path(folder) / path.name
        _ready(_writable(fresh), path).close()
        with contextlib.suppress(FileExistsError):  # another process was first
            path.hardlink_to(fresh)


def _writable(path: Path) -> sqlite3.Connection:
    if path.exists() and not os.access(path, os.W_OK):  # SQLite would open it all the same, and complain at the first commit
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, factory=_Connection)
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
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT_S, isolation_level=None, factory=_Connection)
    try:
        if _version(connection) >= len(MIGRATIONS):
            return connection
        copy = sqlite3.connect(":memory:", isolation_level=None, factory=_Connection)
        connection.backup(copy)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return copy


def _ready(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """With the tables of this version."""
    connection.row_factory = sqlite3.Row
    connection.text_factory = _text
    try:
        _require_ours(connection, path)
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


class _Connection(sqlite3.Connection):
    """What SQLite says of damage quotes it, in bytes that Python cannot read."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError as unread:
            error = sqlite3.DatabaseError("damaged")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error from unread


def _text(data: bytes) -> str:
    """One damaged byte must not keep all other rows from being read; it can still be told from what was written."""
    return data.decode(errors="surrogateescape")


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    """A database of another program is neither read nor given tables of ours."""
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if (tables or _version(connection)) and not tables >= _FIRST_TABLES:
        raise InputError("a database, but not a record of runs", location=Location(path), hint=MOVE_AWAY)


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
