"""A kernel.toml to start from (`warpsmith init`): what the source tells, guesses for the rest, and a mark at every guess.

The skeleton loads as it is, so that `warpsmith check` has nothing to say but what was filled in wrongly.
"""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.spec.build import LANGUAGES
from warpsmith.spec.cpp_types import CppType, cpp_type
from warpsmith.spec.declarations import (
    Declarations,
    KernelDeclaration,
    ParameterDeclaration,
    TemplateParameter,
    find_kernels,
    refused_handle,
)
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Role
from warpsmith.spec.problems import nearest
from warpsmith.spec.uses import UNKNOWN, Use, Uses

_NOT_PLAIN = "# FILL IN: the parameters could not all be read (a macro, an #if or a pack among them)"
_HIP_NAME = re.compile(r"\bhip(Thread|Block)Idx_([xyz])\b")
_DYNAMIC_SHARED = re.compile(r"\bextern\s+(?:__align__\s*\([^)]*\)\s*)?__shared__|\bHIP_DYNAMIC_SHARED\b")
_HARDLY_A_SIZE = re.compile(r"stride|offset|start|begin|first|pad|seed", re.IGNORECASE)


def skeleton(source: Path, kernel: str | None = None) -> str:
    """The text of a kernel.toml for one kernel of the file. Raises InputError when it has none, or several and none is named."""
    text = read_source(source)
    language = _language(source, text)
    declarations = Declarations(text, language)
    chosen = _choose(source, find_kernels(declarations), kernel)
    if chosen.handle is not None:
        raise refused_handle(chosen, source)
    arguments = _arguments(declarations, chosen)
    # A stride or an offset tells least of a shape, so others come first.
    sizes = sorted((a.name for a in arguments if a.is_size), key=lambda size: bool(_HARDLY_A_SIZE.search(size))) or ["n"]
    width = max((len(a.name) for a in arguments), default=0)
    lines = [
        "[kernel]",
        f'name   = "{chosen.plain_name}"',
        f'source = "{source.name}"',
        f'entry  = "{_entry(chosen)}"' + ("   # FILL IN: the instance to tune" if chosen.template else ""),
        *([] if source.suffix.lower() in LANGUAGES else [f'language = "{language.value}"']),
        "",
        "[arguments]   # in the kernel's order; FILL IN: the shapes, and how inputs are filled (init)",
        *([] if chosen.is_plain else [_NOT_PLAIN]),
        *(a.line(width, sizes) for a in arguments),
        *_constants(declarations),
        "",
        "[launch]   # FILL IN: expressions over the workloads' sizes",
        *_launch(declarations, chosen, sizes),
        "",
        "[workloads]   # FILL IN: the shapes that matter; held-out ones only judge the result",
        f"typical = {{ {', '.join(f'{s} = 1024' for s in sizes)} }}",
        f"odd     = {{ {', '.join(f'{s} = 1000' for s in sizes)}, heldout = true }}",
        "",
        "# [reference]   # without it the original kernel is the oracle",
        f'# python = "reference.py:{chosen.plain_name}"',
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
        if name in {kernel.name, kernel.plain_name}:
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
    def __init__(self, name: str, declared: ParameterDeclaration, known: CppType | None, use: Use, language: Language) -> None:
        self.name = name
        self.use = use
        self._declared = declared
        self._dtype = known.dtype if known else None
        self._elements = known.elements(language) if known else 1
        self.is_size = declared.depth == 0 and known is not None and known.lanes == 1 and known.dtype.is_whole

    @property
    def is_pointer(self) -> bool:
        return self._declared.depth > 0

    @property
    def is_const(self) -> bool:
        return self._declared.is_const

    @property
    def role(self) -> Role:
        if self._declared.is_const or not self.use.is_written:
            return Role.IN
        return Role.INOUT if self.use.is_read or self.use.is_part else Role.OUT

    def line(self, width: int, sizes: list[str]) -> str:
        return self._pointer(width, sizes) if self.is_pointer else self._scalar(width)

    def _scalar(self, width: int) -> str:
        dtype, note = self._dtype, ""
        if dtype is not None and self._elements > 1:
            return f'{self.name:<{width}} = {{ dtype = "{dtype.value}", shape = [{self._elements}], role = "in" }}   # by value'
        value = f'"{self.name}"' if self.is_size else "false" if dtype is DType.BOOL else "1.0"
        if dtype is None:
            dtype, value, note = DType.I32, "0", f"   # FILL IN: {self._declared.type} by value; only numbers can be passed"
        return f'{self.name:<{width}} = {{ dtype = "{dtype.value}", value = {value} }}{note}'

    def _pointer(self, width: int, sizes: list[str]) -> str:
        notes = [] if self._dtype else [f"the dtype of {self._declared.type or 'this'}"]
        if self._declared.depth > 1:
            notes = ["a pointer to pointers cannot be passed"]
        elif self.role is Role.INOUT and not self.use.is_certain:
            notes.append('"out" if every element is only written, "in" if none is')
        elif self.role is Role.INOUT and not self.use.is_read:
            notes.append('"out" if every element is written')
        shape = ", ".join([*(f'"{s}"' for s in sizes[:2]), *([str(self._elements)] if self._elements > 1 else [])])
        dtype = self._dtype or DType.F32
        note = f"   # FILL IN: {'; '.join(notes)}" if notes else ""
        return f'{self.name:<{width}} = {{ dtype = "{dtype.value}", shape = [{shape}], role = "{self.role.value}" }}{note}'


def _arguments(declarations: Declarations, kernel: KernelDeclaration) -> list[_Argument]:
    """All but `__local` parameters, which get a size from the host and not a value: they are part of the launch."""
    types = declarations.aliases() | {p.name: p.default or "float" for p in kernel.template if p.kind == "typename"}
    pointers = frozenset(p.name for p in kernel.parameters if p.depth > 0)
    uses = Uses(declarations, kernel.body, pointers) if kernel.body is not None else None
    found = []
    for place, parameter in enumerate(kernel.parameters, 1):
        if not parameter.is_local:
            known = cpp_type(parameter.type, declarations.language, types)
            use = UNKNOWN if uses is None else uses.of(parameter.name) if parameter.depth and parameter.name else Use()
            name = parameter.name or f"argument_{place}"
            found.append(_Argument(name, parameter, known, use, declarations.language))
    changeable = [a for a in found if a.is_pointer and not a.is_const]
    if not any(a.role is not Role.IN for a in changeable):
        # Something must be written: where the text does not show what, any of them may be.
        for argument in changeable:
            argument.use = UNKNOWN
    return found


def _constants(declarations: Declarations) -> list[str]:
    found = re.findall(
        r"^\s*(?:static\s+)?__constant__\s+(?:const\s+)?(\w+(?:\s+\w+)??)\s+(\w+)\s*\[([^\[\];]+)\]\s*;",
        declarations.text,
        re.MULTILINE,
    )
    if not found:
        return []
    lines = ["", "[constants]   # FILL IN: how the __constant__ symbols are filled"]
    for declared, name, written in found:
        extent = " ".join(written.split())
        known = cpp_type(declared, declarations.language, declarations.aliases())
        size, note = (extent, "") if extent.isdigit() else ("1", f"   # FILL IN: the value of {extent}")
        lines.append(f'{name} = {{ dtype = "{(known.dtype if known else DType.F32).value}", shape = [{size}] }}{note}')
    return lines


def _required(declarations: Declarations, kernel: KernelDeclaration) -> list[int]:
    """The block that `reqd_work_group_size` asks for, where it is numbers, or names that the file gives numbers."""
    numbers = {name: int(target) for name, target in declarations.aliases().items() if target and target.isdigit()}
    found = []
    for text in (kernel.required_block or "").split(","):
        try:
            found.append(int(Expression.parse(text.strip()).evaluate(numbers)))
        except InputError:
            return []
    return found


def _launch(declarations: Declarations, kernel: KernelDeclaration, sizes: list[str]) -> list[str]:
    body = _HIP_NAME.sub(lambda m: f"{m[1].lower()}Idx.{m[2]}", kernel.body_text)
    dimensions = max(
        [1, *(d + 1 for d, axis in enumerate("xyz") if re.search(rf"threadIdx\.{axis}|get_(?:local|global)_id\({d}\)", body))]
    )
    grid_dimensions = max(
        [dimensions, *(d + 1 for d, axis in enumerate("xyz") if re.search(rf"blockIdx\.{axis}|get_group_id\({d}\)", body))]
    )
    block = [kernel.launch_bounds or 256] if dimensions == 1 else [16, 16] if dimensions == 2 else [8, 8, 4]
    block = _required(declarations, kernel)[:dimensions] or block
    # One thread for each element where the block's index is scaled by its size; else a block for each row.
    scaled = re.search(r"blockIdx\.x\s*\*|\*\s*blockIdx\.x|get_global_id", body)
    grid = []
    for axis in range(grid_dimensions):
        size = sizes[min(axis, len(sizes) - 1)]
        covers = axis < len(block) and (scaled or dimensions > 1)
        grid.append(f'"ceildiv({size}, {block[axis]})"' if covers else f'"{size}"')
    groups = "   # work-groups, not work-items" if declarations.language is Language.OPENCL else ""
    lines = [f"grid  = [{', '.join(grid)}]{groups}", f"block = [{', '.join(map(str, block))}]"]
    others = [k.body_text for k in declarations.kernels if k.body_text and k.body_text != kernel.body_text]
    if _DYNAMIC_SHARED.search(functools.reduce(lambda text, other: text.replace(other, ""), others, declarations.text)):
        lines.append(f"shared = {4 * math.prod(block)}   # FILL IN: bytes of dynamic shared memory")
    local = [p for p in kernel.parameters if p.is_local]
    if local:
        names, share = ", ".join(p.name for p in local), ", each an equal share" if len(local) > 1 else ""
        known = [cpp_type(p.type, declarations.language, declarations.aliases()) for p in local]
        widest = max(t.elements(declarations.language) * t.dtype.itemsize if t else 4 for t in known)
        bytes_needed = widest * math.prod(block) * len(local)
        lines.append(f"shared = {bytes_needed}   # FILL IN: bytes of the __local {names}{share}; not an argument")
    return lines
