"""Specialises a template to one configuration: branches that its values decide are resolved.

`settled` is source to ship, `meaning` a key to compile by. Only what the parameters alone decide is touched: a condition that
also asks for something else (`__CUDA_ARCH__`) stays as it is. It reads text as `template.directives` does; that what is shipped
is the same kernel is shown by the device (`tuning.afterwards.recheck`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.spec.comments import used_identifiers, without_noise
from warpsmith.template.directives import without_comments
from warpsmith.template.model import Template, c_text, require_complete

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)(.*)", re.DOTALL)
_OPENING = frozenset({"if", "ifdef", "ifndef"})
_NOT = re.compile(r"!(?!=)")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
# Code that depends on where its lines lie, and directives that could make a name mean something else further down.
_OWN_PLACE = re.compile(r"\b(?:__LINE__|__FILE__|__COUNTER__|assert)\b|^[ \t]*#[ \t]*(?:undef|line)\b", re.MULTILINE)
_WHOLE_DIVISION = re.compile(r"[/%]")  # rounds another way in C than here, below zero


@dataclass(frozen=True, slots=True)
class _Line:
    """A logical line: `text` as it is, `bare` without comments and literals."""

    text: str
    bare: str

    @property
    def directive(self) -> tuple[str, str] | None:
        found = _DIRECTIVE.fullmatch(self.bare)
        return (found[1], found[2].replace("\\\n", " ").strip()) if found else None


@dataclass(slots=True)
class _Arm:
    line: _Line  # its #if, #elif or #else
    body: list[_Part] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    """`#if … #endif`."""

    arms: list[_Arm]
    end: _Line | None = None


_Part: TypeAlias = _Line | _Group


def settled(template: Template, configuration: Configuration) -> str:
    """Source in which nothing is left to choose."""
    require_complete(template, configuration)
    values = {name: value for name, value in configuration.items() if name in template.used}
    kept = [line.text for line in _settle(_parts(template.source), values)]
    body = "\n".join(_without_header(kept, values)).strip("\n")
    needed = used_identifiers(body)
    header = [f"#define {name} {c_text(value)}" for name, value in values.items() if name in needed]
    return "\n".join([*header, *([""] if header else []), body, ""])


def meaning(template: Template, configuration: Configuration, *, beside: Iterable[str] = ()) -> str | None:
    """What a configuration makes of the source: where two are equal, so is the code, whatever else the templates hold.

    None where that cannot be told from the text. The source must include no files that could use a parameter; other texts that
    are compiled with it stand `beside`.
    """
    if _OWN_PLACE.search(template.source):
        return None
    values = {name: value for name, value in configuration.items() if name in template.used}
    lines = [line.text for line in _settle(_parts(template.source), values, strictly=True)]
    text = without_comments("\n".join(lines))
    needed = used_identifiers("\n".join([text, *beside]))
    header = [f"#define {name} {c_text(value)}" for name, value in values.items() if name in needed]
    return "\n".join([*header, *(kept for line in text.split("\n") if (kept := line.strip()))])


def _lines(source: str) -> Iterator[_Line]:
    """Lines that a backslash continues are one."""
    texts, bares = source.split("\n"), without_noise(source).split("\n")
    begin = 0
    for index, text in enumerate(texts):
        if not text.endswith("\\") or index == len(texts) - 1:
            yield _Line("\n".join(texts[begin : index + 1]), "\n".join(bares[begin : index + 1]))
            begin = index + 1


@lru_cache(maxsize=32)
def _parts(source: str) -> list[_Part]:
    top: list[_Part] = []
    open_groups: list[_Group] = []
    for line in _lines(source):
        word = line.directive[0] if line.directive else ""
        body = open_groups[-1].arms[-1].body if open_groups else top
        if word in _OPENING:
            group = _Group([_Arm(line)])
            body.append(group)
            open_groups.append(group)
        elif word in {"elif", "else"} and open_groups:
            open_groups[-1].arms.append(_Arm(line))
        elif word == "endif" and open_groups:
            open_groups.pop().end = line
        else:
            body.append(line)
    return top


def _settle(parts: list[_Part], values: Mapping[str, Value], *, strictly: bool = False) -> Iterator[_Line]:
    """`strictly` leaves alone what an expression of ours could decide otherwise than the preprocessor."""
    for part in parts:
        if isinstance(part, _Line):
            yield part
        elif not _gives_default(part, values):
            yield from _settle_group(part, values, strictly=strictly)


def _settle_group(group: _Group, values: Mapping[str, Value], *, strictly: bool) -> Iterator[_Line]:
    """Arms that cannot be taken are gone; one that always is, is the last."""
    kept: list[_Arm] = []
    for arm in group.arms:
        word, condition = arm.line.directive or ("", "")
        known = {} if strictly and _WHOLE_DIVISION.search(condition) else values
        holds = True if word == "else" else _decided(word, condition, known)
        if holds is False:
            continue
        if holds is True:
            if not kept:
                yield from _settle(arm.body, values, strictly=strictly)
                return
            kept.append(_Arm(_Line("#else", "#else"), arm.body))
            break
        kept.append(arm if kept or word in _OPENING else _Arm(_as_if(arm.line), arm.body))
    for arm in kept:
        yield arm.line
        yield from _settle(arm.body, values, strictly=strictly)
    if kept:
        yield group.end or _Line("#endif", "#endif")


def _as_if(line: _Line) -> _Line:
    """An `#elif` whose predecessors are gone."""
    text = re.sub(r"#(\s*)elif", r"#\1if", line.text, count=1)
    return _Line(text, re.sub(r"#(\s*)elif", r"#\1if", line.bare, count=1))


def _decided(word: str, condition: str, values: Mapping[str, Value]) -> bool | None:
    """Whether a condition holds; None when the parameters alone do not say."""
    if word in {"ifdef", "ifndef"}:
        return (word == "ifdef") if condition in values else None
    if word in {"elifdef", "elifndef"}:
        return None
    numbers = {name: int(value) for name, value in values.items() if isinstance(value, bool | int)}
    text = _DEFINED.sub(lambda found: "1" if (found[1] or found[2]) in values else found[0], condition)
    text = _NOT.sub(" not ", text.replace("&&", " and ").replace("||", " or "))
    try:
        expression = _condition(text)
        return bool(expression.evaluate(numbers)) if expression.names <= numbers.keys() else None
    except InputError:
        return None  # more than our expressions can say: the compiler decides


@lru_cache(maxsize=4096)
def _condition(text: str) -> Expression:
    return Expression.parse(text)


def _gives_default(group: _Group, values: Mapping[str, Value]) -> bool:
    """`#ifndef NAME / #define NAME default / #endif`: the value stands at the top instead."""
    word, name = group.arms[0].line.directive or ("", "")
    defines = [part for part in group.arms[0].body if isinstance(part, _Line) and part.bare.strip()]
    if word != "ifndef" or name not in values or len(group.arms) > 1 or len(defines) != len(group.arms[0].body):
        return False
    return all((d.directive or ("", ""))[0] == "define" and (d.directive or ("", ""))[1].split()[:1] == [name] for d in defines)


def _without_header(lines: list[str], values: Mapping[str, Value]) -> list[str]:
    """Without the comments by which a template introduces itself and each of its parameters."""
    kept: list[str] = []
    dropping = False
    for line in lines:
        is_comment = line.startswith("// ")
        begins = is_comment and (" as a template: its choices are" in line or line[3:].partition(":")[0] in values)
        dropping = begins or (dropping and is_comment)
        if not dropping and (line.strip() or (kept and kept[-1].strip())):
            kept.append(line)
    return kept
