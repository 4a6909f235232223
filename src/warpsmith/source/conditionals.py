"""Which of a file's own `#if` branches are surely not compiled, so far as the file and the defines given to it tell.

Three answers: taken, not taken, not known. A name that nobody defines counts as undefined unless a header of the author's own or
the compiler could define it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.tokens.macros import Macro, macros

Truth: TypeAlias = bool | None

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)\s*(.*)", re.DOTALL)
_OWN_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(?!<)\S", re.MULTILINE)
_PREDEFINED = re.compile(r"_\w+|(?:CUDA|HIP|NVCC|CL_|cl_|OPENCL|AMD|NV)\w*|\w*VERSION\w*|NDEBUG|WIN32|linux|unix")
_COMMENT = re.compile(r'//(?:[^\n\\]|\\.)*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_LINE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*", re.MULTILINE)
_NUMBER = re.compile(r"\d+[uUlL]*")


@dataclass(slots=True)
class _Group:
    """An `#if` that is open: whether this branch is taken, and whether one before it was."""

    now: Truth
    before: Truth = False


@dataclass(slots=True)
class Definitions:
    """The macros that count, by name: those in branches that may be compiled. `assumed` are names taken for undefined."""

    live: dict[str, list[Macro]] = field(default_factory=dict)
    assumed: set[str] = field(default_factory=set)

    def only(self, name: str) -> Macro | None:
        """The macro's one definition; None when there is none, or more, or when it ends somewhere.

        One with arguments may end after all that uses it, as helpers of a function do: its name alone would mean nothing then.
        """
        found = self.live.get(name, [])
        if len(found) == 2 and found[1].is_end and found[0].parameters is not None:
            found = found[:1]
        alike = len({(macro.parameters, macro.replacement.strip(), macro.is_end) for macro in found}) == 1
        return found[0] if alike and not found[0].is_end else None


def definitions(text: str, given: Mapping[str, Value] | None = None) -> Definitions:
    """What the text defines, with macros `given` from outside."""
    return _definitions(_directives(text), tuple((given or {}).items()))


def truth_of(condition: str, text: str, given: Mapping[str, Value] | None = None) -> Truth:
    """What an `#if` with this condition decides behind all that the text defines."""
    reader = _Reader(_directives(text), given or {})
    reader.read()
    return reader.truth(condition)


@lru_cache(maxsize=64)  # passes change code, hardly ever its directives
def _definitions(directives: str, given: tuple[tuple[str, Value], ...]) -> Definitions:
    return _Reader(directives, dict(given)).read()


def _directives(text: str) -> str:
    """The directives alone, without comments."""
    code = _COMMENT.sub(lambda found: " " if found[0].startswith("/") else found[0], text)
    return "\n".join(found[0] for found in _LINE.finditer(code))


class _Reader:
    def __init__(self, text: str, given: Mapping[str, Value]) -> None:
        self._tokens = [token for token in tokenize(text) if token.kind is Kind.DIRECTIVE]
        self._given = given
        self._may_be_elsewhere = _OWN_HEADER.search(text) is not None
        self._groups: list[_Group] = []
        self._found = Definitions()
        self._certain: set[str] = set()

    def read(self) -> Definitions:
        for token in self._tokens:
            self._step(token)
        return self._found

    def _step(self, token: Token) -> None:
        found = _DIRECTIVE.match(token.text)
        word, rest = (found[1], found[2].replace("\\\n", " ").strip()) if found else ("", "")
        match word:
            case "if":
                self._groups.append(_Group(self.truth(rest)))
            case "ifdef" | "ifndef":
                known = self._defined(rest.split()[0] if rest.split() else "")
                self._groups.append(_Group(known if word == "ifdef" or known is None else not known))
            case "elif" | "else" if self._groups:
                group = self._groups[-1]
                group.before = _or(group.before, group.now)
                own = self.truth(rest) if word == "elif" else True
                group.now = _and(own, None if group.before is None else not group.before)
            case "endif" if self._groups:
                self._groups.pop()
            case "define" | "undef" if all(group.now is not False for group in self._groups):
                for macro in macros([token]):
                    self._found.live.setdefault(macro.name, []).append(macro)
                    certain = not macro.is_end and all(group.now is True for group in self._groups)
                    (self._certain.add if certain else self._certain.discard)(macro.name)
            case _:
                pass

    def _defined(self, name: str) -> Truth:
        if name in self._given:
            return True
        if name in self._found.live:
            return True if name in self._certain else None
        if self._may_be_elsewhere or _PREDEFINED.fullmatch(name):
            return None
        self._found.assumed.add(name)
        return False

    def _value(self, name: str) -> Truth:
        """Of a name that stands alone in a condition."""
        if self._defined(name) is False:
            return False
        macro = self._found.only(name)
        body = str(self._given[name]) if name in self._given else macro.replacement.strip() if macro is not None else ""
        return int(re.sub(r"\D", "", body)) != 0 if _NUMBER.fullmatch(body) else None

    def truth(self, condition: str) -> Truth:
        """`||` binds loosest, then `&&`, then `!`; comparisons and arithmetic are not known."""
        tokens = [token.text for token in tokenize(condition)]
        answer, rest = self._either(tokens)
        return answer if not rest else None

    def _either(self, tokens: list[str]) -> tuple[Truth, list[str]]:
        answer, tokens = self._both(tokens)
        while tokens[:1] == ["||"]:
            other, tokens = self._both(tokens[1:])
            answer = _or(answer, other)
        return answer, tokens

    def _both(self, tokens: list[str]) -> tuple[Truth, list[str]]:
        answer, tokens = self._single(tokens)
        while tokens[:1] == ["&&"]:
            other, tokens = self._single(tokens[1:])
            answer = _and(answer, other)
        return answer, tokens

    def _single(self, tokens: list[str]) -> tuple[Truth, list[str]]:
        match list(tokens):
            case ["!", *rest]:
                answer, left = self._single(rest)
                return (None if answer is None else not answer), left
            case ["defined", "(", name, ")", *rest] | ["defined", name, *rest]:
                return self._defined(name), rest
            case ["(", *rest]:
                answer, left = self._either(rest)
                return (answer, left[1:]) if left[:1] == [")"] else (None, left)
            case [word, *rest]:
                known = int(re.sub(r"\D", "", word)) != 0 if _NUMBER.fullmatch(word) else None
                return (self._value(word) if word.isidentifier() else known), rest
            case _:
                return None, []


def _and(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Truth, right: Truth) -> Truth:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False
