"""A kernel.toml to start from (`warpsmith init`): what the source tells, guesses for the rest, and a mark at every guess.

The skeleton loads as it is, so that `warpsmith check` has nothing to say but what was filled in wrongly.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.spec.build import LANGUAGES
from warpsmith.spec.declarations import KernelDeclaration, ParameterDeclaration, TemplateParameter, find_kernels
from warpsmith.spec.document import read_source
from warpsmith.spec.problems import nearest

_DTYPES = {
    "float": "f32", "double": "f64", "half": "f16", "__half": "f16", "__half2": "f16", "_Float16": "f16",
    "bfloat16": "bf16", "nv_bfloat16": "bf16", "__nv_bfloat16": "bf16", "__nv_bfloat162": "bf16", "hip_bfloat16": "bf16",
    "__hip_bfloat16": "bf16", "__nv_fp8_e4m3": "f8e4m3", "__nv_fp8_e5m2": "f8e5m2", "bool": "bool",
    "int": "i32", "signed": "i32", "signed int": "i32", "int32_t": "i32",
    "unsigned": "u32", "unsigned int": "u32", "uint": "u32", "uint32_t": "u32",
    "long": "i64", "long int": "i64", "long long": "i64", "long long int": "i64", "int64_t": "i64", "ptrdiff_t": "i64",
    "unsigned long": "u64", "unsigned long long": "u64", "unsigned long long int": "u64", "size_t": "u64", "ulong": "u64",
    "uint64_t": "u64", "short": "i16", "int16_t": "i16", "unsigned short": "u16", "ushort": "u16", "uint16_t": "u16",
    "char": "i8", "signed char": "i8", "int8_t": "i8", "unsigned char": "u8", "uchar": "u8", "uint8_t": "u8",
}  # fmt: skip
_HARDLY_A_SIZE = re.compile(r"stride|offset|start|begin|first|pad|seed", re.IGNORECASE)
_WHOLE = frozenset({"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"})


def skeleton(source: Path, kernel: str | None = None) -> str:
    """The text of a kernel.toml for one kernel of the file. Raises InputError when it has none, or several and none is named."""
    text = read_source(source)
    language = _language(source, text)
    chosen = _choose(source, find_kernels(text, language), kernel)
    types = {p.name: p.default or "float" for p in chosen.template if p.kind == "typename"}
    # The host gives `__local` parameters a size, not a value: they are part of the launch.
    arguments = [_argument(p, types) for p in chosen.parameters if not p.is_local]
    # A stride or an offset tells least of a shape, so others come first.
    sizes = sorted((a.name for a in arguments if a.is_size), key=lambda size: bool(_HARDLY_A_SIZE.search(size))) or ["n"]
    width = max((len(a.name) for a in arguments), default=0)
    lines = [
        "[kernel]",
        f'name   = "{chosen.name.rsplit("::", 1)[-1]}"',
        f'source = "{source.name}"',
        f'entry  = "{_entry(chosen)}"' + ("   # FILL IN: the instance to tune" if chosen.template else ""),
        *([] if source.suffix.lower() in LANGUAGES else [f'language = "{language.value}"']),
        "",
        "[arguments]   # in the kernel's order; FILL IN: the shapes, and how inputs are filled (init)",
        *(a.line(width, sizes) for a in arguments),
        *_constants(text),
        "",
        "[launch]   # FILL IN: expressions over the workloads' sizes",
        *_launch(chosen, sizes),
        "",
        "[workloads]   # FILL IN: the shapes that matter; held-out ones only judge the result",
        f"typical = {{ {', '.join(f'{s} = 1024' for s in sizes)} }}",
        f"odd     = {{ {', '.join(f'{s} = 1000' for s in sizes)}, heldout = true }}",
        "",
        "# [reference]   # without it the original kernel is the oracle",
        f'# python = "reference.py:{chosen.name.rsplit("::", 1)[-1]}"',
        "",
    ]
    return "\n".join(lines)


def _language(source: Path, text: str) -> Language:
    if source.suffix.lower() in LANGUAGES:
        return LANGUAGES[source.suffix.lower()]
    if "__global__" in text:
        return Language.HIP if "hip/hip_runtime" in text else Language.CUDA
    return Language.OPENCL


def _choose(source: Path, kernels: list[KernelDeclaration], name: str | None) -> KernelDeclaration:
    listed = "\n".join(f"  {k.name} (line {k.line})" for k in kernels)
    if not kernels:
        hint = "a kernel is marked __global__ (CUDA, HIP) or __kernel (OpenCL)"
        raise InputError("no kernel found", location=Location(source), hint=hint)
    if name is None:
        if len(kernels) > 1:
            raise InputError(
                f"{len(kernels)} kernels:\n{listed}", location=Location(source), hint="choose one with --kernel NAME"
            )
        return kernels[0]
    for kernel in kernels:
        if name in {kernel.name, kernel.name.rsplit("::", 1)[-1]}:
            return kernel
    raise InputError(
        f"no kernel {name!r}; there are:\n{listed}", location=Location(source), hint=nearest(name, [k.name for k in kernels])
    )


def _entry(kernel: KernelDeclaration) -> str:
    if not kernel.template:
        return kernel.name
    return f"{kernel.name}<{', '.join(_instance(p) for p in kernel.template)}>"


def _instance(parameter: TemplateParameter) -> str:
    if parameter.default is not None:
        return parameter.default
    if parameter.kind == "typename":
        return "float"
    if parameter.kind == "bool":
        return "false"
    return "256" if re.search(r"block|thread|size", parameter.name, re.IGNORECASE) else "1"


class _Argument:
    def __init__(self, parameter: ParameterDeclaration, dtype: str | None) -> None:
        self.name = parameter.name
        self._declared = parameter
        self._dtype = dtype
        self.is_size = parameter.depth == 0 and dtype in _WHOLE

    def line(self, width: int, sizes: list[str]) -> str:
        dtype = self._dtype or "f32"
        note = "" if self._dtype else f"   # FILL IN: the dtype of {self._declared.type or 'this'}"
        if self._declared.depth == 0:
            value = f'"{self.name}"' if self.is_size else "false" if dtype == "bool" else "1.0"
            if self._dtype is None:
                dtype, value, note = "i32", "0", f"   # FILL IN: {self._declared.type} by value; only numbers can be passed"
            return f'{self.name:<{width}} = {{ dtype = "{dtype}", value = {value} }}{note}'
        role = "in" if self._declared.is_const or not self._declared.is_written else "inout" if self._declared.is_read else "out"
        if role == "inout" and not self._declared.is_certain:
            note = note or '   # FILL IN: "out" if every element is only written'
        shape = ", ".join(f'"{s}"' for s in sizes[:2])
        if self._declared.depth > 1:
            note = "   # FILL IN: a pointer to pointers cannot be passed"
        return f'{self.name:<{width}} = {{ dtype = "{dtype}", shape = [{shape}], role = "{role}" }}{note}'


def _argument(parameter: ParameterDeclaration, types: dict[str, str]) -> _Argument:
    declared = types.get(parameter.type, parameter.type).removeprefix("::").removeprefix("std::")
    # A vector type is memory of its elements: float4 is f32.
    return _Argument(parameter, _DTYPES.get(declared) or _DTYPES.get(re.sub(r"(?:2|3|4|8|16)$", "", declared)))


def _constants(text: str) -> list[str]:
    found = re.findall(
        r"^\s*(?:static\s+)?__constant__\s+(?:const\s+)?(\w+(?:\s+\w+)??)\s+(\w+)\s*\[\s*(\w+)\s*\]\s*;", text, re.MULTILINE
    )
    if not found:
        return []
    lines = ["", "[constants]   # FILL IN: how the __constant__ symbols are filled"]
    for declared, name, extent in found:
        dtype = _DTYPES.get(declared) or _DTYPES.get(re.sub(r"[2348]$", "", declared), "f32")
        size, note = (extent, "") if extent.isdigit() else ("1", f"   # FILL IN: the value of {extent}")
        lines.append(f'{name} = {{ dtype = "{dtype}", shape = [{size}] }}{note}')
    return lines


def _launch(kernel: KernelDeclaration, sizes: list[str]) -> list[str]:
    body = kernel.body
    dimensions = max(
        [1, *(d + 1 for d, axis in enumerate("xyz") if re.search(rf"threadIdx\.{axis}|get_(?:local|global)_id\({d}\)", body))]
    )
    grid_dimensions = max(
        [dimensions, *(d + 1 for d, axis in enumerate("xyz") if re.search(rf"blockIdx\.{axis}|get_group_id\({d}\)", body))]
    )
    block = [kernel.launch_bounds or 256] if dimensions == 1 else [16, 16] if dimensions == 2 else [8, 8, 4]
    # One thread for each element where the block's index is scaled by its size; else a block for each row.
    scaled = re.search(r"blockIdx\.x\s*\*|\*\s*blockIdx\.x|get_global_id", body)
    grid = []
    for axis in range(grid_dimensions):
        size = sizes[min(axis, len(sizes) - 1)]
        covers = axis < len(block) and (scaled or dimensions > 1)
        grid.append(f'"ceildiv({size}, {block[axis]})"' if covers else f'"{size}"')
    lines = [f"grid  = [{', '.join(grid)}]", f"block = [{', '.join(map(str, block))}]"]
    if re.search(r"extern\s+__shared__", body):
        lines.append(f"shared = {4 * block[0]}   # FILL IN: bytes of dynamic shared memory")
    local = [p.name for p in kernel.parameters if p.is_local]
    if local:
        share = ", each an equal share" if len(local) > 1 else ""
        bytes_needed = 4 * math.prod(block) * len(local)
        lines.append(f"shared = {bytes_needed}   # FILL IN: bytes of the __local {', '.join(local)}{share}; not an argument")
    return lines
