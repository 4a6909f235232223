"""Which expressions are surely of type float: by their literal, their declaration, their function, or an operand that is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTION = re.compile(r"_{0,2}(?:expf?|exp2f|logf|log2f|sqrtf|rsqrtf|fabsf|fmaxf|fminf|fmaf|sinf|cosf|tanhf|powf|erff|fdividef)")
_CAST = re.compile(r"static_cast\s*<\s*float\s*>|float|__half2float|__bfloat162float|convert_float|__int2float_rn")
_DOUBLE = re.compile(r"\bdouble\b")


def is_float(node: Node, names: Names) -> bool:  # noqa: PLR0911 - one return for each kind of expression
    """Whether the expression is a float and not a double, whatever its parts are."""
    node = unwrapped(node)
    match node.type:
        case "number_literal":
            return text_of(node)[-1:] in {"f", "F"} and not text_of(node).startswith(("0x", "0X"))
        case "call_expression":
            called = text_of(field(node, "function"))
            exact = called.endswith("f") and _FUNCTION.fullmatch(called)
            return bool(exact or _CAST.fullmatch(called))
        case "cast_expression":
            return names.type_named(text_of(field(node, "type")).strip()) == "float"
        case "unary_expression":
            return is_float(field(node, "argument"), names)
        case "binary_expression":
            sides = [field(node, side) for side in ("left", "right")]
            arithmetic = text_of(field(node, "operator")) in {"+", "-", "*", "/"}
            return arithmetic and any(is_float(s, names) for s in sides) and all(is_narrow(s, names) for s in sides)
        case "identifier":
            return _declared(node, names, depth=0) == "float"
        case "subscript_expression":
            array = unwrapped(field(node, "argument"))
            return array.type == "identifier" and _declared(array, names, depth=1) == "float"
        case _:
            return False


def is_narrow(node: Node, names: Names) -> bool:
    """Whether it makes no double of what it is combined with: a float itself, or an integer."""
    node = unwrapped(node)
    if is_float(node, names):
        return True
    if node.type == "number_literal":
        return re.fullmatch(r"\d+[uUlL]*", text_of(node)) is not None
    kind = _declared(node, names, depth=0) if node.type == "identifier" else None
    return kind is not None and re.search(r"\b(?:int|unsigned|long|size_t|u?int\d+_t|uint)\b", kind) is not None


def _declared(use: Node, names: Names, depth: int) -> str | None:
    """The type with which a name was declared, for one with so many stars or brackets."""
    found = names.definition(use).node
    declaration = found if found is None or found.type.endswith("parameter_declaration") else found.parent
    kind = declaration.child_by_field_name("type") if declaration is not None else None
    if found is None or kind is None:
        return None
    declarator = found if found is not declaration else field(found, "declarator")
    direct = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
    stars = sum(1 for _ in of_kind(direct or declarator, "pointer_declarator", "array_declarator", "reference_declarator"))
    text = names.type_named(text_of(kind))
    return text if stars == depth and not _DOUBLE.search(text) else None
