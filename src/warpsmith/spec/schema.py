"""The shape of kernel.toml: its tables and keys, and the kind of value each has. Meaning is `spec.build`'s business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from warpsmith.core.configuration import Value
from warpsmith.spec.problems import Problems, nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from warpsmith.spec.document import Document
    from warpsmith.spec.toml_positions import TomlPath

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Formula: TypeAlias = int | str
Bound: TypeAlias = int | float | str


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | dict) else [value]


Formulas: TypeAlias = Annotated[list[Formula], BeforeValidator(_as_list)]
Dimensions: TypeAlias = Annotated[list[Formula], Field(min_length=1, max_length=3), BeforeValidator(_as_list)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KernelTable(_Table):
    name: Text
    source: Text
    entry: Text
    language: str | None = None
    defines: dict[str, Value] = {}
    include_dirs: list[Text] = []


class TemplateTable(_Table):
    source: Text
    entry: Text | None = None


class InitTable(_Table):
    kind: str | None = None
    low: Bound | None = None
    high: Bound | None = None
    python: Text | None = None


class ArgumentTable(_Table):
    dtype: str
    shape: Formulas | None = None
    value: Value | None = None
    role: str | None = None
    init: InitTable | None = None
    low: Bound | None = None
    high: Bound | None = None
    python: Text | None = None
    null: bool = False


class LaunchTable(_Table):
    grid: Dimensions
    block: Dimensions
    shared: Formula = 0


class WorkloadTable(BaseModel):
    """`weight`, `heldout`, and any number of sizes."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, int] = Field(init=False)

    weight: float = 1.0
    heldout: bool = False


class ReferenceTable(_Table):
    python: Text | None = None
    # From 1 on nothing but zeros would pass; an infinite atol passes everything.
    rtol: Annotated[float, Field(ge=0, lt=1)] | None = None
    atol: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class TrafficTable(_Table):
    bytes: Formula | None = None
    flops: Formula | None = None


class ReplacesTable(_Table):
    function: Text
    arguments: dict[str, Text] = {}
    where: dict[str, Value] = {}
    returns: list[Text] | None = None
    rows: Text | None = None


class ParameterTable(_Table):
    values: Annotated[list[Value], Field(min_length=1)]
    default: Value
    likely: list[Value] = []


class ConstraintTable(_Table):
    expr: Text
    reason: str = ""


class KernelFile(_Table):
    kernel: KernelTable
    arguments: dict[str, ArgumentTable]
    launch: LaunchTable
    workloads: dict[str, WorkloadTable]
    template: TemplateTable | None = None
    constants: dict[str, ArgumentTable] = {}
    reference: ReferenceTable = ReferenceTable()
    traffic: TrafficTable = TrafficTable()
    parameters: dict[str, ParameterTable] = {}
    constraints: list[ConstraintTable] = []
    likely: list[ConstraintTable] = []
    replaces: ReplacesTable | None = None


def read_schema(document: Document, problems: Problems) -> KernelFile | None:
    """The document in its shape, or None with the problems noted."""
    try:
        return KernelFile.model_validate(_expanded(document.data))
    except ValidationError as error:
        # A union reports once for each of its members: take them together.
        members: dict[TomlPath, set[str]] = {}
        for detail in error.errors(include_url=False):
            path = _toml_path(detail["loc"], document.data)
            if len(path) < len(detail["loc"]) and detail["loc"][-1] in _MEMBERS:
                members.setdefault(path, set()).add(str(detail["loc"][-1]))
                continue
            _note(path, detail, document, problems)
        for path, kinds in members.items():
            expected = (
                "a number" if "str" not in kinds else "a number or text" if "float" in kinds else "an integer or an expression"
            )
            problems.add(
                f"{_dotted(path)} is {_shown(_value_at(document.data, path))}, expected {expected}", document.at.value(path)
            )
        return None


def _expanded(data: dict[str, Any]) -> dict[str, Any]:
    """`init = "zeros"` stands for `init = { kind = "zeros" }`."""
    copy = dict(data)
    for section in ("arguments", "constants"):
        if isinstance(copy.get(section), dict):
            copy[section] = {name: _expanded_init(table) for name, table in copy[section].items()}
    return copy


def _expanded_init(table: Any) -> Any:
    if isinstance(table, dict) and isinstance(table.get("init"), str):
        return {**table, "init": {"kind": table["init"]}}
    return table


_EXPECTED = {
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}


def _note(path: TomlPath, detail: ErrorDetails, document: Document, problems: Problems) -> None:
    name, section = (path[-1] if path else ""), _dotted(path[:-1])
    kind, found = detail["type"], detail["input"]
    match kind:
        case "missing":
            shown = f"[{name}]" if len(path) == 1 else f"{name!r} in [{section}]"
            problems.add(f"missing {shown}", document.at.key(path), _EXAMPLES.get(str(name)))
        case "extra_forbidden":
            where = f" in [{section}]" if section else ""
            problems.add(f"unknown key {name!r}{where}", document.at.key(path), nearest(str(name), _known_keys(path)))
        case _:
            expected = _EXPECTED.get(kind) or _reworded(detail)
            problems.add(f"{_dotted(path)} is {_shown(found)}, expected {expected}", document.at.value(path))


_MEMBERS = frozenset({"bool", "int", "float", "str"})


def _toml_path(location: tuple[int | str, ...], data: Any) -> TomlPath:
    """Pydantic's location, as far as it is one in the document: without members of unions and what `_expanded` added."""
    path: TomlPath = ()
    for index, part in enumerate(location):
        if isinstance(data, dict | list) and (part in data if isinstance(data, dict) else isinstance(part, int)):
            data = _value_at(data, (part,))
        elif isinstance(data, dict) and index == len(location) - 1 and part not in _MEMBERS:
            return (*path, part)
        else:
            break
        path = (*path, part)
    return path


def _value_at(data: Any, path: TomlPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _dotted(path: TomlPath) -> str:
    return ".".join(map(str, path))


def _reworded(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "string_too_short":
            return "text that is not empty"
        case "too_short":
            return f"at least {context['min_length']} entry"
        case "too_long":
            return f"at most {context['max_length']} entries"
        case "greater_than_equal":
            return f"at least {context['ge']:g}"
        case "less_than":
            return f"less than {context['lt']:g}"
        case _:
            return "a number or text"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _known_keys(path: TomlPath) -> list[str]:
    if len(path) == 1:
        return list(KernelFile.model_fields)
    tables: dict[str | int, type[BaseModel]] = {
        "kernel": KernelTable,
        "template": TemplateTable,
        "arguments": InitTable if "init" in path[2:-1] else ArgumentTable,
        "constants": InitTable if "init" in path[2:-1] else ArgumentTable,
        "launch": LaunchTable,
        "reference": ReferenceTable,
        "traffic": TrafficTable,
        "parameters": ParameterTable,
        "constraints": ConstraintTable,
        "likely": ConstraintTable,
        "replaces": ReplacesTable,
    }
    return list(tables[path[0]].model_fields)


_EXAMPLES: dict[str, str] = {
    "kernel": 'name = "…", source = "….cu", entry = "…"',
    "arguments": 'out = { dtype = "f32", shape = ["n"], role = "out" }',
    "launch": 'grid = ["ceildiv(n, 256)"], block = [256]',
    "workloads": "small = { n = 1024 }",
    "dtype": 'for example dtype = "f32"',
    "default": "the value that leaves the kernel as it was",
    "values": "values = [1, 2, 4]",
}
