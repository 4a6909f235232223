"""Indices into a thread's own arrays, and their lengths: an out-of-bounds access there is detected by index, without an
address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from warpsmith.devices.cpu.ir.function import Function
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.origins import Origins
from warpsmith.devices.cpu.ir.points_to import operands

_ELEMENT = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*(?=\[)")
_ARRAY = re.compile(r"^\[(\d+) x (.*)\]$")
_NAMED = re.compile(rf"%{NAME}")
_INDEX = re.compile(r"^(i\d+) (%.+)$")


class OwnArrays:
    """One-dimensional arrays: an index too large for one dimension of several may still be inside the whole. `types` are by
    name.
    """

    def __init__(self, function: Function, origins: Origins, types: Mapping[str, str]) -> None:
        self._found: dict[str, tuple[str, str, int]] = {}
        for instruction in (i for block in function.blocks.values() for i in block.instructions):
            match = _ELEMENT.match(instruction.body)
            if match is None or instruction.result is None:
                continue
            kind, pointer, *indices = (part for part in operands(instruction.body[match.end() :]) if part[0] != "!")
            array = _ARRAY.match(kind)
            if array is None or len(indices) != 2:
                continue
            variables, index = origins.of(pointer), _INDEX.match(indices[1])
            if index is None or array[2].startswith("[") or int(array[1]) < 2 or not variables <= origins.allocas.keys():
                continue
            if not any(f"x {kind}" in _written_out(origins.allocas[name].body, types) for name in variables):
                self._found[instruction.result] = index[1], index[2], int(array[1])

    def bound(self, pointer: str) -> tuple[str, str, int] | None:
        """(index type, index, length) for a pointer to an element with a computed index."""
        return self._found.get(pointer)


def _written_out(text: str, types: Mapping[str, str]) -> str:
    """With structure types expanded."""
    return _NAMED.sub(lambda match: _written_out(types.get(match[0], ""), types), text)
