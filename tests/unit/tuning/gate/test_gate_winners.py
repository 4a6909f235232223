"""What counts as a stored winner, and the file of accepted figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.results import stored

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.record.run import RunHeader, Status
from warpsmith.record.store import Store
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.gate.accepted import Baseline
from warpsmith.tuning.gate.compiled import got_worse
from warpsmith.tuning.gate.winners import Unusable, Winner, find_winners, tuned_configuration
from warpsmith.tuning.order import kernel_fingerprint

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "your-own-kernel.md"
WINNER = Configuration.of({"BLOCK": 128, "ITEMS": 2})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = GUIDE.read_text()
    for name in ("a", "group/b"):
        kernel = tmp_path / "kernels" / name
        kernel.mkdir(parents=True)
        for suffix, language in (("scale.cu", "cuda"), ("kernel.toml", "toml")):
            found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
            assert found is not None
            (kernel / suffix).write_text(found[1])
    return tmp_path / "kernels"


def test_own_templates_need_an_accepted_configuration(folder: Path):
    known = {"a": WINNER, "group/b": Configuration.of({"OTHER": 1})}
    first, second = find_winners(folder, known.get)
    assert isinstance(first, Winner)
    assert (first.name, first.configuration) == ("a", WINNER)
    assert isinstance(second, Unusable)
    assert second.is_wrong
    nothing = find_winners(folder, lambda _: None)
    assert [isinstance(one, Unusable) and not one.is_wrong for one in nothing] == [True, True]


def test_the_original_is_told_from_another(folder: Path):
    def original() -> str:
        (winner,) = find_winners(folder / "a", lambda _: WINNER)
        assert isinstance(winner, Winner)
        return winner.original

    before = original()
    assert original() == before
    source = folder / "a" / "scale.cu"
    source.write_text(source.read_text() + "// changed\n")
    assert original() != before


def test_a_kernel_that_cannot_be_loaded_is_wrong_alone(folder: Path):
    (folder / "a" / "kernel.toml").write_text("[nonsense]")
    first, second = find_winners(folder, lambda _: WINNER)
    assert isinstance(first, Unusable)
    assert first.is_wrong
    assert isinstance(second, Winner)
    for missing in (folder / "none", folder / "empty"):
        (folder / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError):
            find_winners(missing, lambda _: None)


def test_the_latest_run_of_the_kernel_as_it_is_tells_the_winner(folder: Path, tmp_path: Path):
    kernel = load_kernel(folder / "a")
    claim = {"config": dict(WINNER.pairs), "speedup": 2.0, "ci95": [1.9, 2.1], "median_us": 1.0, "verified": True}
    with Store(tmp_path / "runs.sqlite") as store:
        for fingerprint in ("of another source", kernel_fingerprint(kernel)):
            assert tuned_configuration(kernel, store) is None
            run = store.begin(RunHeader("scale", "k", fingerprint, "cpu", "none", "gp", 0, {}, {}))
            store.finish(run, Status.FINISHED, stored(general=claim))
        assert tuned_configuration(kernel, store) == WINNER


def test_accepted_figures_come_back(tmp_path: Path):
    file = tmp_path / "new" / "accepted.json"
    baseline = Baseline.read(file, may_be_missing=True)
    baseline.accept("a", {"A": 1}, {"one GPU": {"original": "f"}}, {"sm_90": {"registers": 8}})
    baseline.accept("a", {"A": 1}, {"another": {"original": "f"}}, {})
    baseline.accept("b", {"A": 1}, {}, {})
    baseline.keep({"a"})
    baseline.write()
    known = Baseline.read(file, may_be_missing=False)
    assert known.winners.keys() == {"a"}
    assert known.configuration("a") == Configuration.of({"A": 1})
    assert known.figures("a", "one GPU") == known.figures("a", "another") == {"original": "f"}
    assert known.target("a", "sm_90") == {"registers": 8}
    known.accept("a", {"A": 2}, {"another": {}}, {})
    assert known.figures("a", "one GPU") is None, "figures of another configuration are none of this one"
    assert known.target("a", "sm_90") is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 1}', '{"version": 9, "winners": {}}', '{"version": 1, "winners": {"a": 1}}']
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str):
    file = tmp_path / "accepted.json"
    file.write_text(text)
    with pytest.raises(InputError, match="not a baseline file"):
        Baseline.read(file, may_be_missing=True)


def test_what_compilers_say_gets_worse_by_spills_and_occupancy():
    before = {"outcome": "compiled", "registers": 32, "spill_bytes": 0, "stack_bytes": 0, "occupancy": 0.5, "reason": None}
    assert got_worse(before, before) == []
    assert got_worse(before, {**before, "registers": 40}) == []
    assert got_worse(before, {**before, "spill_bytes": 8}) == ["8 bytes spilled (accepted: 0)"]
    assert got_worse(before, {**before, "occupancy": 0.25}) == ["occupancy 25% (accepted: 50%)"]
    assert got_worse(before, {**before, "occupancy": None}) == []
    assert got_worse(before, {**before, "outcome": "failed", "reason": "no"}) == ["failed: no"]
