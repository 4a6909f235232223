"""Files and folders: compression, names, and what is no recording at all."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.record.foreign import load_recording, load_recordings

WriteCache = Callable[..., Path]


def test_gzip_is_told_by_its_bytes_not_its_name(write_cache: WriteCache, tmp_path: Path):
    plain = write_cache("conv-A100.json")
    packed = tmp_path / "conv-A4000.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    unnamed = tmp_path / "conv-A6000.json"
    unnamed.write_bytes(packed.read_bytes())
    found = load_recordings([plain, packed, unnamed])
    assert [r.name for r in found] == ["conv-A100", "conv-A4000", "conv-A6000"]
    assert found[0].outcomes == found[1].outcomes == found[2].outcomes


def test_a_cut_off_gzip_gives_what_is_there(write_cache: WriteCache, tmp_path: Path):
    data = gzip.compress(write_cache().read_bytes(), compresslevel=1)
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(data[: len(data) * 3 // 4])
    recording = load_recording(cut)
    assert 0 < len(recording.space) < 24
    assert "never closed" in recording.notes[0]


def test_a_folder_means_all_that_is_in_it(write_cache: WriteCache, tmp_path: Path):
    write_cache("hub/b.json")
    write_cache("hub/a.json")
    (tmp_path / "hub" / "notes.txt").write_text("not a recording")
    assert [r.name for r in load_recordings([tmp_path / "hub"])] == ["a", "b"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["gemm/A100.json", "conv/A100.json", "conv/W6600.json"], ["gemm/A100", "conv/A100", "W6600"]),
        (["one/gemm/A100.json", "two/gemm/A100.json"], ["one/gemm/A100", "two/gemm/A100"]),
        (["A100.json", "A100.json.gz"], ["A100.json", "A100.json.gz"]),
    ],
)
def test_files_of_one_name_get_as_much_of_their_path_as_tells_them_apart(
    write_cache: WriteCache, files: list[str], names: list[str]
):
    assert [r.name for r in load_recordings([write_cache(file) for file in files])] == names


def test_a_file_given_twice_is_read_once(write_cache: WriteCache):
    path = write_cache()
    assert len(load_recordings([path, path])) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"block,tile,time\n1,2,3\n", "not JSON"),
        (b"[1, 2]", "holds a list"),
        (b"{}", "found nothing"),
        (b'{"runs": 1, "name": 2}', "found runs, name"),
        (b'{"device_name": "x", "cache', "not JSON"),
        (b"\x1f\x8bnot really", "neither text nor gzip"),
        (b"\xff\xfe\x00", "neither text nor gzip"),
    ],
)
def test_what_is_no_recording_is_refused_with_what_was_found(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_recording(path)
    assert words in str(caught.value)
    assert "odd.json" in str(caught.value)
    assert "Kernel Tuner cache" in str(caught.value)


def test_missing_files_and_empty_folders(tmp_path: Path):
    with pytest.raises(InputError, match=r"absent\.json"):
        load_recordings([tmp_path / "absent.json"])
    with pytest.raises(InputError, match=r"no \.json"):
        load_recordings([tmp_path])


def test_a_byte_order_mark_is_no_part_of_it(write_cache: WriteCache, tmp_path: Path):
    plain = write_cache()
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    assert load_recording(marked).outcomes == load_recording(plain).outcomes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "too deep"),
        ('{"cache":' + '{"a":' * 50_000, "too deep"),
        ('{"cache": {"1": {"time": ' + "9" * 5_000 + "}}}", "thousands of digits"),
    ],
)
def test_what_no_parser_takes_is_refused_with_its_file(text: str, said: str, tmp_path: Path):
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as told:
        load_recording(path)
    assert told.value.location is not None
    assert told.value.location.file == path
