import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core.dtype import DType
from warpsmith.spec.kernel import Role
from warpsmith.verify.arena import Arena, MemoryRegion
from warpsmith.verify.pool import InputPool, Material, alternatives

VALUES = {"a": np.arange(1000, dtype=np.float32), "b": np.arange(15, dtype=np.uint8).reshape(3, 5)}
REGIONS = [
    MemoryRegion("a", DType.F32, (1000,), Role.IN),
    MemoryRegion("b", DType.U8, (3, 5), Role.INOUT),
    MemoryRegion("c", DType.F16, (7, 3), Role.OUT),
    MemoryRegion("d", DType.I32, (100,), Role.OUT),
    MemoryRegion("e", DType.BOOL, (0,), Role.OUT),
]


@pytest.fixture
def arena():
    arena = Arena(REGIONS, InputPool.unvaried(VALUES))
    yield arena
    arena.close()


def write(arena, position, data: bytes):
    """As a kernel in another process would."""
    assert os.pwrite(arena.fd, data, position) == len(data)


def place(arena, name):
    return next(p for p in arena.layout if p.name == name)


def test_layout(arena):
    end = 0
    for item in arena.layout:
        assert item.offset % 4096 == 0
        assert min(item.guard_before, item.guard_after) >= 64 << 10
        assert item.offset - item.guard_before == end
        end = item.offset + item.nbytes + item.guard_after
    assert end == arena.nbytes == os.fstat(arena.fd).st_size


def test_a_launch_is_given_what_there_is_and_of_nothing_a_little(arena):
    assert [place(arena, name).view_bytes for name in "be"] == [15, 16]


def test_what_a_launch_finds(arena):
    assert np.array_equal(arena.array("a"), VALUES["a"])
    assert np.array_equal(arena.array("b"), VALUES["b"])
    assert np.isnan(arena.array("c").astype(np.float32)).all()
    assert (np.abs(arena.array("d").astype(np.float64)) > 1000).mean() > 0.95
    assert arena.inspect() == []


FLOATS = [DType.F64, DType.F32, DType.F16, DType.BF16]


@pytest.fixture(params=FLOATS)
def three(request):
    """Read only, changed in place, written."""
    shape, values = (5,), np.ones(5, request.param.numpy)
    roles = {"read": Role.IN, "changed": Role.INOUT, "written": Role.OUT}
    regions = [MemoryRegion(name, request.param, shape, role) for name, role in roles.items()]
    arena = Arena(regions, InputPool.unvaried({"read": values, "changed": values}))
    yield arena, request.param.numpy
    arena.close()


def past_the_end(arena, name, dtype):
    item = place(arena, name)
    return np.frombuffer(os.pread(arena.fd, 64, item.offset + item.nbytes), dtype)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # that is what signalling NaN are for
def test_reading_a_guard_gives_nan(three):
    arena, dtype = three
    for name in ("read", "changed", "written"):
        assert np.isnan(past_the_end(arena, name, dtype).astype(np.float64)).all()


def test_copying_past_the_end_from_an_input_to_an_output_is_found(three):
    arena, dtype = three
    target = place(arena, "written")
    write(arena, target.offset + target.nbytes, past_the_end(arena, "read", dtype).tobytes())
    [damage] = arena.inspect()
    assert damage.argument == "written"


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_arithmetic_past_the_end_in_place_is_found(three):
    arena, dtype = three
    target = place(arena, "changed")
    doubled = past_the_end(arena, "changed", dtype) * dtype.type(2)
    write(arena, target.offset + target.nbytes, doubled.tobytes())
    [damage] = arena.inspect()
    assert damage.argument == "changed"


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e"])
@pytest.mark.parametrize("distance", [0, 1, 2, 5000, (64 << 10) - 1])
def test_one_byte_outside_is_found_at_its_distance(arena, name, distance):
    item = place(arena, name)
    write(arena, item.offset + item.nbytes + distance, b"\0")
    write(arena, item.offset - 1 - distance, b"\0")
    before, past = arena.inspect()
    assert past.argument == before.argument == name
    assert past.problem == f"written out of bounds: 1 bytes, nearest {distance} bytes past its end"
    assert before.problem == f"written out of bounds: 1 bytes, nearest {distance + 1} bytes before its beginning"
    arena.reset()
    assert arena.inspect() == []


def test_minus_one_written_past_the_end_is_found(arena):
    item = place(arena, "d")
    write(arena, item.offset + item.nbytes, np.full(4, -1, np.int32).tobytes())
    assert len(arena.inspect()) == 1


def test_a_changed_input_is_found_and_restored(arena):
    write(arena, place(arena, "a").offset + 4 * 321, b"\1\2")
    assert [(damage.argument, damage.where) for damage in arena.inspect()] == [("a", (321,))]
    arena.reset()
    assert np.array_equal(arena.array("a"), VALUES["a"])
    assert arena.inspect() == []


def test_inout_and_outputs_may_change_and_are_reset(arena):
    arena.array("b")[:] = 1
    arena.array("c")[:] = 1
    before = arena.array("d").copy()
    arena.array("d")[:] = 1
    assert arena.inspect() == []
    arena.reset()
    assert np.array_equal(arena.array("b"), VALUES["b"])
    assert np.isnan(arena.array("c").astype(np.float32)).all()
    assert np.array_equal(arena.array("d"), before)


def test_damage_after_a_good_inspection_is_not_kept_by_reset(arena):
    assert arena.inspect() == []
    write(arena, place(arena, "a").offset, b"\7")
    arena.mark_touched()
    arena.reset()
    assert np.array_equal(arena.array("a"), VALUES["a"])


def test_no_byte_of_a_poisoned_bool_is_a_bool():
    arena = Arena([MemoryRegion("x", DType.BOOL, (200_001,), Role.OUT)], InputPool.unvaried({}))
    assert arena.array("x").view(np.uint8).min() > 1
    arena.close()


def test_a_worker_cannot_resize_it(arena):
    with pytest.raises(PermissionError):
        os.ftruncate(arena.fd, 0)


def test_another_draw_is_another_input_and_known_as_such():
    drawn = -VALUES["a"]
    material = {"a": alternatives([VALUES["a"], drawn], "both"), "b": Material(VALUES["b"], VALUES["b"].nbytes)}
    arena = Arena(REGIONS, InputPool.of(material, np.random.default_rng(0)))
    try:
        other = next(draw for draw in range(1, 99) if arena.reset(draw) or not np.array_equal(arena.array("a"), VALUES["a"]))
        assert np.array_equal(arena.array("a"), drawn)
        assert arena.inspect() == []
        arena.mark_touched(0)  # so it would be if the worker had launched with the first draw
        assert [damage.argument for damage in arena.inspect()] == ["a"]
        arena.reset(other)
        write(arena, place(arena, "a").offset + 400, b"\xff" * 4)
        assert [damage.where for damage in arena.inspect()] == [(100,)]
    finally:
        arena.close()


@given(st.data())
def test_any_write_outside_all_data_is_found(data):
    arena = Arena(REGIONS, InputPool.unvaried(VALUES))
    try:
        position = data.draw(st.integers(0, arena.nbytes - 1))
        inside = any(item.offset <= position < item.offset + item.nbytes for item in arena.layout if item.name != "a")
        old = os.pread(arena.fd, 1, position)
        write(arena, position, bytes([old[0] ^ 0x10]))
        assert bool(arena.inspect()) is not inside
    finally:
        arena.close()
