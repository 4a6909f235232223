"""Splits a file into declarations and definitions, by tokens alone, to separate host code and unusable code.

It has no grammar: real files contain macros, attributes and `#if` branches that no parser without an include path understands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.devices._clang.tokens import Kind, Token, tokenize, words

_DEVICE_WORDS = frozenset(
    {"__device__", "__global__", "__constant__", "__shared__", "__managed__", "constexpr", "consteval", "HIP_DYNAMIC_SHARED"}
)
_FOR_BOTH_SIDES = frozenset({"constexpr", "consteval"})
# Directives inside blanked code stay, because an `#if` there may end elsewhere; pragmas belong to the code.
_NOT_DIRECTIVE = re.compile(r"(^[ \t]*#(?!\s*pragma)(?:[^\n\\]|\\\r?\n|\\.)*)|[^\n]+", re.MULTILINE)
_SCOPES = frozenset({"class", "struct", "union"})
_ATTRIBUTES = frozenset({"__launch_bounds__", "__attribute__", "__declspec", "__align__", "alignas"})
_CONDITIONAL = re.compile(r"\s*#\s*(if\w*|elif\w*|else|endif)\b")


@dataclass(frozen=True, slots=True)
class Item:
    """One declaration or definition at namespace or class scope; `body` is the part in braces."""

    tokens: tuple[Token, ...]
    body: tuple[Token, ...]
    is_class: bool

    @property
    def head(self) -> tuple[Token, ...]:
        return self.tokens[: len(self.tokens) - len(self.body)]

    @property
    def span(self) -> tuple[int, int]:
        return self.tokens[0].start, self.tokens[-1].end

    @property
    def lines(self) -> range:
        return range(self.tokens[0].line, self.tokens[-1].line + self.tokens[-1].text.count("\n") + 1)

    def is_marked(self, marks: frozenset[str]) -> bool:
        """Whether it is marked for the device; for a class, whether any part is, not counting `constexpr`."""
        if self.is_class:
            return any(token.text in marks and token.text not in _FOR_BOTH_SIDES for token in self.tokens)
        return any(token.text in marks for token in self.head)


def split(tokens: Sequence[Token], braces: Mapping[str, int] | None = None) -> Iterator[Item]:
    """The items in order. Namespaces and `extern "C"` blocks are entered; classes are single items.

    `braces` gives the net number of braces that macros open: `TABLE_BEGIN(int, name) 1, 2 TABLE_END()` is one item.
    """
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.kind is Kind.DIRECTIVE or token.text in {"}", ";"}:
            position += 1
        elif token.text in {"public", "private", "protected"} and text_at(tokens, position + 1) == ":":
            position += 2
        elif (opening := _scope_opening(tokens, position)) is not None:
            position = opening + 1
        elif (end := _bracketed_end(tokens, position, braces or {}) or _macro_call_end(tokens, position)) is not None:
            yield Item(tuple(tokens[position:end]), (), is_class=False)
            position = end
        else:
            stop, body, is_class = _item_end(tokens, position)
            yield Item(tuple(tokens[position:stop]), tuple(tokens[body:stop]) if body is not None else (), is_class)
            position = stop


def device_words(tokens: Iterable[Token], others: frozenset[str] = frozenset()) -> frozenset[str]:
    """Device markers, `others`, and the user's macros that expand to one (`#define DEVICE __device__ inline`)."""
    defined = {}
    for token in tokens:
        if token.kind is Kind.DIRECTIVE and (match := re.match(r"\s*#\s*define\s+(\w+)(.*)", token.text, re.DOTALL)):
            defined[match[1]] = words(match[2])
    found = set(_DEVICE_WORDS | others)
    while new := {name for name, used in defined.items() if name not in found and used & found}:
        found |= new
    return frozenset(found)


