"""`[arguments]` and `[constants]` of a skeleton: dtypes and roles from the kernel, shapes and values from host code if known."""

from __future__ import annotations

import re
from collections.abc import Mapping

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Language
from warpsmith.spec.cpp_types import CppType, cpp_type
from warpsmith.spec.declarations import Declarations, KernelDeclaration, ParameterDeclaration
from warpsmith.spec.host.facts import HostFacts, constant_value
from warpsmith.spec.kernel import Role
from warpsmith.spec.skeleton_workloads import is_hardly_a_size
from warpsmith.spec.uses import UNKNOWN, PointerUse, Uses


class GuessedArgument:
    def __init__(
        self, name: str, declared: ParameterDeclaration, known: CppType | None, use: PointerUse, language: Language
    ) -> None:
        self.name = name
        self.use = use
        self.type = known
        self._declared = declared
        self._dtype = known.dtype if known else None
        self._elements = known.elements(language) if known else 1
        self.is_size = declared.depth == 0 and known is not None and known.lanes == 1 and known.dtype.is_whole

    @property
    def is_pointer(self) -> bool:
        return self._declared.depth > 0

    @property
    def text(self) -> str:
        """The kernel's declaration of it."""
        return self._declared.text

    @property
    def is_const(self) -> bool:
        return self._declared.is_const

    @property
    def role(self) -> Role:
        if self._declared.is_const or not self.use.is_written:
            return Role.IN
        return Role.INOUT if self.use.is_read or self.use.is_part else Role.OUT

    def has_shape(self, facts: HostFacts | None) -> bool:
        """Whether the host's memory determines it."""
        return not self.is_pointer or (facts is not None and self._shape(facts) is not None)

    def line(self, width: int, sizes: list[str], facts: HostFacts | None, file: str) -> str:
        return self._pointer(width, sizes, facts, file) if self.is_pointer else self._scalar(width, facts, file)

    def _scalar(self, width: int, facts: HostFacts | None, file: str) -> str:
        dtype, note = self._dtype, ""
        if dtype is not None and self._elements > 1:
            return f'{self.name:<{width}} = {{ dtype = "{dtype.value}", shape = [{self._elements}], role = "in" }}   # by value'
        own = f'"{self.name}"' if self.is_size else "false" if dtype is DType.BOOL else "1.0"
        told = self._value(facts)
        value = told or own
        if facts is not None and told is None and self.name in facts.passed:
            note = f"   # FILL IN: {file}:{facts.line} passes {facts.passed[self.name]}"
        elif facts is not None and value != own:
            note = f"   # {file}:{facts.line}"
        if dtype is None:
            dtype, value = DType.I32, "0"
            note = f"   # FILL IN: {self._declared.type} by value; a structure without pointers is a buffer with its bytes"
        return f'{self.name:<{width}} = {{ dtype = "{dtype.value}", value = {value} }}{note}'

    def _value(self, facts: HostFacts | None) -> str | None:
        """The launch's value as TOML, if it has the argument's kind."""
        value = facts.values.get(self.name) if facts is not None else None
        if value is None or self._dtype is None:
            return None
        if value in {"true", "false"}:
            return value if self._dtype is DType.BOOL else None
        if self._dtype is DType.BOOL:
            return {"0": "false", "1": "true"}.get(value)
        is_float = "." in value or "e" in value.strip('"')
        return value if self._dtype.is_float or value.startswith('"') or not is_float else None

    def _shape(self, facts: HostFacts) -> list[str] | None:
        """A buffer of vectors has their elements as its last axis, unless it was allocated as plain numbers."""
        if self._dtype is None or self._declared.depth != 1:
            return None
        for elements in dict.fromkeys((self._elements, 1)):
            extents = facts.shape(self.name, self._dtype.itemsize * elements)
            if extents is not None:
                return [*(e if e.isdigit() else f'"{e}"' for e in extents), *([str(elements)] if elements > 1 else [])]
        return None

    def _pointer(self, width: int, sizes: list[str], facts: HostFacts | None, file: str) -> str:
        notes = [] if self._dtype else [f"the dtype of {self._declared.type or 'this'}"]
        if self._declared.depth > 1:
            notes = ["a pointer to pointers cannot be passed"]
        elif self.role is Role.INOUT and not self.use.is_certain:
            notes.append('"out" if every element is only written, "in" if none is')
        elif self.role is Role.INOUT and not self.use.is_read:
            notes.append('"out" if every element is written')
        axes = [size for size in sizes if not is_hardly_a_size(size)] or sizes
        own = [*(f'"{s}"' for s in axes[:2]), *([str(self._elements)] if self._elements > 1 else [])]
        followed = self._shape(facts) if facts is not None else None
        place = f"{file}:{facts.memory[self.name].line}" if facts is not None and followed is not None else ""
        if facts is not None and followed is None:
            notes.insert(0, "the shape")
        dtype = self._dtype or DType.F32
        filled = f"FILL IN: {'; '.join(notes)}" if notes else ""
        note = "; ".join(part for part in (place, filled) if part)
        shape = ", ".join(followed or own)
        line = f'{self.name:<{width}} = {{ dtype = "{dtype.value}", shape = [{shape}], role = "{self.role.value}" }}'
        return f"{line}   # {note}" if note else line


def arguments_of(declarations: Declarations, kernel: KernelDeclaration, template: Mapping[str, str]) -> list[GuessedArgument]:
    """All but `__local` parameters, which get a size from the host and not a value: they are part of the launch.

    `template` has the template arguments of the instance.
    """
    types = declarations.aliases() | {p.name: template[p.name] for p in kernel.template if p.kind == "typename"}
    pointers = frozenset(p.name for p in kernel.parameters if p.depth > 0)
    uses = Uses(declarations, kernel.body, pointers) if kernel.body is not None else None
    found = []
    for place, parameter in enumerate(kernel.parameters, 1):
        if not parameter.is_local:
            known = cpp_type(parameter.type, declarations.language, types)
            use = UNKNOWN if uses is None else uses.of(parameter.name) if parameter.depth and parameter.name else PointerUse()
            name = parameter.name or f"argument_{place}"
            found.append(GuessedArgument(name, parameter, known, use, declarations.language))
    changeable = [a for a in found if a.is_pointer and not a.is_const]
    if not any(a.role is not Role.IN for a in changeable):
        # Something must be written: if the text does not show what, it may be any of them.
        for argument in changeable:
            argument.use = UNKNOWN
    return found


def constant_lines(declarations: Declarations) -> list[str]:
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
        count = constant_value(declarations, extent)
        size, note = (str(count), "") if count is not None else ("1", f"   # FILL IN: the value of {extent}")
        lines.append(f'{name} = {{ dtype = "{(known.dtype if known else DType.F32).value}", shape = [{size}] }}{note}')
    return lines
