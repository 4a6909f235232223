"""Drops root's privileges beyond its files: afterwards root's worker is an ordinary user with the number 0."""

from __future__ import annotations

import ctypes
import os
import struct

_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_VERSION_3 = 0x20080522
_DAC_READ_SEARCH = 2
_HIGHEST = 63


def give_up_privileges() -> None:
    """Drops all but reading files of any mode, which root expects of its tools; Landlock restricts which files."""
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    header = struct.pack("<Ii", _VERSION_3, 0)
    held = ctypes.create_string_buffer(24)
    _checked(libc.capget(ctypes.c_char_p(header), held))
    effective, permitted, _, effective_high, permitted_high, _ = struct.unpack("<6I", held.raw)
    if not permitted | permitted_high | effective | effective_high:
        return
    libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for number in range(_HIGHEST + 1):
        if number != _DAC_READ_SEARCH and libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # refused in some containers: no_new_privs holds without it
    kept = permitted & 1 << _DAC_READ_SEARCH
    _checked(libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(struct.pack("<6I", kept, kept, 0, 0, 0, 0))))


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
