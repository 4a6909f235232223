"""Whether a source's tokens show what a compiler will see in it: what could hide something from such a reading is refused."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.tokens import Kind, Token, tokenize

_INCLUDE = re.compile(r"[ \t]*#[ \t]*(?:include(?:_next)?|embed|import)\b[ \t]*(.*)", re.DOTALL)
_PATH = re.compile(r"[<\"]([^>\"]*)")
_MACRO_BODY = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^)]*\))?(.*)", re.DOTALL)
_DIGRAPHS = ("<%", "%>", "<:", ":>", "%:")
_WORD = re.compile(r"\w+")
# In OpenCL gluing names together is how vector types are written (`float##N`), and what stands outside of functions is told by
# its place. Inside them this is the one word that keeps something from launch to launch.
_KEEPS_IN_OPENCL = "static"
_HINT = "write it out"


def require_readable(source: str, original: str, language: Language) -> None:
    """Raises InputError for what the original does not have either. Both are spliced."""
    tokens = list(tokenize(source))
    directives = [token for token in tokens if token.kind is Kind.DIRECTIVE]
    _require_known_files(directives, original)
    _require_plain_signs(tokens, directives, original, language)
    for directive in directives:
        body = _MACRO_BODY.match(directive.text)
        if body and body[2] not in original and any(body[2].count(a) != body[2].count(b) for a, b in ("()", "[]", "{}")):
            raise InputError(f"the macro {body[1]} opens a bracket that it does not close", hint=_HINT)


def _require_known_files(directives: Collection[Token], original: str) -> None:
    """Workers are confined anyway; but what can only be an attempt at other people's files is not even compiled."""
    for directive in directives:
        included = _INCLUDE.match(directive.text)
        if included is None:
            continue
        shown = directive.text.strip()
        named = _PATH.match(included[1])
        path = named[1].strip() if named else ""
        if path.startswith(("/", "~", "\\")) or ".." in path or ":" in path:
            raise InputError(f"a form includes only what the original could include; found {shown!r}")
        if named is None and shown not in original:
            raise InputError(f"a macro hides what a form includes: {shown!r}", hint=_HINT)


def _require_plain_signs(tokens: list[Token], directives: list[Token], original: str, language: Language) -> None:
    signs = [token for token in tokens if token.kind is Kind.PUNCTUATION]
    pairs = {a.text + b.text for a, b in pairwise(signs) if a.end == b.start}
    pasted = any("##" in directive.text for directive in directives)
    if pasted and language is Language.OPENCL:
        words = {word for token in tokens for word in _WORD.findall(token.text)}
        pasted = _can_be_glued(_KEEPS_IN_OPENCL, words)
    hidden = {"##": pasted, "#": any(sign.text == "#" for sign in signs)} | {pair: pair in pairs for pair in _DIGRAPHS}
    for sign, is_there in hidden.items():
        if is_there and sign not in original:
            raise InputError(f"{sign!r} hides what a form says from those who read it", hint=_HINT)


def _can_be_glued(word: str, pieces: Collection[str]) -> bool:
    """From two or more of them, each as often as one likes."""
    reached = {0}
    for end in range(1, len(word) + 1):
        if any(word[begin:end] in pieces and (begin, end) != (0, len(word)) for begin in reached):
            reached.add(end)
    return len(word) in reached
