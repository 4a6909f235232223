"""What a reduction of a library combines values by: cub's, CUDA's and cooperative groups' functors, and small ones of the file.

cub::Max(), cuda::maximum<>{}, cg::greater<float>{}                                   a maximum
using CubAddOp = cuda::std::plus<>;                                                   a sum
struct Op { __device__ float operator()(float a, float b) { return a > b ? a : b; } };
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.source.kernel import KernelSource
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_SPACES = r"(?:(?:::\s*)?(?:cub|hipcub|cuda|std|thrust|cg|cooperative_groups)\s*::\s*)*"
_NAMED = {
    "+": "Sum|plus", "max": "Max|maximum", "min": "Min|minimum", "&": "bit_and", "|": "bit_or", "^": "bit_xor",
}  # fmt: skip
_OF_GROUPS = {"max": "greater", "min": "less"}  # elsewhere these compare
_LARGER = {(">", True): "max", (">=", True): "max", ("<", False): "max", ("<=", False): "max"}
_INTEGERS = {
    "int": ("(-2147483647 - 1)", "2147483647"), "unsigned int": ("0u", "0xffffffffu"),
    "long long": ("(-9223372036854775807LL - 1)", "9223372036854775807LL"),
}  # fmt: skip
_SPELLED = {
    "int32_t": "int", "signed": "int", "signed int": "int", "unsigned": "unsigned int", "uint32_t": "unsigned int",
    "uint": "unsigned int", "int64_t": "long long", "long long int": "long long",
}  # fmt: skip
_DEEPEST = 4  # aliases of aliases


@dataclass(frozen=True, slots=True)
class Operation:
    """`sign` is `+`, `max`, `min`, `&`, `|` or `^`, on values of type `kind`."""

    sign: str
    kind: str

    @property
    def word(self) -> str:
        """Part of the name of a function that reduces so."""
        words = {"+": "sum", "&": "and", "|": "or", "^": "xor"}
        return words.get(self.sign, self.sign)

    @property
    def neutral(self) -> str:
        if self.sign in {"max", "min"} and self.kind not in _INTEGERS:
            return "-INFINITY" if self.sign == "max" else "INFINITY"
        if self.sign in {"max", "min"}:
            return _INTEGERS[self.kind][self.sign == "min"]
        zero = {"float": "0.0f", "double": "0.0"}.get(self.kind, "0")
        return f"~{zero}" if self.sign == "&" else zero

    def step(self, value: str, other: str) -> str:
        """The statement, without its end, that combines another value with a variable's."""
        if self.sign not in {"max", "min"}:
            return f"{value} {self.sign}= {other}"
        function = {"float": f"f{self.sign}f", "double": f"f{self.sign}"}.get(self.kind, self.sign)
        return f"{value} = {function}({value}, {other})"


def operation(sign: str, kind: str) -> Operation | None:
    """None for a type whose neutral elements are not known here."""
    is_float = kind in {"float", "double"}
    is_bitwise = sign in {"&", "|", "^"}
    return Operation(sign, kind) if (is_float and not is_bitwise) or kind in _INTEGERS else None


def plain_type(text: str, source: KernelSource) -> str:
    """The type that a name stands for, where the file or the instance says so; one spelling for each."""
    kind = " ".join(re.sub(r"\b(?:const|typename|std)\b|::", " ", text).split())
    for _ in range(_DEEPEST):
        known = source.bindings.get(kind) or alias(kind, source)
        if known is None:
            break
        kind = " ".join(known.split())
    return _SPELLED.get(kind, kind)


def alias(name: str, source: KernelSource) -> str | None:
    """What `using name = …;` or `typedef … name;` stands for; None where the file says several things."""
    if re.fullmatch(r"\w+", name) is None:
        return None
    using = re.findall(rf"\busing\s+{name}\s*=\s*([^;]+?)\s*;", source.text)
    typedefs = re.findall(rf"\btypedef\s+([^;]+?)\s*\b{name}\s*;", source.text)
    meanings = {" ".join(m.split()) for m in (*using, *typedefs)}
    return meanings.pop() if len(meanings) == 1 else None


