"""What the host makes of a watched launch: which blocks are watched, and how findings read."""

from __future__ import annotations

import re

import pytest

from warpsmith.devices.cpu.clang import INCLUDE
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch
from warpsmith.devices.cpu.watch.findings import Place, races, strays, variable_name
from warpsmith.devices.cpu.watch.program import watched_blocks

READ_AFTER_WRITE, WRITE_AFTER_READ = 0, 1
PLACES = [Place("_ZZ1kPfE4tile", is_shared=True), Place("out", is_shared=False)]


def tag(site: int, thread: int, block: int = 1) -> int:
    return site | thread << hooks.SITE_BITS | block << hooks.BLOCK_AT


def test_a_finding_says_who_did_what_where() -> None:
    words = [1, READ_AFTER_WRITE, tag(1, 37), tag(2, 4), 0, 148]
    [told] = races(words, PLACES, [12, 15], [0], (32, 2, 1))
    assert told == (
        "shared memory 'tile': thread (5, 1, 0) writes byte 148 at line 12, thread (4, 0, 0) reads it at line 15, "
        "no barrier between"
    )


def test_of_many_alike_one_is_told() -> None:
    alike = [value for thread in range(3) for value in (WRITE_AFTER_READ, tag(1, thread, 1), tag(1, thread, 2), 1, 4 * thread)]
    [told] = races([3, *alike], PLACES, [0], [0, 7], (64, 1, 1))
    assert told == "'out': thread 0 of block 0 reads byte 0, thread 0 of block 7 writes it, and nothing orders the blocks"


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ5shiftE4tile", "tile"),
        ("_ZZN3ops1kIfLi32EEEvPT_iE6values", "values"),
        ("_ZL4room", "room"),
        ("k.scratch", "scratch"),
        ("__warpsmith_dynamic_shared", "extern"),
    ],
)
def test_variables_are_called_as_in_the_source(symbol: str, name: str) -> None:
    assert variable_name(symbol) == name


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 1), (1000, 1, 1), (40, 30, 1), (8, 8, 8), (1, 3, 500)])
def test_blocks_at_both_ends_and_in_the_middle_are_watched_with_neighbours(grid: tuple[int, int, int]) -> None:
    count = grid[0] * grid[1] * grid[2]
    blocks = watched_blocks(grid)
    assert len(blocks) == len(set(blocks)) <= hooks.MAX_BLOCKS
    assert {0, count - 1, min(1, count - 1), min(grid[0], count - 1)} <= set(blocks)
    assert all(0 <= block < count for block in blocks)


def test_what_the_device_remembers_is_laid_out_as_the_host_reads_it() -> None:
    header = (INCLUDE / "warpsmith" / "watch.h").read_text()
    numbers = {name: int(value) for name, value in re.findall(r"\b(max_\w+|\w+_at) = (\d+)", header)}
    order = (INCLUDE / "warpsmith" / "watch_order.h").read_text()
    assert (numbers["max_shared"], numbers["progress_at"]) == (hooks.MAX_SHARED, 32)
    assert f"volatile_bit = 1ul << {hooks.VOLATILE.bit_length() - 1}" in header
    assert f"any_place = {hooks.ANY_PLACE}, unknown_place = {hooks.UNKNOWN_PLACE};" in header
    strays = f"stray_read = {hooks.STRAY_READ}, stray_write = {hooks.STRAY_WRITE}, stray_own = {hooks.STRAY_OWN}"
    assert f"{strays}, input_write = {hooks.INPUT_WRITE}, misaligned = {hooks.MISALIGNED};" in header
    assert f"alignment_at = {hooks.ALIGNMENT_AT};" in header
    assert "word granule, ranges, blocks, is_ordering;" in header
    assert "word fill, other_fill, fill_from, fill_end;" in header
    assert "word block[max_blocks];" in header
    assert "word inputs;" in header
    assert hooks.BLOCKS_AT == 9
    assert "word barriers, fence, fences, warps;" in order
    assert numbers["max_ranges"] == hooks.MAX_RANGES
    assert numbers["max_blocks"] == hooks.MAX_BLOCKS
    assert numbers["max_findings"] == hooks.MAX_FINDINGS
    assert (numbers["thread_at"], numbers["block_at"]) == (hooks.SITE_BITS, hooks.BLOCK_AT)
    assert hooks.CELL_BYTES == 8 * (4 * 2 + 2)
    assert "struct cell { stamp written, added, read, read_before; word value, unused; };" in header
    assert f"1ul << {hooks.ATOMIC.bit_length() - 1}" in header


def test_facts_travel_as_text() -> None:
    watch = Watch(
        granule=2,
        is_ordering=True,
        keeps_state=False,
        lines=(3, 0),
        shared=("a",),
        variables=("%s.i",),
        arguments=("x", "n"),
        sizes=(4, 8),
        written=(0,),
        outputs=(),
        shared_bytes=128,
    )
    assert Watch.unpacked(watch.packed()) == watch


def test_a_stray_says_how_far_it_goes_past_which_end() -> None:
    places = [Place("x", is_shared=False, nbytes=100), Place("_ZZ1kPfE4tile", is_shared=True)]
    far, before = 98, (1 << 64) - 4
    words = [3, hooks.STRAY_READ, tag(1, 3), 4, 0, far, hooks.STRAY_WRITE, tag(2, 0), 4, 0, before]
    words += [hooks.STRAY_READ, tag(1, 5), 4, 1, 64]
    watch = Watch(4, False, False, (12, 0), (), (), (), (), (), ())
    assert strays(words, places, watch, [0], (64, 1, 1)) == [
        "'x': thread 3 reads bytes 98 to 101 at line 12, 2 bytes past its end",
        "'x': thread 0 writes bytes -4 to -1, 4 bytes before its beginning",
        "shared memory 'tile': thread 5 reads bytes 64 to 67 at line 12, past its end",
    ]
