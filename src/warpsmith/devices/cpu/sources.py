"""The user's files as passed to clang: host code blanked, assembly replaced, refused device code set aside.

It starts from the source file; a user header is read only if clang reports an error in it, and then replaces the one on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices._clang import host_code
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices._clang.items import names_taken_out
from warpsmith.devices._clang.preprocess import Diagnostic, begins, definitions, parse_log
from warpsmith.devices._clang.tokens import words
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cpu import assembly, clang, diagnostics, set_aside
from warpsmith.devices.cpu.dependent_names import with_template_keywords
from warpsmith.devices.cpu.entry import GENERATED_FILE
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.refusals import users_line

_BYTE_ORDER_MARK = "\ufeff"


class Sources:
    """`headers_only`: only missing headers are repaired, and nothing else is removed."""

    def __init__(self, request: CompileRequest, *, headers_only: bool = False) -> None:
        self._request = request
        self._headers_only = headers_only
        self._main = str(request.source_file)
        self._texts = {self._main: self._cleaned(request.source)}
        self._times: dict[str, int] = {}
        self._logs: list[str] = []
        self._refused: dict[tuple[str, int], str] = {}
        self._taken_out: set[str] = set()
        self._first_taken = -1
        self._dropped_declarations = False
        self._headers_left_out: list[str] = []

    def again(self, request: CompileRequest) -> Sources:
        """The same repairs for a request that differs only in its parameters."""
        other = Sources(request, headers_only=self._headers_only)
        other._texts = dict(self._texts)
        other._refused = dict(self._refused)
        return other

    @property
    def is_reusable(self) -> bool:
        """Whether the repairs are valid for other parameters, and the headers read are unchanged."""
        return not self._dropped_declarations and all(
            Path(file).is_file() and Path(file).stat().st_mtime_ns == time for file, time in self._times.items()
        )

    @property
    def unit(self) -> str:
        """The text to compile, without the generated tail."""
        declarations = assembly.DECLARATION + set_aside.DECLARATION + assembly.headers(self._texts.values())
        markers = "" if self._headers_only else declarations
        return f"{markers}{definitions(self._request.defines)}{begins(self._main)}{self._texts[self._main]}"

    @property
    def headers(self) -> dict[str, str]:
        """Replacements of headers, by path."""
        return {file: text for file, text in self._texts.items() if file != self._main}

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self._request.source_file.parent, *self._request.include_dirs)

    def repair(self, log: str) -> bool:
        """Remove the cause of clang's errors, if it is not the kernel itself; whether anything changed."""
        self._logs.append(log)
        errors = [diagnostic for diagnostic in parse_log(log) if diagnostic.is_error]
        files = {error.file: [other for other in errors if other.file == error.file] for error in errors}
        changed = [self._repair_file(file, found) for file, found in files.items() if self._is_users(file)]
        return any(changed)

    def failure(self) -> CompileError | UnsupportedFeature:
        """The final error of clang; if it only misses removed code, the reason for the removal."""
        errors = [diagnostic for diagnostic in parse_log(self._logs[-1]) if diagnostic.is_error]
        # The first: later errors may name things that were never removed.
        missed = any(set_aside.UNKNOWN.search(error.text) and words(error.text) & self._taken_out for error in errors[:1])
        failure = diagnostics.failure(self._logs[self._first_taken if missed else -1], self._request.source_file)
        if isinstance(failure, CompileError) and self._headers_left_out and errors and diagnostics.misses_a_name(errors[0]):
            # Taken for host code's, but the name may have been meant to come from there.
            left_out = ", ".join(self._headers_left_out)
            return CompileError(f"{failure.reason}; hint: not found and left out: {left_out}; is a folder missing?", failure.log)
        return failure

    def refuse_set_aside(self, module: Module) -> None:
        """Raises clang's error on code that was set aside, if the module, reduced to the kernel, still has it."""
        for lines in module.functions.values():
            for line in lines:
                if f"@{set_aside.MARKER}(" in line and (place := users_line(module, line)):
                    near = [key for key in self._refused if key[0] == place.file] or list(self._refused)
                    key = min(near, key=lambda key: abs(key[1] - place.line))
                    raise diagnostics.failure(self._refused[key], self._request.source_file)

    def _repair_file(self, file: str, errors: Sequence[Diagnostic]) -> bool:
        seen = self._texts.get(file)
        if seen is None:
            self._times[file] = Path(file).stat().st_mtime_ns
        text = self._cleaned(Path(file).read_text(encoding="utf-8", errors="replace")) if seen is None else seen
        if missing := diagnostics.missing_headers(errors):
            before = text
            text = host_code.without_host_headers(text, missing, (*self.folders, clang.INCLUDE))
            kept = host_code.INCLUDE.findall(text)
            self._headers_left_out += [header for header in host_code.INCLUDE.findall(before) if header not in kept]
        elif seen is not None and not self._headers_only:
            text = with_template_keywords(text, errors)
            text = self._without(text, errors) if text == seen else text
        self._texts[file] = text
        return text != seen

    def _without(self, text: str, errors: Sequence[Diagnostic]) -> str:
        shorter = host_code.without_host_lines(text, {error.line for error in errors}, self._request.defines)
        of_device = shorter is None
        if shorter is None:
            shorter = set_aside.without_refused_code(text, errors, self._request.entry)
            if shorter is None:
                return text
            for error, said in diagnostics.excerpts(self._logs[-1]):
                place = error.file, error.line
                self._refused[place] = f"{self._refused.get(place, '')}{said}\n"
        if not self._taken_out:
            self._first_taken = len(self._logs) - 1
        names = names_taken_out(text, shorter)
        self._taken_out |= names
        self._dropped_declarations |= of_device and bool(names)
        return shorter

    def _cleaned(self, text: str) -> str:
        text = text.removeprefix(_BYTE_ORDER_MARK)
        return text if self._headers_only else assembly.without_assembly(host_code.without_host_code(text, self._request.defines))

    def _is_users(self, file: str) -> bool:
        if file == self._main:
            return True
        others = (str(clang.INCLUDE), str(clang_binary().parent), GENERATED_FILE, "<")
        return not file.startswith(others) and _can_be_read(file)


def _can_be_read(file: str) -> bool:
    """A `#line` may name any file, also one that a confined worker may not open."""
    try:
        with Path(file).open("rb"):
            return True
    except OSError:
        return False
