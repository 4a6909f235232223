"""Has a kernel report what it does to memory that threads share: a call before each access, a count of the barriers passed.

In two steps, for what makes a kernel right here (`convergence`) also puts barriers where the kernel has none, and those must not
count: `mark_meetings` comes before, `instrumented` after.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from warpsmith.devices.cpu.convergence import flattened, with_moved_predecessors
from warpsmith.devices.cpu.entry import ENTRY
from warpsmith.devices.cpu.ir.accesses import Access, accesses
from warpsmith.devices.cpu.ir.addresses import size_of
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.loop_exits import part_loop_exits
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.points_to import PointsTo
from warpsmith.devices.cpu.ir.types import leading_type
from warpsmith.devices.cpu.ir.uniformity import is_barrier
from warpsmith.devices.cpu.refusals import users_line
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch

_BLOCK_MET, _WARP_MET = "__warpsmith_block_met", "__warpsmith_warp_met"
_MEETING = re.compile(r"\bcall\b.*@\"?(?:\w*__spirv_(?:ControlBarrier|GroupNonUniform)|_Z\d+(?:intel_)?sub_group_)")
_FENCE = re.compile(r"\bcall\b.*(?:__spirv_MemoryBarrier\w*\((?:\w+ )+1,|atomic_work_item_fence|mem_fence)")
_SHARED_VARIABLE = re.compile(
    rf"^@(?P<name>{NAME}) = .*addrspace\(3\) global (?P<type>.+?) (?:undef|poison|zeroinitializer)(?:,|$)"
)
_POINTER = re.compile(
    r"^ptr(?: addrspace\((?P<space>\d+)\))? (?:(?:align \d+|\w+) )*(?P<value>[%@].+|addrspacecast.+|getelementptr.+)$"
)
_ORDER = re.compile(r" (?:syncscope\(.*|monotonic|acquire|release|seq_cst)$")
_OWN_MEMORY, _CONSTANT_MEMORY, _GENERIC = "0", "2", "4"
_ATOMIC_TYPE = re.compile(r"^(?:atomicrmw|cmpxchg)\b.*?, (?P<type>[\w.]+) ")
_ALIGNMENT = re.compile(r"\balign (\d+)")
_ATOMIC_ACCESS = re.compile(r"^(?:load|store) atomic ")
_FIRST_ARGUMENT = re.compile(rf"\((?P<pointer>ptr addrspace\(\d+\))(?: \w+)*? (?P<value>[%@]{NAME})")
_WORD = 4
_LAST_SITE = (1 << hooks.SITE_BITS) - 1
_SPREAD = 6364136223846793005  # odd, with bits all over: sequences of meetings do not come to the same number by chance


@dataclass(slots=True)
class Watched:
    """A module that is being instrumented, and what is learnt on the way."""

    module: Module
    fenced: bool
    granule: int = 16
    lines: list[int] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)

    def facts(self, arguments: tuple[str, ...]) -> Watch:
        return Watch(self.granule, self.fenced, tuple(self.lines), tuple(self.shared), arguments)


def mark_meetings(module: Module) -> None:
    """Puts a mark after every place where the threads of a block or a warp meet. Changes the module in place."""
    for name, lines in module.functions.items():
        marked: list[str] = []
        for line in lines:
            marked.append(line)
            if _MEETING.search(line):
                of_block = is_barrier(Instruction.parse(line))
                marked.append(f"  call spir_func void @{_BLOCK_MET if of_block else _WARP_MET}()")
        if len(marked) > len(lines):
            module.replace(name, marked)
    module.pieces += [(None, [f"declare spir_func void @{name}()"]) for name in (_BLOCK_MET, _WARP_MET)]


def instrumented(module: Module, kernels: list[str]) -> Watched:
    """The module with all calls in place; the functions that are called come by linking."""
    flat = flattened(module, kernels)
    part_loop_exits(flat, ENTRY)
    function = Function.parse(flat.functions[ENTRY])
    function.hoist_casts_of_allocas()
    watched = Watched(flat, fenced=any(_FENCE.search(line) for lines in flat.functions.values() for line in lines))
    _Instrument(watched, function).run()
    flat.replace(ENTRY, function.lines)
    flat.pieces += [(None, [line]) for line in hooks.DECLARATIONS]
    return watched


class _Instrument:
    def __init__(self, watched: Watched, function: Function) -> None:
        self._watched = watched
        self._function = function
        self._points_to = PointsTo(function, frozenset(re.findall(rf"%{NAME}", function.header)))
        self._variables = [
            "  %watch.who = alloca i64, align 8",
            "  %watch.barriers = alloca i32, align 4",
            "  %watch.steps = alloca i64, align 8",
        ]
        self._code: list[str] = []
        self._names = 0

    def run(self) -> None:
        for block in self._function.blocks.values():
            self._code = []
            for instruction in block.instructions:
                self._rewrite(instruction)
            block.instructions = [*map(Instruction.parse, self._code)]
        self._code = []
        number = self._value(f"call spir_func i64 @{hooks.BLOCK}()")
        self._open(number)
        code = [*map(Instruction.parse, (*self._variables, *self._code))]
        _put_first(self._function, code, leave=None if self._watched.fenced else f"icmp eq i64 {number}, 0")

    def _open(self, number: str) -> None:
        who = self._value(f"call spir_func i64 @{hooks.WHO}(i64 {number})")
        self._code += [
            f"  store i64 {who}, ptr %watch.who, align 8",
            "  store i32 0, ptr %watch.barriers, align 4",
            "  store i64 0, ptr %watch.steps, align 8",
        ]
        for match in (_SHARED_VARIABLE.match(lines[0]) for _, lines in self._watched.module.pieces):
            if match is None or len(self._watched.shared) == hooks.MAX_SHARED:
                continue
            begin = f"ptr addrspace(3) @{match['name']}"
            end = self._value(f"getelementptr {match['type']}, {begin}, i64 1")
            ends = [self._value(f"addrspacecast {place} to ptr addrspace(4)") for place in (begin, f"ptr addrspace(3) {end}")]
            place = len(self._watched.shared)
            self._code.append(
                f"  call spir_func void @{hooks.SHARED}(i32 {place}, ptr addrspace(4) {ends[0]}, ptr addrspace(4) {ends[1]})"
            )
            self._watched.shared.append(match["name"])

    def _rewrite(self, instruction: Instruction) -> None:
        if instruction.callee == _BLOCK_MET:
            self._count("barriers", "i32", "add i32 {}, 1")
        elif instruction.callee == _WARP_MET:
            self._count("steps", "i64", f"mul i64 {{}}, {_SPREAD}", f"add i64 {{}}, {self._names + 1}")
        else:
            for access in accesses(instruction):
                self._report(instruction, access)
            self._code.append(instruction.text)

    def _count(self, variable: str, kind: str, *steps: str) -> None:
        value = self._variable(variable, kind)
        for step in steps:
            value = self._value(step.format(value))
        self._code.append(f"  store {kind} {value}, ptr %watch.{variable}")

    def _report(self, instruction: Instruction, access: Access) -> None:
        pointer = _pointer_of(access)
        width = access.width or _width(instruction, access)
        if pointer is None or pointer[0] in {_OWN_MEMORY, _CONSTANT_MEMORY} or width is None:
            return
        if self._points_to.targets(access.pointer) <= self._points_to.allocas:
            return
        self._watched.granule = min(self._watched.granule, width & -width, *map(int, _ALIGNMENT.findall(instruction.text)))
        is_atomic = access.is_atomic or _ATOMIC_ACCESS.match(instruction.body) is not None
        who, barriers, steps = (self._variable(*v) for v in (("who", "i64"), ("barriers", "i32"), ("steps", "i64")))
        if is_atomic:
            who = self._value(f"or i64 {who}, {hooks.ATOMIC}")
        about = f"i64 {who}, i32 {barriers}, i64 {steps}, i32 {self._site(instruction)}, {self._generic(pointer)}, i32 {width}"
        if access.is_write:
            bytes_ = "ptr addrspace(4) null" if is_atomic else self._bytes(instruction, access, pointer)
            self._code.append(f"  call spir_func void @{hooks.WRITE}({about}, {bytes_})")
        else:
            self._code.append(f"  call spir_func void @{hooks.READ}({about})")

    def _bytes(self, instruction: Instruction, access: Access, pointer: tuple[str, str]) -> str:
        """Where the bytes to be written are: in a variable of our own, or where they are copied from."""
        if access.value is None:
            source = _pointer_of(next(iter(accesses(instruction))))
            # Constant memory has no generic address: what is overwritten tells as well whether threads write alike.
            return self._generic(pointer if source is None or source[0] == _CONSTANT_MEMORY else source)
        value = _stored(access.value)
        spill = f"%watch.spill{len(self._variables)}"
        self._variables.append(f"  {spill} = alloca {leading_type(value)}")
        self._code.append(f"  store {value}, ptr {spill}")
        return self._generic((_OWN_MEMORY, spill))

    def _generic(self, pointer: tuple[str, str]) -> str:
        space, value = pointer
        if space == _GENERIC:
            return f"ptr addrspace(4) {value}"
        kind = "ptr" if space == _OWN_MEMORY else f"ptr addrspace({space})"
        return f"ptr addrspace(4) {self._value(f'addrspacecast {kind} {value} to ptr addrspace(4)')}"

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


def _put_first(function: Function, code: list[Instruction], leave: str | None) -> None:
    """Before everything else; behind it, blocks for which that holds are done: nobody needs their results."""
    entry = function.blocks[function.entry]
    if leave is None:
        entry.instructions = [*code, *entry.instructions]
        return
    own = [i for i in entry.instructions if i.opcode == "alloca"]  # variables stay in the first block
    rest = Block("watch.rest", [i for i in entry.instructions if i.opcode != "alloca"])
    gone = Block("watch.gone", [Instruction.parse("  ret void")])
    parting = [f"  %watch.leave = {leave}", f"  br i1 %watch.leave, label %{gone.label}, label %{rest.label}"]
    entry.instructions = [*own, *code, *map(Instruction.parse, parting)]
    others = {label: block for label, block in function.blocks.items() if block is not entry}
    moved = {label: with_moved_predecessors(block, {entry.label: rest.label}) for label, block in others.items()}
    function.blocks = {entry.label: entry, rest.label: rest, **moved, gone.label: gone}


def _pointer_of(access: Access) -> tuple[str, str] | None:
    """(address space, value)"""
    match = _POINTER.match(_ORDER.sub("", access.pointer))
    if match is None and access.is_atomic and (call := _FIRST_ARGUMENT.search(access.pointer)) is not None:
        match = _POINTER.match(f"{call['pointer']} {call['value']}")
    return None if match is None else (match["space"] or _OWN_MEMORY, match["value"])


def _stored(value: str) -> str:
    return value.removeprefix("store ").removeprefix("volatile ")


def _width(instruction: Instruction, access: Access) -> int | None:
    """Where the analyses do not need it: of constant vectors, of atomic operations."""
    if access.value is not None:
        kind = leading_type(_stored(access.value))
        return size_of(kind) if kind is not None else None
    match = _ATOMIC_TYPE.match(instruction.body)
    if match is not None:
        return size_of(match["type"])
    return _WORD if instruction.opcode == "call" and "tomic" in (instruction.callee or "") else None
