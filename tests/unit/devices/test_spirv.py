"""SPIR-V words: what is found in them and what is added."""

from __future__ import annotations

import struct

import pytest

from warpsmith.devices.cpu import spirv


def _module(*instructions: list[int]) -> bytes:
    words = [0x07230203, 0x00010400, 0, 100, 0]
    for opcode, *operands in instructions:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def _text(name: str) -> list[int]:
    data = name.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


KERNEL = [17, 6], [14, 2, 2], [15, 6, 1, *_text("helper")], [15, 6, 2, *_text("entry")], [43, 9, 50, 3], [43, 9, 51, 2]


def test_warp_size_is_added_to_the_entry() -> None:
    patched = list(spirv.instructions(spirv.words_of(spirv.with_warp_size(_module(*KERNEL), "entry"))))
    assert [opcode for opcode, _ in patched] == [17, 17, 14, 15, 15, 16, 43, 43]
    assert patched[1][1][1:] == (58,)
    assert patched[5][1][1:] == (2, 35, 32)


@pytest.mark.parametrize(
    ("instruction", "uses"),
    [
        ([346, 9, 60, 50, 1, 2], True),  # OpGroupNonUniformShuffleXor
        ([71, 7, 11, 41], True),  # SubgroupLocalInvocationId
        ([71, 7, 11, 27], False),  # LocalInvocationId
        ([224, 50, 50, 51], True),  # OpControlBarrier of scope 3, the sub-group
        ([224, 51, 51, 51], False),  # … of scope 2, the work-group
    ],
)
def test_warp_operations_are_found(instruction: list[int], uses: bool) -> None:
    assert spirv.uses_warp_operations(_module(*KERNEL, instruction)) is uses


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="not a SPIR-V module: starts with 7f454c46"):
        spirv.words_of(b"\x7fELF")
    with pytest.raises(ValueError, match="no entry point 'missing'"):
        spirv.with_warp_size(_module(*KERNEL), "missing")
