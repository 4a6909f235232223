"""Instruments a kernel to report its accesses of memory that threads share: a call before each access, and a count of barriers.

In two steps, because making a kernel safe here (`convergence`) also adds barriers and drops `volatile`: `mark_meetings` comes
before, `instrumented` after.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from warpsmith.devices.base import ParameterType
from warpsmith.devices.cpu.convergence import flattened, with_moved_predecessors
from warpsmith.devices.cpu.entry import ENTRY
from warpsmith.devices.cpu.ir.accesses import Access, accesses
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.loop_exits import part_loop_exits
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.origins import Origins
from warpsmith.devices.cpu.ir.points_to import names_in, operands
from warpsmith.devices.cpu.ir.types import leading_type
from warpsmith.devices.cpu.ir.uniformity import is_barrier
from warpsmith.devices.cpu.refusals import users_line
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.assumptions import broken
from warpsmith.devices.cpu.watch.facts import Watch
from warpsmith.devices.cpu.watch.fills import Fills, type_names
from warpsmith.devices.cpu.watch.operand_texts import (
    CONSTANT_MEMORY,
    GENERIC,
    OWN_MEMORY,
    alignment_of,
    led_to,
    pointer_of,
    stored,
    typed,
    width_of,
)
from warpsmith.devices.cpu.watch.own_arrays import OwnArrays

_BLOCK_MET, _WARP_MET = "__warpsmith_block_met", "__warpsmith_warp_met"
_MEETING = re.compile(r"\bcall\b.*@\"?(?:\w*__spirv_(?:ControlBarrier|GroupNonUniform)|_Z\d+(?:intel_)?sub_group_)")
_FENCE = re.compile(r"\bcall\b.*(?:__spirv_MemoryBarrier\w*\((?:\w+ )+1,|atomic_work_item_fence|mem_fence)")
_VOLATILE = re.compile(r"^\s*(?:%\S+ = )?(?:load|store) (?:atomic )?volatile ")
_WAS_VOLATILE = "!warpsmith.volatile"
# An order that the operation itself has: of an instruction, of OpenCL's functions (3 to 5 release, and are the default).
_RELEASE = re.compile(
    r"^(?:atomicrmw|cmpxchg|store atomic)\b.* (?:release|acq_rel|seq_cst)\b"
    r"|\bcall\b.*@_Z\d+atomic_(?:fetch_|store|exchange|compare_exchange|flag)(?:(?!explicit)\w)*\("
    r"|\bcall\b.*@_Z\d+atomic_\w*explicit\w*\(.*i32 (?:noundef )?[345]\b"
)
_SHARED_VARIABLE = re.compile(
    rf"^@(?P<name>{NAME}) = .*addrspace\(3\) global (?P<type>.+?) (?:undef|poison|zeroinitializer)(?:,|$)"
)
_KEPT_VARIABLE = re.compile(rf"^@(?!__warpsmith){NAME} = .*addrspace\(1\) (?:externally_initialized )?global ")
_ALIGNMENT = re.compile(r"\balign (\d+)")
_ATOMIC_ACCESS = re.compile(r"^(?:load|store) atomic ")
_GROUP, _GROUPS = "_Z12get_group_idj", "_Z14get_num_groupsj"
_LAST_SITE = (1 << hooks.SITE_BITS) - 1
_SPREAD = 6364136223846793005  # odd, with bits all over: sequences of meetings do not come to the same number by chance


@dataclass(slots=True)
class Watched:
    """A module that is being instrumented, and the data collected."""

    module: Module
    keeps_state: bool
    granule: int = 16
    is_ordering: bool = False
    lines: list[int] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    variables: tuple[str, ...] = ()
    assumptions: list[int] = field(default_factory=list)

    def facts(self, parameters: Sequence[ParameterType]) -> Watch:
        return Watch(
            self.granule,
            self.is_ordering,
            self.keeps_state,
            tuple(self.lines),
            tuple(self.shared),
            self.variables,
            arguments=tuple(p.name for p in parameters),
            sizes=tuple(p.dtype.itemsize for p in parameters),
            written=tuple(i for i, p in enumerate(parameters) if p.is_pointer and p.is_written),
            outputs=tuple(i for i, p in enumerate(parameters) if p.is_pointer and not p.is_initialised),
            assumptions=tuple(self.assumptions),
        )


def mark_meetings(module: Module) -> None:
    """Marks every point where the threads of a block or a warp meet, and volatile accesses. In place."""
    for name, lines in module.functions.items():
        marked: list[str] = []
        for line in lines:
            marked.append(f"{line}, {_WAS_VOLATILE} !{{}}" if _VOLATILE.match(line) else line)
            if _MEETING.search(line):
                of_block = is_barrier(Instruction.parse(line))
                marked.append(f"  call spir_func void @{_BLOCK_MET if of_block else _WARP_MET}()")
        if marked != lines:
            module.replace(name, marked)
    module.pieces += [(None, [f"declare spir_func void @{name}()"]) for name in (_BLOCK_MET, _WARP_MET)]


def instrumented(module: Module, kernels: list[str]) -> Watched:
    """The module with all calls in place; the called functions are linked in."""
    flat = flattened(module, kernels)
    part_loop_exits(flat, ENTRY)
    function = Function.parse(flat.functions[ENTRY])
    function.hoist_casts_of_allocas()
    watched = Watched(flat, keeps_state=any(_KEPT_VARIABLE.match(lines[0]) for _, lines in flat.pieces))
    _Instrument(watched, function).run()
    flat.replace(ENTRY, function.lines)
    flat.pieces += [(None, [line]) for line in hooks.DECLARATIONS]
    return watched


class _Instrument:
    def __init__(self, watched: Watched, function: Function) -> None:
        self._watched = watched
        self._function = function
        parameters = _parameters(function.header)
        self._origins = Origins(function, parameters)
        self._types = type_names(watched.module)
        self._own_arrays = OwnArrays(function, self._origins, self._types)
        matches = (_SHARED_VARIABLE.match(lines[0]) for _, lines in watched.module.pieces)
        self._shared = [match for match in matches if match is not None][: hooks.MAX_SHARED]
        watched.shared += [match["name"] for match in self._shared]
        # Address ranges by object: shared memory variables first, then the arguments.
        self._places = {f"@{match['name']}": place for place, match in enumerate(self._shared)}
        self._places |= {name: hooks.MAX_SHARED + i for i, name in enumerate(parameters)}
        self._places = {name: place for name, place in self._places.items() if place < hooks.MAX_RANGES}
        self._variables = [
            "  %watch.who = alloca i64, align 8",
            "  %watch.progress = alloca i32, align 4",
            "  %watch.steps = alloca i64, align 8",
            "  %watch.own = alloca i32, align 4",
        ]
        self._code: list[str] = []
        self._names = 0

    def run(self) -> None:
        allocas = list(self._origins.allocas.values())
        for block in self._function.blocks.values():
            self._code = []
            for before, instruction in zip((None, *block.instructions), block.instructions, strict=False):
                self._rewrite(instruction, before)
            block.instructions = [*map(Instruction.parse, self._code)]
        self._code = []
        leave = [] if self._watched.is_ordering else self._nobody_watches()
        asking = [*self._variables, *self._code, *leave]
        self._code = []
        self._open()
        fills = Fills(self._types, self._code, self._value)
        fills.fill(allocas)
        self._watched.variables = tuple(fills.names)
        _put_first(self._function, [*map(Instruction.parse, asking)], [*map(Instruction.parse, self._code)], leaves=bool(leave))

    def _nobody_watches(self) -> list[str]:
        """%watch.leave, without a hook call: the runtime then sees that all threads of a block agree, and skips the rest."""
        pieces = self._watched.module.pieces
        pieces.append((None, [f"@{hooks.STATE} = external addrspace(1) global [{hooks.BLOCKS_AT + hooks.MAX_BLOCKS} x i64]"]))
        for name in (_GROUP, _GROUPS):
            if not any(line.startswith("declare") and f"@{name}(" in line for _, lines in pieces for line in lines):
                pieces.append((None, [f"declare spir_func i64 @{name}(i32)"]))
        x, y, z, in_x, in_y = (
            self._value(f"call spir_func i64 @{name}(i32 {axis})")
            for name, axis in ((_GROUP, 0), (_GROUP, 1), (_GROUP, 2), (_GROUPS, 0), (_GROUPS, 1))
        )
        row = self._value(f"add i64 {y}, {self._value(f'mul i64 {in_y}, {z}')}")
        block = self._value(f"add i64 {x}, {self._value(f'mul i64 {in_x}, {row}')}")
        found = "false"
        for place in range(hooks.BLOCKS_AT, hooks.BLOCKS_AT + hooks.MAX_BLOCKS):
            listed = self._value(f"load i64, ptr addrspace(1) getelementptr (i64, ptr addrspace(1) @{hooks.STATE}, i64 {place})")
            found = self._value(f"or i1 {found}, {self._value(f'icmp eq i64 {listed}, {block}')}")
        return [f"  %watch.leave = xor i1 {found}, true"]

    def _open(self) -> None:
        number = self._value(f"call spir_func i64 @{hooks.BLOCK}()")
        if self._watched.is_ordering:
            self._code.append(f"  call spir_func void @{hooks.ENTER}(i64 {number})")
        who = self._value(f"call spir_func i64 @{hooks.WHO}(i64 {number})")
        self._code += [
            f"  store i64 {who}, ptr %watch.who, align 8",
            "  store i32 0, ptr %watch.progress, align 4",
            "  store i64 0, ptr %watch.steps, align 8",
            "  store i32 0, ptr %watch.own, align 4",
        ]
        for place, match in enumerate(self._shared):
            begin = f"ptr addrspace(3) @{match['name']}"
            end = self._value(f"getelementptr {match['type']}, {begin}, i64 1")
            ends = [self._value(f"addrspacecast {at} to ptr addrspace(4)") for at in (begin, f"ptr addrspace(3) {end}")]
            self._code.append(
                f"  call spir_func void @{hooks.SHARED}(i32 {place}, ptr addrspace(4) {ends[0]}, ptr addrspace(4) {ends[1]})"
            )

    def _rewrite(self, instruction: Instruction, before: Instruction | None) -> None:
        if instruction.callee == _BLOCK_MET:
            self._count("progress", "i32", "add i32 {}, 1")
            return
        if instruction.callee == _WARP_MET:
            self._count("steps", "i64", f"mul i64 {{}}, {_SPREAD}", f"add i64 {{}}, {self._names + 1}")
            return
        if _FENCE.search(instruction.text) or _RELEASE.search(instruction.body):
            self._fence()
        for access in accesses(instruction):
            instruction = self._report(instruction, access)
        if (is_broken := broken(instruction, before, self._value)) is not None:
            self._note_own(instruction, is_broken)
            self._watched.assumptions.append(len(self._watched.lines))
            if instruction.opcode != "unreachable":
                return  # or the runtime relies on it
            instruction = Instruction.parse("  ret void")
        if instruction.opcode == "ret":
            who, own = self._variable("who", "i64"), self._variable("own", "i32")
            self._code.append(f"  call spir_func void @{hooks.OWN}(i64 {who}, i32 {own})")
        self._code.append(instruction.text)

    def _fence(self) -> None:
        self._watched.is_ordering = True
        who, progress = self._variable("who", "i64"), self._variable("progress", "i32")
        passed = self._value(f"call spir_func i32 @{hooks.FENCE}(i64 {who}, i32 {progress})")
        self._code.append(f"  store i32 {passed}, ptr %watch.progress")

    def _count(self, variable: str, kind: str, *steps: str) -> None:
        value = self._variable(variable, kind)
        for step in steps:
            value = self._value(step.format(value))
        self._code.append(f"  store {kind} {value}, ptr %watch.{variable}")

    def _report(self, instruction: Instruction, access: Access) -> Instruction:
        """The instrumented instruction: its accesses go where the hooks say."""
        pointer = pointer_of(access)
        width = access.width or width_of(instruction, access)
        if pointer is None or pointer[0] == OWN_MEMORY or width is None:
            return instruction
        origins = self._origins.of(pointer[1])
        if origins <= self._origins.allocas.keys():
            self._check_own(instruction, pointer[1])
            return instruction
        place = self._place(origins)
        if pointer[0] == CONSTANT_MEMORY and place == hooks.UNKNOWN_PLACE:
            return instruction
        self._watched.granule = min(self._watched.granule, width & -width, *map(int, _ALIGNMENT.findall(instruction.text)))
        address = self._value(f"ptrtoint {typed(pointer)} to i64")
        size = min(width, hooks.MOST_BYTES) | (alignment_of(instruction, access).bit_length() - 1) << hooks.ALIGNMENT_AT
        who = self._who(instruction, access, origins)
        about = f"{who}, i32 {self._site(instruction)}, i64 {address}, i32 {size}, i32 {place}"
        if access.is_write:
            is_atomic = access.is_atomic or _ATOMIC_ACCESS.match(instruction.body) is not None
            bytes_ = "ptr addrspace(4) null" if is_atomic else self._bytes(instruction, access, pointer)
            safe = self._value(f"call spir_func i64 @{hooks.WRITE}({about}, {bytes_})")
        else:
            safe = self._value(f"call spir_func i64 @{hooks.READ}({about})")
        if place == hooks.UNKNOWN_PLACE:
            return instruction
        kind = typed((pointer[0], "")).strip()
        return led_to(instruction, access, pointer[1], self._value(f"inttoptr i64 {safe} to {kind}"))

    def _check_own(self, instruction: Instruction, pointer: str) -> None:
        bound = self._own_arrays.bound(pointer)
        if bound is None:
            return
        kind, index, length = bound
        self._note_own(instruction, self._value(f"icmp uge {kind} {index}, {length}"))

    def _note_own(self, instruction: Instruction, outside: str) -> None:
        before = self._variable("own", "i32")
        self._code.append(
            f"  store i32 {self._value(f'select i1 {outside}, i32 {self._site(instruction)}, i32 {before}')}, ptr %watch.own"
        )

    def _who(self, instruction: Instruction, access: Access, origins: frozenset[str]) -> str:
        """The thread and its history: the first arguments of every report."""
        who, progress, steps = (self._variable(*v) for v in (("who", "i64"), ("progress", "i32"), ("steps", "i64")))
        is_atomic = access.is_atomic or _ATOMIC_ACCESS.match(instruction.body) is not None
        flags = (hooks.ATOMIC if is_atomic else 0) | (hooks.VOLATILE if _WAS_VOLATILE in instruction.text else 0)
        if flags:
            who = self._value(f"or i64 {who}, {flags}")
            # Such an operation may tell a block that it is the last one: the others have to run, too.
            self._watched.is_ordering |= not all(origin[0] == "@" and origin in self._places for origin in origins)
        return f"i64 {who}, i32 {progress}, i64 {steps}"

    def _place(self, origins: frozenset[str]) -> int:
        places = {self._places.get(origin, hooks.UNKNOWN_PLACE) for origin in origins}
        if hooks.UNKNOWN_PLACE in places:
            return hooks.UNKNOWN_PLACE
        return places.pop() if len(places) == 1 else hooks.ANY_PLACE

    def _bytes(self, instruction: Instruction, access: Access, pointer: tuple[str, str]) -> str:
        """Location of the bytes to write: a spill variable, or the source of a copy."""
        if access.value is None:
            source = pointer_of(next(iter(accesses(instruction))))
            # Constant memory has no generic address: the overwritten bytes show as well whether threads write the same.
            return self._generic(pointer if source is None or source[0] == CONSTANT_MEMORY else source)
        value = stored(access.value)
        spill = f"%watch.spill{len(self._variables)}"
        self._variables.append(f"  {spill} = alloca {leading_type(value)}")
        self._code.append(f"  store {value}, ptr {spill}")
        return self._generic((OWN_MEMORY, spill))

    def _generic(self, pointer: tuple[str, str]) -> str:
        if pointer[0] == GENERIC:
            return typed(pointer)
        return f"ptr addrspace(4) {self._value(f'addrspacecast {typed(pointer)} to ptr addrspace(4)')}"

    def _site(self, instruction: Instruction) -> int:
        place = users_line(self._watched.module, instruction.text)
        self._watched.lines.append(place.line if place is not None else 0)
        return min(len(self._watched.lines), _LAST_SITE)

    def _variable(self, name: str, kind: str) -> str:
        return self._value(f"load {kind}, ptr %watch.{name}")

    def _value(self, text: str) -> str:
        self._names += 1
        self._code.append(f"  %watch.v{self._names} = {text}")
        return f"%watch.v{self._names}"


def _put_first(function: Function, asking: list[Instruction], opening: list[Instruction], *, leaves: bool) -> None:
    """Inserted before everything else. If blocks may leave, unwatched ones do so at once: their results are not needed."""
    entry = function.blocks[function.entry]
    own = [i for i in entry.instructions if i.opcode == "alloca"]  # variables stay in the first block
    others = [i for i in entry.instructions if i.opcode != "alloca"]
    if not leaves:
        entry.instructions = [*own, *asking, *opening, *others]
        return
    rest = Block("watch.rest", [*opening, *others])
    gone = Block("watch.gone", [Instruction.parse("  ret void")])
    parting = Instruction.parse(f"  br i1 %watch.leave, label %{gone.label}, label %{rest.label}")
    entry.instructions = [*own, *asking, parting]
    blocks = {label: block for label, block in function.blocks.items() if block is not entry}
    moved = {label: with_moved_predecessors(block, {entry.label: rest.label}) for label, block in blocks.items()}
    function.blocks = {entry.label: entry, rest.label: rest, **moved, gone.label: gone}


def _parameters(header: str) -> list[str]:
    opening = header.index("(", header.index(f"@{ENTRY}"))
    found = operands(
        header[opening + 1 : header.rindex(")")] if ") #" not in header else header[opening + 1 : header.rindex(") #")]
    )
    return [names[-1] for names in map(names_in, found) if names]
