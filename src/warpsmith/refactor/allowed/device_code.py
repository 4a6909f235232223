"""Whether a source that others wrote is device code and nothing else, in CUDA and HIP.

Workers compile the device's side only: what a source has for the host is neither seen nor run by them. In a shipped file it would
be: a global object's constructor runs before anybody's `main`, on the user's machine and outside every fence. And a source that
asks which compiler reads it can be another one elsewhere than the one that was verified. So a form has neither, unless the
original has the same.

Told by tokens (`file_scope`), of a text in which nothing is hidden from such a reading (`readable`); a macro with arguments where
declarations stand is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from warpsmith.core.errors import InputError
from warpsmith.devices._clang.tokens import Kind, tokenize
from warpsmith.refactor.allowed.file_scope import Item, ambiguous_macros, angle_closed, closed, items_of

_MARKS = frozenset(
    {"__device__", "__global__", "__constant__", "__shared__", "__managed__", "constexpr", "consteval", "constinit"}
)
_HARMLESS = frozenset({"using", "typedef", "static_assert", "namespace", "concept", ";"})
_TYPES = frozenset({"struct", "class", "union", "enum"})
_NUMBERS = frozenset(
    {"const", "static", "inline", "unsigned", "signed", "int", "long", "short", "char", "bool", "float", "double", "size_t"}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
_WITH_ARGUMENTS = frozenset({"__attribute__", "alignas", "__align__", "__launch_bounds__", "decltype", "explicit", "noexcept"})
_ENDS_HEAD = frozenset({"=", "{", ";"})
_RUN_AT_LOAD = re.compile(
    r"(?:__attribute__\s*\(\s*\(|\[\[)[^;{}]*?\b(_*(?:constructor|destructor|ifunc|init_priority|section|alias)_*)\b"
)
_ASKS = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|elifdef|elifndef|define)\b(.*)", re.DOTALL)
_OF_COMPILERS = re.compile(r"\b(?:__?[A-Z]\w*|__has_\w+|__clang__|__cplusplus)\b")  # __CUDA_ARCH__, _WIN32, __GNUC__
_FUNCTION_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(", re.MULTILINE)
_LONGEST = 80  # characters of what is quoted
_HINT = "a form is device code only: __global__ and __device__ functions, types, and constants that are constexpr"


def require_device_code(source: str, original: str) -> None:
    """Raises InputError with the first thing that is not device code, and not the original's. Both are spliced, and readable."""
    _require_one_meaning(source, original)
    if (found := _RUN_AT_LOAD.search(source)) and found[1] not in original:
        raise InputError(f"a form may not say {found[1]!r}: that is about programs, not kernels", hint=_HINT)
    macros = _telling_macros(source) - _telling_macros(original)
    for item in sorted(items_of(source) - items_of(original)):
        if (problem := _problem(item, macros)) is not None:
            quoted = " ".join(item)
            shown = quoted if len(quoted) <= _LONGEST else f"{quoted[:_LONGEST]}…"
            raise InputError(f"{problem}: {shown!r}", hint=_HINT)


def _telling_macros(text: str) -> set[str]:
    """Those that are not written out: with arguments, or with several meanings."""
    return {*_FUNCTION_MACRO.findall(text), *ambiguous_macros(text)}


def _require_one_meaning(text: str, known: str) -> None:
    """What is compiled elsewhere must be what was verified here."""
    for token in tokenize(text):
        asked = _ASKS.match(token.text) if token.kind is Kind.DIRECTIVE else None
        for name in _OF_COMPILERS.findall(asked[1]) if asked else ():
            if name not in known:
                raise InputError(
                    f"a form may not depend on {name}: another compiler would read another kernel than the one that is verified",
                    hint="write one structure; a further one is a further form",
                )


def _problem(item: Item, macros: AbstractSet[str]) -> str | None:
    words = _without_template(item)
    head = _head(words)
    if macros & set(head):
        return "a macro with arguments, or with several meanings, hides what is declared here"
    if not words or words[0] in _HARMLESS or _MARKS & set(head):
        return None
    if {"asm", "__asm__", "__asm"} & set(head):
        return "assembly outside of functions"
    if words[0] in _TYPES:
        return _problem_of_type(words)
    if "const" in head and "(" not in words and _NUMBERS.issuperset(head[:-1]):
        return None  # a table of numbers: nothing has to run for it
    return "this is code for the host"


def _problem_of_type(words: Sequence[str]) -> str | None:
    """A type may be declared; an object beside it, or a member that the host sets up, may not."""
    if "{" not in words:
        return None if len(_head(words)) == 2 else "this is code for the host"  # `struct Pack;`
    opening = words.index("{")
    end = closed(words, opening)
    if [word for word in words[end:] if word != ";"] and words[0] != "enum":
        return "an object beside its type is the host's"
    for member in items_of(" ".join(words[opening + 1 : end - 1])):
        named = set(_head(member))
        set_up = "static" in named and "=" in member and "(" in member[member.index("=") :]
        if set_up and not _MARKS & named:
            return "a member that the host sets up"
    return None


def _without_template(words: Sequence[str]) -> Sequence[str]:
    """Without `template <…>` before it."""
    while words and words[0] == "template":
        words = words[angle_closed(words, 1) if "<" in words[1:2] else 1 :]
    return words


def _head(words: Sequence[str]) -> list[str]:
    """Up to a body or a value, without what stands in brackets or belongs to an attribute."""
    head: list[str] = []
    place = 0
    while place < len(words) and words[place] not in _ENDS_HEAD:
        if words[place] in {"(", "["}:
            place = closed(words, place)
        elif words[place] == "<":
            place = angle_closed(words, place)
        else:
            head += [] if words[place] in _WITH_ARGUMENTS else [words[place]]
            place += 1
    return head
