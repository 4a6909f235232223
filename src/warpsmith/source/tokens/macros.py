"""The unit's macros: where each is defined, what it mentions, and what a call that stands for declarations expands to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.tokens.syntax import split_commas
from warpsmith.source.tokens.uses import Mentions, mentions

_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_UNDEF = re.compile(r"[ \t]*#[ \t]*undef[ \t]+(\w+)")
_NESTING = 8


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A definition, or the end of one (`is_end`)."""

    name: str
    parameters: tuple[str, ...] | None
    replacement: str
    start: int
    end: int
    is_end: bool = False

    def mentions(self) -> Mentions:
        return mentions(list(tokenize(self.replacement.replace("\\\n", " "))), (*(self.parameters or ()), self.name))


def macros(tokens: Iterable[Token]) -> list[Macro]:
    """Every `#define` and `#undef`, in order."""
    found = []
    for token in tokens:
        if token.kind is not Kind.DIRECTIVE:
            continue
        if match := _DEFINE.match(token.text):
            parameters = tuple(name.strip().removesuffix("...") for name in match[2].split(",")) if match[2] is not None else None
            found.append(Macro(match[1], parameters, match[3], token.start, token.end))
        elif match := _UNDEF.match(token.text):
            found.append(Macro(match[1], None, "", token.start, token.end, is_end=True))
    return found


def braces_left(known: Iterable[Macro]) -> dict[str, int]:
    """How many more braces a macro opens than it closes, of those that begin a variable's values or end something.

    One that opens a namespace is none of them: what follows it are declarations of their own.
    """
    counts = {}
    for macro in known:
        texts = [token.text for token in tokenize(macro.replacement.replace("\\\n", " "))]
        counts[macro.name] = texts.count("{") - texts.count("}")
        if counts[macro.name] > 0 and texts[-2:] != ["=", "{"]:
            counts[macro.name] = 0
    return {name: count for name, count in counts.items() if count}


def expanded(call: Sequence[Token], known: Mapping[str, Macro]) -> str:
    """The text that a call `NAME(a, b)` stands for, macros within it included; only good for reading names off it."""
    text = " ".join(token.text for token in call)
    for _ in range(_NESTING):
        tokens = list(tokenize(text))
        index = next(
            (i for i, t in enumerate(tokens) if t.kind is Kind.WORD and t.text in known and _is_call(tokens, i, known)), None
        )
        if index is None:
            break
        macro = known[tokens[index].text]
        end = index + 1
        arguments: list[str] = []
        if macro.parameters is not None:
            taken = until_closed((token.text for token in tokens[end:]), ROUND)
            end = len(tokens) if taken is None else end + taken
            arguments = [" ".join(t.text for t in part) for part in split_commas(tokens[index + 2 : end - 1])]
        body = _substituted(macro, arguments)
        text = " ".join([*(t.text for t in tokens[:index]), body, *(t.text for t in tokens[end:])])
    return text


def _is_call(tokens: Sequence[Token], index: int, known: Mapping[str, Macro]) -> bool:
    return known[tokens[index].text].parameters is None or (index + 1 < len(tokens) and tokens[index + 1].text == "(")


def _substituted(macro: Macro, arguments: Sequence[str]) -> str:
    names = macro.parameters or ()
    values = dict(zip(names, arguments, strict=False))
    if names and names[-1] == "":  # a bare `...`
        values["__VA_ARGS__"] = ", ".join(arguments[len(names) - 1 :])
    body = macro.replacement.replace("\\\n", " ")
    replaced = re.sub(r"[A-Za-z_]\w*", lambda match: values.get(match[0], match[0]), body)
    return re.sub(r"\s*##\s*", "", replaced)
