"""Checks a kernel's promises to the compiler: `__builtin_assume`, `__builtin_assume_aligned`, `__builtin_unreachable`.

If one does not hold, any code is valid: one compiler ignores it, another removes a check.
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
    """A per-thread boolean: the assumption does not hold. `value` names an operation's result.

    Code after a call is reached only if the call returns: a trap or a failed assertion does not.
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
