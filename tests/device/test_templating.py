"""Templates are only what the device found right: passes that change the default, do not compile or compute wrongly leave no trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from twice import SOURCE, twice

from warpsmith.core.errors import BaselineError, InputError
from warpsmith.refactor.base import Answer, Concern, Pass, Rewrite, Stage, Subject, Tunable, Variant
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.registry import load_passes
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import Lab, Probe, laboratory
from warpsmith.tuning.templates.templating import MadeTemplate, template_entry, templatize


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return twice(tmp_path_factory.mktemp("twice"))


@pytest.fixture(scope="module")
def lab(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with laboratory(kernel, "cpu", binary_cache=tmp_path_factory.mktemp("binaries")) as ready:
        yield ready


@dataclass
class Replacing:
    """Text for text, with a choice of other texts or with a parameter in them."""

    old: str
    new: str | None = None
    choice: Tunable | None = None
    others: dict[int, str] = field(default_factory=dict)
    tunables: tuple[Tunable, ...] = ()
    name: str = "replacing"
    summary: str = "for tests"
    stage: Stage = Stage.RESTRUCTURE
    concerns: frozenset[Concern] = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        found = subject.variant
        variant = self._with(found, self.old if self.new is None else self.new)
        return Rewrite(variant, self.choice, {value: self._with(variant, text) for value, text in self.others.items()})

    def _with(self, variant: Variant, text: str) -> Variant:
        tunables = (
            variant.tunables if self.tunables == variant.tunables[-len(self.tunables) :] else (*variant.tunables, *self.tunables)
        )
        return replace(variant, text=variant.text.replace(self.old, text), tunables=tunables)


LINE = "out[i] = 2.0f * in[i];"


def made(kernel: Kernel, lab: Lab, folder: Path, *passes: Pass, combinations: int = 0) -> MadeTemplate:
    return templatize(kernel, lab, passes=passes, folder=folder, effort=Effort(combinations))


GUESSED = Tunable("SUM", (0, 1), 0, "how it is doubled", assumes="a float is as large twice as it is with itself")


def test_a_conjecture_that_is_right_is_kept_and_marked(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    found = made(kernel, lab, tmp_path, Replacing(LINE, choice=GUESSED, others={1: "out[i] = in[i] + in[i];"}))
    assert [p.assumes for p in found.kernel.parameters] == [GUESSED.assumes]
    assert template_entry(found)["parameters"]["SUM"]["assumes"] == GUESSED.assumes
    assert f"// SUM: how it is doubled (0, 1); tested, not proved: {GUESSED.assumes}" in found.template.source


def test_only_what_is_proved_enters_where_that_is_asked_for(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    right = Replacing(LINE, choice=GUESSED, others={1: "out[i] = in[i] + in[i];"})
    found = templatize(kernel, lab, passes=[right], folder=tmp_path, effort=Effort(0, proved_only=True))
    assert not found.parameters
    assert found.applications[0].reason == f"not proved: correct only if {GUESSED.assumes}"


RACING = f"__shared__ float seen[1024]; seen[threadIdx.x] = 1.0f; {LINE[:-1]} * (seen[threadIdx.x ^ 1] > 2.0f ? 2.0f : 1.0f);"


def test_a_conjecture_that_races_is_dropped_though_its_results_are_right(
    kernel: Kernel, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPSMITH_RACECHECK", "on")
    found = made(kernel, lab, tmp_path, Replacing(LINE, choice=GUESSED, others={1: RACING}))
    assert not found.parameters
    assert "SUM is correct here, but racecheck: shared memory 'seen'" in (found.applications[0].reason or "")


def test_right_alternatives_are_kept_and_certified(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    choice = Tunable("SUM", (0, 1), 0, "how it is doubled")
    found = made(kernel, lab, tmp_path, Replacing(LINE, choice=choice, others={1: "out[i] = in[i] + in[i];"}), combinations=4)
    assert found.certificate.level == "tokens"
    assert found.template.certificate == found.certificate
    assert [p.name for p in found.kernel.parameters] == ["SUM"]
    entry = template_entry(found)
    assert entry["passes"] == {"applied": [{"name": "replacing", "parameters": ["SUM"], "notes": []}], "not_applied": []}
    assert entry["configurations"] == {"feasible": 2, "all": 2}
    assert "+#if SUM == 0" in entry["diff"]


def test_the_smallest_workloads_are_probed(kernel: Kernel, lab: Lab) -> None:
    assert list(lab.prepared) == ["small", "odd"]


def test_a_changed_default_withdraws_the_pass(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    pad = Tunable("PAD", (0, 1), 0, "what is added")
    found = made(kernel, lab, tmp_path, Replacing("2.0f *", "2.0f * 1.0f *", tunables=(pad,)))
    (done,) = found.applications
    assert done.reason is not None
    assert "with default values it changes the kernel" in done.reason
    assert "1.0f" in done.reason
    assert not found.kernel.parameters
    assert found.template.source == SOURCE


def test_values_that_do_not_compile_or_compute_wrongly_are_dropped(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    choice = Tunable("WAY", (0, 1, 2, 3), 0, "how it is doubled")
    others = {1: "out[i] = in[i] + in[i];", 2: "out[i] = undeclared;", 3: "out[i] = 3.0f * in[i];"}
    found = made(kernel, lab, tmp_path, Replacing(LINE, choice=choice, others=others))
    (done,) = found.applications
    assert found.kernel.parameters[0].values == (0, 1)
    assert len(done.notes) == 2
    assert done.notes[0].startswith("WAY=2 does not compile: ")
    assert done.notes[1].startswith("WAY=3 wrong result: out on small: ")
    assert "undeclared" not in found.template.source


def test_a_pass_of_which_nothing_is_right_did_not_apply(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    wrong = Replacing(LINE, choice=Tunable("WAY", (0, 1), 0, "?"), others={1: "out[i] = 0;"}, name="first")
    # Foreseen on top of the wrong one, which then is not there.
    right = Replacing("2.0f", choice=Tunable("SUM", (0, 1), 0, "?"), others={1: "(1.0f + 1.0f)"}, name="second")
    found = made(kernel, lab, tmp_path, wrong, right)
    dropped, kept = found.applications
    assert not dropped.applied
    assert "WAY=1 wrong result" in str(dropped.reason)
    assert kept.applied
    assert [p.name for p in found.kernel.parameters] == ["SUM"]
    assert "WAY" not in found.template.source


def test_a_hint_that_makes_no_difference_here_is_left_out(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    comment = Replacing(LINE, LINE + "\n#if PAD\n    // padded\n#endif", tunables=(Tunable("PAD", (0, 1), 0, "?"),))
    comment.stage = Stage.DECORATE
    found = made(kernel, lab, tmp_path, comment)
    assert found.applications[0].reason == "PAD has no effect on cpu: identical code for every value"
    assert not found.kernel.parameters


def test_a_crashing_alternative_is_dropped(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    choice = Tunable("WAY", (0, 1), 0, "how it is doubled")
    broken = "out[i + (1L << 40)] = 2.0f * in[i];"
    found = made(kernel, lab, tmp_path, Replacing(LINE, choice=choice, others={1: broken}))
    assert not found.applications[0].applied
    assert "WAY=1 does not run on small: " in str(found.applications[0].reason)
    assert found.template.source == SOURCE


def test_a_form_that_two_passes_break_together_is_dropped(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    first = Replacing("2.0f", choice=Tunable("A", (0, 1), 0, "?"), others={1: "(1.0f + 1.0f)"}, name="first")
    second = Replacing(
        "+ 1.0f)", choice=Tunable("B", (0, 1), 0, "?"), others={1: "+ 2.0f)"}, name="second"
    )  # only counts, and is only wrong, in what the first one made
    found = made(kernel, lab, tmp_path, first, second)
    assert [p.name for p in found.kernel.parameters] == ["A"]
    assert not found.applications[1].applied


def test_combinations_that_fail_are_excluded_with_what_was_seen(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    original = twice(tmp_path / "original", SOURCE.replace("  if (i < n)", "  const float p = 0 * 1.0f;\n  if (i < n)"))
    first = Replacing("= 0 *", "= A *", tunables=(Tunable("A", (0, 1, 2), 0, "?"),), name="a")
    second = Replacing(LINE, choice=Tunable("B", (0, 1), 0, "?"), others={1: LINE.replace(";", " + p;")}, name="b")
    found = made(original, lab, tmp_path / "made", first, second, combinations=6)
    assert [p.name for p in found.kernel.parameters] == ["A", "B"]
    # One failure excludes that combination, a second one with the same parameters all of them.
    assert [str(c.expression) for c in found.kernel.constraints][-1] == "A == 0 or B == 0"
    assert "wrong result" in found.kernel.constraints[-1].reason
    assert len(found.applications[1].notes) == 2


@pytest.mark.parametrize(("combinations", "kept"), [(0, (0, 1, 2)), (3, (0, 1))])
def test_values_wait_for_the_end_and_are_tried_there_unless_a_search_will_verify_them(
    kernel: Kernel, lab: Lab, tmp_path: Path, combinations: int, kept: tuple[int, ...]
) -> None:
    original = twice(tmp_path / "original", SOURCE.replace("2.0f *", "(0 < 2 ? 2.0f : 3.0f) *"))
    few = Replacing("(0 <", "(A <", tunables=(Tunable("A", (0, 1, 2), 0, "?"),), name="few")
    found = made(original, lab, tmp_path / "made", few, combinations=combinations)
    assert [p.values for p in found.kernel.parameters] == [kept]


def test_when_time_is_over_only_what_is_needed_goes_on(kernel: Kernel, lab: Lab, tmp_path: Path) -> None:
    declining = Replacing("nowhere", name="declining")
    passes = [
        Replacing("2.0f", choice=Tunable(name.upper(), (0, 1), 0, "?"), others={1: f"({part}.0f + {2 - part}.0f)"}, name=name)
        for part, name in enumerate(["first", "second", "third"])
    ]
    hasty = Effort(combinations=0, seconds=0.0, needed=frozenset({"third"}))
    found = templatize(kernel, lab, passes=[declining, *passes], folder=tmp_path, effort=hasty)
    # What does not apply takes no time, and makes no template: the next one has its turn.
    assert [(done.name, done.applied) for done in found.applications] == [("declining", False), ("first", True), ("third", True)]
    assert [p.name for p in found.kernel.parameters] == ["FIRST", "THIRD"]


def test_an_original_that_does_not_work_is_the_users_to_mend(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="does not compile"),
        laboratory(twice(tmp_path / "a", SOURCE.replace("2.0f", "two")), "cpu", binary_cache=tmp_path / "binaries"),
    ):
        pass
    random = SOURCE.replace("2.0f *", "(float)clock() *")
    with (
        pytest.raises(BaselineError, match="not deterministic"),
        laboratory(twice(tmp_path / "b", random), "cpu", binary_cache=tmp_path / "binaries"),
    ):
        pass


def test_a_probe_needs_no_files(kernel: Kernel, lab: Lab) -> None:
    probe = Probe(combined(Draft.of(kernel, lab.info.limits)), lab)
    assert probe.difference() is None
    assert probe.problem(probe.space.default) is None


def test_branches_of_the_author_are_settled_for_the_device(tmp_path: Path) -> None:
    """Passes see no `#if`; the default still is the original, and a target that would take another branch is refused."""
    asked = "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 100\n    in = 0;\n#elif TWICE == 2\n    out[i] = in[i] + in[i];\n"
    plain = twice(tmp_path / "kernel", SOURCE.replace(LINE, f"\n{asked}#else\n    {LINE}\n#endif\n"))
    with laboratory(plain, "cpu", binary_cache=tmp_path / "binaries") as lab:
        found = made(plain, lab, tmp_path / "template", *load_passes(["block_size"]))
    assert [p.name for p in found.kernel.parameters] == ["BLOCK"]
    assert found.certificate.level == "tokens"
    assert asked not in found.template.source
    assert "#error" in found.template.source