def blank(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """The text with these ranges replaced by spaces; line breaks and directives stay."""
    pieces: list[str] = []
    position = 0
    for start, end in sorted(ranges):
        pieces += [text[position:start], _NOT_DIRECTIVE.sub(_spaces, text[start:end])]
        position = max(position, end)
    return "".join(pieces) + text[position:]


def names_taken_out(before: str, after: str) -> set[str]:
    """Names declared in `before` that are blank in `after`; both have the same length."""
    gone = (item for item in split(list(tokenize(before))) if after[slice(*item.span)].isspace())
    return {token.text for item in gone for token in (item.head or item.tokens) if token.kind is Kind.WORD}


def text_at(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _scope_opening(tokens: Sequence[Token], position: int) -> int | None:
    """The brace of a namespace or `extern "C"` block, whose contents count as top level."""
    first = tokens[position].text
    if first == "inline" and text_at(tokens, position + 1) == "namespace":
        position, first = position + 1, "namespace"
    if first == "namespace":
        opening = position + 1
        while opening < len(tokens) and tokens[opening].text not in {"{", ";", "="}:
            opening += 1
        return opening if text_at(tokens, opening) == "{" else None
    if first == "extern" and position + 2 < len(tokens) and tokens[position + 1].kind is Kind.STRING:
        return position + 2 if tokens[position + 2].text == "{" else None
    return None


def _item_end(tokens: Sequence[Token], start: int) -> tuple[int, int | None, bool]:
    """(one past the item, index of its body's brace, whether it is a class)."""
    depth = 0
    branches: list[int] = []  # the depths where `#if`s began: each of their branches starts from there
    body: int | None = None
    is_class = assigned = called = False
    position = _after_template_parameters(tokens, start)
    while position < len(tokens):
        text = tokens[position].text
        if tokens[position].kind is Kind.DIRECTIVE:
            depth = _depth_after(text, depth, branches)
            position += 1
            continue
        if depth == 0:
            if text == ";":
                return position + 1, body, is_class
            if text == "}":  # closes an enclosing scope: the item was not terminated
                return position, body, is_class
            is_class = is_class or (text in _SCOPES and not called and text_at(tokens, position - 1) not in {"<", ","})
            assigned = assigned or (text == "=" and text_at(tokens, position - 1) != "operator")
            called = called or text == "("
            if text == "{" and body is None and not assigned:
                body = position
        depth += text in {"(", "[", "{"}
        depth -= text in {")", "]", "}"}
        position += 1
        if text == "}" and depth == 0 and not assigned and not (is_class and not called):
            following = text_at(tokens, position)
            if following == ";":
                return position + 1, body, is_class
            if following not in {",", "{"}:  # those: a constructor's initialiser list, still before its body
                return position, body, False
            body = None
    return position, body, is_class and not called


def _after_template_parameters(tokens: Sequence[Token], position: int) -> int:
    """Past `template <…>`, whose defaults look like assignments and whose parameters look like classes."""
    while text_at(tokens, position) == "template" and text_at(tokens, position + 1) == "<":
        angles = parentheses = 0
        position += 1
        while position < len(tokens):
            text = tokens[position].text
            parentheses += (text in {"(", "{"}) - (text in {")", "}"})
            if parentheses == 0:
                angles += (text == "<") - text.count(">") * (text in {">", ">>", ">>>"})
            position += 1
            if angles <= 0:
                break
    return position


def _depth_after(directive: str, depth: int, branches: list[int]) -> int:
    match = _CONDITIONAL.match(directive)
    if match is None:
        return depth
    if match[1].startswith("if"):
        branches.append(depth)
    elif match[1] == "endif":
        if branches:
            branches.pop()
    else:
        return branches[-1] if branches else 0
    return depth


def _bracketed_end(tokens: Sequence[Token], start: int, braces: Mapping[str, int]) -> int | None:
    """One past the brace that a macro opens and another closes, with its semicolon."""
    depth = braces.get(tokens[start].text, 0)
    position = start + 1
    while depth > 0 and position < len(tokens):
        text = tokens[position].text
        depth += (text == "{") - (text == "}") + braces.get(text, 0)
        position += 1
    if position == start + 1 or depth != 0:
        return None
    if text_at(tokens, position) == "(":
        position += until_closed((token.text for token in tokens[position:]), ROUND) or 0
    return position + (text_at(tokens, position) == ";")


def _macro_call_end(tokens: Sequence[Token], start: int) -> int | None:
    """One past a macro call that is a whole declaration (`INSTANTIATE(float)`): nothing follows it on its line."""
    if tokens[start].kind is not Kind.WORD or tokens[start].text in _ATTRIBUTES or text_at(tokens, start + 1) != "(":
        return None
    taken = until_closed((tokens[place].text for place in range(start + 1, len(tokens))), ROUND)
    if taken is None:
        return None
    end = start + 1 + taken
    following = tokens[end] if end < len(tokens) else None
    ends = following is None or (following.line > tokens[end - 1].line and following.text not in {"{", ":", ";"})
    return end if ends else None


def _spaces(match: re.Match[str]) -> str:
    return match[0] if match[1] else re.sub(r"[^\n]", " ", match[0])
