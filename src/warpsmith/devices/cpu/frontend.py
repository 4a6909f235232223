"""From a request's source to LLVM IR for the device: host code out, the generated entry appended, clang's refusals explained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpsmith.devices.base import CompileRequest
from warpsmith.devices.cpu import clang, diagnostics, host_code
from warpsmith.devices.cpu.entry import generated_tail
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.tokens import tokenize

# Blanking one host declaration can uncover the next; real files settle after two or three rounds.
_ROUNDS = 8


def device_ir(request: CompileRequest, prelude_flags: Sequence[str] = ()) -> Module:
    """The whole translation unit as IR. Raises CompileError or UnsupportedFeature."""
    text = host_code.without_host_code(request.source)
    tail = generated_tail(request.entry, request.parameters, request.constants)
    head = _definitions(request)
    for _ in range(_ROUNDS):
        result = clang.to_ir(f"{head}{text}{tail}", request.language, prelude_flags, _folders(request))
        if result.succeeded:
            return Module(result.output.decode())
        shorter = _without_what_failed(text, result.log, request)
        if shorter is None or shorter == text:
            break
        text = shorter
    raise diagnostics.failure(result.log, request.source_file)


def preprocessed_tokens(request: CompileRequest) -> list[str]:
    """The user's tokens after preprocessing: files of the user's expanded, the prelude and system headers left out."""
    head = _definitions(request)
    text = request.source
    for _ in range(_ROUNDS):
        result = clang.preprocessed(f"{head}{text}", request.language, _folders(request))
        if result.succeeded:
            return [token.text for token in tokenize(_users_part(result.output.decode(errors="replace")))]
        shorter = None
        for header in diagnostics.missing_headers(diagnostics.parse_log(result.log)):
            shorter = host_code.without_host_header(shorter or text, header) or shorter
        if shorter is None:
            break
        text = shorter
    raise diagnostics.failure(result.log, request.source_file)


def _definitions(request: CompileRequest) -> str:
    """The parameters, after the prelude and before the user's first line."""
    lines = [f"#define {name} {int(value) if isinstance(value, bool) else value}\n" for name, value in request.defines.items()]
    return "".join(lines) + f'#line 1 "{request.source_file}"\n'


def _folders(request: CompileRequest) -> tuple[Path, ...]:
    return (request.source_file.parent, *request.include_dirs)


def _without_what_failed(text: str, log: str, request: CompileRequest) -> str | None:
    found = diagnostics.parse_log(log)
    for header in diagnostics.missing_headers(found):
        if (shorter := host_code.without_host_header(text, header)) is not None:
            return shorter
    own = str(request.source_file)
    return host_code.without_host_lines(text, (d.line for d in found if d.is_error and d.file == own))


def _users_part(text: str) -> str:
    """Drops the regions that line markers give to system headers (flag 3), the prelude among them, and to the compiler itself."""
    kept: list[str] = []
    keep = False
    for line in text.splitlines():
        if line.startswith("# "):
            _, _, rest = line[2:].partition(" ")
            name, _, flags = rest.rpartition('"')
            keep = "3" not in flags.split() and not name.startswith(('"<', '"-'))
        elif keep:
            kept.append(line)
    return "\n".join(kept)
