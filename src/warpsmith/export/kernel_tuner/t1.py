"""T1: what is tuned. Owns the file's fields; the schema is the one that Kernel Tuner ships (version 1.0.0).

One file for each tuning workload, since the format knows one problem size. What depends on sizes or device limits has their
values in it: only parameters are left. Fields that the schema lacks and Kernel Tuner reads (`ProblemSize`, `GridDivX`) are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.core.expression.folding import folded
from warpsmith.core.hardware import Language
from warpsmith.export.base import Shipment
from warpsmith.export.expressions import spelled
from warpsmith.export.python_text import Python
from warpsmith.space.rules import LimitRule, rules_of
from warpsmith.spec.kernel import Buffer, Kernel, Parameter, Role, Scalar, Workload
from warpsmith.template import Template
from warpsmith.verify.inputs import scalar_value, shape_of

_LANGUAGES = {Language.CUDA: "CUDA", Language.OPENCL: "OpenCL"}
_TYPES = {
    DType.F64: "double", DType.F32: "float", DType.F16: "half", DType.BOOL: "bool",
    DType.I64: "int64", DType.I32: "int32", DType.I16: "int16", DType.I8: "int8",
    DType.U64: "uint64", DType.U32: "uint32", DType.U16: "uint16", DType.U8: "uint8",
}  # fmt: skip
_ACCESS = {Role.IN: "ReadOnly", Role.OUT: "WriteOnly", Role.INOUT: "ReadWrite"}
_FILLS = {"zeros": {"FillType": "Constant", "FillValue": 0}, "ones": {"FillType": "Constant", "FillValue": 1}}


def t1_document(shipment: Shipment, template: Template, workload: Workload, kernel_file: str) -> dict[str, Any]:
    kernel = shipment.kernel
    if kernel.language not in _LANGUAGES:
        raise InputError(
            f"the T1 schema has no {kernel.language.value} kernels, only {' and '.join(_LANGUAGES.values())}",
            location=Location(kernel.path),
        )
    return {
        "General": {"FormatVersion": 1, "TimeUnit": "Milliseconds", "OutputFormat": "JSON"},
        "ConfigurationSpace": {
            "TuningParameters": [_parameter(parameter) for parameter in kernel.parameters],
            "Conditions": [*_conditions(shipment, template)],
        },
        "Search": {"Name": "random_sample"},
        "KernelSpecification": {
            "Language": _LANGUAGES[kernel.language],
            "KernelName": kernel.template_entry or kernel.entry,
            "KernelFile": kernel_file,
            "Device": {"Name": str(shipment.provenance["device_description"])},
            **_sizes(shipment, template, workload),
            "Arguments": [
                *(_argument(argument, kernel, workload) for argument in kernel.arguments),
                *({**_argument(constant, kernel, workload), "MemoryType": "Symbol"} for constant in kernel.constants),
            ],
        },
    }


def written_value(value: Value) -> Value:
    """As both files have it: Kernel Tuner does not read truth values, and a compiler sees 0 and 1."""
    return int(value) if isinstance(value, bool) else value


def _parameter(parameter: Parameter) -> dict[str, str]:
    values = [written_value(value) for value in parameter.values]
    kinds = {type(value) for value in values}
    name = "string" if str in kinds else "float" if float in kinds else "int"
    return {"Name": parameter.name, "Type": name, "Values": repr(values)}


def _conditions(shipment: Shipment, template: Template) -> Iterator[dict[str, Any]]:
    """What the run's space was made of: the constraints and the limits of its device, on all declared workloads."""
    limits = shipment.limits.names()
    order = [parameter.name for parameter in template.parameters]
    seen = set()
    for rule in rules_of(template.constraints, template.launch, shipment.limits):
        for expression in _as_expressions(rule) if isinstance(rule, LimitRule) else rule.expressions:
            for workload in shipment.kernel.workloads:
                with_sizes = _with_values(expression, {**limits, **workload.sizes})
                text = _python(with_sizes, template.parameters)
                if with_sizes.names and text not in seen:
                    seen.add(text)
                    yield {"Parameters": [name for name in order if name in with_sizes.names], "Expression": _guarded(text)}


def _guarded(condition: str) -> str:
    """Kernel Tuner's solver takes a condition without `and` or `or` apart as text, mistakes functions for parameters and moves
    divisors across. One that has such a word is compiled as it stands.
    """
    return condition if " and " in condition or " or " in condition else f"{condition} and True"


def _as_expressions(rule: LimitRule) -> list[Expression]:
    factors = [f"({factor.text})" for factor in rule.factors]
    found = [f"{factor} >= {rule.least}" for factor in factors]
    if rule.limit is not None:
        found.append(f"{' * '.join(factors)} <= {rule.limit}")
    return [Expression.parse(text) for text in found]


def _sizes(shipment: Shipment, template: Template, workload: Workload) -> dict[str, Any]:
    launch, parameters = template.launch, template.parameters
    known = {**shipment.limits.names(), **workload.sizes}
    grid, block = ([_python(_with_values(e, known), parameters) for e in es] for es in (launch.grid, launch.block))
    shared = _with_values(launch.shared_bytes, known)
    return {
        "GlobalSizeType": "CUDA",  # in blocks, whatever the language
        "GlobalSize": dict(zip("XYZ", grid, strict=False)),
        "LocalSize": dict(zip("XYZ", block, strict=False)),
        "ProblemSize": grid,
        "GridDivX": ["1"],
        "GridDivY": ["1"],
        "GridDivZ": ["1"],
        **({} if shared.names else {"SharedMemory": int(shared.evaluate({}))}),
    }


def _argument(argument: Buffer | Scalar, kernel: Kernel, workload: Workload) -> dict[str, Any]:
    dtype = argument.dtype
    entry: dict[str, Any] = {"Name": argument.name, "Type": _TYPES.get(dtype, "custom"), "TypeSize": dtype.itemsize}
    if isinstance(argument, Scalar):
        if argument.value.names & {parameter.name for parameter in kernel.parameters}:  # no number is right for all
            return {**entry, "MemoryType": "Scalar", "FillType": "Script", "DataSource": argument.value.text}
        value = written_value(scalar_value(argument, kernel, workload))
        return {**entry, "MemoryType": "Scalar", "FillType": "Constant", "FillValue": value}
    size = 0 if argument.null else prod(shape_of(argument, kernel, workload))
    return {**entry, "MemoryType": "Vector", "Size": size, "AccessType": _ACCESS[argument.role], **_fill(argument)}


def _fill(buffer: Buffer) -> dict[str, Any]:
    if buffer.init.python is not None:
        return {"FillType": "Script", "DataSource": buffer.init.python}
    if buffer.role is Role.OUT or buffer.null:
        return _FILLS["zeros"]
    kind = buffer.init.kind
    return _FILLS.get(kind) or ({"FillType": "Generator", "DataSource": kind} if kind in _ORDERED else {"FillType": "Random"})


_ORDERED = frozenset({"arange", "permutation"})


def _with_values(expression: Expression, values: Mapping[str, Value]) -> Expression:
    return Expression.parse(folded(expression, values)) if expression.names & values.keys() else expression


def _python(expression: Expression, parameters: Sequence[Parameter]) -> str:
    fractions = {p.name for p in parameters if any(isinstance(value, float) for value in p.values)}
    return spelled(expression, Python(), fractions)
