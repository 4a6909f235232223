"""The kernel's name from outside the namespace that a header puts it in, with the names among its template arguments."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.extract.declarations import declarations, plain


def qualified(entry: str, text: str, namespaces: tuple[str, ...]) -> str:
    """`k<Half, 8>` as `a::b::k<a::b::Half, 8>`, where the text, which has its namespaces around it, declares both."""
    own = _declared(text, namespaces)
    prefix = "".join(f"{name}::" for name in namespaces)
    tokens = list(tokenize(entry))
    pieces: list[str] = []
    position = 0
    for index, token in enumerate(tokens):
        # The kernel's own name is there even if a macro writes its definition.
        if index == 0 or (token.kind is Kind.WORD and token.text in own and not _is_member(tokens, index)):
            pieces += [entry[position : token.start], prefix]
            position = token.start
    return "".join(pieces) + entry[position:]


def _declared(text: str, namespaces: tuple[str, ...]) -> frozenset[str]:
    """What stands right inside these namespaces: declarations, and further namespaces."""
    found: set[str] = set()
    depth = len(namespaces)
    for declaration in declarations(list(tokenize(text))):
        scope = plain(declaration.scope)
        if scope[:depth] == namespaces:
            found |= {scope[depth]} if len(scope) > depth else declaration.names
    return frozenset(found)


def _is_member(tokens: Sequence[Token], index: int) -> bool:
    """Behind `name::` it belongs to that name; behind a `::` of its own it does not."""
    before = [token.text for token in tokens[max(index - 2, 0) : index]]
    return bool(before) and before[-1] == "::" and index > 1 and (tokens[index - 2].kind is Kind.WORD or before[0] == ">")
