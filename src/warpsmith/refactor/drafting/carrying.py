"""A change of one form of a kernel, made in another form of it."""

from __future__ import annotations

from difflib import SequenceMatcher


def carried_over(before: str, after: str, other: str) -> str | None:
    """`other` with the lines changed that are between `before` and `after`; None where one of them is not a line of both."""
    one, changed, lines = (text.split("\n") for text in (before, after, other))
    if len(one) != len(changed):
        return None
    matching = SequenceMatcher(a=one, b=lines, autojunk=False).get_matching_blocks()
    places = {m.a + n: m.b + n for m in matching for n in range(m.size)}
    for number, (old, new) in enumerate(zip(one, changed, strict=True)):
        if old == new:
            continue
        if number not in places:
            return None
        lines[places[number]] = new
    return "\n".join(lines)
