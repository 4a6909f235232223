"""Drafts: forms multiply within bounds, reasons are kept, and what is combined from them says when each parameter counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
from refactor_support import LIMITS, SOURCE, Choosing, Failing, Naming, scale_kernel

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.base import Answer, Concern, Declined, Pass, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.constants import with_constant
from warpsmith.refactor.drafting.application import MOST_BRANCHES, apply_pass, apply_passes
from warpsmith.refactor.drafting.combine import Refactored, combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.values import nearest_with, space_of_refactored, with_possible_values

ADD = "out[i] = FACTOR * in[i];"
GUARD = "if (i < n) {"


@pytest.fixture
def start(tmp_path: Path) -> Draft:
    return Draft.of(scale_kernel(tmp_path), LIMITS)


def made(start: Draft, *passes: Pass) -> Refactored:
    return combined(apply_passes(start, passes))


def rules_of(found: Refactored) -> dict[str, str]:
    return {rule.expression: rule.reason for rule in found.rules}


# ── applying ──


def test_a_named_number_is_a_parameter_everywhere(start: Draft) -> None:
    found = made(start, Naming())
    assert "blockIdx.x * BLOCK + threadIdx.x" in found.body
    assert (found.grid, found.block) == (("ceildiv(n, BLOCK)",), ("BLOCK",))
    assert [(p.name, p.default) for p in found.parameters] == [("BLOCK", 128)]
    assert not found.rules


def test_a_pass_that_declines_fails_or_raises_leaves_only_its_reason(start: Draft) -> None:
    after = apply_passes(start, [Naming("7777"), Failing(), Naming(parameter="n"), Naming(values=(1, 2))])
    assert after.branches == start.branches
    assert [(a.name, a.applied, a.line) for a in after.applications] == [
        ("naming", False, 1),
        ("failing", False, None),
        ("naming", False, None),
        ("naming", False, None),
    ]
    reasons = [a.reason for a in after.applications]
    assert reasons[1] == "the pass failed: ZeroDivisionError: a bug"
    assert reasons[2] is not None
    assert "the name n is already used" in reasons[2]
    assert reasons[3] == "the pass failed: the default 128 of BLOCK is not among its values [1, 2]"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("int t;\n  for (t = 0; t < 2; ++t) out[i] = t;", "for (int t = 0; t < 2; ++t) out[i] = t;"),
        (
            "__shared__ float a[9], b[9];\n  for (int t = 0; t < 9; ++t) {\n    a[t] = in[t];\n    b[t] = in[i];\n  }",
            "for (int t = 0; t < 9; ++t) {\n    b[t] = in[i];\n  }",
        ),
    ],
)
def test_a_pass_that_declines_looks_again_at_a_plainer_form(written: str, plain: str, tmp_path: Path) -> None:
    start = Draft.of(scale_kernel(tmp_path, source=SOURCE.replace("  if (i < n) {", f"  {written}\n  if (i < n) {{")), LIMITS)
    default, other = apply_pass(start, Choosing(plain, {1: "other();"})).branches
    assert default.variant == start.branches[0].variant
    assert (written in other.variant.text, plain in other.variant.text) == (False, False)
    assert "other();" in other.variant.text


def test_a_number_that_only_the_plainer_form_explains_gets_its_name_in_the_original(tmp_path: Path) -> None:
    @dataclass
    class Explained(Naming):
        def apply(self, subject: Subject) -> Answer:
            return super().apply(subject) if "for (int t = 0" in subject.variant.text else Declined("no loop", line=4)

    counting = "int t = 0;\n  while (t < 2) {\n    t += 1;\n  }"
    source = SOURCE.replace("  if (i < n) {", f"  {counting}\n  if (i < n) {{")
    found = made(Draft.of(scale_kernel(tmp_path, source=source), LIMITS), Explained())
    assert counting in found.body
    assert "blockIdx.x * BLOCK + threadIdx.x" in found.body
    assert found.block == ("BLOCK",)


def test_names_of_included_files_are_taken(start: Draft) -> None:
    reason = apply_pass(start, Naming(parameter="FACTOR")).applications[0].reason
    assert reason is not None
    assert "is already used" in reason


def test_an_expression_over_unknown_names_is_refused(start: Draft) -> None:
    (done,) = apply_pass(start, Naming(rules=(Rule("BLOCK <= m", "?"),))).applications
    assert done.reason == "the pass failed: unknown name 'm' in 'BLOCK <= m'"


def test_lifting_a_define_keeps_its_name(tmp_path: Path) -> None:
    source = "#define THREADS 128\n" + SOURCE.replace("* 128", "* THREADS")
    draft = Draft.of(scale_kernel(tmp_path, source=source), LIMITS)

    class Lifting(Naming):
        def apply(self, subject):
            answer = super().apply(subject)
            text = answer.variant.text.replace("#define THREADS THREADS\n", "")
            return Rewrite(replace(answer.variant, text=text))

    assert apply_pass(draft, Lifting(parameter="THREADS")).applications[0].applied
    # But a define that stays would override the parameter.
    assert not apply_pass(draft, Naming(parameter="THREADS")).applications[0].applied


# ── forms ──


def test_values_of_one_form_are_one_branch(start: Draft) -> None:
    after = apply_pass(start, Choosing(ADD, {1: "x(MAP);", 2: "x(MAP);", 4: "x(MAP);", 8: "y();"}))
    assert [dict(branch.guard) for branch in after.branches] == [{"MAP": 0}, {"MAP": 1}, {"MAP": 8}]
    assert after.groups == {"MAP": {0: (0,), 1: (1, 2, 4), 8: (8,)}}
    body = combined(after).body
    assert "#if MAP == 0\n" in body
    assert "#elif MAP == 8\n" in body or "MAP == 1 || MAP == 2 || MAP == 4" in body


def test_a_choice_that_its_own_text_makes_is_one_form(start: Draft) -> None:
    class Named(Choosing):
        """`0` becomes MAP: the same text for every value, right at the default."""

        def apply(self, subject):
            answer = super().apply(subject)
            return replace(answer, variant=answer.alternatives[1])

    draft = apply_pass(start, Named("blockIdx.x * 128", {1: "blockIdx.x * 128 + MAP", 2: "blockIdx.x * 128 + MAP"}))
    assert len(draft.branches) == 1
    found = combined(draft)
    assert "#if" not in found.body
    assert [p.values for p in found.parameters] == [(0, 1, 2)]
    assert not found.rules
    assert combined(draft.without("MAP", 1).without("MAP", 2)).body.count("128 + 0") == 1


def test_a_choice_multiplies_the_forms_it_applies_to(start: Draft) -> None:
    found = made(
        start,
        Choosing(ADD, {1: "x();", 2: "y();"}),
        Choosing("x();", {1: "x1();\n    x2();"}, parameter="STAGE", name="staging"),
    )
    assert rules_of(found) == {"STAGE == 0 or MAP == 1": "STAGE counts only when MAP is 1"}
    assert [p.name for p in found.parameters] == ["MAP", "STAGE"]


def test_forms_are_bounded_and_the_defaults_come_first(start: Draft) -> None:
    passes = [
        Choosing(GUARD, {v: f"if (i < n && {v}) {{" for v in range(1, 16)}),
        Choosing(ADD, {v: f"form{v}();" for v in range(1, 4)}, parameter="PATH", name="second"),
    ]
    after = apply_passes(start, passes)
    assert len(after.branches) == MOST_BRANCHES
    of_default = [branch.guard["PATH"] for branch in after.branches if branch.guard["MAP"] == 0]
    assert of_default == [0, 1, 2, 3]
    assert f"left out, since a template has at most {MOST_BRANCHES} forms" in after.applications[-1].notes[0]


def test_a_pass_apart_has_the_first_form_alone_and_room_of_its_own(start: Draft) -> None:
    class Apart(Choosing):
        apart = True

    full = apply_pass(start, Choosing(GUARD, {v: f"if (i < n && {v}) {{" for v in range(1, MOST_BRANCHES + 2)}))
    after = apply_pass(full, Apart(ADD, {1: "form1();", 2: "form2();"}, parameter="PATH", name="apart"))
    assert len(after.branches) == MOST_BRANCHES + 2
    assert [branch.guard["MAP"] for branch in after.branches if branch.guard["PATH"]] == [0, 0]
    assert not after.applications[-1].notes


def test_an_alternative_that_breaks_a_promise_is_left_out_alone(start: Draft) -> None:
    twice = (Tunable("U", (1, 2), 1, "?"), Tunable("U", (1, 2), 1, "?"))
    (alone,) = apply_pass(start, Choosing(ADD, {1: "x(U);"}, tunables=twice)).applications
    assert alone.reason == "the choice has only one value here; MAP=1 left out here: U is listed twice"

    class Partly(Choosing):
        def apply(self, subject):
            answer = super().apply(subject)
            broken = replace(answer.alternatives[2], grid=("n / UNKNOWN",))
            return replace(answer, alternatives={**answer.alternatives, 2: broken})

    (partly,) = apply_pass(start, Partly(ADD, {1: "x();", 2: "y();"})).applications
    assert partly.parameters == ("MAP",)
    assert partly.notes == ("MAP=2 left out here: unknown name 'UNKNOWN' in 'n / UNKNOWN'",)


# ── what counts where ──


def test_launch_and_rules_follow_the_form(start: Draft) -> None:
    found = made(
        start,
        Naming(),
        Choosing(ADD, {2: "x(MAP);", 4: "x(MAP);"}, grid="n / MAP", shared="4 * BLOCK", rules=(Rule("n % MAP == 0", "no tail"),)),
    )
    assert found.grid == ("n / MAP if MAP != 0 else ceildiv(n, BLOCK)",)
    assert found.shared == "4 * BLOCK if MAP != 0 else 0"
    assert rules_of(found) == {"MAP == 0 or (n % MAP == 0)": "no tail"}


def test_a_parameter_without_effect_stays_at_its_default(start: Draft) -> None:
    found = made(
        start,
        Naming(),
        Choosing("blockIdx.x * BLOCK + threadIdx.x", {1: "whole()"}, grid="n"),
        Choosing("whole()", {1: "half(U)"}, parameter="HALF", name="half", tunables=(Tunable("U", (1, 2, 3), 1, "?"),)),
    )
    rules = rules_of(found)
    assert rules["U == 1 or HALF == 1"] == "U counts only when HALF is 1"
    # The block still has BLOCK threads in every form, so it counts everywhere.
    assert not any(rule.startswith("BLOCK") for rule in rules)
    space = space_of_refactored(found)
    assert all(c["U"] == 1 or c["HALF"] == 1 for c in space)


def test_the_space_has_exactly_the_forms(start: Draft) -> None:
    """Structural values are feasible together if and only if there is a form for them."""
    passes = [
        Choosing(ADD, {1: "x();", 2: "y();", 3: "z();"}),
        Choosing("x();", {1: "x1();", 2: "x2();"}, parameter="STAGE", name="b"),
        Choosing("x1();", {5: "x15();", 6: "x15();"}, parameter="DEPTH", name="c"),
        Choosing("z();", {1: "z1();"}, parameter="LAST", name="d"),
    ]
    draft = apply_passes(start, passes)
    space = space_of_refactored(combined(draft))
    wanted = {
        Configuration.of(dict(zip(draft.groups, values, strict=True)))
        for branch in draft.branches
        for values in product(*(draft.groups[name][key] for name, key in branch.guard.items()))
    }
    assert set(space) == wanted
    assert len(wanted) == 9


# ── leaving out ──


def test_without_a_value(start: Draft) -> None:
    draft = apply_passes(start, [Naming(), Choosing(ADD, {1: "x();", 2: "y();"})])
    left = combined(draft.without("MAP", 1).without("BLOCK", 256))
    assert [(p.name, p.values) for p in left.parameters] == [("BLOCK", (32, 64, 128)), ("MAP", (0, 2))]
    assert "x();" not in left.body


def test_a_parameter_with_one_value_left_is_that_value(start: Draft) -> None:
    draft = apply_passes(start, [Naming(), Choosing(ADD, {1: "x(MAP);"})])
    for value in (32, 64, 256):
        draft = draft.without("BLOCK", value)
    gone = draft.without("MAP", 1)
    assert gone.origins == {}
    assert gone.branches == start.branches
    assert combined(gone).body == SOURCE


def test_conditions_about_a_constant_are_decided(start: Draft) -> None:
    decorated = """#if BLOCK > 1 && U != 0
