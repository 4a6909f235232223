"""What a kernel tells the compiler to rely on: `__builtin_assume`, `__builtin_assume_aligned`, `__builtin_unreachable`.

Where it does not hold, any code is right: one compiler makes nothing of it, and another leaves out a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from warpsmith.devices.cpu.ir.function import Instruction

_ASSUME = "llvm.assume"
_CONDITION = re.compile(r"@llvm\.assume\(i1 (?:noundef )?(?P<holds>[^ ,()]+)\)")
_ALIGNED = re.compile(
    r'"align"\((?P<pointer>ptr(?: addrspace\(\d+\))? [^ ,()]+), i64 (?P<alignment>\d+)(?:, i64 (?P<offset>[^ ,()]+))?\)'
)


def broken(instruction: Instruction, before: Instruction | None, value: Callable[[str], str]) -> str | None:
    """A truth value of the thread: what is assumed here does not hold. `value` names what an operation gives.

    Behind a call is what the call does not return from: a trap, an assertion.
    """
    if instruction.opcode == "unreachable":
        return None if before is not None and before.opcode == "call" else "true"
    if instruction.callee != _ASSUME:
        return None
    if (aligned := _ALIGNED.search(instruction.body)) is not None:
        address = value(f"ptrtoint {aligned['pointer']} to i64")
        if aligned["offset"] is not None:
            address = value(f"sub i64 {address}, {aligned['offset']}")
        rest = value(f"and i64 {address}, {int(aligned['alignment']) - 1}")
        return value(f"icmp ne i64 {rest}, 0")
    told = _CONDITION.search(instruction.body)
    return None if told is None or told["holds"] == "true" else value(f"xor i1 {told['holds']}, true")
