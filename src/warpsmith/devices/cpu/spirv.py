"""Reads and patches SPIR-V words: whether warp operations are used, and the sub-group size they need.

CUDA's warps have 32 lanes. The runtime picks its own sub-group width unless the module asks for one, so a module with warp
operations gets `OpExecutionMode entry SubgroupSize 32`. Others are left alone: the runtime's own choice vectorises better.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

WARP_SIZE: Final = 32

_MAGIC: Final = 0x07230203
_HEADER_WORDS: Final = 5
# OpSourceContinued, OpName, OpMemberName, OpString, OpLine, OpNoLine, OpModuleProcessed
_DEBUG_OPS: Final = frozenset({2, 5, 6, 7, 8, 317, 330})
_OP_ENTRY_POINT: Final = 15
_OP_EXECUTION_MODE: Final = 16
_OP_CAPABILITY: Final = 17
_OP_CONSTANT: Final = 43
_OP_DECORATE: Final = 71
_OP_CONTROL_BARRIER: Final = 224
_SCOPE_SUBGROUP: Final = 3
_DECORATION_BUILTIN: Final = 11
_CAPABILITY_SUBGROUP_DISPATCH: Final = 58
_MODE_SUBGROUP_SIZE: Final = 35
# SubgroupSize, SubgroupMaxSize, NumSubgroups, NumEnqueuedSubgroups, SubgroupId, SubgroupLocalInvocationId
_SUBGROUP_BUILTINS: Final = frozenset(range(36, 42))
_SUBGROUP_MASK_BUILTINS: Final = frozenset(range(4416, 4421))
# OpGroupNonUniform*, OpSubgroup*KHR, OpGroupNonUniformRotateKHR, OpSubgroup*INTEL
_SUBGROUP_OPS: Final = frozenset((*range(333, 367), *range(4421, 4433), *range(5571, 5581)))


def words_of(module: bytes) -> tuple[int, ...]:
    words = struct.unpack(f"<{len(module) // 4}I", module)
    if not words or words[0] != _MAGIC:
        raise ValueError(f"not a SPIR-V module: starts with {module[:4].hex()}")
    return words


def instructions(words: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(opcode, all words of the instruction), in order."""
    position = _HEADER_WORDS
    while position < len(words):
        length = words[position] >> 16
        yield words[position] & 0xFFFF, words[position : position + length]
        position += length


def uses_warp_operations(module: bytes) -> bool:
    """Whether anything in the module depends on the grouping of threads into warps."""
    constants: dict[int, int] = {}
    for opcode, instruction in instructions(words_of(module)):
        if opcode in _SUBGROUP_OPS:
            return True
        if opcode == _OP_DECORATE and instruction[2] == _DECORATION_BUILTIN and _is_subgroup_builtin(instruction[3]):
            return True
        if opcode == _OP_CONSTANT:
            constants[instruction[2]] = instruction[3]
        if opcode == _OP_CONTROL_BARRIER and constants.get(instruction[1]) == _SCOPE_SUBGROUP:
            return True
    return False


def _is_subgroup_builtin(builtin: int) -> bool:
    return builtin in _SUBGROUP_BUILTINS or builtin in _SUBGROUP_MASK_BUILTINS


def without_names(module: bytes) -> bytes:
    """The module without debug information: sources that differ in names, comments or lines become the same module."""
    words = words_of(module)
    kept = list(words[:_HEADER_WORDS])
    for opcode, instruction in instructions(words):
        if opcode not in _DEBUG_OPS:
            kept += instruction
    return struct.pack(f"<{len(kept)}I", *kept)


def with_warp_size(module: bytes, entry: str, size: int = WARP_SIZE) -> bytes:
    """The module with the sub-group size of `entry` fixed."""
    words = words_of(module)
    patched = list(words[:_HEADER_WORDS])
    entry_id = _entry_id(words, entry)
    capability_done = mode_done = seen_entry = False
    for opcode, instruction in instructions(words):
        if opcode != _OP_CAPABILITY and not capability_done:
            patched += [2 << 16 | _OP_CAPABILITY, _CAPABILITY_SUBGROUP_DISPATCH]
            capability_done = True
        if opcode != _OP_ENTRY_POINT and seen_entry and not mode_done:
            patched += [4 << 16 | _OP_EXECUTION_MODE, entry_id, _MODE_SUBGROUP_SIZE, size]
            mode_done = True
        seen_entry |= opcode == _OP_ENTRY_POINT
        patched += instruction
    return struct.pack(f"<{len(patched)}I", *patched)


def _entry_id(words: tuple[int, ...], entry: str) -> int:
    for opcode, instruction in instructions(words):
        if opcode == _OP_ENTRY_POINT and _string(instruction[3:]) == entry:
            return instruction[2]
    raise ValueError(f"the module has no entry point {entry!r}")


def _string(words: tuple[int, ...]) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0", 1)[0].decode()
