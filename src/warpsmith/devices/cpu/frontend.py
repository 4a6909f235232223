"""Compiles a request's source to LLVM IR for the device: removes host code, appends the generated entry, explains clang's
errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices._clang.preprocess import users_tokens
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cpu import clang
from warpsmith.devices.cpu.entry import generated_tail, kernel_names
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.sources import Sources

# Removing one declaration can uncover the next; real files settle after two or three rounds, deep header trees later.
_ROUNDS = 16


# Repairs of a source, by the request without its parameters: the next configuration starts from there.
_repaired: dict[tuple[object, ...], Sources] = {}


def device_ir(request: CompileRequest, prelude_flags: Sequence[str] = ()) -> Module:
    """IR of the code that the kernel reaches. Raises CompileError or UnsupportedFeature."""
    key = (request.source, request.source_file, request.include_dirs, request.language, request.entry)
    known = _repaired.get(key)
    if known is not None and known.is_reusable:
        try:
            return _compiled(known.again(request), request, prelude_flags)
        except (CompileError, UnsupportedFeature):
            pass  # another branch of the source may need what was taken out
    sources = Sources(request)
    module = _compiled(sources, request, prelude_flags)
    _repaired.clear()
    _repaired[key] = sources
    return module


def _compiled(sources: Sources, request: CompileRequest, prelude_flags: Sequence[str]) -> Module:
    tail = generated_tail(request.entry, request.parameters, request.constants)
    for _ in range(_ROUNDS):
        result = clang.to_ir(f"{sources.unit}{tail}", request.language, prelude_flags, sources.folders, sources.headers)
        if result.succeeded:
            module = Module(result.output.decode())
            module.keep_reachable(kernel_names(len(request.constants)))
            sources.refuse_set_aside(module)
            return module
        if not sources.repair(result.log):
            break
    raise sources.failure()


def preprocessed_tokens(request: CompileRequest) -> list[str]:
    """The user's tokens after preprocessing: user files expanded, prelude and system headers left out."""
    sources = Sources(request, headers_only=True)
    for _ in range(_ROUNDS):
        result = clang.preprocessed(sources.unit, request.language, sources.folders, sources.headers)
        if result.succeeded:
            return users_tokens(result.output.decode(errors="replace"))
        if not sources.repair(result.log):
            break
    raise sources.failure()
