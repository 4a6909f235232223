"""What a compiler sees of a text: its tokens, its declarations for host and device alike, and what it has against it.

All of it comes from clang, so that there is nothing that a text shows to a reader of ours and to a compiler differently. Only
clang's own files are left out, by where a declaration really stands: a `#line` does not move it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices._clang.host_code import INCLUDE as INCLUDE_LINE
from warpsmith.devices._clang.preprocess import Diagnostic, definitions, parse_log
from warpsmith.devices.cpu import clang

MAIN = "<stdin>"

Node: TypeAlias = dict[str, Any]

_RAW = re.compile(r"^(\w+) '(.*?)'\t(?:[^\n]*?\[UnClean='.*?'\])?[^\n]*?Loc=<[^\n]*>$", re.MULTILINE | re.DOTALL)
_MISSING = re.compile(r"'([^']+)' file not found")
_MOST_MISSING = 64
_NUMBER_OR_TEXT = re.compile(r'[-+(]*(?:\d|\.\d|").*')
# Names of compilers and their headers that are not there for everybody; sizes and limits are the same wherever kernels run.
_OF_COMPILERS = re.compile(r"__?[A-Za-z]\w*|(?:CUDA|CUDART|HIP)_VERSION\w*|SPIRV\w*")
_SAME_EVERYWHERE = re.compile(r"__(?:U?INT|FLT|DBL|U?CHAR|SCHAR|SHRT|LONG|SIZE|SIZEOF|PTRDIFF|MEMORY_SCOPE|ATOMIC|ORDER)_?\w*")


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    is_first: bool  # of its line
    is_apart: bool  # from the one before


@dataclass(frozen=True)
class View:
    """Of a text with its parameters defined before it. `folders` are where it looks for what it includes."""

    text: str
    language: Language
    defines: str
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, text: str, language: Language, defines: Mapping[str, Value], folders: Sequence[Path]) -> View:
        return cls(text.replace("\r\n", "\n").replace("\r", "\n"), language, definitions(defines), tuple(folders))

    @cached_property
    def tokens(self) -> list[Token]:
        """Also of what no `#if` takes. A `hash` that is the first of its line begins a directive."""
        return _tokens(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.tokens if token.kind == "raw_identifier")

    @property
    def lines_before(self) -> int:
        return self.defines.count("\n")

    @cached_property
    def unit(self) -> str:
        """What clang is given: without includes of files that are nowhere, which hide what comes after them."""
        return self._parsed[0]

    @property
    def errors(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in parse_log(self._parsed[2]) if diagnostic.is_error]

    @cached_property
    def missing(self) -> frozenset[str]:
        return self._parsed[3]

    def nodes(self) -> Iterator[tuple[Node, tuple[Node, ...], str]]:
        """Every node of the syntax tree that is not clang's own, with those around it and the file it stands in."""
        try:
            root: Node = json.loads(self._parsed[1])
        except RecursionError:
            raise InputError("it is nested too deeply to analyse", hint="write simpler expressions") from None
        except ValueError:
            said = self._parsed[2].strip().splitlines()
            raise InputError(f"clang cannot read it: {said[0][:200] if said else 'no reason given'}") from None
        own = (str(clang.INCLUDE), str(clang_binary().parent), "<built-in>")
        waiting: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
        file = MAIN
        while waiting:
            node, around = waiting.pop()
            for place in (node.get("loc", {}), *node.get("range", {}).values()):
                for exact in (place.get("spellingLoc", place), place.get("expansionLoc", place)):
                    file = exact.get("file", file)
                if place is node.get("loc"):
                    node["file"] = file
            stands_in = node.get("file", file)
            if around and not stands_in.startswith(own):
                yield node, around, stands_in
            inside = (*around, node)
            waiting += [(child, inside) for child in reversed(node.get("inner", ())) if child]

    @cached_property
    def _parsed(self) -> tuple[str, bytes, str, frozenset[str]]:
        """The unit, its tree, clang's words, and the headers that are missing."""
        text, missing = self.defines + self.text, set[str]()
        for _ in range(_MOST_MISSING):
            result = clang.syntax_tree(text, self.language, self.folders)
            found = set(_MISSING.findall(result.log)) - missing
            if not found:
                break
            missing |= found
            text = INCLUDE_LINE.sub(partial(_unless, found), text)
        return text, result.output, result.log, frozenset(missing)


def _unless(missing: set[str], include: re.Match[str]) -> str:
    return "" if include[1] in missing else include[0]


@lru_cache(maxsize=4)  # the original and what is beside it; long sources have megabytes of tokens
def _tokens(text: str) -> list[Token]:
    if "Loc=<" in text.replace("\\\n", ""):  # as clang ends each of its lines
        raise InputError(
            "it contains 'Loc=<', which cannot be distinguished from the compiler's own output", hint="write it otherwise"
        )
    found: list[Token] = []
    is_first = is_apart = True
    for kind, spelled in _RAW.findall(clang.raw_tokens(text).log):
        if kind == "comment" or (kind == "unknown" and spelled.isspace()):
            is_first |= kind != "comment" and "\n" in spelled
            is_apart = True
            continue
        found.append(Token(kind, spelled, is_first, is_apart))
        is_first = is_apart = False
    return found


@lru_cache(maxsize=4)
def compiler_names(language: Language) -> frozenset[str]:
    """Macros that say which compiler reads a text, for what, when and where."""
    lines = clang.defined_macros(language).output.decode().splitlines()
    found = (re.fullmatch(r"#define (\w+)(?: (.*))?", line) for line in lines)
    return frozenset(
        match[1]
        for match in found
        if match and _OF_COMPILERS.fullmatch(match[1]) and _NUMBER_OR_TEXT.fullmatch(match[2] or "")
        if not _SAME_EVERYWHERE.fullmatch(match[1])
    )
