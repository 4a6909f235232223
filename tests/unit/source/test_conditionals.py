from __future__ import annotations

import pytest

from warpsmith.source.conditionals import definitions

_EITHER = "#ifdef WIDE\n#define N 128\n#elif defined(HUGE) && !defined(SMALL)\n#define N 512\n#else\n#define N 64\n#endif\n"


def _body(text: str, name: str = "N", **given: int) -> str | None:
    macro = definitions(text, given).only(name)
    return None if macro is None else macro.replacement.strip()


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "64"), ({"WIDE": 1}, "128"), ({"HUGE": 1}, "512"), ({"HUGE": 1, "SMALL": 1}, "64")],
)
def test_the_branch_that_is_compiled_counts(given: dict[str, int], expected: str):
    assert _body(_EITHER, **given) == expected


@pytest.mark.parametrize(
    "before", ['#include "config.h"\n', "#ifdef __CUDA_ARCH__\n#define WIDE\n#endif\n", "#if SPEED > 3\n#define WIDE 1\n#endif\n"]
)
def test_what_others_may_define_is_not_known(before: str):
    assert _body(before + _EITHER) is None


def test_names_of_the_file_decide_too():
    assert _body("#define WIDE\n" + _EITHER) == "128"
    assert _body("#define USE 0\n#if USE\n#define N 1\n#else\n#define N 2\n#endif") == "2"


@pytest.mark.parametrize("text", ["#define N 1\n#undef N", "#define N 1\n#define N 2", "int N = 1;"])
def test_several_meanings_are_none(text: str):
    assert _body(text) is None


def test_comments_are_no_definitions():
    assert _body("/*\n#define N 9\n*/\n// #define N 8\n#define N 7 // seven") == "7"


def test_names_taken_for_undefined_are_told():
    assert definitions(_EITHER).assumed == {"WIDE", "HUGE", "SMALL"}
