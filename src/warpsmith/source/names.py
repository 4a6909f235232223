"""What the identifiers of a kernel stand for: scopes, constants, macros, template arguments, the launch's built-in names.

`value` computes integers known at compile time; `expression` says the same in the language of kernel.toml, over workload sizes
and parameters, so that a launch can use what the source computes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.conditionals import definitions
from warpsmith.source.scopes import Declared, Origin
from warpsmith.source.tree import field, is_within, text_of, unwrapped
from warpsmith.spec.kernel import Kernel, Scalar

if TYPE_CHECKING:
    from tree_sitter import Node

    from warpsmith.source.kernel import KernelSource

_SIZES = {
    "float": 4, "double": 8, "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "__hip_bfloat16": 2, "bool": 1,
    "int": 4, "unsigned": 4, "unsigned int": 4, "uint": 4, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "long": 8,
    "long long": 8, "size_t": 8, "unsigned long long": 8, "short": 2, "int16_t": 2, "uint16_t": 2, "ushort": 2, "char": 1,
    "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "uchar": 1, "float2": 8, "float4": 16, "int4": 16,
    "uint4": 16, "half2": 4, "__half2": 4, "__nv_bfloat162": 4, "double2": 16, "int2": 8, "uint2": 8,
}  # fmt: skip
_CUDA_BUILTINS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_OPENCL_BUILTINS = {
    "get_local_id": "threadIdx", "get_group_id": "blockIdx", "get_local_size": "blockDim", "get_num_groups": "gridDim",
}  # fmt: skip
_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([\w:\s]+);|\btypedef\s+([\w:\s]+?)\s+(\w+)\s*;")
_NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|\d+)[uUlLzZ]*")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name comes from. `value` is its initialiser; `is_fixed` when nothing ever changes it after that."""

    name: str
    origin: Origin
    node: Node | None = None
    value: Node | None = None
    is_fixed: bool = False


