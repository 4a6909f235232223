"""Error messages for system faults: full disks, folders that cannot be written, damaged files."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from warpsmith.core.errors import InputError, Location, UnavailableError, WarpsmithError
from warpsmith.settings import read_settings

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.EEXIST, errno.EISDIR})

_MAKE_ROOM = "free some space there, or set WARPSMITH_HOME, the folder of runs, to another disk"
_ELSEWHERE = "choose a writable folder: WARPSMITH_HOME for runs, -o for a command's output"
MOVE_AWAY = "move the file away; the next run creates a new one"
RESTORE = f"restore it from a backup, or {MOVE_AWAY}"
_RECOVER = f'`sqlite3 runs.sqlite ".recover"` may recover most of it; else {MOVE_AWAY}'
_DAMAGED = "the record of runs is damaged"
_FAULTS = {
    sqlite3.SQLITE_NOTADB: ("cannot be used as a record of runs: it is not a database", MOVE_AWAY),
    sqlite3.SQLITE_CORRUPT: (_DAMAGED, _RECOVER),
    sqlite3.SQLITE_ERROR: (_DAMAGED, _RECOVER),  # tables or columns that are not there
    sqlite3.SQLITE_FULL: ("the disk is full: nothing can be recorded", _MAKE_ROOM),
    sqlite3.SQLITE_READONLY: ("the record of runs cannot be written", _ELSEWHERE),
    sqlite3.SQLITE_PERM: ("the record of runs cannot be written", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("the record of runs cannot be opened or made", _ELSEWHERE),
    sqlite3.SQLITE_IOERR: ("the record of runs cannot be read or written", "check whether the disk is full or failing"),
    sqlite3.SQLITE_BUSY: ("another program has locked the record of runs", "wait for it to end"),
    sqlite3.SQLITE_LOCKED: ("another program has locked the record of runs", "wait for it to end"),
}


def explained(error: BaseException, database: Path) -> WarpsmithError | None:
    """The error that a user sees; None for what nobody expected. `database` is the record that errors of SQLite are about."""
    match error:
        case WarpsmithError():
            return error
        case sqlite3.Error():
            return record_fault(error, database)
        case OSError():
            return system_fault(error)
        case _:
            return None


def system_fault(error: OSError, path: Path | None = None) -> UnavailableError:
    """`path` is what it was about where the error does not say."""
    named = error.filename2 or error.filename
    place = Path(str(named)) if isinstance(named, (str, Path)) else path
    location = Location(place) if place is not None else None
    words = error.strerror or str(error) or type(error).__name__
    hint = None
    if error.errno in _FULL:
        hint = _MAKE_ROOM if place is not None else "free some space for the output"
    elif error.errno == errno.EFBIG:
        hint = "check the file size limit: `ulimit -f`"
    elif error.errno in _REFUSED or (place is not None and place.absolute().is_relative_to(read_settings().home)):
        hint = _ELSEWHERE
    elif error.errno in _NO_FOLDER:
        hint = "expected a folder"
    return UnavailableError(words[:1].lower() + words[1:], location=location, hint=hint)


def record_fault(error: sqlite3.Error | OSError, path: Path) -> WarpsmithError:
    """Only a file that is no record, or a damaged one, is worth moving away: the others are healthy."""
    if isinstance(error, OSError):
        return system_fault(error, path)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of the bits say more than anybody can use
    words, hint = _FAULTS.get(code, (f"the record of runs cannot be used: {error}", None))
    kind = InputError if code == sqlite3.SQLITE_NOTADB else UnavailableError
    return kind(words, location=Location(path), hint=hint)
