"""The user's files as clang gets to see them: host code blanked, assembly marked, refused device code set aside.

It starts from the source file; a header of the user's is looked into only when clang complains about it, and given to clang in
place of the one on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices._clang.preprocess import Diagnostic, definitions, parse_log
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cpu import assembly, clang, diagnostics, host_code, set_aside
from warpsmith.devices.cpu.entry import GENERATED_FILE
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.refusals import users_line

_BYTE_ORDER_MARK = "\ufeff"


class Sources:
    """`headers_only`: only missing headers are mended, and nothing else is taken out."""

    def __init__(self, request: CompileRequest, *, headers_only: bool = False) -> None:
        self._request = request
        self._headers_only = headers_only
        self._main = str(request.source_file)
        self._texts = {self._main: self._cleaned(request.source)}
        self._logs: list[str] = []
        self._refused: dict[tuple[str, int], str] = {}

    @property
    def unit(self) -> str:
        """What to compile, before the generated tail."""
        markers = "" if self._headers_only else assembly.DECLARATION + set_aside.DECLARATION
        return f'{markers}{definitions(self._request.defines)}#line 1 "{self._main}"\n{self._texts[self._main]}'

    @property
    def headers(self) -> dict[str, str]:
        """Replacements of headers, by path."""
        return {file: text for file, text in self._texts.items() if file != self._main}

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self._request.source_file.parent, *self._request.include_dirs)

    def repair(self, log: str) -> bool:
        """Take out what clang complained about, if it is not the kernel's own; whether anything changed."""
        self._logs.append(log)
        errors = [diagnostic for diagnostic in parse_log(log) if diagnostic.is_error]
        files = {error.file: [other for other in errors if other.file == error.file] for error in errors}
        changed = [self._repair_file(file, found) for file, found in files.items() if self._is_users(file)]
        return any(changed)

    def failure(self) -> CompileError | UnsupportedFeature:
        """Why clang refused in the end; but where only the taking out of code brought up new errors, why it did at first."""
        last = self._logs[-1]
        known = {(error.file, error.line, error.text) for error in parse_log(self._logs[0])}
        own = all((error.file, error.line, error.text) in known for error in parse_log(last) if error.is_error)
        asked_for = own or not self._refused
        return diagnostics.failure(last if asked_for else self._logs[0], self._request.source_file)

    def refuse_set_aside(self, module: Module) -> None:
        """Raises what clang said of code that was set aside, if the module, cut down to the kernel, still has it."""
        for lines in module.functions.values():
            for line in lines:
                if f"@{set_aside.MARKER}(" in line and (place := users_line(module, line)):
                    near = [key for key in self._refused if key[0] == place.file] or list(self._refused)
                    key = min(near, key=lambda key: abs(key[1] - place.line))
                    raise diagnostics.failure(self._refused[key], self._request.source_file)

    def _repair_file(self, file: str, errors: Sequence[Diagnostic]) -> bool:
        before = self._texts.get(file)
        if before is None:
            before = Path(file).read_text(encoding="utf-8", errors="replace")
            self._texts[file] = self._cleaned(before)
        text = self._texts[file]
        if text == before:
            text = self._without(text, file, errors)
            self._texts[file] = text
        return text != before

    def _without(self, text: str, file: str, errors: Sequence[Diagnostic]) -> str:
        if missing := diagnostics.missing_headers(errors):
            return host_code.without_host_headers(text, missing, self.folders)
        if self._headers_only:
            return text
        lines = {error.line for error in errors}
        if (shorter := host_code.without_host_lines(text, lines)) is not None:
            return shorter
        shorter = set_aside.without_refused_code(text, errors, self._request.entry)
        if shorter is None:
            return text
        for error in errors:
            place = file, error.line
            self._refused[place] = f"{self._refused.get(place, '')}{diagnostics.excerpt(self._logs[-1], error)}\n"
        return shorter

    def _cleaned(self, text: str) -> str:
        text = text.removeprefix(_BYTE_ORDER_MARK)
        return text if self._headers_only else assembly.without_assembly(host_code.without_host_code(text))

    def _is_users(self, file: str) -> bool:
        if file == self._main:
            return True
        others = (str(clang.INCLUDE), str(clang_binary().parent), GENERATED_FILE, "<")
        return not file.startswith(others) and Path(file).is_file()
