"""Recognises block-wide reductions by warp shuffles: functions that give every thread the sum (maximum, …) of all their values.

The two-level scheme is written in few ways: lanes exchange values in halving steps, the first lane of each warp leaves its result
in a shared array, and after a barrier the warps' results are reduced the same way. Statements are compared by their text without
blanks and comments, with names filled in as they turn up; anything that differs is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.source.kernel import KernelSource, function_name
from warpsmith.source.tree import of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = r"[A-Za-z_]\w*"
_SHUFFLED = r"__shfl_(?:xor|down)(?:_sync)?\((?:[\w()~]+,)?(?P=value),(?P=offset)(?:,32|,warpSize)?\)"
_WARP_LOOP = re.compile(
    rf"for\((?:int|unsigned|unsignedint|uint32_t)(?P<offset>{_NAME})=(?:16|32/2|warpSize/2|32>>1);"
    rf"(?P=offset)>(?:0|=1);(?P=offset)(?:/=2|>>=1)\)"
    rf"\{{?(?P<value>{_NAME})"
    rf"(?:\+={_SHUFFLED}|=(?P=value)\+{_SHUFFLED}|=(?P<operation>[\w:]+(?:<[\w,]*>)?(?:\(\)|\{{\}})?)\((?P=value),{_SHUFFLED}\))"
    r";\}?"
)
_WARP_INDEX = r"threadIdx\.x(?:/32|>>5|/warpSize|/WARP_SIZE)"
_LANE_INDEX = r"threadIdx\.x(?:%32|&31|&0x1f|%warpSize|%WARP_SIZE)"
_BARRIER = r"__syncthreads\(\);"
_WARPS = r"\(?blockDim\.x(?:/32|>>5|\+31\)/32|\+31\)>>5)"
_SECOND_STAGE = rf"(?P=call)\((?P=lane)<{_WARPS}\?(?P=array)\[(?P=lane)\]:[^;]+?\)"
# Of a function that reduces VALUE of type TYPE over the block.
_BLOCK_BODY = (
    rf"__shared__TYPE(?P<array>{_NAME})\[\w+\];"
    rf"(?P<missing>if\(blockDim\.x%32!=0\)return{_NAME}\(VALUE\);)?"
    rf"(?:const)?int(?P<one>{_NAME})=(?P<one_is>{_WARP_INDEX}|{_LANE_INDEX});"
    rf"(?:const)?int(?P<two>{_NAME})=(?P<two_is>{_WARP_INDEX}|{_LANE_INDEX});"
    rf"VALUE=(?P<call>(?P<warp_function>{_NAME})(?:<[\w:,]*>)?)\(VALUE\);"
    rf"(?P<before>{_BARRIER})?"
    rf"if\((?P<lane>{_NAME})==0\)\{{?(?P=array)\[(?P<warp>{_NAME})\]=VALUE;\}}?{_BARRIER}"
    r"(?:"
    rf"if\((?P=warp)==0\)\{{VALUE={_SECOND_STAGE};if\((?P=lane)==0\)\{{?(?P=array)\[0\]=VALUE;\}}?\}}"
    rf"{_BARRIER}return(?P=array)\[0\];"
    rf"|VALUE={_SECOND_STAGE};(?P<after>{_BARRIER})?returnVALUE;"
    r")"
)


@dataclass(frozen=True, slots=True)
class WarpReduction:
    """A device function that reduces over a warp. `operation` is `+`, or what stands before `(a, b)`."""

    name: str
    operation: str


@dataclass(frozen=True, slots=True)
class BlockReduction:
    """A device function that reduces over a block of one dimension, for all its threads.

    `body` is what would be replaced. `is_guarded` when a barrier makes it safe to call it again at once. `otherwise` is the
    statement for blocks whose last warp has missing lanes, if there is one.
    """

    name: str
    function: Node
    body: Node
    value: str
    type: str
    array: str
    warp_call: str  # the call of the warp's reduction, as written before its argument
    operation: str
    is_guarded: bool
    otherwise: str = ""


def block_reductions(source: KernelSource) -> Iterator[BlockReduction]:
    warps = {w.name: w for f in source.device_functions.values() if (w := _warp_reduction(source, f)) is not None}
    for function in source.device_functions.values():
        found = _block_reduction(source, function, warps)
        if found is not None:
            yield found


def combined(operation: str, left: str, right: str) -> str:
    """`left` and `right` reduced, as an expression."""
    return f"{left} + {right}" if operation == "+" else f"{operation}({left}, {right})"


def _warp_reduction(source: KernelSource, function: Node) -> WarpReduction | None:
    parameters, body = _signature(function)
    if len(parameters) != 1 or body is None:
        return None
    statements = [s for s in _statements(body) if not s.startswith("#")]
    if len(statements) != 2:
        return None
    loop = _WARP_LOOP.fullmatch(statements[0])
    name = function_name(source.tree, function)
    if loop is None or name is None or loop["value"] != parameters[0][1] or statements[1] != f"return{loop['value']};":
        return None
    return WarpReduction(name, loop["operation"] or "+")


def _block_reduction(source: KernelSource, function: Node, warps: dict[str, WarpReduction]) -> BlockReduction | None:
    parameters, body = _signature(function)
    name = function_name(source.tree, function)
    if len(parameters) != 1 or body is None or name is None:
        return None
    (kind, value), text = parameters[0], "".join(s for s in _statements(body) if not s.startswith("#pragma"))
    pattern = _BLOCK_BODY.replace("TYPE", re.escape(kind)).replace("VALUE", re.escape(value))
    match = re.fullmatch(pattern, text)
    if match is None or match["warp_function"] not in warps:
        return None
    roles = {match["one"]: match["one_is"], match["two"]: match["two_is"]}
    if not re.fullmatch(_LANE_INDEX, roles.get(match["lane"], "")) or not re.fullmatch(_WARP_INDEX, roles.get(match["warp"], "")):
        return None
    return BlockReduction(
        name, function, body, value, kind, match["array"], match["call"], warps[match["warp_function"]].operation,
        is_guarded=bool(match["before"] or match["after"]),
        otherwise=next((text_of(c) for c in body.named_children if c.type == "if_statement"), "") if match["missing"] else "",
    )  # fmt: skip


def _signature(function: Node) -> tuple[list[tuple[str, str]], Node | None]:
    """(type, name) of each parameter by value, and the body."""
    declarator = next(of_kind(function, "function_declarator"), None)
    body = next((c for c in function.children if c.type == "compound_statement"), None)
    if declarator is None:
        return [], body
    listed = declarator.child_by_field_name("parameters")
    found = []
    for node in listed.named_children if listed is not None else ():
        if node.type != "parameter_declaration" or any(True for _ in of_kind(node, "pointer_declarator", "reference_declarator")):
            return [], body
        *kind, name = text_of(node).split()
        found.append(("".join(w for w in kind if w != "const"), name))
    return found, body


def _statements(body: Node) -> Iterator[str]:
    for child in body.named_children:
        if child.type != "comment":
            yield _squeezed(child)


def _squeezed(node: Node) -> str:
    """The text without blanks and comments; a blank stays where two words would become one."""
    if node.type == "comment":
        return ""
    if not node.children:
        return text_of(node).strip()
    return "".join(_squeezed(child) for child in node.children)
