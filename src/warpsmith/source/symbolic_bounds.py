"""The least and the greatest that an integer expression becomes while a piece of code runs, over the threads of a block.

The answers are expressions in the source's own language over what is known before the piece begins: `first + threadIdx.x * 4 + j`
with `j < 4` is at most `first + (BLOCK - 1) * 4 + 4 - 1`; None where that cannot be said. Arithmetic is over the integers: what
overflows does so in the original, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.effects import may_change
from warpsmith.source.loops import Loop
from warpsmith.source.names import Names
from warpsmith.source.polynomial import global_axis
from warpsmith.source.scopes import Origin
from warpsmith.source.signs import Signs
from warpsmith.source.statements import text_between
from warpsmith.source.tree import Edit, field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
_PRIMARY = frozenset({"identifier", "number_literal", "call_expression", "field_expression"})
_DEEPEST = 40
_SINGLE = re.compile(r"[\w.]+|(?:static_cast<int>)?\([\w.]+\)|\(int\)[\w.]+(?:\(\d\))?")  # binds closer than any operator


class End(Enum):
    LEAST = 0
    GREATEST = 1

    @property
    def other(self) -> End:
        return End.LEAST if self is End.GREATEST else End.GREATEST


class Extremes:
    """Of expressions inside `region`. `extents` spells the block's extents, by `blockDim.x` and so on.

    Of the axes in `own` each thread speaks for itself: the answers then have its place along them. `kept` has counters that
    stay as they are, by where they are declared, and what the answers call them.
    """

    def __init__(
        self, names: Names, region: Node, extents: Mapping[str, str], own: str = "", kept: Mapping[int, str] | None = None
    ) -> None:
        self._names = names
        self._region = region
        self._extents = extents
        self._own = own
        self._kept = kept or {}
        self._as_int = "(int){}" if names.source.language is Language.OPENCL else "static_cast<int>({})"
        self.signs = Signs(names)

    def of(self, node: Node, end: End, depth: int = 0) -> str | None:  # noqa: PLR0911 - one return for each kind of expression
        node = unwrapped(node)
        if depth > _DEEPEST:
            return None
        if self._is_given(node):
            return self._spelled(node)
        builtin = self._names.builtin(node)
        if builtin is not None:
            axis = builtin.removeprefix("threadIdx.")
            if axis in self._own:
                return self._as_int.format(text_of(node))
            return "0" if end is End.LEAST else _less_one(self._extents[f"blockDim.{axis}"])
        if self._names.source.language is Language.OPENCL and (axis_of_grid := global_axis(text_of(node))) is not None:
            return self._in_grid(node, axis_of_grid, end)
        match node.type:
            case "identifier":
                return self._variable(node, end, depth + 1)
            case "binary_expression":
                return self._binary(node, end, depth + 1)
            case "cast_expression" if self._names.is_cast(node):
                return self.of(field(node, "value"), end, depth + 1)
            case "call_expression" if text_of(field(node, "function")).startswith("static_cast"):
                return self.of(field(node, "arguments").named_children[0], end, depth + 1)
            case _:
                return None

    def _in_grid(self, node: Node, axis: str, end: End) -> str:
        """OpenCL's place of a thread in the grid."""
        if axis in self._own:
            return self._as_int.format(text_of(node))
        extent = self._extents[f"blockDim.{axis}"]
        first = f"{self._as_int.format(text_of(node).replace('global', 'group'))} * {_operand(extent)}"
        return first if end is End.LEAST else f"{first} + {_less_one(extent)}"

    def _spelled(self, node: Node) -> str:
        """What is given, as it may stand in a sum of signed numbers."""
        source, start = self._names.source, node.start_byte
        if start >= len(source.tree.data):
            return _bracketed(node, text_of(node))  # of a macro, so without built-in names that parsing would have to find
        builtins = [n for n in walk(node) if self._names.builtin(n) is not None and not self._is_cast_of(n.parent)]
        edits = [Edit(n.start_byte, n.end_byte, self._as_int.format(text_of(n))) for n in builtins]
        return _bracketed(node, text_between(source.tree, start, node.end_byte, edits))

    def _is_cast_of(self, around: Node | None) -> bool:
        """Whether it is the arguments of a cast: then it says itself what it is to be."""
        while around is not None and around.type in {"parenthesized_expression", "argument_list"}:
            around = around.parent
        if around is None:
            return False
        return self._names.is_cast(around) or (around.type == "call_expression" and text_of(around).startswith("static_cast"))

    def _binary(self, node: Node, end: End, depth: int) -> str | None:
        left, right = field(node, "left"), field(node, "right")
        match text_of(field(node, "operator")):
            case "+":
                return _joined(self.of(left, end, depth), "+", self.of(right, end, depth))
            case "-":
                return _joined(self.of(left, end, depth), "-", self.of(right, end.other, depth))
            case "*" if self.signs.is_natural(left) and self.signs.is_natural(right):
                return _product(self.of(left, end, depth), self.of(right, end, depth))
            case "/" if self.signs.is_natural(left) and self.signs.is_natural(right) and self._is_given(right):
                return _quotient(self.of(left, end, depth), self._spelled(unwrapped(right)))
            case "%" if self.signs.is_natural(left) and self.signs.is_natural(right) and self._is_given(right):
                return "0" if end is End.LEAST else _less_one(self._spelled(unwrapped(right)))
            case _:
                return None

    def _variable(self, use: Node, end: End, depth: int) -> str | None:
        found = self._names.definition(use)
        if found.origin is Origin.LOOP:
            loop = self.signs.loop_of(use)
            if loop is None or loop.changes_variable(self._names):
                return None
            if found.node is not None and found.node.start_byte in self._kept:
                return self._kept[found.node.start_byte]
            if end is End.LEAST:
                return self.of(loop.start, end, depth)
            bound = self.of(loop.bound, end, depth)
            last = bound if bound is None or not loop.ends_below else _less_one(bound)
            return last if loop.step is None else self._last_step(last, loop, loop.step)
        return self.of(found.value, end, depth) if found.is_fixed and found.value is not None else None

    def _last_step(self, last: str | None, loop: Loop, step: Node) -> str | None:
        """No more than `last`: the last multiple of the step, where the loop starts at 0 for all threads."""
        from_zero = self._names.value(loop.start) == 0 and self._is_given(step) and self.signs.is_natural(loop.bound)
        by = self._spelled(unwrapped(step))
        return last if last is None or not from_zero else f"{_operand(last)} / {_operand(by)} * {_operand(by)}"

    def _is_given(self, node: Node) -> bool:
        """Whether it is block-uniform, and invariant in the piece."""
        for part in of_kind(
            node, "subscript_expression", "pointer_expression", "call_expression", "field_expression", "update_expression"
        ):
            builtin = self._names.builtin(part)
            cast = part.type == "call_expression" and text_of(field(part, "function")).startswith("static_cast")
            if (builtin is None and not cast) or (builtin is not None and builtin.startswith("threadIdx")):
                return False
        uses = [n for n in of_kind(node, "identifier") if not self._is_of_builtin(n)]
        return all(self._is_given_name(use) for use in uses)

    def _is_of_builtin(self, use: Node) -> bool:
        """The `threadIdx` of `threadIdx.x`, the `static_cast` of a cast."""
        parent = use.parent
        cast = text_of(use) == "static_cast"
        return cast or (parent is not None and self._names.builtin(parent) is not None)

    def _is_given_name(self, use: Node) -> bool:  # noqa: PLR0911 - one return for each kind of name
        name = text_of(use)
        if name in self._names.parameters:
            return True
        found = self._names.definition(use)
        match found.origin:
            case Origin.FILE | Origin.MACRO:
                return found.is_fixed and (found.value is None or self._is_given(found.value))
            case Origin.TEMPLATE:
                return True
            case Origin.PARAMETER:
                return not may_change(name, self._names.source.body, self._names)
            case Origin.LOOP:
                loop = self.signs.loop_of(use)
                outside = loop is not None and is_within(self._region, loop.body)
                return outside and loop is not None and self._is_shared_start(loop)
            case Origin.LOCAL if found.is_fixed and found.node is not None and found.value is not None:
                seen = self._names.source.scopes.declaration(name, self._region)
                return seen is not None and seen.node == found.node and self._is_given(found.value)
            case _:
                return False

    def _is_shared_start(self, loop: Loop) -> bool:
        steps = (loop.start,) if loop.step is None else (loop.start, loop.step)
        return not loop.changes_variable(self._names) and all(map(self._is_given, steps))


def _bracketed(node: Node, text: str) -> str:
    operator = node.child_by_field_name("operator")
    binds = node.type in _PRIMARY or (
        node.type == "binary_expression" and operator is not None and text_of(operator) in _ARITHMETIC
    )
    return text if binds else f"({text})"


def _less_one(text: str) -> str:
    return str(int(text) - 1) if text.isdigit() else f"{text} - 1"


def _joined(left: str | None, operator: str, right: str | None) -> str | None:
    if left is None or right is None:
        return None
    if operator == "-":
        return f"{left} - {_operand(right)}"
    return left if right == "0" else right if left == "0" else f"{left} + {right}"


def _quotient(left: str | None, right: str) -> str | None:
    return left if left is None or left == "0" else f"{_operand(left)} / {_operand(right)}"


def _product(left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return None
    return "0" if "0" in {left, right} else f"{_operand(left)} * {_operand(right)}"


def _operand(text: str) -> str:
    return text if _SINGLE.fullmatch(text) else f"({text})"
