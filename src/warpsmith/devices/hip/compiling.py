"""Compiles source text to a code object for an AMD target, with its resource usage: clang and lld from the wheel, our own
headers, no ROCm.

HIP kernels that call ROCm's device library are compiled by the machine's hiprtc, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from warpsmith.core.configuration import Value
from warpsmith.core.errors import UnavailableError, UnsupportedFeature
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Language, Resources
from warpsmith.devices._clang.binary import clang_binary, run_clang, unnamed_file
from warpsmith.devices._clang.preprocess import NEUTRAL_PLACES, begins, definitions, macros, parse_log
from warpsmith.devices._elf import Elf
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.hip import hiprtc
from warpsmith.devices.hip.assembly import CodeFacts, assembled, linked, read_code
from warpsmith.devices.hip.hiprtc import run_hiprtc
from warpsmith.devices.hip.metadata import KernelFacts, read_code_object
from warpsmith.devices.hip.target import HipTarget, parse_target

INCLUDE = Path(__file__).parent / "include"
PRELUDE_INCLUDE = Path(__file__).parents[1] / "cpu" / "include"  # laid under ours: include/README.md
_PRELUDE = "warpsmith/prelude.h"
_ROCM = Path("/opt/rocm/include")
_GENERATED_FILE = "warpsmith-entry"
_WANTED = "__warpsmith_wanted"
_VECTOR_REGISTER_BYTES = 4
# The address makes clang instantiate a kernel and keep a variable, and its relocation has the mangled name.
_KEPT = 'extern "C" __attribute__((device, used)) const void* const {holder} = (const void*)&{name};\n'
# The host can fill a file-local variable (`static`, or in an anonymous namespace) only if host code refers to it; otherwise the
# compiler assumes its initial zeros.
_HOSTS = "static __attribute__((host)) const void* {holder}_host() {{ return (const void*)&{name}; }}\n"

# The flags that clang's own driver passes for HIP.
_CODE = (
    "-O3", "-S", "-ffunction-sections", "-vectorize-loops", "-vectorize-slp", "-fvisibility=hidden",
    "-fcuda-allow-variadic-functions", "-fno-threadsafe-statics", "-mframe-pointer=none",
    "-ferror-limit", "0", "-w",
    "-mcode-object-version=5",  # clang's own choice, 6, adds nothing that is used here, and older ROCms do not load it
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompiledCodeObject:
    """`entry` and `variables` are mangled names. `facts` are the code object's, `resources` those common to all devices."""

    code: bytes
    entry: str
    variables: Mapping[str, str]
    target: HipTarget
    facts: KernelFacts
    resources: Resources
    log: str


def compile_code_object(
    source: str,
    *,
    name: str,
    target: str,
    entry: str,
    language: Language = Language.HIP,
    include_dirs: Sequence[Path | str] = (),
    defines: Mapping[str, Value] = MappingProxyType({}),
    options: Sequence[str] = (),
    variables: Sequence[str] = (),
) -> CompiledCodeObject:
    """Compile one kernel (`entry`: a plain name or a template instance) for `target` (`gfx942`, …), no GPU needed.

    Also accepts CUDA source: its warps have 32 lanes on every target. `variables` are `__constant__` and `__device__` ones to
    be kept. Raises CompileError, or UnsupportedFeature for functions that only ROCm's device library has; InputError for an
    unknown target.
    """
    wanted = parse_target(target)
    kept = {_WANTED: entry, **{f"{_WANTED}_{index}": variable for index, variable in enumerate(variables)}}
    tail = "".join(_KEPT.format(holder=holder, name=kept_name) for holder, kept_name in kept.items())
    tail += "".join(_HOSTS.format(holder=holder, name=variable) for holder, variable in kept.items() if variable in variables)
    text = f"{definitions(defines)}{begins(name)}{source}\n{begins(_GENERATED_FILE)}{tail}"
    folders = [flag for folder in (Path(name).parent, *include_dirs) for flag in ("-I", str(folder))]
    prelude = _precompiled_prelude(wanted, language)
    flags = (*_CODE, *_language_flags(wanted, language), *folders, "-include-pch", f"/proc/self/fd/{prelude}", *options)
    result = run_clang(text.encode(), flags, (prelude,))
    if not result.succeeded:
        raise _failure(result.log, entry)
    compiled = assembled(result.output, wanted)
    unlinked = Elf(compiled)
    names = {kept_name: unlinked.pointee(holder) or "" for holder, kept_name in kept.items()}
    if missing := unlinked.missing(names[entry]):
        _require_library(missing, name, language)
        given = (f"-D{macro}" for macro in macros(defines))
        return _by_library(source, name, wanted, entry, variables, [*folders, *given, *options])
    return _described(
        linked(compiled), entry, names, wanted, result.log, read_code(result.output.decode(errors="replace"), names[entry])
    )