#pragma unroll U
#endif
#if U == 0  // as it was
  a();
#if V
  v(U);
#endif
#else
  b();
#endif
#if U
  c();
#elif W
  d();
#endif"""
    variant = replace(start.branches[0].variant, text=decorated, tunables=(Tunable("U", (0, 1), 0, "?"),))
    text = with_constant(variant, "U", 0).text
    assert text.startswith(
        "#if BLOCK > 1 && 0 != 0\n#pragma unroll 0\n#endif\n  a();\n#if V\n  v(0);\n#endif\n#if W\n  d();\n#endif"
    )
    assert with_constant(variant, "U", 1).text.split("\n")[3] == "  b();"


@pytest.mark.parametrize(("value", "left"), [(0, "n();"), (1, "a();"), (2, "b();"), (3, "c();")])
def test_a_chain_of_conditions_is_decided_down_to_one_branch(start: Draft, value: int, left: str) -> None:
    chain = "#if EXP == 1\na();\n#elif EXP == 2\n#if OTHER\n#elif X\n#endif\nb();\n#elif EXP == 3\nc();\n#else\nn();\n#endif"
    text = with_constant(replace(start.branches[0].variant, text=chain), "EXP", value).text
    assert [line for line in text.split("\n") if line.endswith(";")] == [left]
    assert "EXP" not in text
    assert text.count("#") == (3 if value == 2 else 0), "other conditions stay"


