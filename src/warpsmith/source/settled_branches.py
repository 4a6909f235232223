"""Branches that this instance of a kernel decides, settled: `if constexpr (kVec > 1)` and the like leave what is taken.

The meaning is the same, the tokens are not: a form for passes to start from.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import declared_names
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import Edit, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TYPES = frozenset({"alias_declaration", "using_declaration", "type_definition"})


def with_settled_branches(source: KernelSource) -> str:
    """The whole file's text; as it was where there is no such branch."""
    if "if constexpr" not in source.text_of(source.body):
        return source.text
    gone = sorted(_Settling(source).gone())
    edits, position = list[Edit](), 0
    for start, end in gone:
        if end > position:
            edits.append(Edit(max(start, position), end, ""))
            position = end
    return source.edited(*edits)


class _Settling:
    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._names = Names(source)

    def gone(self) -> Iterator[tuple[int, int]]:
        """The bytes that go; some within others."""
        for branch in of_kind(self._source.body, "if_statement"):
            is_taken = self._truth(field(branch, "condition")) if self._is_static(branch) else None
            if is_taken is None:
                continue
            alternative = branch.child_by_field_name("alternative")
            kept = field(branch, "consequence") if is_taken else None
            if not is_taken and alternative is not None:
                kept = alternative.named_children[-1]
            yield from self._around(branch, kept)

    @staticmethod
    def _is_static(branch: Node) -> bool:
        return any(child.type == "constexpr" for child in branch.children)

    def _around(self, branch: Node, kept: Node | None) -> Iterator[tuple[int, int]]:
        tree, in_block = self._source.tree, branch.parent is not None and branch.parent.type == "compound_statement"
        if kept is None:
            if in_block:
                yield tree.line_start(branch), branch.end_byte
            else:
                yield branch.start_byte, field(branch, "consequence").start_byte
                inside = field(branch, "consequence")
                if inside.type == "compound_statement":
                    yield inside.children[0].end_byte, inside.children[-1].start_byte
            return
        start, end = kept.start_byte, kept.end_byte
        if in_block and kept.type == "compound_statement" and self._has_own_names(kept):
            start, end = kept.children[0].end_byte, kept.children[-1].start_byte
        yield branch.start_byte, start
        yield end, branch.end_byte

    def _has_own_names(self, block: Node) -> bool:
        """Whether what it declares may as well be declared around it: the names are nobody else's."""
        declared = {name for child in block.named_children for name in declared_names(child)}
        others = any(
            child.type in {"alias_declaration", "using_declaration", "type_definition"} for child in block.named_children
        )
        uses = [n for n in of_kind(self._source.function, "identifier") if text_of(n) in declared]
        return not others and all(block.start_byte <= n.start_byte and n.end_byte <= block.end_byte for n in uses)

    def _truth(self, node: Node) -> bool | None:  # noqa: PLR0911 - one return for each kind of expression
        node = unwrapped(node)
        if node.type == "condition_clause":
            return self._truth(field(node, "value"))
        text = "".join(text_of(node).split())
        if node.type == "identifier" and self._names.definition(node).origin is Origin.TEMPLATE:
            text = self._source.bindings[text]
        if text in {"true", "false"}:
            return text == "true"
        if node.type == "unary_expression" and text_of(field(node, "operator")) == "!":
            inner = self._truth(field(node, "argument"))
            return None if inner is None else not inner
        if node.type == "binary_expression":
            sign, sides = text_of(field(node, "operator")), [field(node, side) for side in ("left", "right")]
            if sign in {"&&", "||"}:
                found = [self._truth(side) for side in sides]
                decided = sign == "||"
                return decided if decided in found else None if None in found else not decided
            left, right = map(self._names.value, sides)
            if sign in _COMPARISONS and left is not None and right is not None:
                return bool(_COMPARISONS[sign](left, right))
        found_value = self._names.definition(node) if node.type == "identifier" else None
        if found_value is not None and found_value.is_fixed and found_value.value is not None:
            return self._truth(found_value.value)
        value = self._names.value(node)
        return None if value is None else value != 0
