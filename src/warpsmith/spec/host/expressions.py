"""Converts host expressions into terms: arithmetic, casts, `sizeof`, and helpers and macros that only compute a number.

`follow` resolves names. An expression that cannot be followed is None.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.spec.cpp_types import CppType, cpp_type
from warpsmith.spec.declarations import text_of
from warpsmith.spec.host.index import HostVariable, Index, arguments_of, called, parameters_of
from warpsmith.spec.host.terms import (
    Apply,
    SizeTerm,
    chosen,
    extreme,
    has_floats,
    is_a,
    length,
    operation,
    product,
    quotient,
    rounded_up,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_AXES = "xyz"
_MAX_DEPTH = 60  # more than people nest; ends where two definitions name each other
_MAX_VISITED = 20_000  # expressions in all: macros by macros could double the work at every step
_MAX_LENGTH = 200  # of a term, which definitions by definitions could double at every step
_WHOLE = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)[uUlLzZ]*")
_MOST_DIGITS = 100  # no size has more
_FLOAT = re.compile(r"(\d+)\.?0*(?:[eE]\+?0+)?[fF]?")


@dataclass(frozen=True, slots=True)
class HostFrame:
    """The scope in which names are looked up; `bindings` are the parameters of a macro or a helper whose body is read."""

    place: int
    bindings: Mapping[str, SizeTerm | None] = field(default_factory=dict)


class Expressions(ABC):
    def __init__(self, index: Index) -> None:
        self.index = index
        self._aliases = index.declarations.aliases()
        self._depth = 0
        self._visited = 0

    @abstractmethod
    def variable(self, name: str, frame: HostFrame) -> HostVariable | None:
        """The local or global variable, or the enclosing function's parameter."""

    @abstractmethod
    def named(self, name: str, frame: HostFrame) -> SizeTerm | None:
        """The term of a name."""

    @abstractmethod
    def length_of(self, vector: HostVariable) -> SizeTerm | None:
        """The declared number of elements of a vector."""

    @abstractmethod
    def member_of(self, owner: HostVariable, name: str) -> SizeTerm | None:
        """The term of a structure's member."""

    @abstractmethod
    def extents(self, node: Node, frame: HostFrame) -> list[SizeTerm | None] | None:
        """The three numbers of a grid or a block; None for those, or for all, that cannot be followed."""

    def whole(self, node: Node, frame: HostFrame) -> SizeTerm | None:
        """An expression's term; None if it cannot be followed or is not an integer."""
        found = self.term(node, frame)
        return None if found is None or has_floats(found) else found

    def type_of(self, name: str) -> CppType | None:
        return cpp_type(name, self.index.declarations.language, self._aliases)

    def size_of(self, text: str, frame: HostFrame) -> int | None:
        """Size in bytes of a type, or of a pointer's target (`*a`, `a[0]`)."""
        text = text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text
        element = re.fullmatch(r"\*\s*(\w+)|(\w+)\s*\[[^\]]*\]", text)
        if element is not None:
            variable = self.variable(element[1] or element[2], frame)
            text = variable.type if variable is not None and variable.depth == 1 else ""
        known = self.type_of(re.sub(r"\b(?:const|volatile|struct)\b", " ", text).strip())
        return known.dtype.itemsize * known.lanes if known is not None else None

    def term(self, node: Node, frame: HostFrame) -> SizeTerm | None:
        self._visited += 1
        if self._depth > _MAX_DEPTH or self._visited > _MAX_VISITED:
            return None
        self._depth += 1
        try:
            found = self._of_kind(node, frame)
        finally:
            self._depth -= 1
        return None if found is None or length(found) > _MAX_LENGTH else found

    def _of_kind(self, node: Node, frame: HostFrame) -> SizeTerm | None:  # noqa: C901, PLR0911 - one return for each kind of expression
        match node.type:
            case "number_literal":
                return _number(text_of(node))
            case "identifier":
                return self.named(text_of(node), frame) if self._is_one_operand(node) else None
            case "parenthesized_expression" | "initializer_list" if len(node.named_children) == 1:
                return self.term(node.named_children[0], frame)
            case "cast_expression":
                declared, value = node.child_by_field_name("type"), node.child_by_field_name("value")
                return self._cast(text_of(declared), value, frame) if declared is not None and value is not None else None
            case "binary_expression":
                return self._binary(node, frame)
            case "unary_expression" if text_of(node).startswith(("-", "+")) and node.named_children:
                inner = self.term(node.named_children[-1], frame)
                return product(-1 if text_of(node).startswith("-") else 1, inner) if inner is not None else None
            case "conditional_expression":
                parts = [node.child_by_field_name(key) for key in ("condition", "consequence", "alternative")]
                terms = [self.whole(part, frame) for part in parts if part is not None]
                return chosen(*terms) if len(terms) == 3 and None not in terms else None  # type: ignore[arg-type]
            case "sizeof_expression":
                return self.size_of(text_of(node).removeprefix("sizeof").strip(), frame)
            case "field_expression":
                return self._member(node, frame)
            case "call_expression":
                return self._call(node, frame)
            case _:
                return None

    def _is_one_operand(self, name: Node) -> bool:
        """Whether a macro's body is one operand: `N / 2` with `#define N 8 + 8` is not what it looks like."""
        macro = self.index.macros.get(text_of(name))
        if macro is None or macro.body.type not in {"binary_expression", "conditional_expression"} or name.parent is None:
            return True
        around = name.parent.child_by_field_name("operator") if name.parent.type == "binary_expression" else None
        inner = macro.body.child_by_field_name("operator")
        is_product = around is not None and inner is not None and text_of(around) == text_of(inner) == "*"
        return is_product or name.parent.type not in {"binary_expression", "unary_expression", "cast_expression"}

    def _cast(self, name: str, value: Node, frame: HostFrame) -> SizeTerm | None:
        known = self.type_of(name)
        inner = self.term(value, frame)
        if known is None or known.lanes > 1 or inner is None:
            return None
        return converted(inner, is_float=known.dtype.is_float)

    def _binary(self, node: Node, frame: HostFrame) -> SizeTerm | None:
        left, right, sign = (node.child_by_field_name(key) for key in ("left", "right", "operator"))
        if left is None or right is None or sign is None:
            return None
        first, second = self.term(left, frame), self.term(right, frame)
        if first is None or second is None:
            return None
        if not has_floats(first) and not has_floats(second):
            return operation(text_of(sign), first, second)
        exact, divisor = _exact(first), _exact(second)
        if exact is None or divisor is None or text_of(sign) not in {"*", "/"}:
            return None
        return Apply("float", (product(exact, divisor) if text_of(sign) == "*" else Apply("over", (exact, divisor)),))

    def _call(self, node: Node, frame: HostFrame) -> SizeTerm | None:
        name, template = called(node)
        given = arguments_of(node)
        if name == "static_cast" and template and len(given) == 1:
            return self._cast(text_of(template[0]), given[0], frame)
        if len(given) == 1 and not template and self.type_of(name) is not None:
            return self._cast(name, given[0], frame)
        if text_of(node).endswith(".size()"):
            variable = self.variable(text_of(node).removesuffix(".size()"), frame)
            return self.length_of(variable) if variable is not None else None
        return self._computed(name, given, frame)

    def _computed(self, name: str, given: Sequence[Node], frame: HostFrame) -> SizeTerm | None:
        terms = [self.term(argument, frame) for argument in given]
        known = [term for term in terms if term is not None]
        if len(known) < len(terms) or not known:
            return None
        if name in {"min", "max"} and not any(map(has_floats, known)):
            return extreme(name, *known)
        if name in {"ceil", "ceilf"}:
            return ceiling(known[0])
        return self._inlined(name, known)

    def _inlined(self, name: str, given: Sequence[SizeTerm]) -> SizeTerm | None:
        """A macro, or a function that only returns an expression."""
        macro = self.index.macros.get(name)
        if macro is not None and macro.parameters is not None and len(macro.parameters) == len(given):
            return self.term(macro.body, HostFrame(macro.place, dict(zip(macro.parameters, given, strict=True))))
        functions = self.index.functions.get(name, [])
        if len(functions) != 1:
            return None
        body, parameters = functions[0].child_by_field_name("body"), parameters_of(functions[0])
        statements = [c for c in body.named_children if c.type != "comment"] if body is not None else []
        if len(statements) != 1 or statements[0].type != "return_statement" or len(parameters) != len(given):
            return None
        bindings = {parameter.name: term for parameter, term in zip(parameters, given, strict=True)}
        returned = statements[0].named_children
        return self.term(returned[0], HostFrame(statements[0].start_byte, bindings)) if returned else None

    def _member(self, node: Node, frame: HostFrame) -> SizeTerm | None:
        """`block.x`, `matrix.rows`."""
        owner, part = node.child_by_field_name("argument"), node.child_by_field_name("field")
        variable = self.variable(text_of(owner), frame) if owner is not None and owner.type == "identifier" else None
        if owner is None or part is None or variable is None:
            return None
        if not is_extents(variable):
            return self.member_of(variable, text_of(part))
        extents = self.extents(owner, frame) if text_of(part) in _AXES else None
        return extents[_AXES.index(text_of(part))] if extents is not None else None