def test_without_a_form(start: Draft) -> None:
    draft = apply_passes(start, [Choosing(ADD, {1: "x();", 2: "y();"}), Choosing(GUARD, {1: "{"}, parameter="WHOLE", name="w")])
    left = draft.without_form({"MAP": 2, "WHOLE": 1})
    assert len(left.branches) == 5
    assert "WHOLE == 0 or MAP != 2" in rules_of(combined(left))
    fewer = left.without_form({"MAP": 2, "WHOLE": 0})
    assert fewer.choices[0].values == (0, 1)


class Offering:
    """More values where the guard is gone, and a note where it is not."""

    name = "offering"
    summary = "for tests"
    stage = Stage.DECORATE
    concerns = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        found, more = subject.variant, GUARD not in subject.variant.text
        tunable = Tunable("HOW", (0, 1, 2) if more else (0, 1), 0, "1, 2" if more else "1", likely=(1, 2) if more else (1,))
        text = found.text.replace(ADD, f"{ADD}  // HOW\n#if HOW\n#endif")
        notes = () if more else ("no HOW=2: it is guarded",)
        likely = (Rule("HOW + 1 > 1", "it is so"),) if more else ()
        return Rewrite(replace(found, text=text, tunables=(*found.tunables, tunable), likely=likely), notes=notes)


