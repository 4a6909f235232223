"""Is a constant a choice of how to execute, or part of what is computed? Decided by where it is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Variant
from warpsmith.refactor.extents import names_of
from warpsmith.refactor.lifting.accesses import Division
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.arrays import arrays_of
from warpsmith.source.constants import ConstantKind
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import all_launch_uses, teamwork
from warpsmith.source.tree import ancestors, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_WARP = re.compile(r"(?i)warp|wave|lane")
_WARP_SIZES = (32, 64)
_INTEGER_TYPE = re.compile(r"\b(?:u?int(?:8|16|32|64)?(?:_t)?|unsigned|long|short|size_t|char|bool|u?char|ushort|ulong)\b")
_FLOAT_LITERAL = re.compile(r"\d*\.\d*(?:[eE][+-]?\d+)?[fFhH]?|\d+[fF]|\d+[eE][+-]?\d+[fF]?")
_VECTOR = re.compile(r"u?(?:char|short|int|long|longlong)[248]|(?:float|double|half|__half|__nv_bfloat16)(?:2|4|8|16)")
_FLOATING = re.compile(r"\b(?:float|double|half|__half|T|scalar_t|__nv_bfloat16|bfloat16)\d?\b")
_WHOLE = ("min", "max", "static_cast", "ceildiv", "cdiv", "div_up", "ceil_div")
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_MACROS = {ConstantKind.MACRO, ConstantKind.BRACKETED, ConstantKind.OUTSIDE}
_ARITHMETIC = {"+", "-", "*", "/", "%"}


def semantic(lifted: Symbolic) -> dict[str, str]:
    """By parameter: why it is no choice."""
    found: dict[str, str] = {}
    for parameter, (constant, *_) in lifted.constants.items():
        if constant.value in _WARP_SIZES and _WARP.search(constant.name):
            found[parameter] = "it is the warp size"
        elif constant.value == 0:
            found[parameter] = "it is zero"
        elif constant.kind in _MACROS and _decides(lifted, constant.name):
            found[parameter] = "it decides an #if"
    for parameter, reason in (*_in_exchanges(lifted), *_in_device_memory(lifted), *_in_data(lifted)):
        found.setdefault(parameter, reason)
    return found


def depths(lifted: Symbolic) -> dict[str, Loop]:
    """Parameters that are the depth of a step: a loop over something long goes on by so many, and shares out that many inside."""
    names, found = lifted.names, dict[str, Loop]()
    sized = {n for array in arrays_of(names) if (e := array.elements(names)) is not None for n in names_of(e)}
    for body in lifted.source.reached():
        loops = list(loops_of(body, names))
        for loop in loops:
            inner = {n for other in loops if _inside(other, loop) and (e := names.expression(other.bound)) for n in names_of(e)}
            if names.value(loop.bound) is not None or Polynomial.of(loop.start, names).atoms:
                continue
            if loop.step is not None:
                step = names.expression(loop.step)
            else:
                # `for (t = 0; t < (k + TILE - 1) / TILE; ++t)`: one step a tile.
                bound = names.expression(loop.bound)
                runtime = bound is not None and bool(names_of(bound) - lifted.defaults.keys())
                step = bound.rpartition("/")[2].strip(" ()") if bound is not None and runtime and "/" in bound else None
            if step in lifted.constants and step in sized | inner:
                found.setdefault(step, loop)
    return found


def widths(lifted: Symbolic, divisions: Sequence[Division]) -> dict[str, bool]:
    """Parameters that are the width of an access, and whether they count its bytes: rows are divided into so many.

    `kVec` of `n / kVec` where a type with so many lanes is used; `kBytes` of `kBytes / sizeof(T)`.
    """
    found = {p: True for p, (c, *_) in lifted.constants.items() if c.kind is ConstantKind.ACCESS}
    shares = {n for d in divisions if names_of(d.over) - lifted.defaults.keys() for n in names_of(d.under)}
    for node in of_kind(lifted.source.tree.root, "binary_expression"):
        name = lifted.names.expression(field(node, "left")) if text_of(field(node, "operator")) == "/" else None
        if name in lifted.constants and unwrapped(field(node, "right")).type == "sizeof_expression":
            found[name] = True
    for body in lifted.source.reached():
        for arguments in of_kind(body, "template_argument_list"):
            for _, parameters in _uses(lifted, arguments):
                found |= {p: False for p in parameters & shares if p not in found}
    return found


def fixed_vector(names: Names) -> str | None:
    """Where the kernel moves a vector of the language, which is as wide as it is."""
    for body in names.source.reached():
        for node in of_kind(body, "type_identifier", "primitive_type"):
            if _VECTOR.fullmatch(text_of(node)):
                return f"line {names.source.line_of(node)} moves a {text_of(node)}, whose width does not follow the constant"
    return None


def _inside(inner: Loop, outer: Loop) -> bool:
    return outer.body.start_byte <= inner.node.start_byte and inner.node.end_byte <= outer.body.end_byte


def _decides(lifted: Symbolic, name: str) -> bool:
    lines = re.findall(r"^[ \t]*#[ \t]*(?:if|elif)\b(.*)$", lifted.source.text, re.MULTILINE)
    return any(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)


def _uses(lifted: Symbolic, within: Node) -> Iterator[tuple[Node, frozenset[str]]]:
    """Identifiers that stand for something made of parameters alone, with those."""
    for node in of_kind(within, "identifier", "type_identifier"):
        text = lifted.names.expression(node)
        known = names_of(text) if text is not None else frozenset[str]()
        if known and known <= lifted.defaults.keys():
            yield node, known & lifted.constants.keys()


def _in_exchanges(lifted: Symbolic) -> Iterator[tuple[str, str]]:
    for call in teamwork(lifted.source).exchanges:
        for _, parameters in _uses(lifted, call):
            for parameter in parameters:
                yield parameter, f"line {lifted.source.line_of(call)} exchanges values inside a warp with it"


def _in_device_memory(lifted: Symbolic) -> Iterator[tuple[str, str]]:
    for declaration in of_kind(lifted.source.tree.root, "declaration"):
        if any(a.type == "compound_statement" for a in ancestors(declaration)):
            continue
        for declarator in of_kind(declaration, "array_declarator"):
            for _, parameters in _uses(lifted, declarator):
                for parameter in parameters:
                    yield parameter, f"it is the size of an array in device memory (line {lifted.source.line_of(declaration)})"


def _in_data(lifted: Symbolic) -> Iterator[tuple[str, str]]:
    for body in lifted.source.reached():
        for node, parameters in _uses(lifted, body):
            reason = _reason(lifted, node, parameters)
            if reason is not None:
                for parameter in parameters:
                    yield parameter, f"{reason} (line {lifted.source.line_of(node)})"


def _reason(lifted: Symbolic, node: Node, parameters: frozenset[str]) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one step for each kind of parent
    """Follow the value outwards as long as it is computed with."""
    argument: str | None = None
    while (parent := node.parent) is not None:
        if parent.type == "parenthesized_expression":
            node = parent
            continue
        if parent.type == "cast_expression" or (parent.type == "argument_list" and _casts(parent)):
            call = parent if parent.type == "cast_expression" else parent.parent
            target = text_of(call).partition("(" if parent.type == "argument_list" else ")")[0] if call is not None else ""
            if call is None or not _INTEGER_TYPE.search(target):
                return "it is converted to the data type"
            node = call
            continue
        if parent.type == "argument_list" and parent.parent is not None:
            called = text_of(field(parent.parent, "function")).rpartition("::")[2].partition("<")[0]
            if called in _WHOLE:
                node = parent.parent
                continue
            return argument
        if parent.type != "binary_expression":
            return argument
        operator = text_of(field(parent, "operator"))
        left, right = unwrapped(field(parent, "left")), unwrapped(field(parent, "right"))
        other = right if left == unwrapped(node) else left
        if operator in _COMPARISONS and _is_fixed(lifted, node) and _is_fixed(lifted, other) and not _is_asserted(parent):
            return "it decides a branch"
        if operator not in _ARITHMETIC:
            return argument
        if _is_data(lifted, other):
            return "it is used in arithmetic on data"
        if operator in {"/", "%"} and right == unwrapped(node):
            return argument  # how many there are of it, or what is left: its own business ends here
        # n / C * C is not the argument any more, but the whole Cs in it.
        derived = bool(_parameters(lifted, other) & parameters)
        pure = lifted.names.expression(node) is not None and not derived
        if operator in {"+", "-", "*"} and pure and _mentions_argument(lifted, other):
            argument = "it is added to or multiplied by a kernel argument"
        if operator == "/" and _parameters(lifted, right) & parameters:
            argument = None  # (n + C - 1) / C: how many C there are in n
        node = parent
    return argument


def _is_fixed(lifted: Symbolic, node: Node) -> bool:
    """Known when the kernel is compiled."""
    text = lifted.names.expression(node)
    return text is not None and names_of(text) <= lifted.defaults.keys()


def _is_asserted(node: Node) -> bool:
    return any(a.type == "static_assert_declaration" for a in ancestors(node))


def _casts(arguments: Node) -> bool:
    return arguments.parent is not None and text_of(arguments.parent).startswith("static_cast")


def _parameters(lifted: Symbolic, node: Node) -> frozenset[str]:
    text = lifted.names.expression(node)
    return names_of(text) if text is not None else frozenset()


def _is_data(lifted: Symbolic, node: Node) -> bool:
    """A floating number: a literal, a variable, an element of an array, or a conversion to one."""
    if node.type == "number_literal":
        return _FLOAT_LITERAL.fullmatch(text_of(node)) is not None
    if node.type == "call_expression":
        return re.match(rf"static_cast\s*<\s*{_FLOATING.pattern}", text_of(node)) is not None
    is_element = node.type == "subscript_expression"
    base = subscripts_of(node)[1] if is_element else node
    declared = lifted.names.definition(base).node if base.type == "identifier" else None
    if declared is None:
        return False
    is_pointer = any(True for _ in of_kind(declared, "pointer_declarator", "array_declarator"))
    while declared is not None and declared.child_by_field_name("type") is None:
        declared = declared.parent
    kind = None if declared is None else declared.child_by_field_name("type")
    return kind is not None and is_pointer == is_element and _FLOATING.search(text_of(kind)) is not None


def _mentions_argument(lifted: Symbolic, node: Node) -> bool:
    """Whether it is made of the kernel's scalar arguments."""
    return bool(_parameters(lifted, node) - lifted.defaults.keys())


def launch_name_in_data(names: Names, name: str) -> str | None:
    """Why an extent of the launch is part of what is computed: `sum / blockDim.x` where a block has a thread for each element."""
    lifted = Symbolic(Variant("", "", (), ()), names, {}, {})
    uses = all_launch_uses(names.source, names)
    # OpenCL's size of the grid in threads tells both extents.
    for node in (*uses.get(name, ()), *uses.get(f"get_global_size.{name[-1]}", ())):
        reason = _reason(lifted, node, frozenset())
        if reason is not None:
            return f"{name}: {reason} (line {names.source.line_of(node)})"
    return None
