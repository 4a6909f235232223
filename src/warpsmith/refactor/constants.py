"""Puts a number back in the place of a parameter, as if it had never been one; or another name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Rule, Variant

_IF = re.compile(r"\s*#\s*if(n?def)?\b")
_ENDIF = re.compile(r"\s*#\s*endif\b")
_PLAIN_IF = re.compile(r"\s*#\s*if\s+(.*)")
_ELSE = re.compile(r"\s*#\s*else\b")
_ELIF = re.compile(r"\s*#\s*elif")


def with_words(text: str, replacements: Mapping[str, str]) -> str:
    """The text with whole identifiers replaced."""
    return re.sub(r"[A-Za-z_]\w*", lambda found: replacements.get(found[0], found[0]), text)


def with_constant(variant: Variant, name: str, value: int) -> Variant:
    """The name replaced by a number, wherever the form has it; `#if`s that only asked for it are decided."""
    word = {name: str(value)}
    left = tuple(tunable for tunable in variant.tunables if tunable.name != name)
    return replace(_reworded(variant, word), text=_decided(variant.text, word), tunables=left)


def renamed(variant: Variant, names: Mapping[str, str]) -> Variant:
    """Parameters called otherwise, wherever the form has them."""
    tunables = tuple(replace(tunable, name=names.get(tunable.name, tunable.name)) for tunable in variant.tunables)
    return replace(_reworded(variant, names), text=with_words(variant.text, names), tunables=tunables)


def _reworded(variant: Variant, words: Mapping[str, str]) -> Variant:
    """Everything but the text and the tunables."""
    return replace(
        variant,
        entry=with_words(variant.entry, words),
        grid=tuple(with_words(extent, words) for extent in variant.grid),
        block=tuple(with_words(extent, words) for extent in variant.block),
        shared=with_words(variant.shared, words),
        rules=_with_word(variant.rules, words),
        likely=_with_word(variant.likely, words),
    )


def _with_word(rules: tuple[Rule, ...], word: Mapping[str, str]) -> tuple[Rule, ...]:
    return tuple(replace(rule, expression=with_words(rule.expression, word)) for rule in rules)


def _decided(text: str, word: Mapping[str, str]) -> str:
    lines = text.split("\n")
    kept: list[str] = []
    index = 0
    while index < len(lines):
        taken = _taken(lines, index, word)
        if taken is None:
            kept.append(lines[index])
            index += 1
        else:
            # The branch is looked at again: it may hold another such group.
            lines[index : index + taken[0]] = taken[1]
    return with_words("\n".join(kept), word)


def _taken(lines: list[str], start: int, word: Mapping[str, str]) -> tuple[int, list[str]] | None:
    """Length and chosen lines of a group whose condition is about these words and nothing else; None for any other line."""
    found = _PLAIN_IF.fullmatch(lines[start])
    condition = with_words(found[1].split("//")[0], word) if found else ""
    if found is None or condition.strip() == found[1].split("//")[0].strip():
        return None
    try:
        holds = bool(Expression.parse(condition).evaluate({}))
    except InputError:
        return None
    depth = 0
    middle: int | None = None
    for index in range(start, len(lines)):
        line = lines[index]
        depth += (_IF.match(line) is not None) - (_ENDIF.match(line) is not None)
        if depth == 0:
            middle = index if middle is None else middle
            return index + 1 - start, lines[start + 1 : middle] if holds else _rest(lines[middle : index + 1])
        if depth == 1 and middle is None and (_ELIF.match(line) or _ELSE.match(line)):
            middle = index
    return None


def _rest(lines: list[str]) -> list[str]:
    """What is left of a group whose first condition does not hold; `lines` begins with its `#elif`, `#else` or `#endif`."""
    return [lines[0].replace("elif", "if", 1), *lines[1:]] if _ELIF.match(lines[0]) else lines[1:-1]