def test_forms_with_more_values_say_what_they_mean_and_others_why_not(start: Draft) -> None:
    draft = apply_passes(start, [Choosing(GUARD, {1: "{"}), Offering()])
    found = combined(draft)
    how = found.parameters[-1]
    assert (how.values, how.likely, how.meaning) == ((0, 1, 2), (1, 2), "1, 2")
    assert "HOW != 2 or MAP == 1" in rules_of(found)
    assert [str(expected.expression) for expected in found.likely] == ["MAP == 0 or (HOW + 1 > 1)"], "of that form alone"
    assert draft.applications[-1].notes == ("where MAP is 0: no HOW=2: it is guarded",)
    assert apply_pass(start, Offering()).applications[-1].notes == ("no HOW=2: it is guarded",)


def test_values_that_nothing_allows_are_left_out(start: Draft) -> None:
    draft = apply_pass(start, Naming(values=(48, 128, 256, 2048), rules=(Rule("BLOCK % warp_size == 0", "whole warps"),)))
    (parameter,) = combined(with_possible_values(draft)).parameters
    assert parameter.values == (128, 256)


def test_the_nearest_configuration_with_a_value(start: Draft) -> None:
    rule = Rule("BLOCK <= 64 or MAP == 0", "?")
    found = made(start, Naming(), Choosing(ADD, {1: "x();"}, rules=(rule,)))
    nearest = nearest_with(space_of_refactored(found), "MAP", 1)
    assert nearest is not None
    assert nearest["MAP"] == 1
    assert nearest["BLOCK"] in (32, 64)
    assert nearest_with(space_of_refactored(found), "BLOCK", 256) == Configuration.of({"BLOCK": 256, "MAP": 0})


def test_nothing_is_made_of_a_kernel_whose_macro_hides_what_it_does(tmp_path: Path) -> None:
    source = "#define WAIT(...) __syncthreads(); f(__VA_ARGS__)\n" + SOURCE.replace(ADD, f"{ADD} WAIT(1, 2);")
    draft = apply_pass(Draft.of(scale_kernel(tmp_path, source=source), LIMITS), Choosing(GUARD, {1: "if (1) {"}))
    assert draft.applications[0].reason is not None
    assert draft.applications[0].reason.endswith("uses a macro that cannot be expanded: WAIT takes any number of arguments")


def test_a_pass_that_finds_nothing_looks_at_the_kernel_with_its_counters_in_their_loops(tmp_path: Path) -> None:
    old = SOURCE.replace("  if (i < n) {", "  int j;\n  for (j = 0; j < 4; j++)\n  if (i < n) {")
    start = Draft.of(scale_kernel(tmp_path, source=old), LIMITS)
    found = apply_pass(start, Choosing("for (int j = 0; j < 4; j++)", {1: "for (int j = 0; j < 2; ++j)"}))
    assert found.branches[0] == replace(start.branches[0], guard={"MAP": 0})
    assert "int j;\n" not in found.branches[1].variant.text
