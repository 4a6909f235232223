"""Merging: whatever the forms are, preprocessing the merged source with a form's guard gives that form's lines back."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.devices._clang.binary import run_clang
from warpsmith.refactor.drafting.conditions import Guard, condition_for
from warpsmith.refactor.drafting.merge import Form, merge

NAMES = ("MAP", "STAGE", "PATH")


def selected(text: str, guard: Guard) -> str:
    """What our own `#if`s leave; those of the source itself (over other names) stay."""
    kept: list[str] = []
    stack: list[tuple[bool, bool, bool]] = []  # ours, taken now, taken before
    for line in text.split("\n"):
        word, _, rest = line.partition(" ")
        rest = rest.split("//")[0]
        ours = bool(set(re.findall(r"[A-Za-z_]\w*", rest)) & set(NAMES))
        if word in {"#if", "#ifdef"}:
            holds = ours and all(taken for _, taken, _ in stack) and _truth(rest, guard)
            stack.append((ours, holds if ours else True, holds))
            if ours:
                continue
        elif word in {"#elif", "#else"} and stack[-1][0]:
            before = stack[-1][2]
            holds = not before and (word == "#else" or _truth(rest, guard))
            stack[-1] = (True, holds, before or holds)
            continue
        elif word == "#endif" and stack.pop()[0]:
            continue
        if all(taken for _, taken, _ in stack):
            kept.append(line)
    assert not stack
    return "\n".join(kept)


def _truth(condition: str, guard: Guard) -> bool:
    python = condition.replace("&&", " and ").replace("||", " or ")
    return bool(eval(python, {}, dict(guard)))


def indented_anyhow(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")]


LINE = st.sampled_from(
    ["a();", "  a();", "b();", "c();", "}", "{", "", "#if FOO\nd();\n#endif", "#if FOO\nd();\n#else\ne();\n#endif",
     "/* f\n#if FOO\n#endif */", "#define G(x) \\\n  x", "H(1,\n  2);", "  // words",
     "#ifdef BAR\n#if FOO\ng();\n#endif\nh();\n#endif"]
)  # fmt: skip
TEXT = st.lists(LINE, max_size=9).map("\n".join)


@st.composite
def families(draw: st.DrawFn) -> list[Form]:
    names = NAMES[: draw(st.integers(1, 3))]
    guards = [dict(zip(names, values, strict=True)) for values in product(range(3), repeat=len(names))]
    chosen = draw(st.lists(st.sampled_from(guards), min_size=1, max_size=8, unique_by=lambda g: tuple(g.values())))
    texts = draw(st.lists(TEXT, min_size=1, max_size=4))
    return [Form(guard, draw(st.sampled_from(texts))) for guard in chosen]


@settings(max_examples=200, deadline=None)
@given(families())
def test_every_guard_selects_its_own_form(forms: list[Form]) -> None:
    merged = merge(forms)
    assert selected(merged, forms[0].guard) == forms[0].text
    for form in forms:
        assert indented_anyhow(selected(merged, form.guard)) == indented_anyhow(form.text)


@settings(max_examples=100, deadline=None)
@given(families(), st.data())
def test_edits_of_one_text(forms: list[Form], data: st.DataObject) -> None:
    """Forms as passes make them: a common text with a few lines replaced."""
    base = [f"line{i}();" if i % 4 else "}" for i in range(14)]
    edited = []
    for form in forms:
        lines = list(base)
        for at in data.draw(st.lists(st.integers(0, 13), max_size=4)):
            lines[at] = data.draw(st.sampled_from(["x();", "x();\ny();", "#if FOO\nz();\n#endif"]))
        edited.append(Form(form.guard, "\n".join(lines)))
    merged = merge(edited)
    for form in edited:
        assert selected(merged, form.guard) == form.text


@given(
    st.lists(
        st.fixed_dictionaries({n: st.integers(0, 3) for n in NAMES}), unique_by=lambda g: tuple(sorted(g.items())), max_size=12
    ),
    st.data(),
)
def test_a_condition_tells_two_sets_of_guards_apart(guards: list[dict[str, int]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(guards)))
    found = condition_for(guards[:cut], guards[cut:])
    assert all(found.holds(guard) for guard in guards[:cut])
    assert not any(found.holds(guard) for guard in guards[cut:])


ORIGINAL = """__global__ void k(float* p, int n) {
  int i = threadIdx.x;
  if (i < n) {
    p[i] *= 2;
  }
}
"""


def test_shared_lines_stand_once_and_the_default_comes_first() -> None:
    other = ORIGINAL.replace("    p[i] *= 2;", "    float v = p[i];\n    p[i] = v * 2;")
    assert merge([Form({"MAP": 0}, ORIGINAL), Form({"MAP": 1}, other)]) == (
        "__global__ void k(float* p, int n) {\n  int i = threadIdx.x;\n  if (i < n) {\n#if MAP == 0\n    p[i] *= 2;\n#else\n"
        "    float v = p[i];\n    p[i] = v * 2;\n#endif\n  }\n}\n"
    )


def test_a_loop_around_the_body_does_not_double_it() -> None:
    body = "    a();\n    b();\n    c();\n"
    inside = "  for (;;) {\n" + body.replace("    ", "      ") + "  }\n"
    merged = merge([Form({"MAP": 0}, "{\n" + body + "}"), Form({"MAP": 1}, "{\n" + inside + "}")])
    assert merged == "{\n#if MAP == 1\n  for (;;) {\n#endif\n" + body + "#if MAP == 1\n  }\n#endif\n}"


def test_blanks_inside_strings_are_a_difference() -> None:
    forms = [Form({"MAP": 0}, 'a = R"(x\n  y)";'), Form({"MAP": 1}, 'a = R"(x\n y)";')]
    assert selected(merge(forms), {"MAP": 1}) == forms[1].text


def test_an_addition_needs_no_else() -> None:
    other = ORIGINAL.replace("  if (i < n) {", "  __syncthreads();\n  if (i < n) {")
    merged = merge([Form({"MAP": 0}, ORIGINAL), Form({"MAP": 1}, other)])
    assert "#if MAP == 1\n  __syncthreads();\n#endif\n" in merged
    assert "#else" not in merged


def test_regions_apart_by_a_brace_are_one() -> None:
    other = ORIGINAL.replace("if (i < n) {", "while (i < n) {").replace("*= 2", "*= 3")
    assert merge([Form({"MAP": 0}, ORIGINAL), Form({"MAP": 1}, other)]).count("#if") == 1
    between = ORIGINAL.replace("p[i] *= 2;\n  }", "p[i] *= 2;\n  }\n  done();")
    changed = between.replace("p[i] *= 2;", "p[i] *= 3;").replace("done();", "finished();")
    assert merge([Form({"MAP": 0}, between), Form({"MAP": 1}, changed)]).count("#if") == 1


def test_a_condition_names_only_what_decides() -> None:
    forms = [
        Form({"MAP": 0, "STAGE": 0}, "a();\nkeep();\nx();"),
        Form({"MAP": 0, "STAGE": 1}, "a();\nkeep();\ny();"),
        Form({"MAP": 1, "STAGE": 0}, "b();\nkeep();\nx();"),
        Form({"MAP": 1, "STAGE": 1}, "b();\nkeep();\ny();"),
    ]
    conditions = re.findall(r"^#(?:el)?if (.*)$", merge(forms), re.MULTILINE)
    assert conditions == ["MAP == 0", "STAGE == 0"]


def test_forms_that_share_most_of_a_region_are_nested() -> None:
    body = "\n".join(f"step{i}();" for i in range(12))
    rewritten = "\n".join(f"other{i}();" for i in range(12))
    merged = merge(
        [
            Form({"MAP": 0, "STAGE": 0}, body),
            Form({"MAP": 1, "STAGE": 0}, rewritten),
            Form({"MAP": 1, "STAGE": 1}, rewritten.replace("other5", "staged")),
        ]
    )
    assert merged.count("step3();") == merged.count("other3();") == 1
    assert "#endif  // MAP" in merged


def test_the_sources_own_conditionals_are_never_cut() -> None:
    text = "#ifndef GUARD\n#define GUARD\n#ifdef FAST\nfast();\n#else\nslow();\n#endif\nend();\n#endif"
    merged = merge([Form({"MAP": 0}, text), Form({"MAP": 1}, text.replace("slow();\n#endif", "slower();\n#endif\nmore();"))])
    assert merged.startswith("#ifndef GUARD\n#define GUARD\n#ifdef FAST\nfast();\n#else\n#if MAP == 0\nslow();\n#else\n")


@pytest.mark.parametrize("guard", [{"MAP": 0, "STAGE": 0}, {"MAP": 1, "STAGE": 0}, {"MAP": 1, "STAGE": 1}])
def test_a_real_preprocessor_agrees(guard: dict[str, int]) -> None:
    staged = ORIGINAL.replace("p[i] *= 2;", "float v = p[i];\n    p[i] = v + v;")
    forms = [
        Form({"MAP": 0, "STAGE": 0}, ORIGINAL),
        Form({"MAP": 1, "STAGE": 0}, staged),
        Form({"MAP": 1, "STAGE": 1}, staged.replace("if (i < n)", "/* all\n of them */ while (i < n)")),
    ]
    wanted = next(form.text for form in forms if form.guard == guard)
    assert _preprocessed(merge(forms), guard) == _preprocessed(wanted, guard)


def _preprocessed(text: str, guard: Guard) -> list[str]:
    done = run_clang(text.encode(), ["-E", "-P", "-x", "c++", *(f"-D{name}={value}" for name, value in guard.items())])
    assert done.succeeded, done.log
    return done.output.decode().split()
