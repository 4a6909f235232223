"""Repairs old warp-synchronous code: reductions over `volatile` shared memory that rely on lockstep lanes.

    volatile float* v = shared;  v[t] += v[t + 16];  v[t] += v[t + 8];  …

Between the loads and the store of such a line, and between lines, hardware kept the lanes in step; here a warp barrier does. It
also tells the device that the kernel uses warps, which then get 32 lanes. The accesses lose `volatile`, which would prevent
vectorisation, and with it lockstep lanes.
"""

from __future__ import annotations

import re

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.points_to import load_pointer, names_in, store_parts

_VOLATILE = re.compile(r"\b(load|store) volatile ")
_BARRIER = "_Z22__spirv_ControlBarrieriii"
IN_STEP = f"  call spir_func void @{_BARRIER}(i32 3, i32 3, i32 264) convergent"


def keep_warps_in_step(module: Module) -> bool:
    """Changes the module in place, if it has shared memory and volatile accesses to more than a thread's own variables."""
    if not module.shared_objects:
        return False
    changed = False
    for name, lines in module.functions.items():
        if any(_VOLATILE.search(line) for line in lines):
            function = Function.parse(lines)
            if _keep_function_in_step(function):
                module.replace(name, function.lines)
                changed = True
    if changed:
        declare_barrier(module)
    return changed


def declare_barrier(module: Module) -> None:
    """Declares IN_STEP's barrier if necessary."""
    if not any(line.startswith("declare") and f"@{_BARRIER}(" in line for _, lines in module.pieces for line in lines):
        module.pieces.append((None, [f"declare spir_func void @{_BARRIER}(i32, i32, i32) convergent"]))


def _keep_function_in_step(function: Function) -> bool:
    own = _own_variables(function)
    changed = False
    for block in function.blocks.values():
        code: list[Instruction] = []
        for instruction in block.instructions:
            if not _VOLATILE.search(instruction.text) or set(names_in(_pointer(instruction))) <= own:
                code.append(instruction)
                continue
            changed = True
            plain = Instruction.parse(_VOLATILE.sub(r"\1 ", instruction.text))
            barrier = Instruction.parse(IN_STEP)
            code += [barrier, plain, barrier] if instruction.opcode == "store" else [plain]
        block.instructions = code
    return changed


def _pointer(instruction: Instruction) -> str:
    return store_parts(instruction)[1] if instruction.opcode == "store" else load_pointer(instruction)


def _own_variables(function: Function) -> set[str]:
    own: set[str] = set()
    for block in function.blocks.values():
        for instruction in block.instructions:
            of_own = (
                instruction.opcode in {"addrspacecast", "getelementptr"}
                and instruction.operands
                and instruction.operands[0] in own
            )
            if instruction.result is not None and (instruction.opcode == "alloca" or of_own):
                own.add(instruction.result)
    return own
