"""Which names a stretch of tokens mentions, and how: that is what pulls other declarations in.

A member after `.` or `->` is nobody's business here, nor is what a class or an unknown namespace is asked for (`Vec::size`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from warpsmith.devices._clang.items import text_at
from warpsmith.devices._clang.tokens import Kind, Token, tokenize

_KEYWORD = re.compile(
    r"""
    alignas | alignof | asm | auto | bool | break | case | catch | char | class | const | consteval | constexpr | const_cast
  | continue | decltype | default | delete | do | double | dynamic_cast | else | enum | explicit | extern | false | float | for
  | friend | goto | if | inline | int | long | mutable | namespace | new | noexcept | nullptr | operator | private | protected
  | public | register | reinterpret_cast | requires | return | short | signed | sizeof | static | static_assert | static_cast
  | struct | switch | template | this | throw | true | try | typedef | typeid | typename | union | unsigned | using | virtual
  | void | volatile | while
    """,
    re.VERBOSE,
)


def is_keyword(word: str) -> bool:
    return _KEYWORD.fullmatch(word) is not None


@dataclass(frozen=True, slots=True)
class Use:
    """`qualifier` is the word before `::`, "" for a global `::name`, None for a bare name."""

    name: str
    qualifier: str | None = None
    is_called: bool = False  # also when template arguments follow: then it may be found by its arguments' namespace


@dataclass(frozen=True, slots=True)
class Mentions:
    uses: frozenset[Use]
    opened: frozenset[tuple[str, ...]]  # of `using namespace a::b;`

    @property
    def words(self) -> frozenset[str]:
        return frozenset(use.name for use in self.uses)


def mentions(tokens: Sequence[Token], declared: Iterable[str] = ()) -> Mentions:
    """Of these tokens; `declared` are names that the declaration itself introduces, such as template parameters."""
    own = frozenset(declared)
    found = set(_uses(tokens))
    return Mentions(
        frozenset(use for use in found if use.name not in own or use.qualifier is not None), frozenset(_opened(tokens))
    )


def _uses(tokens: Sequence[Token]) -> Iterator[Use]:
    for index, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            yield from _uses_of_directive(token.text)
            continue
        if token.kind is not Kind.WORD or is_keyword(token.text):
            continue
        before = text_at(tokens, index - 1)
        if before == "." or (before == "->" and text_at(tokens, index - 2) != ")"):
            continue
        is_called = text_at(tokens, index + 1) in {"(", "<"}
        if before != "::":
            yield Use(token.text, None, is_called)
            continue
        owner = tokens[index - 2] if index >= 2 else None
        if owner is None or (owner.kind is not Kind.WORD and owner.text not in {">", ">>"}) or is_keyword(owner.text):
            yield Use(token.text, "", is_called)
        elif owner.kind is Kind.WORD:
            yield Use(token.text, owner.text, is_called)


def _uses_of_directive(text: str) -> Iterator[Use]:
    match = re.match(r"\s*#\s*(\w+)\s*(.*)", text, re.DOTALL)
    if match and match[1] in {"define", "pragma"}:
        yield from _uses([token for token in tokenize(match[2]) if token.kind is not Kind.DIRECTIVE])


def _opened(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    for index in range(len(tokens) - 2):
        if tokens[index].text == "using" and tokens[index + 1].text == "namespace":
            names = []
            for token in tokens[index + 2 :]:
                if token.text == ";":
                    break
                if token.kind is Kind.WORD:
                    names.append(token.text)
            yield tuple(names)


def namespace_aliases(tokens: Sequence[Token]) -> dict[str, str]:
    """`namespace a = b::c;` anywhere: the alias and the last name it stands for."""
    found = {}
    for index in range(len(tokens) - 3):
        if tokens[index].text == "namespace" and tokens[index + 2].text == "=":
            end = index + 3
            while end < len(tokens) and tokens[end].text != ";":
                end += 1
            found[tokens[index + 1].text] = tokens[end - 1].text
    return found
