"""Copies CUDA's short vectors as vectors: `float4 v = x[i]` becomes one 16-byte access.

clang copies a struct with memcpy. The runtime takes that apart into a load for each component, and across work-items each of
those is a gather with stride four (measured on a scaling kernel: four gathers and four scatters, four times the time). Loaded as
`<4 x float>` it stays whole. Only local variables whose every other use is of a component are changed: memory that is also read
as something else (eight halves in a `uint4`) would no longer be kept in registers. Parameters and results by value count as local
variables, on both sides of the call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.module import NAME, Module

_ELEMENTS = {"int": "i32", "uint": "i32", "float": "float", "double": "double", "longlong": "i64", "ulonglong": "i64"}
_POINTER = r"ptr(?: addrspace\(4\))?"
_LOCAL = re.compile(rf"^\s+(%{NAME}) = alloca %struct\.([a-z]+)([24]),")
_ALIAS = re.compile(rf"^\s+(%{NAME}) = addrspacecast {_POINTER} (%{NAME}) to ")
_COPY = re.compile(
    rf"^\s+call void @llvm\.memcpy\.\S+?\(({_POINTER}) (?:\w+ )*?align (\d+) (%{NAME}), "
    rf"({_POINTER}) (?:\w+ )*?align (\d+) (%{NAME}), i64 (\d+), i1 false\)(.*)$"
)
_COMPONENT = re.compile(rf"^\s+(%{NAME}) = getelementptr inbounds (?:nuw )?%struct\.\w+, {_POINTER} (%{NAME}), i32 0, i32 \d")
_ACCESS = re.compile(rf"^\s+(?:%{NAME} = load (\w+)|store (\w+) [^,]+), {_POINTER} (%{NAME}), ")
_BY_VALUE = re.compile(rf"{_POINTER}(?: [a-z_]+)* (?:sret|byval)\(%struct\.([a-z]+)([24])\)(?: align \d+)? (%{NAME})")
_HARMLESS = ("call void @llvm.lifetime.", " = alloca ", "ret void")
_VALUE = re.compile(rf"%{NAME}")


@dataclass(frozen=True, slots=True)
class _Vector:
    variable: str
    count: str
    element: str

    @property
    def type(self) -> str:
        return f"<{self.count} x {self.element}>"


def copy_vectors_whole(module: Module) -> None:
    for lines in module.functions.values():
        vectors = _vectors(lines)
        if not vectors:
            continue
        for index, line in enumerate(lines):
            if match := _COPY.match(line):
                lines[index] = _whole_copy(match, vectors, index) or line


def _whole_copy(match: re.Match[str], vectors: dict[str, _Vector], number: int) -> str | None:
    target_type, target_align, target, source_type, source_align, source, size, rest = match.groups()
    vector = vectors.get(target) or vectors.get(source)
    if vector is None or min(int(target_align), int(source_align)) < int(size):
        return None
    place = "".join(re.findall(r", !dbg !\d+", rest))  # what else is attached is about a memcpy
    return (
        f"  %whole.{number} = load {vector.type}, {source_type} {source}, align {source_align}{place}\n"
        f"  store {vector.type} %whole.{number}, {target_type} {target}, align {target_align}{place}"
    )


def _vectors(lines: list[str]) -> dict[str, _Vector]:
    """Names of local vectors that are only copied whole or used by component."""
    names = _declared(lines)
    if not names:
        return {}
    components = {match[1]: names[match[2]] for line in lines if (match := _COMPONENT.match(line)) and match[2] in names}
    spoilt: set[str] = set()
    for line in lines[1:]:
        if _ALIAS.match(line) or _COPY.match(line) or _COMPONENT.match(line) or any(text in line for text in _HARMLESS):
            continue
        used = set(_VALUE.findall(_BY_VALUE.sub("", line)))
        spoilt |= {names[name].variable for name in used & names.keys()}
        access = _ACCESS.match(line)
        for name in used & components.keys():
            if access is None or access[3] != name or (access[1] or access[2]) != components[name].element:
                spoilt.add(components[name].variable)
    return {name: vector for name, vector in names.items() if vector.variable not in spoilt}


def _declared(lines: list[str]) -> dict[str, _Vector]:
    """Every name of every local vector: its own, and those from address space casts."""
    found = {
        name: _Vector(name, count, _ELEMENTS[kind]) for kind, count, name in _BY_VALUE.findall(lines[0]) if kind in _ELEMENTS
    }
    for line in lines:
        if (match := _LOCAL.match(line)) and match[2] in _ELEMENTS:
            found[match[1]] = _Vector(match[1], match[3], _ELEMENTS[match[2]])
        elif (match := _ALIAS.match(line)) and match[2] in found:
            found[match[1]] = found[match[2]]
    return found
