"""A configuration written into a template for good: what the parameters decide is decided, everything else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.kernel import Launch, Parameter
from warpsmith.template import Template
from warpsmith.template.settling import meaning, settled

NUMBER = Expression.parse(1)


def settle(source: str, **values: int | str | bool) -> str:
    parameters = tuple(Parameter(name, (value,), value) for name, value in values.items())
    used = frozenset(values) & used_identifiers(source)
    template = Template(source, Path("k.cu"), parameters, (), Launch((NUMBER,), (NUMBER,), NUMBER), used)
    return settled(template, Configuration.of(values))


HEADER = """\
// k.cu as a template: its choices are the constants below, which -DNAME=value sets. Their defaults leave the kernel
// as it was.

// MAP: how threads are laid out over rows (0, 1,
// 2)
#ifndef MAP
#define MAP 0
#endif

// ITEMS: elements for each thread (1, 4)
#ifndef ITEMS
#define ITEMS 1
#endif

"""


def test_only_the_chosen_branch_and_the_names_it_uses_are_left() -> None:
    body = "// the kernel\n#if MAP == 1\nint a[ITEMS];\n#elif MAP == 2\nint b;\n#else\nint c;\n#endif // MAP\nint rest;\n"
    assert settle(HEADER + body, MAP=1, ITEMS=4) == "#define ITEMS 4\n\n// the kernel\nint a[ITEMS];\nint rest;\n"
    assert settle(HEADER + body, MAP=2, ITEMS=4) == "// the kernel\nint b;\nint rest;\n"
    assert settle(HEADER + body, MAP=0, ITEMS=4) == "// the kernel\nint c;\nint rest;\n"


def test_conditions_are_read_as_the_preprocessor_reads_them() -> None:
    text = "#if (A >= 2 && !(B == 1)) || defined(A) && 0\nyes\n#endif\n#ifdef A\nknown\n#endif\n#ifndef B\nno\n#endif\n"
    assert settle(text, A=2, B=0) == "yes\nknown\n"
    assert settle(text, A=1, B=0) == "known\n"


def test_branches_nest_and_undecided_ones_keep_their_decided_inside() -> None:
    text = "#if __CUDA_ARCH__ >= 800\n#if A == 1\none\n#else\ntwo\n#endif\n#else\nold\n#endif\n"
    assert settle(text, A=1) == "#if __CUDA_ARCH__ >= 800\none\n#else\nold\n#endif\n"


@pytest.mark.parametrize(
    ("a", "expected"),
    [
        (1, "#if defined(FAST)\nfast\n#else\none\n#endif\n"),  # decided after something that is not: it is the rest
        (2, "#if defined(FAST)\nfast\n#elif defined(SAFE)\nsafe\n#endif\n"),  # never taken: gone
    ],
)
def test_a_chain_that_is_decided_in_part(a: int, expected: str) -> None:
    text = "#if defined(FAST)\nfast\n#elif A == 1\none\n#elif defined(SAFE)\nsafe\n#endif\n"
    assert settle(text, A=a) == expected


def test_an_elif_whose_predecessors_are_gone_becomes_an_if() -> None:
    assert settle("#if A == 2\ntwo\n#elif defined(X)\nx\n#endif\n", A=1) == "#if defined(X)\nx\n#endif\n"


def test_comments_strings_and_continued_lines_are_no_directives() -> None:
    text = '/*\n#if A == 2\n*/\nconst char* s = "#if A";\n#if A == 1 && \\\n    B == 2\nboth\n#endif\n#define M(x) \\\n  x + A\n'
    found = settle(text, A=1, B=2)
    assert found.startswith("#define A 1\n")
    assert '/*\n#if A == 2\n*/\nconst char* s = "#if A";\nboth\n#define M(x) \\\n  x + A\n' in found


def test_values_that_are_no_numbers_stand_at_the_top_and_decide_nothing() -> None:
    found = settle("#ifndef T\n#define T float\n#endif\n#if T == 1\nx\n#endif\nT y; bool z = F;\n", T="double", F=True)
    assert found == "#define T double\n#define F 1\n\n#if T == 1\nx\n#endif\nT y; bool z = F;\n"


def means(source: str, beside: tuple[str, ...] = (), **values: int) -> str | None:
    parameters = tuple(Parameter(name, (value,), value) for name, value in values.items())
    template = Template(source, Path("k.cu"), parameters, (), Launch((NUMBER,), (NUMBER,), NUMBER), frozenset(values))
    return meaning(template, Configuration.of(values), beside=beside)


FORMS = "#if MAP == 1\nint a = ITEMS;\n#else\nint b;\n#endif\n"


def test_templates_mean_the_same_where_their_forms_do() -> None:
    more = f"// one more\n#if MAP == 2\n  int c;  // new\n#else\n\n  {FORMS.replace('int a', '  int a')}#endif\n"
    assert means(FORMS, MAP=1, ITEMS=4) == means(more, MAP=1, ITEMS=4) == "#define ITEMS 4\nint a = ITEMS;"
    assert means(FORMS, MAP=1, ITEMS=2) != means(FORMS, MAP=1, ITEMS=4)
    assert means(FORMS, MAP=0, ITEMS=2) == means(FORMS, MAP=3, ITEMS=4) == "int b;"


def test_what_is_compiled_beside_the_source_counts() -> None:
    assert means("int b;\n", ("k<ITEMS>",), ITEMS=2) != means("int b;\n", ("k<ITEMS>",), ITEMS=4)


def test_a_meaning_keeps_what_only_the_preprocessor_can_decide() -> None:
    rounded = "#if (ITEMS - 4) / 3 == 0\nint a;\n#endif\n"  # C rounds towards zero
    assert means(rounded, ITEMS=2) != means(rounded, ITEMS=1)
    literal = 'char c = "// no comment";\n'
    assert means(literal, ITEMS=1) == literal.strip()


@pytest.mark.parametrize("line", ["int l = __LINE__;", "assert(ITEMS > 0);", "#undef ITEMS", '#line 7 "k.cu"'])
def test_a_source_that_depends_on_its_lines_has_no_meaning_of_its_own(line: str) -> None:
    assert means(f"{line}\n{FORMS}", MAP=1, ITEMS=4) is None


def test_a_define_without_a_name_is_left_to_the_compiler() -> None:
    assert settle("#ifndef A\n#define\n#endif\nint f() { return A; }\n", A=1).endswith("int f() { return A; }\n")
