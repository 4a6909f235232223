"""Interprets clang's messages for the user: the missing feature or the wrong line, without generated code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from warpsmith.core.errors import Location, UnsupportedFeature
from warpsmith.devices._clang.preprocess import Diagnostic, parse_log
from warpsmith.devices.base import CompileError
from warpsmith.devices.cpu.entry import GENERATED_FILE

_ASSERTION = re.compile(r"static assertion failed.*'?: (.*)$")
_SIGNATURE = re.compile(r"signature<void \(\*\)(\(.*?\))(?: noexcept)?>::__count")
_QUOTED = re.compile(r"'([^']*)'")

# GPU features without a CPU counterpart, by identifiers that reveal them in an error.
_FEATURES: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), feature, hint)
    for pattern, feature, hint in (
        (r"w?mma\w*|nvcuda|fragment|load_matrix_sync|__hmma\w*|ldmatrix\w*", "tensor cores (wmma/mma)", "run it on a GPU device"),
        ((r"tex(?:1D|2D|3D|Cube)\w*|texture\w*|cudaTextureObject_t|surf(?:1D|2D|3D)\w*|surface\w*|cudaSurfaceObject_t|__ldg_tex"
         r"|(?:cuda|hip)(?:ReadMode|AddressMode|FilterMode|ChannelFormat)\w*"),
         "textures and surfaces", "read from plain global memory instead"),
        (r"cudaDeviceSynchronize|cudaLaunchDevice\w*|cudaGetParameterBuffer\w*", "dynamic parallelism", "launch from the host"),
        (r"__builtin_amdgcn_\w+|__amdgcn_\w+|__llvm_amdgcn_\w+|__ockl_\w+|__ocml_\w+", "built-in functions of AMD's GPUs",
         "use HIP's own functions (__shfl_down, __ballot, …), or run it on a GPU device"),
        (r"malloc|calloc|realloc|free", "allocation inside a kernel", "pass a buffer to the kernel instead"),
        (r"pipeline\w*|memcpy_async|__pipeline_\w+|cp_async\w*|arrive_and_wait|mbarrier\w*|cuda::barrier|barrier",
         "asynchronous copies and barriers (cuda::pipeline, cuda::barrier, memcpy_async)", "copy through registers instead"),
        (r"cutlass|cute", "CUTLASS", "run it on a GPU device"),
        (r"grid_group|this_grid|this_multi_grid|this_cluster|cluster_group|cudaLaunchCooperative\w*",
         "grid-wide and cluster-wide synchronisation", "split the kernel at the grid barrier"),
        (r"curand\w*|hiprand\w*|rocrand\w*", "this part of cuRAND (XORWOW and Philox are there) or hipRAND",
         "fill a buffer with random numbers beforehand"),
        (r"__nv_fp[46]\w*", "4-bit and 6-bit floats", "use fp8"),
        (r"thrust", "thrust's algorithms", "write the kernel's own loop"),
        (r"(?:hip)?cub", "this part of cub", "use the block's or the warp's reduction or scan, or write the kernel's own loop"),
    )
)  # fmt: skip


def missing_headers(diagnostics: Iterable[Diagnostic]) -> list[str]:
    return [
        match[1]
        for diagnostic in diagnostics
        if diagnostic.is_error and diagnostic.text.endswith("file not found") and (match := _QUOTED.search(diagnostic.text))
    ]


def misses_a_name(error: Diagnostic) -> bool:
    """Whether a declaration or overload from a header could fix the error."""
    return re.search(r"unknown type|undeclared|no \w+ named|no matching function|invalid operands", error.text) is not None


def excerpts(log: str) -> list[tuple[Diagnostic, str]]:
    """Every error with its part of the log: its line and the notes that follow."""
    parts: list[tuple[Diagnostic, list[str]]] = []
    for line in log.splitlines():
        errors = [diagnostic for diagnostic in parse_log(line) if diagnostic.is_error]
        if errors:
            parts.append((errors[0], []))
        if parts:
            parts[-1][1].append(line)
    return [(error, "\n".join(lines)) for error, lines in parts]


def failure(log: str, source_file: Path) -> CompileError | UnsupportedFeature:
    """The exception that explains clang's failure: its first error, or the feature behind it."""
    diagnostics = parse_log(log)
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.is_error]
    for error in errors:
        if unsupported := _unsupported(error, diagnostics, source_file):
            return unsupported
    if not errors:
        return CompileError("clang failed without an error message", log)
    first = errors[0]
    if first.file == GENERATED_FILE:
        return CompileError(_disagreement(first.text))
    return CompileError(f"{Path(first.file).name}:{first.line}: {first.text}", "\n".join(_readable(log)))


