"""A store that several machines add to: nothing is changed, nothing damaged is believed."""

import gzip
import uuid
from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import UnavailableError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.shared import SharedRun, SharedStore, Subject

GOOD = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))
SUBJECT = Subject("abc", "some GPU", "sm_90")


def run_of(name: str, *scores: float, at: float = 1.0) -> SharedRun:
    evaluations = [
        Evaluation(
            Configuration.of({"A": number}),
            Measured(GOOD, (WorkloadTime("w", 10.0, score, (0.0, float("inf")), 3),), score, ci95=(score - 0.1, score + 0.1)),
            0.5,
            2.0,
        )
        for number, score in enumerate(scores)
    ]
    failed = Evaluation(Configuration.of({"A": 99}), CompileFailed("no", "log"), 0.1, 3.0)
    return SharedRun(name, "kernel", at, (*evaluations, failed))


@pytest.fixture(params=["folder", "object store"])
def store(request, tmp_path: Path) -> SharedStore:
    return SharedStore(str(tmp_path / "store") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/prefix")


def test_what_one_machine_adds_another_finds(store):
    first, second = run_of("one", 0.5, 0.7), run_of("two", 0.9, at=2.0)
    store.publish(SUBJECT, first)
    store.publish(SUBJECT, second)
    assert SharedStore(store.address).find(SUBJECT) == ([second, first], [])
    assert store.find(Subject("abc", "another GPU", "sm_90")) == ([], [])
    assert store.find(Subject("changed", "some GPU", "sm_90")) == ([], [])


def test_adding_the_same_again_adds_nothing(store):
    assert store.publish(SUBJECT, run_of("one", 0.5)) == store.publish(SUBJECT, run_of("one", 0.5))
    assert len(store.find(SUBJECT)[0]) == 1


def test_what_was_cut_off_altered_or_forged_is_left_out_and_told(tmp_path: Path):
    store = SharedStore(str(tmp_path))
    good = run_of("good", 0.5)
    folder = (tmp_path / store.publish(SUBJECT, good)).parent
    names = [store.publish(SUBJECT, run_of(name, 0.5)) for name in ("cut", "altered")]
    cut, altered = (tmp_path / name for name in names)
    cut.write_bytes(cut.read_bytes()[:-20])
    altered.write_bytes(gzip.compress(gzip.decompress(altered.read_bytes()).replace(b"0.5", b"0.1")))
    other = SharedStore(str(tmp_path / "elsewhere"))
    forged = tmp_path / "elsewhere" / other.publish(Subject("abc", "another GPU", None), run_of("forged", 0.1))
    forged.rename(folder / forged.name)
    (folder / "0123.json.gz").write_bytes(b"\x00nothing")
    (folder / ".half.part").write_bytes(b"")
    found, damaged = store.find(SUBJECT)
    assert found == [good]
    assert len(damaged) == 4


def test_a_failed_verdict_cannot_be_passed_off_as_measured(tmp_path: Path):
    store = SharedStore(str(tmp_path))
    entry = tmp_path / store.publish(SUBJECT, run_of("one", 0.5))
    text = gzip.decompress(entry.read_bytes()).replace(b'"passed": true', b'"passed": false')
    content = gzip.compress(text)
    (entry.parent / f"{fingerprint(content)}.json.gz").write_bytes(content)
    found, damaged = store.find(SUBJECT)
    assert [run.run for run in found] == ["one"]
    assert "validation error for Measured" in damaged[0]


def test_a_store_that_cannot_be_used_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match="cannot be used"):
        SharedStore(str(tmp_path / "file")).publish(SUBJECT, run_of("one", 0.5))
    with pytest.raises(UnavailableError, match="nosuch"):
        SharedStore("nosuch://bucket")
