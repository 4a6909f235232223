"""The system call filter: assembled here as classic BPF, installed for the calling thread and its children.

It filters by number and by plain values in registers; it cannot inspect file names, which `landlock` does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpsmith.isolation import syscalls
from warpsmith.isolation.syscalls import Numbers

_SECCOMP = dict(zip(syscalls.MACHINES, (317, 277), strict=True))
_SET_MODE_FILTER = 1
_GET_ACTION_AVAIL = 2
# Without the second flag kernels before 5.16 enable Spectre mitigations that slow the whole process, and every measurement.
_TSYNC, _SPEC_ALLOW, _NEW_LISTENER = 1, 4, 8

_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_ASK = 0x7FC00000
_ALLOW = 0x7FFF0000

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

_AF_UNIX = 1
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPE_MASK = 1, 5, 0xF
_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020000  # every kind of namespace

_Instruction = tuple[int, int, int, int]


def missing() -> str | None:
    """Why this system has no filter; None if it has."""
    machine = platform.machine()
    if machine not in syscalls.MACHINES:
        return f"no list of system calls for {machine}"
    action = ctypes.c_uint32(_KILL_PROCESS)
    if _libc().syscall(_SECCOMP[machine], _GET_ACTION_AVAIL, 0, ctypes.byref(action)) != 0:
        return f"seccomp filters ({os.strerror(ctypes.get_errno())})"
    return None


@dataclass(frozen=True, slots=True)
class Leave:
    """Differences between workers. `signals_scoped`: Landlock already confines signals; else only signals to itself pass."""

    start_processes: bool
    connect: bool
    make_memory_files: bool
    signals_scoped: bool


def install(leave: Leave) -> int | None:
    """Needs no_new_privs and a single thread. Returns a descriptor for requests to set a thread's cores (`affinity`).

    None if the system does not notify, for example under a container's filter: a thread may then set its own cores, by the
    number 0, and no other's.
    """
    try:
        return _install(_program(leave, other_threads=_ASK), _NEW_LISTENER | _SPEC_ALLOW)
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.EINVAL}:
            raise
    _install(_program(leave, other_threads=_ERRNO | errno.EPERM), _TSYNC | _SPEC_ALLOW)
    return None


def _install(program: Sequence[_Instruction], flags: int) -> int:
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    given = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    found = int(_libc().syscall(_SECCOMP[platform.machine()], _SET_MODE_FILTER, flags, ctypes.c_char_p(given)))
    if found < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return found


def _program(leave: Leave, *, other_threads: int) -> list[_Instruction]:
    refused = [syscalls.OTHER_PROCESSES, syscalls.FILE_ATTRIBUTES, syscalls.SHARED_OBJECTS, syscalls.SYSTEM, syscalls.TRUNCATE]
    if not leave.start_processes:
        refused.append(syscalls.PROCESSES)
    if not leave.make_memory_files:
        refused.append(syscalls.MEMORY_FILES)
    if not leave.signals_scoped:
        refused.append(syscalls.SIGNALS_BY_THREAD)
    machine = syscalls.MACHINES.index(platform.machine())
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, syscalls.AUDIT_ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL_PROCESS),  # 32-bit code has other numbers
        (_LOAD, 0, 0, _NUMBER_AT),
        (_GREATER, 0, 1, syscalls.NEWEST_KNOWN),  # x32's numbers are far above
        _refuse(errno.ENOSYS),
    ]
    for numbers, code in (
        (syscalls.ABSENT, errno.ENOSYS),
        *(() if leave.connect else ((syscalls.NETWORK, errno.ENOENT),)),  # what can be connected then: `_only_local_streams`
        *((n, errno.EPERM) for n in refused),
    ):
        program += [step for number in _of(machine, numbers) for step in ((_EQUAL, 0, 1, number), _refuse(code))]
    looked_into: list[tuple[Numbers, list[_Instruction]]] = [
        (syscalls.SOCKETS, _only_local_streams()),
        (syscalls.LIMITS, _argument_is(0, 0)),  # 0 is the caller; another number may be the tuner's
        (syscalls.CLONE, _only_inside(leave.start_processes)),
        (syscalls.CORES, _argument_is(0, 0, otherwise=other_threads)),
        (syscalls.FCNTL, _argument_is_none_of(1, syscalls.FCNTL_REFUSED.values())),
    ]
    if not leave.signals_scoped:
        looked_into.append((syscalls.SIGNALS, _argument_is(0, os.getpid())))
        looked_into.append((syscalls.IOCTL, _argument_is_none_of(1, syscalls.IOCTL_REFUSED.values())))
    program += [step for numbers, body in looked_into for number in _of(machine, numbers) for step in _when(number, body)]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _of(machine: int, numbers: Numbers) -> list[int]:
    return [number for pair in numbers.values() if (number := pair[machine]) is not None]


def _when(number: int, body: Sequence[_Instruction]) -> list[_Instruction]:
    """`body` ends in a return on every path, because it overwrites the number that the next comparison needs."""
    return [(_EQUAL, 0, len(body), number), *body]


def _refuse(code: int) -> _Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


def _load_argument(index: int) -> _Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * index)  # the low half: both machines are little-endian


def _argument_is(index: int, value: int, otherwise: int = _ERRNO | errno.EPERM) -> list[_Instruction]:
    return [_load_argument(index), (_EQUAL, 1, 0, value), (_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, _ALLOW)]


def _argument_is_none_of(index: int, values: Iterable[int]) -> list[_Instruction]:
    refused = [step for value in values for step in ((_EQUAL, 0, 1, value), _refuse(errno.EPERM))]
    return [_load_argument(index), *refused, (_RETURN, 0, 0, _ALLOW)]


def _only_local_streams() -> list[_Instruction]:
    """Connected pairs inside the worker, as drivers make them. A datagram socket could send anywhere without `connect`."""
    return [
        _load_argument(0),
        (_EQUAL, 0, 4, _AF_UNIX),
        _load_argument(1),
        (_AND, 0, 0, _SOCK_TYPE_MASK),
        (_EQUAL, 2, 0, _SOCK_STREAM),
        (_EQUAL, 1, 0, _SOCK_SEQPACKET),
        _refuse(errno.EACCES),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _only_inside(may_start_processes: bool) -> list[_Instruction]:
    """No new namespaces; threads always, processes where allowed."""
    allow = (_RETURN, 0, 0, _ALLOW)
    namespaces = [_load_argument(0), (_ANY_BIT, 0, 1, _CLONE_NEW), _refuse(errno.EPERM)]
    return [*namespaces, *([] if may_start_processes else [(_ANY_BIT, 1, 0, _CLONE_THREAD), _refuse(errno.EPERM)]), allow]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