def sign_of(given: Node, source: KernelSource, *, of_groups: bool = False) -> tuple[str, str] | None:
    """What a functor does, and the type it is told to do it in (empty where it is not): of an object or a variable."""
    given = unwrapped(given)
    if given.type == "identifier":
        found = source.scopes.declaration(text_of(given), given)
        if found is None:
            return None
        if found.value is not None:
            return sign_of(found.value, source, of_groups=of_groups)
        declared = found.node if found.node.type == "declaration" else found.node.parent
        kind = declared.child_by_field_name("type") if declared is not None else None
        return _of_type(text_of(kind), source, of_groups=of_groups) if kind is not None else None
    if given.type == "lambda_expression":
        sign = _of_function(given)
        return (sign, "") if sign is not None else None
    made = re.fullmatch(r"(?P<type>.*?)\s*(?:\(\s*\)|\{\s*\})", text_of(given), re.DOTALL)
    return _of_type(made["type"], source, of_groups=of_groups) if made is not None else None


def _of_type(text: str, source: KernelSource, *, of_groups: bool) -> tuple[str, str] | None:
    name = text
    for _ in range(_DEEPEST):
        name = alias(name.strip(), source) or name
    base, _, rest = name.partition("<")
    base, kind = base.strip(), rest.rpartition(">")[0].strip()
    for sign, names in _NAMED.items():
        wanted = f"{names}|{_OF_GROUPS[sign]}" if of_groups and sign in _OF_GROUPS else names
        if re.fullmatch(rf"{_SPACES}(?:{wanted})", base) and not source.functions(base):
            return sign, "" if kind == "void" else kind
    for struct in of_kind(source.tree.root, "struct_specifier", "class_specifier"):
        named = struct.child_by_field_name("name")
        if named is not None and text_of(named) == base.rpartition("::")[2]:
            own = [
                f for f in of_kind(struct, "function_definition") if "operator()" in "".join(text_of(f).partition("{")[0].split())
            ]
            signs = {_of_function(f) for f in own}
            sign_found = signs.pop() if len(signs) == 1 else None
            return (sign_found, "") if sign_found is not None else None
    return None


def _of_function(function: Node) -> str | None:
    """`return a + b;` and its like, of two parameters."""
    listed = next(of_kind(function, "parameter_list"), None)
    body = next((c for c in function.children if c.type == "compound_statement"), None)
    taken = [list(of_kind(p, "identifier")) for p in listed.named_children] if listed is not None else []
    statements = [s for s in body.named_children if s.type != "comment"] if body is not None else []
    if len(taken) != 2 or not all(taken) or [s.type for s in statements] != ["return_statement"]:
        return None
    one, two = (text_of(names[-1]) for names in taken)
    value = unwrapped(statements[0].named_children[0]) if statements[0].named_children else statements[0]
    return _of_value(value, one, two)


def _of_value(value: Node, one: str, two: str) -> str | None:
    def sides(node: Node) -> list[str]:
        return [text_of(unwrapped(field(node, side))) for side in ("left", "right")]

    if value.type == "binary_expression" and set(sides(value)) == {one, two}:
        sign = text_of(field(value, "operator"))
        return sign if sign in {"+", "&", "|", "^"} else None
    if value.type == "call_expression":
        called = re.fullmatch(r"(?:std::|::|cuda::std::)?f?(max|min)f?", text_of(field(value, "function")))
        given = [text_of(unwrapped(a)) for a in field(value, "arguments").named_children]
        return called[1] if called is not None and sorted(given) == sorted([one, two]) else None
    if value.type == "conditional_expression":
        condition = unwrapped(field(value, "condition"))
        chosen = [text_of(unwrapped(field(value, part))) for part in ("consequence", "alternative")]
        if (
            condition.type != "binary_expression"
            or sorted(sides(condition)) != sorted([one, two])
            or sorted(chosen) != sorted([one, two])
        ):
            return None
        sign = text_of(field(condition, "operator"))
        if sign not in {">", ">=", "<", "<="}:
            return None
        return _LARGER.get((sign, chosen[0] == sides(condition)[0]), "min")
    return None