def is_extents(variable: HostVariable) -> bool:
    """Whether it is a grid or a block."""
    made = text_of(variable.values[0]) if variable.type == "auto" and len(variable.values) == 1 else ""
    return variable.type in {"dim3", "uint3"} or made.startswith("dim3")


def _number(text: str) -> SizeTerm | None:
    plain = text.replace("'", "")
    if len(plain) > _MOST_DIGITS:
        return None
    if plain.startswith("-"):  # the grammar has the sign in the number
        inner = _number(plain[1:].strip())
        return -inner if isinstance(inner, int) else None
    if whole := _WHOLE.fullmatch(plain):
        digits = whole[1]
        return int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    if number := _FLOAT.fullmatch(plain):
        return Apply("float", (int(number[1]),))
    return None


def _exact(term: SizeTerm) -> SizeTerm | None:
    """The integer value of a float; None for a quotient."""
    inner = term.operands[0] if isinstance(term, Apply) and term.operator == "float" else term
    return None if has_floats(inner) or is_a(inner, "over") else inner


def ceiling(term: SizeTerm) -> SizeTerm | None:
    """The smallest integer not below a quotient."""
    inner = term.operands[0] if isinstance(term, Apply) and term.operator == "float" else term
    return rounded_up(*inner.operands) if isinstance(inner, Apply) and inner.operator == "over" else inner


def converted(term: SizeTerm, *, is_float: bool) -> SizeTerm | None:
    """Converted to a variable's type as C++ does."""
    if is_float:
        return term if has_floats(term) else Apply("float", (term,))
    inner = term.operands[0] if isinstance(term, Apply) and term.operator == "float" else term
    return quotient(*inner.operands) if isinstance(inner, Apply) and inner.operator == "over" else inner
