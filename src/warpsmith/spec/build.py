"""Converts a validated kernel.toml into the types of `spec.kernel`.

Owns the meaning of single entries; consistency between entries is checked by `spec.checks`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.file_names import is_file, is_folder
from warpsmith.core.hardware import Language
from warpsmith.spec.functions import check_function
from warpsmith.spec.includes import folders_reached
from warpsmith.spec.kernel import (
    Argument,
    Buffer,
    Constraint,
    Init,
    Kernel,
    Launch,
    Parameter,
    Reference,
    Role,
    Scalar,
    Traffic,
    Workload,
)  # fmt: skip
from warpsmith.spec.problems import Problems, nearest
from warpsmith.spec.replacing import replaces_of
from warpsmith.spec.schema import INITS

if TYPE_CHECKING:
    from pathlib import Path

    from warpsmith.core.configuration import Value
    from warpsmith.spec.document import Document
    from warpsmith.spec.schema import ArgumentTable, ConstraintTable, KernelFile, KernelTable
    from warpsmith.spec.toml_positions import TomlPath

LANGUAGES = {".cu": Language.CUDA, ".cuh": Language.CUDA, ".hip": Language.HIP, ".cl": Language.OPENCL}
# Common names for dtypes.
_COMMON_DTYPES = {
    "float": "f32", "double": "f64", "half": "f16", "int": "i32", "uint": "u32", "char": "i8", "fp32": "f32", "fp16": "f16",
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "uint8": "u8",
}  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ZERO = Expression.parse(0)


class KernelBuilder:
    """Builds what it can and records each problem; after a problem the result is only good for finding more of them."""

    def __init__(self, document: Document, problems: Problems) -> None:
        self._at = document.at
        self._file = document.file
        self._folder = document.file.parent
        self._problems = problems

    def kernel(self, file: KernelFile) -> Kernel:
        source = self._existing(("kernel", "source"), file.kernel.source)
        include_dirs = tuple(self._folder_of(i, text) for i, text in enumerate(file.kernel.include_dirs))
        arguments = tuple(self._argument("arguments", name, table) for name, table in file.arguments.items())
        return Kernel(
            name=file.kernel.name,
            path=self._file,
            source=source,
            language=self._language(file.kernel, source),
            entry=file.kernel.entry.strip(),
            arguments=arguments,
            constants=tuple(self._constant(name, table) for name, table in file.constants.items()),
            launch=self._launch(file),
            workloads=tuple(
                self._workload(name, table.weight, table.heldout, table.model_extra or {})
                for name, table in file.workloads.items()
            ),
            reference=self._reference(file),
            traffic=Traffic(*(self._optional(("traffic", key), getattr(file.traffic, key)) for key in ("bytes", "flops"))),
            parameters=tuple(
                self._parameter(name, tuple(t.values), t.default, tuple(t.likely), t.assumes)
                for name, t in file.parameters.items()
            ),
            constraints=self._constraints("constraints", file.constraints),
            likely=self._constraints("likely", file.likely),
            template_source=self._existing(("template", "source"), file.template.source) if file.template else None,
            template_entry=file.template.entry if file.template else None,
            template_foreign=file.template.foreign if file.template else False,
            defines={name: value for name, value in file.kernel.defines.items() if self._name(("kernel", "defines", name), name)},
            include_dirs=(*include_dirs, *folders_reached(source, (source.parent, *include_dirs))),
            replaces=replaces_of(file.replaces, arguments, self._at, self._problems) if file.replaces else None,
        )

    def _constraints(self, section: str, tables: list[ConstraintTable]) -> tuple[Constraint, ...]:
        return tuple(
            Constraint(self._expression((section, index, "expr"), table.expr), table.reason) for index, table in enumerate(tables)
        )

    def _existing(self, path: TomlPath, text: str) -> Path:
        found = self._folder / text
        if not is_file(found):
            siblings = [p.name for p in self._folder.iterdir() if p.is_file()]
            what = "is a folder" if is_folder(found) else "does not exist"
            self._problems.add(f"{'.'.join(map(str, path))} = {text!r} {what}", self._at.value(path), nearest(text, siblings))
        return found

    def _folder_of(self, index: int, text: str) -> Path:
        path = ("kernel", "include_dirs", index)
        found = self._folder / text
        if not is_folder(found):
            self._problems.add(
                f"include folder {text!r} does not exist", self._at.value(path), "paths are relative to kernel.toml"
            )
        return found

    def _language(self, table: KernelTable, source: Path) -> Language:
        if table.language is not None:
            if table.language in set(Language):
                return Language(table.language)
            path = ("kernel", "language")
            self._problems.add(f"unknown language {table.language!r}", self._at.value(path), nearest(table.language, Language))
        elif source.suffix.lower() in LANGUAGES:
            return LANGUAGES[source.suffix.lower()]
        else:
            found = f"unknown source suffix {source.suffix!r} of {table.source!r}"
            self._problems.add(
                found, self._at.value(("kernel", "source")), 'set language = "cuda", "hip" or "opencl" in [kernel]'
            )
        return Language.CUDA

    # ── arguments ──

    def _argument(self, section: str, name: str, table: ArgumentTable) -> Argument:
        path = (section, name)
        self._name(path, name)
        dtype = self._dtype(path, table.dtype)
        if table.value is not None:
            for key in ("shape", "role", "init", "low", "high", "python"):
                if getattr(table, key) is not None:
                    found = f"{name!r} has a value, so it is a scalar, and also {key!r}"
                    self._problems.add(found, self._at.key((*path, key)), "a pointer has a shape, a scalar has a value")
            if table.null:
                self._problems.add(
                    f"{name!r} has a value and is null", self._at.key((*path, "null")), "only a pointer may be null"
                )
            return Scalar(name, dtype, self._expression((*path, "value"), table.value))
        if table.shape is None and not table.null:
            hint = 'a pointer has a shape: shape = ["n"]; a scalar has a value: value = "n"'
            self._problems.add(f"{name!r} has neither shape nor value", self._at.key(path), hint)
        shape = tuple(self._expression((*path, "shape", i), extent) for i, extent in enumerate(table.shape or ()))
        role = self._role(path, table.role)
        if table.null and role is not Role.IN:
            self._problems.add(
                f"{name!r} is null but has role {role.value!r}", self._at.value((*path, "role")), 'a null pointer has role "in"'
            )
        return Buffer(name, dtype, shape, role, self._init(path, table, role), table.null)

    def _constant(self, name: str, table: ArgumentTable) -> Buffer:
        path = ("constants", name)
        argument = self._argument("constants", name, table)
        if isinstance(argument, Scalar):
            self._problems.add(
                f"constant {name!r} has a value", self._at.key((*path, "value")), "a symbol has a shape and an init: shape = [1]"
            )
            return Buffer(name, argument.dtype, ())
        if argument.role is not Role.IN or argument.null:
            self._problems.add(f"constant {name!r} can only be read", self._at.key(path), 'leave out role and null: it is "in"')
        return argument

    def _dtype(self, path: TomlPath, text: str) -> DType:
        if text in set(DType):
            return DType(text)
        hint = f"did you mean {_COMMON_DTYPES[text]!r}?" if text in _COMMON_DTYPES else nearest(text, DType)
        self._problems.add(f"unknown dtype {text!r}", self._at.value((*path, "dtype")), hint)
        return DType.F32

    def _role(self, path: TomlPath, text: str | None) -> Role:
        if text is None or text in set(Role):
            return Role(text or "in")
        self._problems.add(f"unknown role {text!r}", self._at.value((*path, "role")), nearest(text, Role))
        return Role.IN

    def _init(self, path: TomlPath, table: ArgumentTable, role: Role) -> Init:
        inner = table.init
        low = inner.low if inner and inner.low is not None else table.low
        high = inner.high if inner and inner.high is not None else table.high
        python = inner.python if inner and inner.python is not None else table.python
        kind = inner.kind if inner and inner.kind is not None else None
        given = inner is not None or low is not None or high is not None or python is not None
        place = self._at.key((*path, "init"))
        if given and (role is Role.OUT or table.null):
            why = "is null" if table.null else 'has role "out", so its initial contents are not used'
            hint = None if table.null else 'role = "inout" keeps the initial contents'
            self._problems.add(f"{path[-1]!r} {why}, but has an init", place, hint)
        if python is not None:
            where = (*path, "python") if table.python is not None else (*path, "init", "python")
            self._function(where, python)
            if kind is not None or low is not None or high is not None:
                self._problems.add(f"{path[-1]!r} has both python and another init", place, "use one of them")
            return Init("python", python=python)
        if kind is not None and kind not in INITS:
            self._problems.add(f"unknown init {kind!r}", self._at.value((*path, "init")), nearest(kind, INITS))
        if (low is not None or high is not None) and kind not in {"uniform", "randint"}:
            found = f"low and high belong to uniform and randint, not to {kind!r}" if kind else "low or high without an init"
            self._problems.add(found, place, 'init = "uniform" or init = "randint"')
        if isinstance(low, int | float) and isinstance(high, int | float) and not low < high:
            self._problems.add(f"low = {low} is not below high = {high}", place, "high is exclusive")
        inside = (*path, "init") if inner and (inner.low is not None or inner.high is not None) else path
        return Init(kind or "normal", self._bound((*inside, "low"), low), self._bound((*inside, "high"), high))

    def _bound(self, path: TomlPath, bound: float | str | None) -> float | Expression | None:
        return self._expression(path, bound) if isinstance(bound, str) else bound

    # ── launch, workloads, parameters, reference ──

    def _launch(self, file: KernelFile) -> Launch:
        grid, block = (
            tuple(self._expression(("launch", key, i), entry) for i, entry in enumerate(getattr(file.launch, key)))
            for key in ("grid", "block")
        )
        return Launch(grid, block, self._expression(("launch", "shared"), file.launch.shared))

    def _workload(self, name: str, weight: float, heldout: bool, sizes: dict[str, int]) -> Workload:
        path = ("workloads", name)
        if not 0 < weight < float("inf"):
            self._problems.add(
                f"workload {name!r} has weight {weight:g}", self._at.value((*path, "weight")), "a weight is above 0"
            )
        for size in sizes:
            self._name((*path, size), size)
        return Workload(name, sizes, weight, heldout)

    def _parameter(
        self, name: str, values: tuple[Value, ...], default: Value, likely: tuple[Value, ...], assumes: str
    ) -> Parameter:
        path = ("parameters", name)
        self._name(path, name)
        seen: list[Value] = []
        for index, value in enumerate(values):
            # 1, 1.0 and true are the same value in the preprocessor's arithmetic.
            if value in seen:
                self._problems.add(f"{name} lists the value {value!r} twice", self._at.value((*path, "values", index)))
            seen.append(value)
            if isinstance(value, float) and not math.isfinite(value):
                self._problems.add(
                    f"{name} lists {value}, which is not finite",
                    self._at.value((*path, "values", index)),
                    "values must be finite",
                )
        listed = ", ".join(map(repr, values))
        if default not in values:
            found = f"default {default!r} of {name} is not one of its values ({listed})"
            self._problems.add(found, self._at.value((*path, "default")), "the default must reproduce the original kernel")
        for index, value in enumerate(likely):
            if value not in values:
                found = f"{value!r}, likely for {name}, is not one of its values ({listed})"
                self._problems.add(found, self._at.value((*path, "likely", index)), "a search begins with likely values")
        return Parameter(name, values, default, likely, assumes)

    def _reference(self, file: KernelFile) -> Reference:
        table = file.reference
        if table.python is None:
            return Reference(rtol=table.rtol, atol=table.atol)
        found = self._function(("reference", "python"), table.python)
        python_file, function = found or (None, None)
        return Reference(python_file, function, table.rtol, table.atol)

    def _function(self, path: TomlPath, address: str) -> tuple[Path, str] | None:
        try:
            return check_function(self._folder, address, self._at.value(path))
        except InputError as error:
            self._problems.add_error(error)
            return None

    # ── names and expressions ──

    def _name(self, path: TomlPath, name: str) -> bool:
        if _IDENTIFIER.fullmatch(name) and name not in {"not", "true", "false", "True", "False"}:
            return True
        self._problems.add(
            f"{name!r} cannot be a name", self._at.key(path), "use letters, digits and underscores, not starting with a digit"
        )
        return False

    def _optional(self, path: TomlPath, source: int | str | None) -> Expression | None:
        return None if source is None else self._expression(path, source)

    def _expression(self, path: TomlPath, source: Value) -> Expression:
        try:
            return Expression.parse(source, location=self._at.text(path))
        except InputError as error:
            self._problems.add_error(error)
            return _ZERO