class Names:
    """The names of one kernel. `parameters` are the tunables: macros whose values are not known."""

    def __init__(self, source: KernelSource, parameters: Collection[str] = (), kernel: Kernel | None = None) -> None:
        self.source = source
        self.parameters = frozenset(parameters)
        self.kernel = kernel

    def definition(self, use: Node) -> Definition:
        """What the identifier at this place stands for: the innermost declaration before it."""
        name = text_of(use)
        found = self.source.scopes.declaration(name, use)
        if found is not None and found.origin is not Origin.FILE:
            return Definition(name, found.origin, found.node, found.value, self._is_fixed(found))
        if name in self.source.bindings and self._sees_bindings(use):
            return Definition(name, Origin.TEMPLATE, is_fixed=True)
        if found is not None:
            value = found.value if found.is_constant else None
            return Definition(name, Origin.FILE, found.node, value, is_fixed=value is not None)
        body = self.source.scopes.macros.get(name)
        if body is not None and not self._redefined:
            return Definition(name, Origin.MACRO, None, body, is_fixed=True)
        return Definition(name, Origin.UNKNOWN)

    @property
    def _redefined(self) -> bool:
        """Whether kernel.toml defines what decides the source's own macros."""
        return self.kernel is not None and not self.source.scopes.assumed.isdisjoint(self.kernel.defines)

    def _sees_bindings(self, use: Node) -> bool:
        """Other functions and types have template parameters of their own; macros (beyond the file's end) are the kernel's."""
        return is_within(use, self.source.function) or use.start_byte >= len(self.source.tree.data)

    def _is_fixed(self, found: Declared) -> bool:
        if found.origin is Origin.LOOP:
            return False
        if found.origin is Origin.LOCAL and found.value is None:
            return False
        return found.is_constant or not self.is_assigned(found.name, found.scope)

    def builtin(self, node: Node) -> str | None:
        """`threadIdx.x` and its like in CUDA's spelling, also for OpenCL's functions; None for anything else."""
        node = unwrapped(node)
        text = re.sub(r"\s+", "", text_of(node))
        if self.source.language is not Language.OPENCL:
            base, dot, axis = text.partition(".")
            return text if dot and base in _CUDA_BUILTINS and axis in {"x", "y", "z"} else None
        match = re.fullmatch(r"(\w+)\(([012])u?\)", text)
        return f"{_OPENCL_BUILTINS[match[1]]}.{'xyz'[int(match[2])]}" if match and match[1] in _OPENCL_BUILTINS else None

    def value(self, node: Node) -> int | None:  # noqa: C901, PLR0911 - one return for each kind of expression
        """The integer that the expression is at compile time, or None. Parameters are not known, so anything with one is None."""
        node = unwrapped(node)
        text = text_of(node)
        match node.type:
            case "number_literal":
                return _integer(text_of(node))
            case "sizeof_expression":
                return self.size_of(text_of(node))
            case "identifier" | "type_identifier":
                name = text_of(node)
                if name in self.parameters:
                    return None
                if name in self.source.bindings and self.definition(node).origin is Origin.TEMPLATE:
                    return _integer(self.source.bindings[name])
                found = self.definition(node)
                return self.value(found.value) if found.is_fixed and found.value is not None else None
            case "unary_expression":
                inner = self.value(field(node, "argument"))
                return None if inner is None else {"-": -inner, "+": inner, "~": ~inner}.get(text_of(field(node, "operator")))
            case "binary_expression":
                left, right = self.value(field(node, "left")), self.value(field(node, "right"))
                if left is None or right is None:
                    return None
                return _compute(text_of(field(node, "operator")), left, right)
            case "cast_expression" if self.is_cast(node):
                return self.value(field(node, "value"))
            case "call_expression" if re.match(r"static_cast\s*<", text):
                arguments = field(node, "arguments").named_children
                return self.value(arguments[0]) if len(arguments) == 1 else None
            case _:
                return None

    def expression(self, node: Node) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one return for each kind of expression
        """The same number as an expression of kernel.toml, or None where it depends on the thread or is not understood."""
        node = unwrapped(node)
        text = text_of(node)
        match node.type:
            case "number_literal":
                number = _integer(text)
                return None if number is None else str(number)
            case "sizeof_expression":
                size = self.size_of(text)
                return None if size is None else str(size)
            case "identifier" | "type_identifier":
                if text in self.parameters:
                    return text
                found = self.definition(node)
                if found.origin is Origin.PARAMETER:
                    return self._argument(text) if found.is_fixed else None  # a kernel may count its arguments down
                if found.origin is Origin.TEMPLATE:
                    bound = self.source.bindings[text]
                    return bound if bound in self.parameters or _integer(bound) is not None else None
                return self.expression(found.value) if found.is_fixed and found.value is not None else None
            case "binary_expression":
                operator = text_of(field(node, "operator"))
                left, right = self.expression(field(node, "left")), self.expression(field(node, "right"))
                if left is None or right is None or operator not in {"+", "-", "*", "/", "%"}:
                    return None
                return _folded(operator, left, right)
            case "cast_expression" if self.is_cast(node):
                return self.expression(field(node, "value"))
            case "call_expression":
                called = text_of(field(node, "function"))
                arguments = [self.expression(a) for a in field(node, "arguments").named_children]
                if None in arguments:
                    return None
                if called.startswith("static_cast") and len(arguments) == 1:
                    return arguments[0]
                plain = called.removeprefix("std::").removeprefix("::")
                return f"{plain}({', '.join(a for a in arguments if a)})" if plain in {"min", "max"} else None
            case _:
                return None

    def is_cast(self, node: Node) -> bool:
        """Whether it really is one: the grammar takes `(n) - 1` and `(a * (b * c)) - 1` for casts of -1, too."""
        return node.type == "cast_expression" and self.size_of(text_of(field(node, "type"))) is not None

    def size_of(self, text: str) -> int | None:
        """The bytes of `sizeof(T)`, or of a type's name."""
        inner = re.fullmatch(r"sizeof\s*\(?\s*(.*?)\s*\)?", text, re.DOTALL)
        name = inner[1] if inner else text.strip()
        name = " ".join(re.sub(r"\b(?:const|volatile|struct)\b", " ", self.source.bindings.get(name, name)).split())
        if name.endswith("*"):
            return 8
        plain = name.rpartition("::")[2]
        if plain in _SIZES or plain not in self._aliases:
            return _SIZES.get(plain)
        target = self._aliases[plain]
        return None if target.rpartition("::")[2] == plain else self.size_of(target)

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Names of types that stand for others: `using bf16_t = __nv_bfloat16;`. Not those that may stand for several."""
        meanings: dict[str, set[str]] = {}
        for found in _USING.finditer(self.source.text):
            meanings.setdefault(found[1] or found[4], set()).add(" ".join((found[2] or found[3]).split()))
        return {name: next(iter(meant)) for name, meant in meanings.items() if len(meant) == 1}

    def type_named(self, name: str) -> str:
        """The type that a name stands for: a template argument, `typedef float real;` or `#define real float`; else itself."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            macro = definitions(self.source.text).only(name) if not self._redefined else None
            name = self.source.bindings.get(name, self._aliases.get(name, macro.replacement.strip() if macro else name))
        return name

    def is_assigned(self, name: str, within: Node) -> bool:
        """Whether the variable itself (not what it points to) is changed, or its address taken, anywhere within."""
        return any(True for _ in self.assignments(name, within))

    def assignments(self, name: str, within: Node) -> Iterator[Node]:
        return self.source.scopes.assignments(name, within)

    def _argument(self, name: str) -> str | None:
        """The value that kernel.toml gives a scalar parameter, as an expression; None of floating-point numbers."""
        if self.kernel is None:
            return None
        declared = [p.name for p in self.source.parameters]
        index = declared.index(name) if name in declared else -1
        if not 0 <= index < len(self.kernel.arguments):
            return None
        argument = self.kernel.arguments[index]
        if not isinstance(argument, Scalar) or argument.dtype.is_float:
            return None
        text = argument.value.text
        return text if re.fullmatch(r"\w+", text) else f"({text})"


def _integer(text: str) -> int | None:
    match = _NUMBER.fullmatch(text.strip().strip("()").replace("'", ""))
    if match is None:
        return None
    number = int(match[2], 16 if match[2][:2] in {"0x", "0X"} else 10)
    return -number if match[1] else number


def _compute(operator: str, left: int, right: int) -> int | None:
    """As C does for integers: division rounds towards zero."""
    if operator in {"/", "%"}:
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    operations = {"+": left + right, "-": left - right, "*": left * right}
    if operator in {"<<", ">>"} and 0 <= right < 63:
        return left << right if operator == "<<" else left >> right
    return operations.get(operator)


def _folded(operator: str, left: str, right: str) -> str:
    if left.isdigit() and right.isdigit():
        value = _compute(operator, int(left), int(right))
        if value is not None and value >= 0:
            return str(value)
    if operator in {"*", "/"} and right == "1":
        return left
    if operator == "*" and left == "1":
        return right
    return f"({left} {operator} {right})"
