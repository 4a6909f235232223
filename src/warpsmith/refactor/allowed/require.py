"""The one question to ask of a form, a rewrite or a template, whoever wrote it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.items import device_words, split
from warpsmith.devices._clang.tokens import tokenize
from warpsmith.devices.base import Original
from warpsmith.refactor.allowed.characters import character_facts
from warpsmith.refactor.allowed.declarations import declaration_facts
from warpsmith.refactor.allowed.directives import directive_facts
from warpsmith.refactor.allowed.fact import Fact
from warpsmith.refactor.allowed.view import MAIN, View

_HINT = "a form is device code only: __global__ and __device__ functions, types, and constants that are constexpr"
_LASTING = frozenset({"static", "extern", "thread_local", "mutable", "constinit", "__attribute__", "__declspec", "asm"})
_NOT_LASTING = frozenset({"__shared__", "constexpr", "consteval"})
_NO_DEFINES: Mapping[str, Value] = MappingProxyType({})


def require_allowed(
    source: str,
    original: Original,
    language: Language,
    *,
    defines: Mapping[str, Value] = _NO_DEFINES,
    folders: tuple[Path, ...] = (),
    clang_knows_all: bool | None = True,
) -> None:
    """Raises InputError for what no form may do, whoever wrote it: ask who compiles it, read other files, keep more from
    launch to launch, or be more than device code. `defines` are the source's parameters, `folders` where both look for what they
    include.

    `clang_knows_all`: whether all that the target has is there for clang too. Otherwise a function may have in it what clang
    refuses, as long as nothing in there could last. None: what is refused does not matter yet, since a compiler will say so.
    """
    view = View.of(source, language, {**original.defines, **defines}, folders)
    known, words, missing = _known(original.source, language, tuple(original.defines.items()), folders)
    found = {*character_facts(source), *_facts(view, {*original.defines, *defines, *words}, missing)} - known
    if not found and clang_knows_all is not None:
        found = set(_errors(view, clang_knows_all=clang_knows_all)) - known
    if found:
        raise InputError(str(min(found)), hint=_HINT)


@lru_cache(maxsize=16)
def _known(
    source: str, language: Language, defines: tuple[tuple[str, Value], ...], folders: tuple[Path, ...]
) -> tuple[frozenset[Fact], frozenset[str], frozenset[str]]:
    """The original's facts, its words, and the headers it includes that are not there."""
    view = View.of(source, language, dict(defines), folders)
    found = {*character_facts(source), *_facts(view, view.words, view.missing), *_errors(view, clang_knows_all=True)}
    return frozenset(found), view.words, view.missing


def _facts(view: View, names: Collection[str], missing: frozenset[str]) -> Iterator[Fact]:
    yield from directive_facts(view, names)
    yield from declaration_facts(view)
    yield from (Fact(f"the file {file!r} is not found", file) for file in view.missing - missing)


def _errors(view: View, *, clang_knows_all: bool) -> Iterator[Fact]:
    """What clang refuses hides what else stands there; so it must be the original's own, as it stands: host code, mostly."""
    if not view.errors:
        return
    tokens = list(tokenize(view.unit))
    items, lasting = list(split(tokens)), device_words(tokens, _LASTING) - _NOT_LASTING
    for error in view.errors:
        where = next((item for item in items if error.file == MAIN and error.line in item.lines), None)
        if where is None:
            yield Fact(f"clang refuses it: {error.text}", f"{error.file}:{error.line if error.file != MAIN else ''} {error.text}")
            continue
        body = {token.text for token in where.body}
        if clang_knows_all or where.is_class or not where.body or error.line <= where.body[0].line or body & lasting:
            text = " ".join(token.text for token in where.tokens)
            yield Fact(f"clang refuses it: {error.text}", text, error.line - view.lines_before)
