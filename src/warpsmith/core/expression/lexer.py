"""Text of an expression → tokens, and tokens → text that Python's parser can be trusted with.

The lexer knows at every point whether an operand or an operator must follow. So a workload size may be called `in` or
`lambda`, and C's `&&`, `||` and `!` can stand for `and`, `or` and `not`. Every operand becomes a placeholder name: Python's
parser only ever sees placeholders, operators and brackets, and decides nothing but the structure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpsmith.core.configuration import Value

MAX_LENGTH = 4_000
MAX_TOKENS = 1_000
MAX_LITERAL = 2**64

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<string>"[^"\\\n]*"|'[^'\\\n]*')
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<operator>&&|\|\||\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%&|^~<>!(),\[\]])""",
    re.VERBOSE,
)
_C_WORDS = {"&&": "and", "||": "or"}
_OPERATOR_WORDS = frozenset({"and", "or", "in", "not", "if", "else"})
_TRUTH = {"true": True, "True": True, "false": False, "False": False}
_PREFIX = frozenset({"-", "+", "~", "!"})
_HINTS = {
    "=": "comparison is written ==",
    "?": "a choice is written `a if condition else b`",
    ":": "a choice is written `a if condition else b`",
    ".": "an expression has names, numbers and functions, but no attributes",
    "{": "a set of values is written (1, 2, 4)",
    "\\": "text has no escape sequences",
}


class LexemeKind(Enum):
    NAME = "name"
    LITERAL = "literal"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Lexeme:
    kind: LexemeKind
    text: str
    start: int
    value: Value = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class ParseError(Exception):
    """What is wrong with the text, and where; `Expression.parse` turns it into an InputError."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


def tokenize(text: str) -> list[Lexeme]:
    if len(text) > MAX_LENGTH:
        raise ParseError(f"expression of {len(text)} characters; at most {MAX_LENGTH} are read", 0)
    tokens: list[Lexeme] = []
    brackets: list[Lexeme] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(text, position)
        position = match.end()
        if match.lastgroup != "space":
            token = _token(match, operand_next=_wants_operand(tokens) and not _after_infix_not(tokens))
            _balance(token, brackets)
            tokens.append(token)
    if not tokens:
        raise ParseError("empty expression", 0, "write a number or an expression such as `ceildiv(n, BLOCK)`")
    if brackets:
        raise ParseError(f"{brackets[-1].text!r} is never closed", brackets[-1].start)
    if len(tokens) > MAX_TOKENS:
        raise ParseError(f"expression of {len(tokens)} tokens; at most {MAX_TOKENS} are read", tokens[MAX_TOKENS].start)
    if _wants_operand(tokens) and tokens[-1].text != ",":
        raise ParseError(f"nothing follows {tokens[-1].text!r}", tokens[-1].start, "the expression ends too early")
    return tokens


def python_text(tokens: list[Lexeme]) -> tuple[str, dict[int, int], dict[int, int]]:
    """The structure as Python text, and the token at each start and at each end offset of that text."""
    parts: list[str] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    length = 0
    for index, token in enumerate(tokens):
        # `!` binds tighter than a comparison, unlike `not`: unary plus has its precedence and is told apart by its token.
        word = (
            f"_{index}"
            if token.kind is not LexemeKind.OPERATOR
            else _C_WORDS.get(token.text, "+" if token.text == "!" else token.text)
        )
        starts[length] = index
        length += len(word)
        ends[length] = index
        length += 1
        parts.append(word)
    return " ".join(parts), starts, ends


def _wants_operand(tokens: list[Lexeme]) -> bool:
    return not tokens or (tokens[-1].kind is LexemeKind.OPERATOR and tokens[-1].text not in {")", "]"})


def _after_infix_not(tokens: list[Lexeme]) -> bool:
    """After `x not`, only the `in` of `not in` can follow."""
    return (
        len(tokens) > 1
        and tokens[-1].text == "not"
        and tokens[-1].kind is LexemeKind.OPERATOR
        and not _wants_operand(tokens[:-1])
    )


def _token(match: re.Match[str], *, operand_next: bool) -> Lexeme:
    text, start = match.group(), match.start()
    match match.lastgroup:
        case "number":
            token = Lexeme(LexemeKind.LITERAL, text, start, _number(match))
        case "string":
            token = Lexeme(LexemeKind.LITERAL, text, start, text[1:-1])
        case "name" if text == "not" or (text in _OPERATOR_WORDS and not operand_next):
            return Lexeme(LexemeKind.OPERATOR, text, start)
        case "name":
            token = (
                Lexeme(LexemeKind.LITERAL, text, start, _TRUTH[text]) if text in _TRUTH else Lexeme(LexemeKind.NAME, text, start)
            )
        case _:
            if not operand_next and text in {"!", "["}:
                hint = "not equal is written !=" if text == "!" else "an expression has no subscripts"
                raise ParseError(f"unexpected {text!r}", start, hint)
            if operand_next and text not in _PREFIX | {"(", "[", ")", "]"}:
                raise ParseError(f"operand missing before {text!r}", start)
            return Lexeme(LexemeKind.OPERATOR, text, start)
    if not operand_next:
        hint = "equality is written ==" if text == "is" else "insert an operator between the two"
        raise ParseError(f"unexpected {text!r} after a value", start, hint)
    return token


def _number(match: re.Match[str]) -> int | float:
    text, start = match.group(), match.start()
    following = match.string[match.end() : match.end() + 1]
    if following.isalnum() or following in {"_", "."}:
        raise ParseError(f"{text + following!r} is not a number", start, "numbers have no suffix: 4, 0x10, 1.5e-3")
    digits = text.replace("_", "").lower()
    if digits.startswith(("0x", "0b")):
        value: int | float = int(digits[:100], 0) if len(digits) > 2 else -1
    elif digits.isdigit():
        value = -1 if len(digits) > 1 and digits[0] == "0" else int(digits[:100])
    else:
        value = float(digits)
    if not 0 <= value < MAX_LITERAL and (isinstance(value, int) or value == float("inf")):
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        raise ParseError(f"the number {shown} cannot be used", start, "integers are below 2**64 and have no leading zeros")
    return value


def _balance(token: Lexeme, brackets: list[Lexeme]) -> None:
    if token.kind is not LexemeKind.OPERATOR:
        return
    if token.text in {"(", "["}:
        brackets.append(token)
    elif token.text in {")", "]"} and (not brackets or brackets.pop().text + token.text not in {"()", "[]"}):
        raise ParseError(f"unexpected {token.text!r}", token.start, "no bracket of this kind is open here")


def _unreadable(text: str, position: int) -> ParseError:
    character = text[position]
    if character in "\"'":
        return ParseError("text without its closing quote", position, "text has no escape sequences")
    return ParseError(f"unexpected character {character!r}", position, _HINTS.get(character))
