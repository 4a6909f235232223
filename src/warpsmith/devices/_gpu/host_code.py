"""Compiles the device part of a file with host code: recognisable host code is blanked first, the rest on demand.

As on the CPU device, line numbers stay, and code marked for the device is never removed. The user's headers are passed to the
compiler unchanged.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.host_code import INCLUDE, without_host_code, without_host_headers, without_host_lines
from warpsmith.devices._clang.items import names_taken_out
from warpsmith.devices._clang.preprocess import Diagnostic
from warpsmith.devices._clang.tokens import words
from warpsmith.devices.base import CompileError

Compiled = TypeVar("Compiled")

# Removing one declaration can uncover the next.
_ROUNDS = 16
_BYTE_ORDER_MARK = "\ufeff"
_MISSING = re.compile(r"""'([^']+)' file not found|(?:cannot|could not) open source file "([^"]+)\"""")
# Standard library headers, which vendors' compilers have in part: without one, device code that needs it fails by its name.
_STANDARD = re.compile(r"[a-z_]+|(?:ctype|errno|inttypes|locale|memory|setjmp|std\w+|strings?|time|wchar)\.h")

# The remaining text, by text and file: the starting point of the next configuration.
_shortened: dict[tuple[str, str], str] = {}


@dataclass(frozen=True, slots=True)
class Mixed:
    """A file as the user wrote it. `errors` reads the vendor's log."""

    text: str
    file: Path
    folders: Sequence[Path]
    errors: Callable[[str], list[Diagnostic]]
    defines: Mapping[str, Value]

    def compiled(self, compile_text: Callable[[str], Compiled]) -> Compiled:
        """The result of `compile_text` on the device part. Raises its CompileError if host code is not the cause."""
        text = without_host_code(self.text.removeprefix(_BYTE_ORDER_MARK), self.defines)
        return self._tried(text, compile_text, lambda text, lines: without_host_lines(text, lines, self.defines) or text)

    def preprocessed(self, preprocess: Callable[[str], Compiled]) -> Compiled:
        """The same, but only missing host-only headers are left out."""
        return self._tried(self.text.removeprefix(_BYTE_ORDER_MARK), preprocess, lambda text, _lines: text)

    def _tried(self, text: str, use: Callable[[str], Compiled], shorten: Callable[[str, set[int]], str]) -> Compiled:
        key = (text, str(self.file))
        if key in _shortened:
            with contextlib.suppress(CompileError):  # under other parameters something else may be missing
                return use(_shortened[key])
        taken: set[str] = set()
        first: CompileError | None = None
        for _ in range(_ROUNDS):
            try:
                found = use(text)
            except CompileError as error:
                said = [diagnostic for diagnostic in self.errors(error.log) if diagnostic.is_error]
                here = [diagnostic for diagnostic in said if Path(diagnostic.file) == self.file]
                missing = [match[1] or match[2] for diagnostic in here for match in _MISSING.finditer(diagnostic.text)]
                shorter = self._without_headers(text, missing) if missing else shorten(text, {d.line for d in here})
                if shorter == text:
                    # If only removed code is missing, the reason is why it was removed.
                    raise (first if first and all(words(d.text) & taken for d in said) else error) from None
                if not missing:
                    first = first or error
                    taken |= names_taken_out(text, shorter)
                text = shorter
            else:
                if text != key[0]:
                    _shortened.clear()
                    _shortened[key] = text
                return found
        return use(text)

    def _without_headers(self, text: str, missing: Sequence[str]) -> str:
        standard = {header for header in missing if _STANDARD.fullmatch(header)}
        shorter = INCLUDE.sub(lambda match: "" if match[1] in standard else match[0], text)
        return without_host_headers(shorter, missing, self.folders)