def _by_library(
    source: str, name: str, target: HipTarget, entry: str, variables: Sequence[str], options: Sequence[str]
) -> CompiledCodeObject:
    expressions = {entry: entry, **{variable: f"&{variable}" for variable in variables}}
    flags = (f"--offload-arch={target.name}", "-O3", "-std=gnu++20", *(("-I", str(_ROCM)) if _ROCM.is_dir() else ()), *options)
    result = run_hiprtc(source, name, list(expressions.values()), flags)
    if not result.lowered:
        raise _failure(result.log, entry)
    names = {wanted: result.lowered[expression] for wanted, expression in expressions.items()}
    return _described(result.code, entry, names, target, result.log, None)


def _described(
    code: bytes, entry: str, names: Mapping[str, str], target: HipTarget, log: str, text_facts: CodeFacts | None
) -> CompiledCodeObject:
    try:
        facts = read_code_object(code, names[entry])
    except ValueError as error:
        raise CompileError(f"the compiled code cannot be read: {error}", log) from error
    resources = Resources(
        registers=facts.vector_registers,
        spill_bytes=_VECTOR_REGISTER_BYTES * facts.spilled_vector_registers,
        shared_bytes=facts.shared_bytes,
        stack_bytes=facts.stack_bytes,
        scalar_registers=facts.scalar_registers,
        instructions=text_facts.instructions if text_facts is not None else None,
        load_bytes=text_facts.load_bytes if text_facts is not None else None,
        max_threads=facts.max_threads,
    )
    lowered = {variable: mangled for variable, mangled in names.items() if variable != entry}
    return CompiledCodeObject(code, names[entry], lowered, target, facts, resources, log)


def preprocessed(source: str, request: CompileRequest, target: HipTarget) -> str:
    """This text, instead of the request's own, after preprocessing, with line markers. Raises CompileError."""
    folders = [flag for folder in (request.source_file.parent, *request.include_dirs) for flag in ("-I", str(folder))]
    text = f"{definitions(request.defines)}{begins(request.source_file)}{source}"
    flags = ("-E", *NEUTRAL_PLACES, *_language_flags(target, request.language), *folders, "-include", _PRELUDE)
    result = run_clang(text.encode(), flags)
    if not result.succeeded:
        raise _failure(result.log, request.entry)
    return result.output.decode(errors="replace")


@cache
def prelude_fingerprint() -> str:
    """Of the headers under ours: part of the version of everything compiled with them."""
    files = sorted(path for path in PRELUDE_INCLUDE.rglob("*") if path.is_file())
    return fingerprint(*(part for path in files for part in (str(path.relative_to(PRELUDE_INCLUDE)), path.read_bytes())))


def _require_library(missing: Sequence[str], name: str, language: Language) -> None:
    if language is not Language.HIP or hiprtc.version() is None:
        raise UnsupportedFeature(
            f"{Path(name).name} calls {', '.join(missing)}, which only ROCm's device library has",
            hint="use a function that the hardware has (exp, log, sqrt, fma in single precision); where ROCm is installed, its"
            " hiprtc compiles HIP sources",
        )


def _failure(log: str, entry: str) -> CompileError:
    errors = [diagnostic for diagnostic in parse_log(log) if diagnostic.is_error]
    if not errors:
        said = next((line for line in log.splitlines() if "error" in line), "clang failed without an error message")
        return CompileError(said, log)
    first = errors[0]
    if first.file != _GENERATED_FILE:
        return CompileError(f"{Path(first.file).name}:{first.line}: {first.text}", log)
    if "undeclared identifier" in first.text or "no member named" in first.text:
        return CompileError(f"the entry is not in the source: {first.text}")
    return CompileError(f"the entry {entry!r} is a template or overloaded; hint: name one instance, as in kernel<float>", log)


@cache
def _language_flags(target: HipTarget, language: Language) -> tuple[str, ...]:
    zig_lib = clang_binary().parent / "lib"
    lines = (line.strip() for line in (PRELUDE_INCLUDE / "flags.txt").read_text(encoding="utf-8").splitlines())
    shared = (line.format(zig_lib=zig_lib, include=PRELUDE_INCLUDE) for line in lines if line and not line.startswith("#"))
    return (
        "-triple", "amdgcn-amd-amdhsa", "-target-cpu", target.name, "-x", "hip", "-fcuda-is-device", "-std=gnu++20", "-fdeclspec",
        f"-DWARPSMITH_WAVE={target.wave_size}",
        *(("-DWARPSMITH_HIP=1",) if language is Language.HIP else ()),
        "-isystem", str(INCLUDE), "-isystem", str(PRELUDE_INCLUDE), *shared,
    )  # fmt: skip


@cache
def _precompiled_prelude(target: HipTarget, language: Language) -> int:
    """An open file with the parsed prelude: parsing it takes most of a small kernel's compile time."""
    flags = (*(flag for flag in _CODE if flag != "-S"), "-emit-pch", *_language_flags(target, language))
    result = run_clang(f'#include "{_PRELUDE}"\n'.encode(), flags)
    if not result.succeeded:
        raise UnavailableError(f"the prelude does not compile: {result.log[:2000]}", hint="reinstall warpsmith and ziglang")
    return unnamed_file(result.output)
