"""Makes unsigned subscripts signed, so that the runtime's vectoriser sees their unit stride.

    a[blockIdx.x * n + i]        the sum is unsigned, for blockIdx is: zext to 64 bits, then getelementptr inbounds

A 32-bit sum may wrap before it is widened. The vectoriser assumes that a sign-extended one does not, and a zero-extended one may:
it then gathers, at a fifth of the speed. Both extensions agree below 2³¹, and an index inside its object is below that as long as
no object has 2³¹ elements, which the device ensures (`MAX_BUFFER_BYTES`).
"""

from __future__ import annotations

import re
from typing import Final

from warpsmith.devices.cpu.ir.module import NAME, Module

MAX_BUFFER_BYTES: Final = (1 << 31) - 1

_WIDENING = re.compile(rf"^(\s+(%{NAME}) = )zext (?:nneg )?i32 ")
_SUBSCRIPT = re.compile(r" = getelementptr inbounds ")
_VALUE = re.compile(rf"%{NAME}")


def sign_subscripts(module: Module) -> None:
    for lines in module.functions.values():
        widened = {match[2]: index for index, line in enumerate(lines) if (match := _WIDENING.match(line))}
        if not widened:
            continue
        kept: set[str] = set()
        for line in lines:
            if not _SUBSCRIPT.search(line):
                kept.update(_VALUE.findall(line.split(" = ", 1)[-1]))
        for name, index in widened.items():
            if name not in kept:
                lines[index] = _WIDENING.sub(r"\1sext i32 ", lines[index])
