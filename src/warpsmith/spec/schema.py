"""The schema of kernel.toml: tables, keys, and types of values. `spec.build` interprets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Language
from warpsmith.spec.kernel import Role
from warpsmith.spec.problems import Problems, nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from warpsmith.spec.document import Document
    from warpsmith.spec.toml_positions import TomlPath

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Formula: TypeAlias = int | str
BoundFormula: TypeAlias = int | float | str


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | dict) else [value]


def _as_init(value: Any) -> Any:
    """`init = "zeros"` stands for `init = { kind = "zeros" }`."""
    return {"kind": value} if isinstance(value, str) else value


def _about(text: str, **more: Any) -> Any:
    """A key's description, for editors (`warpsmith schema kernel`)."""
    return Field(description=text, json_schema_extra=more or None)


Formulas: TypeAlias = Annotated[list[Formula], BeforeValidator(_as_list, json_schema_input_type=Formula | list[Formula])]
Dimensions: TypeAlias = Annotated[
    list[Formula],
    Field(min_length=1, max_length=3),
    BeforeValidator(_as_list, json_schema_input_type=Formula | Annotated[list[Formula], Field(min_length=1, max_length=3)]),
]
INITS = ("normal", "uniform", "randint", "zeros", "ones", "arange", "permutation")
InitKind: TypeAlias = Annotated[str, _about("A buffer's initial contents.", enum=list(INITS))]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KernelTable(_Table):
    """The kernel and where it is."""

    name: Annotated[Text, _about("What reports and exports call it.")]
    source: Annotated[Text, _about("The source file, relative to kernel.toml.")]
    entry: Annotated[Text, _about("The kernel's name, or an instance of a template: `kernel<float>`.")]
    language: Annotated[str | None, _about("Default: by the suffix.", enum=[None, *Language])] = None
    defines: Annotated[dict[str, Value], _about("Passed as -DNAME=value, to original and template alike.")] = {}
    include_dirs: Annotated[list[Text], _about("Folders with headers, relative to kernel.toml.")] = []


class TemplateTable(_Table):
    """A hand-written template, separate from the original."""

    source: Annotated[Text, _about("The template's source file, relative to kernel.toml.")]
    entry: Annotated[Text | None, _about("Where the template's entry differs: `kernel<float, BLOCK>`.")] = None
    foreign: Annotated[bool, _about("Whether a model or a client wrote part of it.")] = False


class InitTable(_Table):
    """A buffer's contents before a launch."""

    kind: InitKind | None = None
    low: Annotated[BoundFormula | None, _about("Of `uniform` and `randint`.")] = None
    high: Annotated[BoundFormula | None, _about("Of `uniform` and `randint`, exclusive.")] = None
    python: Annotated[Text | None, _about("A function that returns the array: `file.py:function`.")] = None


class ArgumentTable(_Table):
    """A pointer has a shape, a scalar has a value. Arguments are in the kernel's order."""

    dtype: Annotated[str, _about("Of the memory, not the C++ type.", enum=list(DType))]
    shape: Annotated[Formulas | None, _about("Of a pointer: integers or expressions over the workload's sizes.")] = None
    value: Annotated[Value | None, _about("Of a scalar: a number or an expression over sizes and parameters.")] = None
    role: Annotated[str | None, _about("`inout`: changed in place, or written only in part.", enum=[None, *Role])] = None
    init: Annotated[
        InitTable | None,
        BeforeValidator(_as_init, json_schema_input_type=InitTable | InitKind),
        _about("Its initial contents."),
    ] = None
    low: Annotated[BoundFormula | None, _about("As in `init`.")] = None
    high: Annotated[BoundFormula | None, _about("As in `init`, exclusive.")] = None
    python: Annotated[Text | None, _about("As in `init`.")] = None
    null: Annotated[bool, _about("Pass a null pointer.")] = False


