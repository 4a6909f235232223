"""Small steps over tokens: past brackets, template parameters and requirements. No grammar, so unknown macros do no harm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warpsmith.core.brackets import ANY, until_closed
from warpsmith.devices._clang.items import text_at
from warpsmith.devices._clang.tokens import Kind, Token

_OPENING = frozenset("([{")


def past_brackets(tokens: Sequence[Token], position: int) -> int:
    """One past the bracket that closes the one at `position`."""
    taken = until_closed((tokens[place].text for place in range(position, len(tokens))), ANY)
    return len(tokens) if taken is None else position + taken


def past_angles(tokens: Sequence[Token], position: int) -> int:
    """One past the `>` that closes the `<` at `position`."""
    depth = 0
    while position < len(tokens):
        text = tokens[position].text
        if text in _OPENING:
            position = past_brackets(tokens, position)
            continue
        depth += (text == "<") - (len(text) if text in {">", ">>", ">>>"} else 0)
        position += 1
        if depth <= 0 or text in {";", "}"}:
            break
    return position


def past_template(tokens: Sequence[Token], position: int = 0) -> int:
    """Past every `template <…>` and `requires …` that a declaration begins with."""
    while True:
        if text_at(tokens, position) == "template" and text_at(tokens, position + 1) == "<":
            position = past_angles(tokens, position + 1)
        elif text_at(tokens, position) == "requires":
            position = _past_requirement(tokens, position + 1)
        else:
            return position


def template_parameters(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parameters of the first `template <…>`, each as its tokens."""
    if text_at(tokens, 0) != "template" or text_at(tokens, 1) != "<":
        return []
    end = past_angles(tokens, 1)
    return [list(part) for part in split_commas(tokens[2 : end - 1]) if part]


def split_commas(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The parts between commas that are in no bracket of any kind."""
    start = position = 0
    while position < len(tokens):
        text = tokens[position].text
        if text in _OPENING:
            position = past_brackets(tokens, position)
        elif text == "<" and position and tokens[position - 1].kind is Kind.WORD:
            position = past_angles(tokens, position)
        elif text == ",":
            yield tokens[start:position]
            position += 1
            start = position
        else:
            position += 1
    yield tokens[start:]


def parameter_name(tokens: Sequence[Token]) -> str | None:
    """The name a template parameter declares, a function's too (`float (*f)(float)`); None for a nameless one."""
    declared = []
    for index, token in enumerate(tokens):
        if token.text == "(" and text_at(tokens, index + 1) in {"*", "&"}:
            return text_at(tokens, index + 2) if text_at(tokens, index + 3) == ")" else None
        if token.text == "=":
            break
        declared.append(token)
    words = [token.text for token in declared if token.kind is Kind.WORD]
    return words[-1] if len(words) > 1 and declared[-1].kind is Kind.WORD else None


def _past_requirement(tokens: Sequence[Token], position: int) -> int:
    """A conjunction or disjunction of primaries; a word after a whole primary belongs to the declaration."""
    while position < len(tokens):
        while text_at(tokens, position) == "!":
            position += 1
        if text_at(tokens, position) == "(":
            position = past_brackets(tokens, position)
        elif text_at(tokens, position) == "requires":
            position += 1
            while text_at(tokens, position) in {"(", "{"}:
                position = past_brackets(tokens, position)
        else:
            position = _past_name(tokens, position)
        if text_at(tokens, position) not in {"&&", "||"}:
            break
        position += 1
    return position


def _past_name(tokens: Sequence[Token], position: int) -> int:
    """Past `a::b<c>::d`."""
    while position < len(tokens):
        if text_at(tokens, position) == "::":
            position += 1
        if position < len(tokens) and tokens[position].kind is Kind.WORD:
            position += 1
        if text_at(tokens, position) == "<":
            position = past_angles(tokens, position)
        if text_at(tokens, position) != "::":
            break
    return position
