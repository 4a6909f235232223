"""Characters of which compilers make different texts: what one reads as a comment another compiles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpsmith.refactor.allowed.fact import Fact

_READ_DIFFERENTLY = {
    "a carriage return that does not end a line": re.compile(r"\r(?!\n)"),  # a new line to clang, a blank to others
    "a control character": re.compile(r"[\x00-\x08\x0e-\x1f\x7f]"),
    "a backslash followed by trailing blanks": re.compile(r"\\[ \t\f\v]+\r?(?:\n|$)"),  # goes on for some
    "a trigraph": re.compile(r"\?\?[/=]"),  # a backslash or a hash in strict modes
}


def character_facts(text: str) -> Iterator[Fact]:
    for what, found in _READ_DIFFERENTLY.items():
        if place := found.search(text):
            line = text.count("\n", 0, place.start()) + 1
            yield Fact(f"a form may not have {what}, which compilers read differently", what, line)
