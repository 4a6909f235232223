import os

import pytest

from warpsmith.compile.cache import DiskCache
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import Binary

BINARY = Binary(
    bytes(range(256)) * 40, "entry", Resources(registers=7, remarks=("a", "b")), {"flat": True, "n": 1, "f": 1.0, "s": "x"}
)
FAILED = CompileFailed("no such thing", "line 1\nline 2")
KEY = "ab" * 16


@pytest.mark.parametrize("reply", [BINARY, FAILED])
def test_what_goes_in_comes_out(tmp_path, reply):
    DiskCache(tmp_path).put(KEY, reply)
    got = DiskCache(tmp_path).get(KEY)
    assert got == reply
    if isinstance(got, Binary):
        assert [type(value) for value in got.device_data.values()] == [bool, int, float, str]


def test_nothing_there(tmp_path):
    assert DiskCache(tmp_path / "never made").get(KEY) is None


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "foreign"])
def test_a_damaged_entry_is_none_and_can_be_replaced(tmp_path, damage):
    cache = DiskCache(tmp_path)
    cache.put(KEY, BINARY)
    (file,) = tmp_path.glob("*/*")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes({"empty": b"", "short": file.read_bytes()[:-1], "flipped": bytes(data), "foreign": b"hello"}[damage])
    assert cache.get(KEY) is None
    cache.put(KEY, BINARY)
    assert cache.get(KEY) == BINARY
    assert len(list(tmp_path.glob("*/*"))) == 1  # no temporary file is left


def test_a_folder_that_cannot_be_written_is_only_no_cache(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cache = DiskCache(tmp_path / "file")
    cache.put(KEY, BINARY)
    assert cache.get(KEY) is None
    cache.prune()


def test_the_least_recently_used_go_first(tmp_path):
    cache = DiskCache(tmp_path, limit_bytes=25_000)
    keys = [f"{i:02}" * 16 for i in range(4)]
    for age, key in enumerate(keys):
        cache.put(key, BINARY)
        (file,) = tmp_path.glob(f"*/{key}")
        os.utime(file, (1000 + age, 1000 + age))
    assert cache.get(keys[0]) == BINARY  # used again: now the youngest
    cache.prune()
    assert [cache.get(key) is not None for key in keys] == [True, False, False, True]
