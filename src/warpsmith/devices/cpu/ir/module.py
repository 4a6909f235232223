"""A module of LLVM IR text: its symbols, reachability from the kernels, and source lines of instructions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

NAME = r'(?:[-\w$.]+|"[^"]*")'
SYMBOL = re.compile(rf"@({NAME})")
_DEFINE = re.compile(rf"^define\b.*?@({NAME})\(")
_GLOBAL = re.compile(rf"^@({NAME}) = ")
_INLINING = re.compile(r"\b(?:noinline|optnone|inlinehint|alwaysinline) ")
# After a function's parameters: the position of its attributes, behind `unnamed_addr`.
_BODY = re.compile(r"(?: #\d+ .*| (?!(?:local_)?unnamed_addr\b)[^()#]*)\{$")
_METADATA = re.compile(r"^(!\d+) = (?:distinct )?(.*)$")
_DEBUG = re.compile(r"!dbg (!\d+)")
_FIELD = re.compile(r"(line|scope|inlinedAt|file|filename): (!\d+|\d+|\"[^\"]*\")")


@dataclass(frozen=True, slots=True)
class SourceLine:
    file: str
    line: int


class Module:
    """Top-level pieces in order. A piece is a list of lines; pieces that define a symbol are indexed by its name."""

    def __init__(self, text: str) -> None:
        self.pieces: list[tuple[str | None, list[str]]] = list(_pieces(text.splitlines()))

    @property
    def text(self) -> str:
        return "\n".join(line for _, lines in self.pieces for line in lines) + "\n"

    @property
    def functions(self) -> dict[str, list[str]]:
        """Lines of each function with a body."""
        return {name: lines for name, lines in self.pieces if name is not None and lines[0].startswith("define")}

    @property
    def shared_objects(self) -> frozenset[str]:
        """Names of shared memory variables, as written in operands."""
        return frozenset(f"@{name}" for name, lines in self.pieces if name is not None and " addrspace(3) global " in lines[0])

    def replace(self, name: str, lines: list[str]) -> None:
        self.pieces = [(piece, lines if piece == name else old) for piece, old in self.pieces]

    def drop(self, name: str) -> None:
        self.pieces = [(piece, lines) for piece, lines in self.pieces if piece != name]

    def reachable(self, roots: Iterable[str]) -> set[str]:
        """Functions and variables reachable from these, including themselves."""
        references = {name: _references(lines) for name, lines in self.pieces if name is not None}
        reached: set[str] = set()
        pending = [root for root in roots if root in references]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += [other for other in references[name] if other in references]
        return reached

    def keep_reachable(self, roots: Iterable[str]) -> None:
        """Drops every other function and variable.

        A source file often defines more device functions than the kernel uses, and what they contain must not count against it.
        """
        reached = self.reachable(roots)
        self.pieces = [(name, lines) for name, lines in self.pieces if name is None or name in reached]

    def inline_everything(self, kept: Collection[str]) -> None:
        """Marks all functions but these `alwaysinline`; clang's -O0 pipeline then does that and nothing else.

        The functions themselves, not their groups of attributes: those are shared, also with calls.
        """
        for name, lines in self.pieces:
            if name is not None and name not in kept and lines[0].startswith("define"):
                lines[0] = _BODY.sub(r" alwaysinline\g<0>", lines[0], count=1)
            for index, line in enumerate(lines):
                if line.startswith("attributes #"):
                    lines[index] = _INLINING.sub("", line)

    def source_line(self, instruction: str, generated: tuple[str, ...]) -> SourceLine | None:
        """The user's line of an instruction: the innermost one outside files whose names start with `generated`."""
        match = _DEBUG.search(instruction)
        location = match[1] if match else None
        while location is not None:
            fields = dict(_FIELD.findall(self._metadata.get(location, "")))
            file = self._file(fields.get("scope"))
            if file is not None and not file.startswith(generated) and fields.get("line", "0") != "0":
                return SourceLine(file, int(fields["line"]))
            location = fields.get("inlinedAt")
        return None

    def _file(self, scope: str | None) -> str | None:
        while scope is not None:
            fields: dict[str, str] = dict(_FIELD.findall(self._metadata.get(scope, "")))
            if "filename" in fields:
                return fields["filename"].strip('"')
            scope = fields.get("file") or fields.get("scope")
        return None

    @cached_property
    def _metadata(self) -> dict[str, str]:
        lines = (line for name, lines in self.pieces if name is None for line in lines if line.startswith("!"))
        return {match[1]: match[2] for match in map(_METADATA.match, lines) if match}


def _pieces(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    position = 0
    while position < len(lines):
        line = lines[position]
        if match := _DEFINE.match(line):
            end = lines.index("}", position) + 1
            yield match[1].strip('"'), lines[position:end]
            position = end
            continue
        match = _GLOBAL.match(line)
        yield (match[1].strip('"') if match else None), [line]
        position += 1


def _references(lines: list[str]) -> set[str]:
    return {name.strip('"') for line in lines for name in SYMBOL.findall(line)}
