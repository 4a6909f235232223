"""Words of a source in which object-like macros are written out, for those who read it by tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from warpsmith.devices._clang.tokens import Kind, Token, tokenize

_DEEPEST = 4


def written_out(tokens: Iterable[Token], macros: Mapping[str, str], depth: int = _DEEPEST) -> Iterator[str]:
    for token in tokens:
        if token.kind is Kind.WORD and token.text in macros and depth:
            yield from written_out(tokenize(macros[token.text]), macros, depth - 1)
        else:
            yield token.text
