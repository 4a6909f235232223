"""Compiles source text to a cubin for any NVIDIA target, with its resource usage. A plain function: the compile worker enforces
deadlines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from warpsmith.core.configuration import Value
from warpsmith.core.hardware import Resources
from warpsmith.devices._clang.preprocess import macros
from warpsmith.devices.base import CompileError
from warpsmith.devices.cuda.cubin import CubinFacts, read_cubin
from warpsmith.devices.cuda.diagnostics import failure
from warpsmith.devices.cuda.encoding import read_code
from warpsmith.devices.cuda.headers import header_folders
from warpsmith.devices.cuda.nvrtc import NvrtcResult, run_nvrtc
from warpsmith.devices.cuda.precompiled import begun_with, headers_that_pay, precompiling
from warpsmith.devices.cuda.ptxas import read_spills, usage, without_chatter
from warpsmith.devices.cuda.target import CudaTarget, parse_target

_STANDARD = "--std=c++20"
# Without the second, NVRTC refuses every function that is not marked for the device, even `constexpr` ones.
_ALWAYS = ("--ptxas-options=-v", "--device-as-default-execution-space", "--device-int128", "--disable-warnings")
LINES = "--generate-line-info"
_STANDARD_OPTIONS = ("-std", "--std")


@dataclass(frozen=True, slots=True)
class CompiledCubin:
    """`entry` and `variables` are lowered (mangled) names. `facts` are the cubin's, `resources` those common to all devices."""

    cubin: bytes
    entry: str
    variables: Mapping[str, str]
    target: CudaTarget
    facts: CubinFacts
    resources: Resources
    log: str


def compile_cubin(
    source: str,
    *,
    name: str,
    target: str,
    entry: str,
    include_dirs: Sequence[Path | str] = (),
    defines: Mapping[str, Value] = MappingProxyType({}),
    options: Sequence[str] = (),
    variables: Sequence[str] = (),
) -> CompiledCubin:
    """Compile one kernel (`entry`: a plain name or a template instance) for `target` (`sm_90`, …), no GPU needed.

    `name` is the file that the source stands for: diagnostics call it so, and `#include "…"` looks beside it. `variables` are
    `__constant__` and `__device__` ones to be kept. Raises CompileError; InputError for an unknown target; UnavailableError
    without NVRTC.
    """
    wanted = parse_target(target)
    folders = [*include_dirs, *header_folders()]
    flags = [
        f"--gpu-architecture={wanted.name}",
        *_ALWAYS,
        *(() if any(option.startswith(_STANDARD_OPTIONS) for option in options) else (_STANDARD,)),
        *(f"--include-path={folder}" for folder in folders),
        *options,
    ]
    addresses = {variable: f"&{variable}" for variable in variables}
    result = _run(source, name, wanted.name, [entry, *addresses.values()], flags, defines)
    if not result.lowered:
        raise failure(result.log, entry)
    lowered = result.lowered[entry]
    try:
        facts = read_cubin(result.cubin, lowered)
        spills = read_spills(result.log, lowered)
    except ValueError as error:
        raise CompileError(f"the compiled code cannot be read: {error}", result.log) from error
    code = read_code(result.cubin, lowered)
    said = usage(result.log, lowered)
    resources = Resources(
        registers=facts.registers,
        spill_bytes=spills.store_bytes,
        shared_bytes=facts.static_shared_bytes,
        stack_bytes=facts.stack_bytes,
        barriers=facts.barriers,
        instructions=code.instructions,
        load_bytes=code.load_bytes,
        max_threads=facts.max_threads,
        remarks=(said,) if said else (),
    )
    kept = {variable: result.lowered[address] for variable, address in addresses.items()}
    return CompiledCubin(result.cubin, lowered, kept, wanted, facts, resources, without_chatter(result.log))


def _run(
    source: str, name: str, target: str, expressions: Sequence[str], flags: Sequence[str], defines: Mapping[str, Value]
) -> NvrtcResult:
    if headers := headers_that_pay(source, target):
        result = run_nvrtc(begun_with(headers, source, name, defines), name, expressions, [*flags, *precompiling()])
        if result.lowered:
            return result
        # Errors must refer to the original text, so attempts with moved headers are discarded.
    return run_nvrtc(source, name, expressions, [*flags, *(f"--define-macro={macro}" for macro in macros(defines))])
