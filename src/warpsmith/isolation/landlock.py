"""Landlock: which files a process and its children may access, and which processes they may signal. System calls only; `policy`
decides.

Any Landlock domain also keeps a process from tracing processes outside it, or reading their memory and environment.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping
from enum import IntFlag
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_VERSION = 1
_PATH_BENEATH = 1
_SCOPES = 0b11  # abstract sockets, signals
_TCP = 0b11  # bind, connect
_SCOPES_SINCE, _TCP_SINCE = 6, 4
_PROC = Path("/proc")
"""A rule is bound to an inode, and on these file systems a path gets a new one once the old is evicted: files with rules are
kept open.
"""


class FileAccess(IntFlag):
    """The kernel's bits."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


_SINCE = {FileAccess.REFER: 2, FileAccess.TRUNCATE: 3, FileAccess.IOCTL_DEV: 5}
_OF_FILES = FileAccess.EXECUTE | FileAccess.WRITE_FILE | FileAccess.READ_FILE | FileAccess.TRUNCATE | FileAccess.IOCTL_DEV


def abi() -> int:
    """The kernel's Landlock version; 0 if it has none or it is switched off."""
    version = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    return max(int(version), 0)


def scopes_signals(version: int) -> bool:
    return version >= _SCOPES_SINCE


def restrict(grants: Mapping[Path, FileAccess], version: int) -> None:
    """Restrict this thread to these accesses. Needs no_new_privs. Missing paths are skipped."""
    handled = FileAccess(0)
    for access in FileAccess:
        handled |= access if version >= _SINCE.get(access, 1) else FileAccess(0)
    attributes = struct.pack("<Q", handled)
    if version >= _TCP_SINCE:
        attributes += struct.pack("<Q", _TCP)
    if scopes_signals(version):
        attributes += struct.pack("<Q", _SCOPES)
    libc = _libc()
    ruleset = _checked(libc.syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0))
    try:
        for path, access in grants.items():
            _add(libc, ruleset, path, access & handled)
        _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _add(libc: ctypes.CDLL, ruleset: int, path: Path, access: FileAccess) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            access &= _OF_FILES
        rule = struct.pack("<Qi", access, fd)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0))
    finally:
        if not path.is_relative_to(_PROC):
            os.close(fd)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
