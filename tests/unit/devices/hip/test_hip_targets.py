"""AMD targets without a GPU: limits, occupancy worked out by hand, the note's encoding, and what is said without ROCm."""

from __future__ import annotations

import sys

import pytest

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.core.hardware import Geometry, Limiter, Resources
from warpsmith.devices.hip import HipDevice, runtime
from warpsmith.devices.hip.metadata import _unpacked
from warpsmith.devices.hip.occupancy import occupancy
from warpsmith.devices.hip.target import TARGETS
from warpsmith.devices.registry import load_device


def block(threads: int, shared_bytes: int = 0) -> Geometry:
    return Geometry((1, 1, 1), (threads, 1, 1), shared_bytes)


@pytest.mark.parametrize(
    ("target", "registers", "scalar", "geometry", "blocks", "limiter"),
    [
        # 512 registers a SIMD in steps of 8: 128 allow 4 waves of 64, 16 in all, so four blocks of four.
        ("gfx942", 128, 20, block(256), 4, Limiter.REGISTERS),
        # Of 8 waves a SIMD, 108 scalar registers leave 7: 28 waves, seven blocks of four.
        ("gfx90a", 16, 108, block(256), 7, Limiter.REGISTERS),
        # 160 KiB against 64.
        ("gfx950", 16, 20, block(256, 50_000), 3, Limiter.SHARED_MEMORY),
        ("gfx942", 16, 20, block(256, 50_000), 1, Limiter.SHARED_MEMORY),
        # A workgroup processor: four SIMDs of 16 waves of 32. 1536 registers in steps of 24: 100 become 120, which allows 12.
        ("gfx1100", 100, 20, block(256), 6, Limiter.REGISTERS),
        ("gfx1030", 32, 20, block(1024), 2, Limiter.THREADS),
    ],
)
def test_blocks_of_a_compute_unit(
    target: str, registers: int, scalar: int, geometry: Geometry, blocks: int, limiter: Limiter
) -> None:
    used = Resources(registers=registers, scalar_registers=scalar, shared_bytes=0)
    found = occupancy(TARGETS[target], used, geometry)
    assert (found.blocks, found.limiter) == (blocks, limiter)
    assert found.fraction == found.warps / found.max_warps


def test_a_block_that_is_too_large_says_so() -> None:
    found = occupancy(TARGETS["gfx942"], Resources(registers=8, scalar_registers=8, shared_bytes=0), block(2048))
    assert found.problem == "2048 threads exceed the 1024 of a block"


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        (b"\x07", 7),
        (b"\xff", -1),
        (b"\xcd\x01\x00", 256),
        (b"\xd2\xff\xff\xff\xfe", -2),
        (b"\xa3abc", "abc"),
        (b"\xd9\x03abc", "abc"),
        (b"\x92\x01\xc3", [1, True]),
        (b"\xdc\x00\x01\xc0", [None]),
        (b"\x81\xa1k\x92\x00\xc2", {"k": [0, False]}),
        (b"\xde\x00\x01\xa1k\xcb?\xf8\x00\x00\x00\x00\x00\x00", {"k": 1.5}),
    ],
)
def test_the_notes_encoding(encoded: bytes, value: object) -> None:
    assert _unpacked(encoded, 0) == (value, len(encoded))


def test_a_target_describes_itself_and_cannot_be_opened() -> None:
    device = load_device("hip:gfx1201")
    assert device.describe().limits.warp_size == 32
    with pytest.raises(UnavailableError, match="hip:gfx1201 is a target to compile for, not a GPU"):
        device.open()
    with pytest.raises(InputError, match="'navi' is not an AMD target"):
        HipDevice("navi")


def test_without_the_bindings_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    with pytest.raises(UnavailableError, match="no HIP bindings") as caught:
        runtime.runtime.__wrapped__()
    assert "warpsmith[hip]" in (caught.value.hint or "")
