"""The names a declaration introduces, read off its tokens: of types, functions, variables and aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from warpsmith.devices._clang.items import text_at
from warpsmith.devices._clang.tokens import Kind, Token
from warpsmith.source.tokens.syntax import past_angles, past_brackets, split_commas

_CLASS_KEYS = frozenset({"class", "struct", "union", "enum"})
# Words before a parenthesis that is not a parameter list.
_NOT_A_NAME = re.compile(
    r"__launch_bounds__|__cluster_dims__|__block_size__|__maxnreg__|__attribute__|__declspec|__align__|alignas|decltype|noexcept"
    r"|explicit|requires|asm|sizeof|static_assert|return|typeof"
)
_AFTER_PARAMETERS = frozenset({"{", ";", ":", "->", "=", "const", "noexcept", "override", "final", "requires", "&", "&&", "try"})


def alias_names(tokens: Sequence[Token]) -> frozenset[str]:
    """Of a typedef, `using A = …;`, `namespace a = …;` and `using b::c;`."""
    if text_at(tokens, 0) == "typedef":
        return frozenset(_typedef_names(tokens))
    if text_at(tokens, 0) == "namespace" or "=" in {token.text for token in tokens}:
        return frozenset({text_at(tokens, 1)})
    words = ([token.text for token in part if token.kind is Kind.WORD] for part in split_commas(tokens[1:]))
    return frozenset(part[-1] for part in words if part)


def type_names(tokens: Sequence[Token], begin: int) -> tuple[frozenset[str], bool] | None:
    """(names, whether specialised) of a class, a union or an enumeration; None if none is declared here."""
    key = _class_key(tokens, begin)
    named = _name_after_key(tokens, key + 1) if key is not None else None
    if named is None:
        return None
    names = set()
    if tokens[named].kind is Kind.WORD:
        names.add(tokens[named].text)
    body = next((index for index in range(named, len(tokens)) if tokens[index].text == "{"), None)
    if body is not None:
        names |= {*variable_names(tokens[past_brackets(tokens, body) :]), *_enumerators(tokens, body)}
    return frozenset(names), begin > 0 and text_at(tokens, named + 1) == "<"


def function_names(tokens: Sequence[Token], begin: int) -> tuple[frozenset[str], bool] | None:
    """(names, whether specialised). A member defined outside of its class goes by the class, too."""
    position = begin
    while position < len(tokens):
        text = tokens[position].text
        if text == "operator":
            return frozenset({_owner(tokens, position) or "operator"}), False
        if text == "(":
            after = past_brackets(tokens, position)
            name = _name_before(tokens, position)
            if name is not None and (after >= len(tokens) or text_at(tokens, after) in _AFTER_PARAMETERS):
                owner = _owner(tokens, name)
                return frozenset({tokens[name].text, *([owner] if owner else [])}), name + 1 < position
            position = after
        elif text == "<" and tokens[position - 1].kind is Kind.WORD:
            position = past_angles(tokens, position)
        elif text == "[":
            position = past_brackets(tokens, position)
        elif text in {"=", "{", ";"}:
            return None
        else:
            position += 1
    return None


def variable_names(tokens: Sequence[Token]) -> Iterator[str]:
    """`int a = 1, *b, c[4];`, `bool is_x<float> = true;`: the last word of each part, before its value, size and arguments."""
    for part in split_commas(tokens):
        name: str | None = None
        position = 0
        while position < len(part) and part[position].text not in {"=", "{", "[", ";", ":"}:
            if part[position].text == "<":
                position = past_angles(part, position)
            elif part[position].text == "(":
                position = past_brackets(part, position)
            else:
                name = part[position].text if part[position].kind is Kind.WORD else name
                position += 1
        if name is not None:
            yield name


def _typedef_names(tokens: Sequence[Token]) -> Iterator[str]:
    for index, token in enumerate(tokens):  # typedef void (*name)(int);
        if token.text == "(" and text_at(tokens, index + 1) in {"*", "&"}:
            yield text_at(tokens, index + 2)
            return
    body = next((index for index, token in enumerate(tokens) if token.text == "{"), None)
    if body is None:
        yield from variable_names(tokens[1:])
        return
    yield from variable_names(tokens[past_brackets(tokens, body) :])
    yield from _enumerators(tokens, body)
    if tokens[body - 1].kind is Kind.WORD and tokens[body - 1].text not in _CLASS_KEYS:
        yield tokens[body - 1].text


def _class_key(tokens: Sequence[Token], position: int) -> int | None:
    """Only qualifiers and attributes may stand before it."""
    while position < len(tokens) and tokens[position].text not in _CLASS_KEYS:
        if tokens[position].kind is not Kind.WORD or text_at(tokens, position + 1) in {"(", "<", "::"}:
            return None
        position += 1
    return position if position < len(tokens) else None


def _name_after_key(tokens: Sequence[Token], position: int) -> int | None:
    """The index of the name, or of the body where there is none; None if a function or variable has this type."""
    name: int | None = None
    words = 0
    while position < len(tokens):
        text = tokens[position].text
        if text in {"{", ";", ":", "final", "<"}:
            return position if name is None else name
        if text in {"(", "["}:  # of an attribute, which the name follows, or of a function's parameters
            position = past_brackets(tokens, position)
            if words > 1 and (position >= len(tokens) or tokens[position].kind is not Kind.WORD):
                return None
            continue
        if text in {"*", "&", "="}:
            return None
        if tokens[position].kind is Kind.WORD and text not in _CLASS_KEYS and not _NOT_A_NAME.fullmatch(text):
            name = position
            words += 1
        position += 1
    return None


def _enumerators(tokens: Sequence[Token], body: int) -> Iterator[str]:
    """The values of an enumeration that are known outside of it."""
    if [token.text for token in tokens[:body] if token.text in _CLASS_KEYS] == ["enum"]:
        for part in split_commas(tokens[body + 1 : past_brackets(tokens, body) - 1]):
            yield from (token.text for token in part[:1])


def _name_before(tokens: Sequence[Token], parenthesis: int) -> int | None:
    position = parenthesis - 1
    if text_at(tokens, position) in {">", ">>"}:
        position = _opening_angle(tokens, position) - 1
    if position < 0 or tokens[position].kind is not Kind.WORD or _NOT_A_NAME.fullmatch(tokens[position].text):
        return None
    return position


def _opening_angle(tokens: Sequence[Token], position: int) -> int:
    depth = 0
    while position > 0:
        text = tokens[position].text
        depth += (len(text) if text in {">", ">>", ">>>"} else 0) - (text == "<")
        if depth <= 0:
            break
        position -= 1
    return position


def _owner(tokens: Sequence[Token], name: int) -> str | None:
    """`Owner` in `Owner::name` and in `Owner<T>::name`."""
    if text_at(tokens, name - 1) != "::":
        return None
    before = name - 2
    if text_at(tokens, before) in {">", ">>"}:
        before = _opening_angle(tokens, before) - 1
    return tokens[before].text if before >= 0 and tokens[before].kind is Kind.WORD else None
