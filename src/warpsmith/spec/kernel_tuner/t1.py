"""Converts a T1 file into a `TuningProblem`: the schema is the one that Kernel Tuner ships; `export.kernel_tuner` writes such
files.

Values, conditions and sizes are Python expressions in JSON strings. They are evaluated as literals and never run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpsmith.core import configuration
from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.core.file_names import is_file
from warpsmith.spec.document import read_source, read_text
from warpsmith.spec.kernel import Role
from warpsmith.spec.kernel_tuner.blocks import block_of
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.literals import FAILURES, value_of_text
from warpsmith.spec.kernel_tuner.options import options_of
from warpsmith.spec.kernel_tuner.problem import (
    ArrayFill,
    Extent,
    Passed,
    Restriction,
    ScriptNumber,
    ScriptTunable,
    TuningProblem,
    size_of,
    whole,
)
from warpsmith.spec.kernel_tuner.sources import found_source, language_named

_TYPES = {
    "double": DType.F64, "float": DType.F32, "half": DType.F16, "bool": DType.BOOL, "int64": DType.I64, "int32": DType.I32,
    "int16": DType.I16, "int8": DType.I8, "uint64": DType.U64, "uint32": DType.U32, "uint16": DType.U16, "uint8": DType.U8,
}  # fmt: skip
_ACCESS = {"ReadOnly": Role.IN, "WriteOnly": Role.OUT, "ReadWrite": Role.INOUT}
_FILLS = {"Random": ArrayFill("normal")}
_AXES = "XYZ"


def problem_of_t1(file: Path, kernel: str | None) -> TuningProblem:
    """Raises InputError if it is not JSON or not a T1 file."""
    try:
        data = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise InputError(f"invalid JSON: {error.msg}", location=Location(file, error.lineno, error.colno)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON: {error}", location=Location(file)) from None
    for name in ("ConfigurationSpace", "KernelSpecification"):
        if not isinstance(data, dict) or not isinstance(data.get(name), dict):
            hint = "a T1 file has ConfigurationSpace and KernelSpecification; a cache or a T4 file is for `warpsmith tune --warm`"
            raise InputError(f"not a T1 file: it has no {name}", location=Location(file), hint=hint)
    return _Reading(file, data["ConfigurationSpace"], data["KernelSpecification"], kernel).problem()


class _Reading:
    def __init__(self, file: Path, space: dict[str, Any], kernel: dict[str, Any], wanted: str | None) -> None:
        self._file = file
        self._space = space
        self._kernel = kernel
        self._place = file.name
        self._notes: list[str] = []
        self._parameters = [self._tunable(entry) for entry in _objects(space.get("TuningParameters"))]
        name = self._text("KernelName")
        if wanted is not None and wanted not in {name, name.partition("<")[0].strip()}:
            raise InputError(f"the file is about {name!r}, not {wanted!r}", location=Location(file), hint="leave out --kernel")
        self._reader = ConditionReader([p.name for p in self._parameters])
        self._size = self._problem_size()

    def problem(self) -> TuningProblem:
        source = found_source(self._file, self._text("KernelFile"))
        arguments = _objects(self._kernel.get("Arguments"))
        symbols = [a for a in arguments if self._is_constant(a, source)]
        block = self._block()
        shared = self._kernel.get("SharedMemory")
        written = self._kernel.get("CompilerOptions")
        options = options_of(map(str, written) if isinstance(written, list) else (), self._file.parent)
        self._notes += [options.note] if options.left else []
        return TuningProblem(
            file=self._file,
            place=self._place,
            written="",
            kernel_name=self._text("KernelName"),
            source=source,
            source_text=None,
            language=language_named(self._text("Language"), Location(self._file)),
            size=self._size,
            divisors=tuple(self._divisors(axis) for axis in _AXES),
            block=block,
            parameters=tuple(self._parameters),
            conditions=tuple(self._condition(entry) for entry in _objects(self._space.get("Conditions"))),
            arguments=tuple(self._argument(a) for a in arguments if a.get("MemoryType") != "Symbol") if arguments else None,
            origins={},
            shared=whole(shared) if isinstance(shared, int) and shared > 0 else None,
            constants={str(a.get("Name")): self._argument(a) for a in symbols},
            defines=options.defines,
            include_dirs=options.include_dirs,
            notes=tuple(self._notes),
        )

    def _text(self, name: str) -> str:
        found = self._kernel.get(name)
        if not isinstance(found, str) or not found:
            hint = "Language, KernelName and KernelFile are text"
            raise InputError(f"KernelSpecification has no {name}", location=Location(self._file), hint=hint)
        return found

    # ── the space ──

    def _tunable(self, entry: dict[str, Any]) -> ScriptTunable:
        name, written = entry.get("Name"), entry.get("Values")
        if not isinstance(name, str) or not name:
            raise InputError(
                "a parameter has no Name", location=Location(self._file), hint="TuningParameters have Name, Type and Values"
            )
        found = _value(written, {}) if isinstance(written, str) else written
        items = list(found) if isinstance(found, list | tuple | range) else []
        values = [item for item in items if isinstance(item, bool | int | float | str)]
        default = entry.get("Default")
        if not isinstance(default, bool | int | float | str):
            default = None
        if not values:
            guess = 1 if default is None else default
            return ScriptTunable(name, (guess,), note=f"FILL IN: its values could not be followed: {written!r}")
        return ScriptTunable(name, tuple(dict.fromkeys(values)), default)

    def _condition(self, entry: dict[str, Any]) -> Restriction:
        written = entry.get("Expression")
        text = self._reader.text(written) if isinstance(written, str) else None
        return Restriction(text, str(written), self._place)

    # ── sizes ──

    def _problem_size(self) -> tuple[Extent, ...] | None:
        written = self._kernel.get("ProblemSize")
        if written is not None:
            found = [self._extent(e) for e in (written if isinstance(written, list) else [written])[:3]]
        else:
            sizes = self._kernel.get("GlobalSize")
            axes = [sizes[axis] for axis in _AXES if axis in sizes] if isinstance(sizes, dict) else []
            found = [self._extent(e) for e in axes]
        return size_of(found)

    def _extent(self, written: Any) -> Extent | None:
        if isinstance(written, int) and not isinstance(written, bool) and written > 0:
            return whole(written)
        text = self._reader.number_text(written) if isinstance(written, str) else None
        return whole(int(text)) if text is not None and text.isdigit() else text

    def _divisors(self, axis: str) -> tuple[str, ...] | None:
        """Without a problem size the grid is given directly, in blocks or (in OpenCL) in threads."""
        if "ProblemSize" not in self._kernel:
            return () if self._kernel.get("GlobalSizeType", "CUDA") == "CUDA" else None
        written = self._kernel.get(f"GridDiv{axis}")
        if not isinstance(written, list) or not written:
            return None
        found = [self._reader.number_text(str(entry)) for entry in written]
        if None in found:
            self._notes.append(f"FILL IN: GridDiv{axis} could not be read: {written!r}")
        return tuple(text for text in found if text is not None and text != "1")

    def _block(self) -> tuple[str, ...]:
        """LocalSize if it can be read; Kernel Tuner itself only looks for parameters named block_size_x, …"""
        sizes = self._kernel.get("LocalSize")
        axes = [sizes[axis] for axis in _AXES if axis in sizes] if isinstance(sizes, dict) else []
        found = [self._reader.number_text(str(entry)) for entry in axes]
        if not found or None in found:
            return block_of(self._parameters, [])
        while len(found) > 1 and found[-1] == "1":
            found.pop()
        return tuple(text for text in found if text is not None)

    # ── arguments ──

    def _is_constant(self, entry: dict[str, Any], source: Path) -> bool:
        """MemoryType is the schema's key; Kernel Tuner also passes one with MemType as an argument."""
        is_marked = entry.get("MemoryType") == "Symbol" or entry.get("MemType") == "Constant"
        return is_marked and "__constant__" in read_source(source)

    def _argument(self, entry: dict[str, Any]) -> Passed:
        dtype = _TYPES.get(str(entry.get("Type")))
        if entry.get("MemoryType") == "Scalar":
            return Passed("", dtype, value=_scalar(entry))
        shape = self._shape(entry.get("Size"))
        role = _ACCESS.get(str(entry.get("AccessType")))
        is_null = shape is not None and shape[0].value == 0
        return Passed("", dtype, None if is_null else shape, fill=self._fill(entry), role=role, is_null=is_null)

    def _shape(self, written: Any) -> tuple[ScriptNumber, ...] | None:
        names = {p.name: list(p.values) for p in self._parameters}
        sizes = [extent.value for extent in self._size or () if isinstance(extent, ScriptNumber)]
        found = _value(written, {**names, "ProblemSize": sizes}) if isinstance(written, str) else written
        return (whole(found),) if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None

    def _fill(self, entry: dict[str, Any]) -> ArrayFill:
        match entry.get("FillType"), entry.get("FillValue"), entry.get("DataSource"):
            case "Constant", (0 | 1) as value, _:
                return ArrayFill("ones" if value else "zeros")
            case "Generator", _, ("arange" | "permutation") as kind:
                return ArrayFill(kind)
            case "Script", _, str() as address if is_file(self._file.parent / address.rpartition(":")[0]):
                return ArrayFill(address)
            case kind, _, _:
                return _FILLS.get(str(kind), ArrayFill())


def _value(text: str, names: Mapping[str, Any]) -> Any:
    """The value of a Python expression in the file; None if it is not a literal."""
    try:
        return value_of_text(text, names)
    except FAILURES:
        return None


def _objects(found: Any) -> list[dict[str, Any]]:
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _scalar(entry: dict[str, Any]) -> Extent | None:
    value, source = entry.get("FillValue"), entry.get("DataSource")
    if isinstance(value, int | float):
        return _number(value)
    return source if isinstance(source, str) else None


def _number(value: configuration.Value) -> ScriptNumber | str:
    if isinstance(value, int) and not isinstance(value, bool):
        return whole(value)
    return ScriptNumber(value) if isinstance(value, bool | float) else value
