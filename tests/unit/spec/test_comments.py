"""What is no code is blanked out at equal length."""

from __future__ import annotations

import pytest

from warpsmith.spec.comments import with_blank_dead_code


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("a\n#if 0\nb\n#endif\nc", ["a", "c"]),
        ("#if 0\na\n#else\nb\n#endif", ["b"]),
        ("#if 1\na\n#else\nb\n#endif\nc", ["a", "c"]),
        ("#if 1\na\n#elif X\nb\n#else\nc\n#endif", ["a"]),
        ("#if 0\na\n#elif X\nb\n#elif 0\nc\n#else\nd\n#endif", ["b", "d"]),
        ("# if 0\n#ifdef X\na\n#else\nb\n#endif\nc\n# endif\nd", ["d"]),
        ("#ifdef X\na\n#else\nb\n#endif", ["a", "b"]),
        ("#if X\n#if 0\na\n#endif\nb\n#endif", ["b"]),
        ("#endif\na\n#else\nb", ["a", "b"]),
    ],
)
def test_what_is_never_compiled_is_not_read(source: str, left: list[str]) -> None:
    blank = with_blank_dead_code(source)
    assert len(blank) == len(source)
    assert [line for line in blank.split("\n") if line.strip() and "#" not in line] == left