def _disagreement(text: str) -> str:
    """An error in the generated entry: kernel.toml and the source do not match."""
    if match := _ASSERTION.search(text):
        signature = _SIGNATURE.search(text)
        return f"{match[1]}; it takes {signature[1]}" if signature else match[1]
    if "overloaded function" in text or "without template argument" in text or "undeduced" in text:
        return "the entry is a template or overloaded; hint: name one instance, as in kernel<float>"
    if "undeclared identifier" in text or "no member named" in text or "no template named" in text:
        return f"the entry or a constant is not in the source: {text}"
    return f"the entry's arguments do not fit the kernel: {text}"


def build_failure(log: str) -> str:
    """Why the OpenCL runtime failed to build clang's output; usually an undefined function."""
    missing = re.search(r"Symbols not found: \[ *([^\s,\]]+)", log)
    if missing is None:
        return "the OpenCL runtime could not build the kernel"
    return f"{plain_name(missing[1])} is called but defined nowhere; hint: include the file that defines it"


def plain_name(mangled: str) -> str:
    """The function's name without namespaces and parameters."""
    name = mangled
    rest = re.sub(r"^_Z(?:L|N[rVK]*)?", "", mangled)
    while match := re.match(r"\d+", rest):
        end = match.end() + int(match[0])
        name, rest = rest[match.end() : end], rest[end:]
    return name


def unsupported_feature(feature: str, file: str, line: int, hint: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"the cpu device does not support {feature}", location=Location(Path(file), line), hint=hint)


def _unsupported(error: Diagnostic, diagnostics: list[Diagnostic], source_file: Path) -> UnsupportedFeature | None:
    if re.search(r"\b(?:in asm|inline asm|asm operand|asm constraint)\b", error.text):
        return unsupported_feature(
            "inline PTX (asm)", error.file, error.line, "use the intrinsic instead, or run it on a GPU device"
        )
    if "kernel launch from __device__" in error.text:
        return unsupported_feature("dynamic parallelism", error.file, error.line, "launch from the host")
    if error.text.startswith("no matching conversion"):  # arguments that do not fit a class that is there
        return None
    names = {part for quoted in _QUOTED.findall(error.text) for part in re.split(r"::|[<>/.\s&*(),]+", quoted) if part}
    for pattern, feature, hint in _FEATURES:
        if any(pattern.fullmatch(name) for name in names):
            file, line = _users_place(error, diagnostics, source_file)
            return unsupported_feature(feature, file, line, hint)
    return None


def _users_place(error: Diagnostic, diagnostics: list[Diagnostic], source_file: Path) -> tuple[str, int]:
    """An error inside a header is located at the next mention of the user's file (instantiated from, included from)."""
    following = diagnostics[diagnostics.index(error) :]
    for diagnostic in following:
        if Path(diagnostic.file).name == source_file.name:
            return diagnostic.file, diagnostic.line
    return error.file, error.line


def _readable(log: str) -> Iterator[str]:
    """The log without generated code and clang's error counts."""
    keep = True
    for line in log.splitlines():
        for diagnostic in parse_log(line):
            keep = diagnostic.file != GENERATED_FILE
        if keep and not re.match(r"^\d+ (?:error|warning)s?\b.* generated|^In file included from <built-in>", line):
            yield line
