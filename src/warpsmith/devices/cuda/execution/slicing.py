"""Backward slice of a kernel: the values that control flow and addresses depend on. Only these have to be computed.

Starting from addresses, branches and guards, an instruction is needed if its result is. The results of a matrix multiplication
are not; its row indices are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.kinds import is_access, is_atomic, is_load, is_store, space
from warpsmith.devices.cuda.execution.operand import PREDICATES, PT, REGISTERS, RZ, UNIFORM_PREDICATES, URZ, Form, Operand

_NO_RESULT = frozenset(
    [
        "STG",
        "STS",
        "STL",
        "ST",
        "RED",
        "BRA",
        "BRX",
        "JMP",
        "EXIT",
        "BSSY",
        "BSYNC",
        "BAR",
        "MEMBAR",
        "NOP",
        "WARPSYNC",
        "ENDCOLLECTIVE",
        "CGAERRBAR",
        "CCTLL",
        "BREAK",
        "CALL",
        "RET",
        "DEPBAR",
        "LDGDEPBAR",
        "ERRBAR",
        "YIELD",
        "LDGSTS",
        "CCTL",
        "NANOSLEEP",
        "BMOV",
        "R2B",
        "KILL",
        "BPT",
        "PMTRIG",
    ]
)
_TWO_PREDICATES = frozenset(["ISETP", "FSETP", "DSETP", "HSETP2", "UISETP", "PLOP3", "UPLOP3", "PSETP", "CSETP"])
_CARRIES = frozenset(["IADD3", "LEA", "IMAD", "UIADD3", "ULEA", "UIMAD", "LOP3", "ULOP3", "VOTE", "VOTEU", "IADD"])
_NEAR = 64  # instructions between a division's check and its branch, at most
_STACK = 1  # the register that points to the stack
_MOST_WORDS = 1 << 12
_SLOTS = REGISTERS + PREDICATES  # the bits of local memory's words
_BRANCHES = frozenset(["BRA", "BRX", "JMP", "EXIT", "BREAK", "CALL", "RET", "KILL"])
_DOUBLE = frozenset(["DADD", "DMUL", "DFMA", "DMNMX"])


def results(instruction: Instruction) -> tuple[tuple[Operand, ...], int]:
    """Destination operands, and their number."""
    if instruction.name in _NO_RESULT:
        return (), 0
    operands = instruction.operands
    if instruction.name in _TWO_PREDICATES:
        return operands[:2], 2
    if instruction.name in {"R2P", "R2UP"}:
        return (), 1
    count = 0
    while count < len(operands) and operands[count].form is Form.PREDICATE:
        count += 1
    if count < len(operands) and operands[count].form is Form.REGISTER and instruction.name != "FCHK":
        count += 1
        if instruction.name in _CARRIES:
            while count < len(operands) and operands[count].form is Form.PREDICATE:
                count += 1
    return operands[:count], count


def result_registers(instruction: Instruction) -> int:
    """Number of consecutive registers that it writes."""
    name, modifiers = instruction.name, instruction.modifiers
    if is_load(name) or name in {"LDC", "ULDC"} or is_atomic(name):
        return max(1, instruction.access_bytes // 4)
    if (name in {"IMAD", "UIMAD"} and "WIDE" in modifiers) or name in _DOUBLE:
        return 2
    if name == "CS2R":
        return 1 if "32" in modifiers else 2
    if name in {"I2F", "F2I", "F2F", "FRND"} and modifiers and _to_wide(name, modifiers):
        return 2
    return 1


def _to_wide(name: str, modifiers: Sequence[str]) -> bool:
    first = modifiers[0]
    return first in {"F64", "S64", "U64"} and not (name == "F2I" and first == "F64")


@dataclass(frozen=True, slots=True)
class Effect:
    """Registers and predicates as bits of a number: those read, those written, and those read only for an address."""

    reads: int
    writes: int
    address: int


def effect(instruction: Instruction, has_slots: bool) -> Effect:
    """`has_slots`: local memory is addressed only through the stack pointer, so its words can be treated as registers."""
    written, count = results(instruction)
    slot = _slot(instruction) if has_slots and space(instruction.name) == "local" else 0
    writes = slot if is_store(instruction.name) else 0
    for operand in written:
        writes |= _bits(operand, result_registers(instruction) if operand.form is Form.REGISTER else 1)
    if instruction.name == "R2P":
        writes = ((1 << PT) - 1) << REGISTERS
    reads, address = _bits(instruction.guard, 1) if instruction.guard else 0, 0
    if slot and is_load(instruction.name):
        reads |= slot
    for place, operand in enumerate(instruction.operands[count:], count):
        if operand.form is Form.ADDRESS:
            address |= _address_bits(operand)
        elif operand.form is Form.CONSTANT:
            address |= _bits(Operand(Form.REGISTER, operand.index), 1)
        else:
            reads |= _bits(operand, _source_registers(instruction, place, count))
    if instruction.name == "FCHK":  # taken as the rule: a division that needs no slow way
        reads = 0
    if instruction.name == "P2R":
        reads |= ((1 << PT) - 1) << REGISTERS
    return Effect(reads | address, writes, address)


def _slot(instruction: Instruction) -> int:
    address = instruction.address
    assert address is not None
    words = max(1, instruction.access_bytes // 4)
    return ((1 << words) - 1) << (_SLOTS + address.value // 4 + _MOST_WORDS)


def _reaches_by_stack(instructions: Sequence[Instruction]) -> bool:
    addresses = [i.address for i in instructions if is_access(i.name) and space(i.name) == "local"]
    return all(a is not None and a.index == _STACK and a.uniform == URZ and abs(a.value) < 4 * _MOST_WORDS for a in addresses)


def _source_registers(instruction: Instruction, place: int, count: int) -> int:
    name, modifiers = instruction.name, instruction.modifiers
    if is_store(name) or is_atomic(name):
        return max(1, instruction.access_bytes // 4) * (2 if "CAS" in modifiers else 1)
    if name in {"IMAD", "UIMAD"} and ("WIDE" in modifiers or "HI" in modifiers) and place == count + 2:
        return 2
    if (
        name in _DOUBLE
        or name == "DSETP"
        or name in {"RET", "BRX", "JMP"}
        or (name == "I2F" and modifiers[-1:] in (("S64",), ("U64",)))
    ):
        return 2
    if name in {"F2I", "F2F"} and "F64" in modifiers and modifiers[0] != "F64":
        return 2
    return 1


def _address_bits(operand: Operand) -> int:
    bits = _bits(Operand(Form.REGISTER, operand.index), 2 if operand.wide else 1)
    return bits | _bits(Operand(Form.REGISTER, operand.uniform), 2 if operand.wide_uniform else 1)


def _bits(operand: Operand, width: int) -> int:
    if operand.form is Form.PREDICATE:
        fixed = operand.index % UNIFORM_PREDICATES == PT
        return 0 if fixed else 1 << (REGISTERS + operand.index)
    if operand.form is not Form.REGISTER or operand.index in {RZ, URZ}:
        return 0
    return ((1 << width) - 1) << operand.index


@dataclass(frozen=True, slots=True)
class Slice:
    """`needed` instructions are computed, the others only counted. `live` are the registers and predicates needed before each.

    `spaces` are the memories whose contents count.
    """

    needed: tuple[bool, ...]
    live: tuple[int, ...]
    spaces: frozenset[str]


def sliced(instructions: Sequence[Instruction]) -> Slice:
    has_slots = _reaches_by_stack(instructions)
    effects = tuple(effect(instruction, has_slots) for instruction in instructions)
    returns = tuple(place + 1 for place, instruction in enumerate(instructions) if instruction.name == "CALL")
    following = [_following(place, instructions, returns) for place in range(len(instructions))]
    reached = _reached(following)
    spaces: set[str] = set()
    while True:
        needed, live = _pass(instructions, effects, following, reached, frozenset(spaces))
        more = {
            space(instruction.name)
            for place, instruction in enumerate(instructions)
            if needed[place] and (is_load(instruction.name) or is_atomic(instruction.name))
        } - ({"local"} if has_slots else set())
        if more <= spaces:
            return Slice(tuple(needed), tuple(map(_all, live)), frozenset(spaces))
        spaces |= more


_Live: TypeAlias = dict[tuple[int, bool] | None, int]
"""Bits by the guard under which they are needed, None for any."""


def _all(live: _Live) -> int:
    found = 0
    for bits in live.values():
        found |= bits
    return found


def _pass(
    instructions: Sequence[Instruction],
    effects: Sequence[Effect],
    following: Sequence[Sequence[int]],
    reached: Sequence[int],
    spaces: frozenset[str],
) -> tuple[list[bool], list[_Live]]:
    count = len(instructions)
    live: list[_Live] = [{}] * count
    needed = [False] * count
    touches = [is_access(i.name) or i.name == "LDC" for i in instructions]
    always = [_always(i, spaces) for i in instructions]
    changed = True
    while changed:
        changed = False
        for place in reached:
            after = _joined([live[other] for other in following[place]])
            made = effects[place]
            is_needed = always[place] or bool(made.writes & _all(after))
            before = after
            if is_needed or touches[place]:
                reads = made.reads if is_needed else made.address
                before = _before(after, instructions[place].guard, reads, made.writes)
            if is_needed != needed[place] or (before is not live[place] and before != live[place]):
                changed = True
            live[place], needed[place] = before, is_needed
    return needed, live


def _joined(found: Sequence[_Live]) -> _Live:
    if len(found) == 1:
        return found[0]
    joined: _Live = {}
    for one in found:
        for guard, bits in one.items():
            joined[guard] = joined.get(guard, 0) | bits
    return joined


def _before(after: _Live, guard: Operand | None, reads: int, writes: int) -> _Live:
    """Under a guard the old value survives only for threads with a different guard."""
    key = None if guard is None or guard.index % UNIFORM_PREDICATES == PT else (guard.index, guard.inverted)
    found = dict(after)
    for other, bits in after.items():
        if key is None or other == key:
            found[other] = bits & ~writes
    for other in [o for o in found if o is not None and writes >> (REGISTERS + o[0]) & 1]:
        found[None] = found.get(None, 0) | found.pop(other)
    found[key] = found.get(key, 0) | reads
    if guard is not None:
        found[None] = found.get(None, 0) | _bits(guard, 1)
    return {guard: bits for guard, bits in found.items() if bits}


def _always(instruction: Instruction, spaces: frozenset[str]) -> bool:
    name = instruction.name
    if name in _BRANCHES:
        return True
    where = "shared" if name == "LDGSTS" else space(name)
    # A value stored to global memory may conflict with other blocks' stores: the machine refuses to load it.
    return (is_store(name) or is_atomic(name) or name == "LDGSTS") and where in spaces - {"global"}


def _reached(following: Sequence[Sequence[int]]) -> list[int]:
    """Reachable instructions, the last first: the slow paths of divisions are unreachable."""
    found, waiting = {0}, [0]
    while waiting:
        new = [place for place in following[waiting.pop()] if place not in found]
        found.update(new)
        waiting += new
    return sorted(found, reverse=True)


def _following(place: int, instructions: Sequence[Instruction], returns: tuple[int, ...]) -> tuple[int, ...]:
    instruction = instructions[place]
    goes = instruction.target
    next_place = (place + 1,) if place + 1 < len(instructions) else ()
    guard = instruction.guard
    always = guard is None or (guard.index % UNIFORM_PREDICATES == PT and not guard.inverted)
    match instruction.name:
        case "BRA" if "DIV" in instruction.modifiers:  # where a warp's threads have parted, which is not looked at
            return next_place
        case "BRA" if goes is not None:
            if guard is not None and _is_checked(place, guard, instructions):
                return (place + goes,) if guard.inverted else next_place
            has_condition = any(o.form is Form.PREDICATE for o in instruction.operands) or len(instruction.operands) > 1
            return (place + goes, *(next_place if has_condition or not always else ()))
        case "CALL" if goes is not None:
            return (place + goes, *next_place)
        case "RET" | "EXIT" | "KILL":
            back = returns if instruction.name == "RET" else ()
            return (*back, *(() if always else next_place))
        case _:
            return next_place


def _is_checked(place: int, guard: Operand, instructions: Sequence[Instruction]) -> bool:
    """Whether the guard is a division's check, which is false."""
    for before in range(place - 1, max(place - _NEAR, -1), -1):
        written, _ = results(instructions[before])
        if any(o.form is Form.PREDICATE and o.index == guard.index for o in written):
            return instructions[before].name == "FCHK"
    return False
