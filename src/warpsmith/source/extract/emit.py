"""The standalone file: what is needed, in its first order, with its comments, in its namespaces, under the file it is from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.source.extract.closure import Closure
from warpsmith.source.extract.declarations import Declaration, Kind, Scope, plain
from warpsmith.source.extract.flatten import Unit
from warpsmith.source.extract.members import host_members
from warpsmith.source.extract.program import Program
from warpsmith.source.tokens.macros import Macro
from warpsmith.source.tokens.syntax import past_template

_COMMENT_LINE = re.compile(r"[ \t]*(?://|/\*|\*)")
_TRAILING = re.compile(r"[ \t]*;?[ \t]*//[^\n]*")
_LICENCE = re.compile(r"copyright|licen[sc]e|SPDX", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """`scope` is None for a macro, which may stand in any namespace."""

    text: str
    scope: Scope | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """What the file says before its code: where it is from, for what, and what it includes, defines and names types."""

    title: Sequence[str]
    includes: Sequence[str]
    defines: Mapping[str, str]
    types: Mapping[str, str]
    aliases: Sequence[str] = ()


def emit(unit: Unit, closure: Closure, pieces: Sequence[Piece], heading: Heading, roots: Sequence[Path]) -> str:
    parts = [*(f"// {line}".rstrip() for line in heading.title), ""]
    for licence in _licences(unit, pieces, roots):
        parts += [licence, ""]
    parts += [*(f"#include {spelling}" for spelling in heading.includes), ""]
    for name, value in heading.defines.items():
        parts += [f"#ifndef {name}", f"#define {name} {value}".rstrip(), "#endif", ""]
    parts += [*(f"typedef {meaning} {name};" for name, meaning in heading.types.items()), "", *heading.aliases]
    for scope in _empty_namespaces(closure, pieces):
        parts += [f"namespace {'::'.join(scope)} {{}}  // opened below", ""]
    parts += _body(unit, pieces, roots)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip() + "\n"


def lines_taken(unit: Unit, pieces: Sequence[Piece]) -> dict[Path, int]:
    taken: dict[Path, int] = {}
    for piece in pieces:
        file = unit.origin(piece.start).file
        taken[file] = taken.get(file, 0) + piece.text.count("\n") + 1
    return taken


def pieces_of(unit: Unit, program: Program, closure: Closure, rewritten: Mapping[Declaration, str]) -> list[Piece]:
    """In order. `rewritten` has other texts for some declarations; an empty one leaves its declaration out."""
    return sorted(_pieces(unit, program, closure, rewritten), key=lambda piece: piece.start)


def _body(unit: Unit, pieces: Sequence[Piece], roots: Sequence[Path]) -> Iterator[str]:
    scope: Scope = ()
    file: Path | None = None
    previous: Piece | None = None
    for piece in pieces:
        origin = unit.origin(piece.start).file
        wanted = piece.scope if piece.scope is not None else scope if origin == file else ()
        if origin != file or wanted != scope:
            yield from _closed(scope)
            if origin != file:
                yield f"// from {shown(origin, roots)}\n"
            elif not scope:
                yield ""
            yield from _opened(wanted)
            scope, file = wanted, origin
        elif previous is not None and _stand_apart(unit, previous, piece):
            yield ""
        yield piece.text
        previous = piece
    yield from _closed(scope)


def _stand_apart(unit: Unit, one: Piece, next_one: Piece) -> bool:
    """With a blank line between: as they were, and around anything longer than a line."""
    return "\n" in one.text + next_one.text or re.search(r"\n[ \t]*\n", unit.text[one.end : next_one.start]) is not None


def _opened(scope: Scope) -> Iterator[str]:
    names = [name for name in scope if name]
    if not names:
        return
    if any(" " in name for name in names):  # inline ones and extern "C" have no joint spelling
        yield from (
            name + " {" if name.startswith("extern") else re.sub(r"^(inline )?", r"\1namespace ", name) + " {" for name in names
        )
    else:
        yield f"namespace {'::'.join(names)} {{"
    yield ""


def _closed(scope: Scope) -> Iterator[str]:
    names = [name for name in scope if name]
    if not names:
        return
    yield ""
    if any(" " in name for name in names):
        yield from (
            "}  // " + (name if name.startswith("extern") else f"namespace {plain([name])[0]}") for name in reversed(names)
        )
    else:
        yield f"}}  // namespace {'::'.join(names)}"
    yield ""


def _pieces(unit: Unit, program: Program, closure: Closure, rewritten: Mapping[Declaration, str]) -> Iterator[Piece]:
    spans = [(d.start, d.end) for d in closure.declarations]
    for declaration in closure.declarations:
        text = rewritten.get(declaration)
        if text != "":
            yield _piece(unit.text, program, declaration, text)
    for macro in closure.macros:
        if not any(start <= macro.start < end for start, end in spans):
            yield _macro_piece(unit.text, macro)
    for directive in closure.directives:
        yield _piece(unit.text, program, directive)


def _piece(text: str, program: Program, declaration: Declaration, rewritten: str | None = None) -> Piece:
    start, end = declaration.start, declaration.end
    body = rewritten or text[start:end]
    members = sorted(host_members(declaration.item, program.marks), key=lambda m: -m.span[0])
    for member in members:
        first = member.span[0] - start
        first -= len(_comments_before(body, first)) + len(_indentation(body, first))
        body = body[:first].rstrip(" \t") + re.sub(r"^[ \t]*\n?", "", body[member.span[1] - start :])
    if declaration.kind is Kind.TYPE and rewritten is None:
        body = _unmarked(body, declaration)
    if members:
        body = re.sub(r"\n[ \t]*\n(?=[ \t]*\})", "\n", body)  # what stood before the class's end
    trailing = _TRAILING.match(text, end)
    comments = _comments_before(text, start)
    written = comments + _indentation(text, start) + body + (trailing[0] if trailing else "")
    return Piece(written, _named(declaration.scope), start - len(comments), end)


def _unmarked(body: str, declaration: Declaration) -> str:
    """A type without `__device__` before its `struct`: it means nothing there, and not every compiler of device code takes it."""
    tokens = declaration.item.tokens
    first = last = past_template(tokens)
    while tokens[last].text in {"__device__", "__host__"}:
        last += 1
    return body[: tokens[first].start - declaration.start] + body[tokens[last].start - declaration.start :]


def _macro_piece(text: str, macro: Macro) -> Piece:
    comments = _comments_before(text, macro.start)
    return Piece(comments + text[macro.start : macro.end].rstrip(), None, macro.start - len(comments), macro.end)


def _comments_before(text: str, position: int) -> str:
    """The comment lines right above, without a blank line between."""
    end = first = text.rfind("\n", 0, position) + 1
    while first > 0:
        before = text.rfind("\n", 0, first - 1) + 1
        if not _COMMENT_LINE.match(text, before):
            break
        first = before
    comment = text[first:end]
    # A `*` at the start of a line is only a comment's if the comment opens here; else it is code.
    return comment if comment.count("/*") == comment.count("*/") and re.match(r"[ \t]*(?://|/\*)", comment) else ""


def _indentation(text: str, position: int) -> str:
    last = text[text.rfind("\n", 0, position) + 1 : position]
    return last if not last.strip() else ""


def _named(scope: Scope) -> Scope:
    """Without nameless namespaces: one file has no other to hide from, and a kernel in one could not be called by name."""
    return tuple(name for name in scope if name)


def _empty_namespaces(closure: Closure, pieces: Sequence[Piece]) -> list[Scope]:
    scopes = {plain(piece.scope) for piece in pieces if piece.scope}
    there = {scope[:depth] for scope in scopes for depth in range(1, len(scope) + 1)}
    return sorted(scope for scope in closure.opened if scope not in there)


def _licences(unit: Unit, pieces: Sequence[Piece], roots: Sequence[Path]) -> Iterator[str]:
    """The first comment of each file that something is taken from, if it speaks of rights; the same words only once."""
    seen: set[str] = set()
    for file in dict.fromkeys(unit.origin(piece.start).file for piece in pieces):
        match = re.match(r"\s*(/\*.*?\*/|(?:[ \t]*//[^\n]*\n)+)", unit.texts.get(file, ""), re.DOTALL)
        if match and _LICENCE.search(match[1]) and match[1] not in seen:
            seen.add(match[1])
            yield f"// {shown(file, roots)}:\n{match[1].strip()}"


def shown(file: Path, roots: Sequence[Path]) -> str:
    """The path inside its code base: the text is to be the same wherever that lies."""
    for root in roots:
        if file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return file.name
