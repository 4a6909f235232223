"""What a text asks of the preprocessor: files, which compiler reads it, when. A form is one kernel wherever it is compiled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from warpsmith.core.hardware import Language
from warpsmith.refactor.allowed.fact import Fact
from warpsmith.refactor.allowed.view import Token, View, compiler_names

_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"})
_KNOWN = _CONDITIONS | {"", "else", "endif", "define", "undef", "include", "pragma", "error"}
_PRAGMAS = frozenset(
    {"once", "unroll", "nounroll", "OPENCL", "STDC", "nv_diag_suppress", "nv_diag_default", "nv_exec_check_disable"}
)
_CLANG_PRAGMAS = frozenset({("clang", "loop"), ("clang", "fp"), ("GCC", "unroll"), ("GCC", "ivdep")})
# What a compiler makes of itself, of the time and of the place; `NV_IF_TARGET` and its like choose by architecture. And what
# only our own prelude has: where a kernel ships it is not there.
_ASKS = re.compile(
    r"WARPSMITH_\w+|__warpsmith\w*|__spirv_\w+|__builtin_spirv_\w+|"
    r"__(?:FILE|FILE_NAME|BASE_FILE|LINE|DATE|TIME|TIMESTAMP|COUNTER|INCLUDE_LEVEL|PRETTY_FUNCTION|FUNCSIG)__"
    r"|__has_\w+|__is_(?:identifier|target_\w+)|__building_module|__nvvm_reflect|__pragma"
    r"|__builtin_(?:constant_p|object_size|dynamic_object_size|cpu_\w+|amdgcn_processor_is|amdgcn_is_invocable)"
    r"|__builtin_(?:FILE|FILE_NAME|LINE|COLUMN|FUNCTION|FUNCSIG|source_location)|source_location|NV_(?:IF|DISPATCH|IS|PROVIDES|HAS)\w*"
)
_ALWAYS_KNOWN = frozenset({"defined", "true", "false", "and", "or", "not"})
_ELSEWHERE = "another compiler could see a different kernel from the verified one"


def directive_facts(view: View, parameters: Collection[str]) -> Iterator[Fact]:
    """`parameters` are names whose values are given from outside."""
    asks = {name for name in view.words if _ASKS.fullmatch(name)} | (view.words & compiler_names(view.language))
    yield from (Fact(f"a form may not depend on {name}: {_ELSEWHERE}", name) for name in asks)
    yield from _pragma_operators(view.tokens)
    directives = directives_of(view.tokens)
    pastes = [directive for directive in directives if any(token.kind == "hashhash" for token in directive)]
    if view.language is not Language.OPENCL:  # where `float##N` is how vector types are written
        yield from (Fact(f"'##' hides part of the form: {shown(directive)!r}", shown(directive)) for directive in pastes)
    if pastes:
        made = (name for name in compiler_names(view.language) | {"__FILE__", "__DATE__", "__TIME__", "__COUNTER__", "_Pragma"})
        yield from (Fact(f"'##' can form the token {name}", name) for name in made if _can_be_glued(name, view.words))
    for directive in directives:
        yield from _of_directive(directive)
    yield from _conditions(directives, parameters)


def directives_of(tokens: Sequence[Token]) -> list[list[Token]]:
    """Each without its hash."""
    found: list[list[Token]] = []
    is_inside = False
    for token in tokens:
        if token.is_first and token.kind == "hash":
            found.append([])
            is_inside = True
        elif is_inside and not token.is_first:
            found[-1].append(token)
        else:
            is_inside = False
    return found


def shown(directive: Sequence[Token]) -> str:
    return f"#{' '.join(token.text for token in directive)}"


def _of_directive(directive: Sequence[Token]) -> Iterator[Fact]:
    words = [*(token.text for token in directive), "", ""]
    text = shown(directive)
    if words[0] not in _KNOWN:
        yield Fact(f"a form may not contain {text!r}", text)
    if words[0] == "pragma" and not _is_of_kernels(words[1:]):
        yield Fact(f"a form may not contain {text!r}: it concerns programs or compilers, not kernels", text)
    if words[0] == "include":
        target = "".join(words[1:])
        if target[:1] not in {'"', "<"}:
            yield Fact(f"a macro hides the included file: {text!r}", text)
        elif target[1:2] in {"/", "~", "\\"} or ".." in target or ":" in target:
            yield Fact(f"a form includes only what the original could include; found {text!r}", target)


def _pragma_operators(tokens: Sequence[Token]) -> Iterator[Fact]:
    """`_Pragma("unroll")`, which macros use. Not `_Pragma(#x)`: what that says depends on who calls the macro."""
    for place, token in enumerate(tokens):
        if token.text == "_Pragma":
            opened, said, closed = (following.text for following in (*tokens[place + 1 : place + 4], *[token] * 3)[:3])
            is_plain = (opened, said[:1], said[-1:], closed) == ("(", '"', '"', ")")
            if not is_plain or not _is_of_kernels([*said[1:-1].split(), "", ""]):
                text = f"_Pragma{opened}{said}{closed}" if is_plain else "_Pragma"
                yield Fact(f"a form may not contain {text!r}: it concerns programs or compilers, not kernels", text)


def _is_of_kernels(pragma: Sequence[str]) -> bool:
    return pragma[0] in _PRAGMAS or (pragma[0], pragma[1]) in _CLANG_PRAGMAS


def _conditions(directives: Sequence[Sequence[Token]], parameters: Collection[str]) -> Iterator[Fact]:
    """Whether a branch counts must not depend on what others define: only parameters, and what the text itself defined before."""
    known = {*parameters, *_ALWAYS_KNOWN}
    bodies: dict[str, set[str]] = {}  # of macros that the text has defined so far: what they name
    guards: list[str] = []  # of each group around: the name that it gives a default to
    for directive, after in zip_longest(directives, directives[1:], fillvalue=()):
        names = [token.text for token in directive if token.kind == "raw_identifier"]
        word = names[0] if names else ""
        if word in {"if", "ifdef", "ifndef"}:
            is_default = [token.text for token in after[:2]] == ["define", names[-1]] and _asks_if_absent(directive)
            guards.append(names[-1] if is_default else "")
        elif word == "endif" and guards:
            guards.pop()
        own = guards[-1] if guards else ""
        if word in _CONDITIONS or word == "else":
            if own and word not in {"if", "ifndef"} and own not in parameters:
                yield Fact(f"conditional compilation may not depend on {own}, which the form itself defines", own)
            for name in _named(names[1:], bodies) - known - {own}:
                yield Fact(f"a form may not depend on {name}, which is not one of its parameters: {_ELSEWHERE}", name)
        if word == "define" and len(names) > 1:
            bodies.setdefault(names[1], set()).update(_body(directive))


def _named(names: Sequence[str], bodies: Mapping[str, set[str]]) -> set[str]:
    """What decides, with macros seen through."""
    found, waiting = set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += bodies.get(name, ())
    return found - bodies.keys()


def _body(definition: Sequence[Token]) -> set[str]:
    """The names in what a macro stands for, without those of its parameters."""
    behind = definition[2:]
    taken = 0
    if behind and behind[0].text == "(" and not behind[0].is_apart:
        taken = next((place for place, token in enumerate(behind) if token.text == ")"), 0)
    parameters = {token.text for token in behind[:taken]}
    return {token.text for token in behind[taken:] if token.kind == "raw_identifier"} - parameters


def _asks_if_absent(directive: Sequence[Token]) -> bool:
    """`#ifndef X` and `#if !defined(X)`."""
    words = [token.text for token in directive if token.text not in {"(", ")"}]
    return words[:1] == ["ifndef"] or words[:3] == ["if", "!", "defined"]


def _can_be_glued(word: str, pieces: Collection[str]) -> bool:
    """From two or more of them, each as often as one likes."""
    reached = {0}
    for end in range(1, len(word) + 1):
        if any(word[begin:end] in pieces and (begin, end) != (0, len(word)) for begin in reached):
            reached.add(end)
    return len(word) in reached
