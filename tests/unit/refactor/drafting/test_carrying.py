"""A change of one form of a kernel, made in another."""

import pytest

from warpsmith.refactor.drafting.carrying import carried_over

PLAIN = "float s[256];\nfor (int t = 0; t < 9; ++t) {\n  a();\n}\nend(256);"
ORIGINAL = "float s[256];\nint t = 0;\nwhile (t < 9) {\n  a();\n  t += 1;\n}\nend(256);"


def test_lines_of_both_change_in_both():
    changed = carried_over(PLAIN, PLAIN.replace("256", "BLOCK"), ORIGINAL)
    assert changed == ORIGINAL.replace("256", "BLOCK")
    assert carried_over(PLAIN, PLAIN, ORIGINAL) == ORIGINAL


@pytest.mark.parametrize("after", [PLAIN.replace("t < 9", "t < N"), PLAIN.replace("  a();", "  a();\n  b();")])
def test_what_only_one_form_has_cannot(after: str):
    assert carried_over(PLAIN, after, ORIGINAL) is None