class LaunchTable(_Table):
    """Expressions over sizes, parameters and the device's limits."""

    grid: Annotated[Dimensions, _about("Number of blocks, along up to three axes.")]
    block: Annotated[Dimensions, _about("Threads per block, along up to three axes.")]
    shared: Annotated[Formula, _about("Dynamic shared memory, in bytes.")] = 0


class WorkloadTable(BaseModel):
    """`weight`, `heldout`, and any number of sizes."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, int] = Field(init=False)

    weight: Annotated[float, _about("Weight in the mean over workloads.")] = 1.0
    heldout: Annotated[bool, _about("Left out of tuning, and measured afterwards.")] = False


class ReferenceTable(_Table):
    """The expected result. Without it the original kernel is the oracle."""

    python: Annotated[Text | None, _about("A NumPy function: `reference.py:function`.")] = None
    # From 1 on all zeros would pass; an infinite atol passes everything.
    rtol: Annotated[float, Field(ge=0, lt=1), _about("Relative tolerance.")] | None = None
    atol: Annotated[float, Field(ge=0, allow_inf_nan=False), _about("Absolute tolerance.")] | None = None


class TrafficTable(_Table):
    """For the roofline; bytes default to the arguments' sizes."""

    bytes: Annotated[Formula | None, _about("Moved from and to memory by one launch.")] = None
    flops: Annotated[Formula | None, _about("Floating-point operations of one launch.")] = None


class ReplacesTable(_Table):
    """The Python function that `export --format torch` replaces with the winner."""

    function: Annotated[Text, _about("Its full name: `package.module.function`.")]
    arguments: Annotated[dict[str, Text], _about("The kernel's name = the function's, where they differ.")] = {}
    where: Annotated[dict[str, Value], _about("Arguments of the function that must have these values.")] = {}
    returns: Annotated[list[Text] | None, _about("Outputs that the function returns.")] = None
    rows: Annotated[Text | None, _about("A size that counts independent rows.")] = None


class ParameterTable(_Table):
    """A parameter, passed as -DNAME=value."""

    values: Annotated[list[Value], Field(min_length=1), _about("Its allowed values, in order.")]
    default: Annotated[Value, _about("The value that reproduces the original kernel.")]
    likely: Annotated[list[Value], _about("Values expected to be fast, the likeliest first.")] = []
    assumes: Annotated[str, _about("What was tested but not proved about the other values.")] = ""


class ConstraintTable(_Table):
    expr: Annotated[Text, _about("An expression over parameters, sizes and the device's limits.")]
    reason: Annotated[str, _about("The reason, for readers.")] = ""


class KernelFile(_Table):
    """A kernel: its source, launch, workloads and expected result."""

    kernel: KernelTable
    arguments: Annotated[dict[str, ArgumentTable], _about("In the kernel's order.")]
    launch: LaunchTable
    workloads: Annotated[dict[str, WorkloadTable], _about("Named shapes.")]
    template: TemplateTable | None = None
    constants: Annotated[dict[str, ArgumentTable], _about("`__constant__` symbols and their contents.")] = {}
    reference: ReferenceTable = ReferenceTable()
    traffic: TrafficTable = TrafficTable()
    parameters: Annotated[dict[str, ParameterTable], _about("Tunable parameters.")] = {}
    constraints: Annotated[list[ConstraintTable], _about("Conditions that every configuration must meet.")] = []
    likely: Annotated[list[ConstraintTable], _about("Conditions that fast configurations are expected to meet.")] = []
    replaces: ReplacesTable | None = None


def read_schema(document: Document, problems: Problems) -> KernelFile | None:
    """The document in its schema, or None with the problems recorded."""
    try:
        return KernelFile.model_validate(document.data)
    except ValidationError as error:
        # A union reports once per member: combine them.
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
    """Pydantic's location, as far as it exists in the document: without union members and validators' additions."""
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
    "default": "the value that reproduces the original kernel",
    "values": "values = [1, 2, 4]",
}
