"""A variable that exchanges a value of its own within a block, declared in that block.

    sum = __shfl_…(sum);                         sum = __shfl_…(sum);
    if (warp == 0) {                             if (warp == 0) {
      sum = lane < n ? parts[lane] : 0;    →       float sum = lane < n ? parts[lane] : 0;
      sum += __shfl_…(sum); …                      sum += __shfl_…(sum); …

Nothing behind the block asks for it, so the two values never meet. The tokens are not the same: a form for passes to start from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.kernel import KernelSource
from warpsmith.source.pointer_types import declared_as
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import LOOPS, Edit, ancestors, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def with_own_variables(source: KernelSource) -> str:
    """The whole file's text; as it was where no value is exchanged."""
    if source.language is Language.OPENCL or "__shfl" not in source.text_of(source.body):
        return source.text
    return source.edited(*_edits(source))


def _edits(source: KernelSource) -> Iterator[Edit]:
    exchanged = {
        text_of(n)
        for call in of_kind(source.body, "call_expression")
        if text_of(field(call, "function")).startswith("__shfl")
        for n in of_kind(field(call, "arguments"), "identifier")
    }
    for statement in of_kind(source.body, "expression_statement"):
        node = next(iter(statement.named_children), None)
        if node is None or node.type != "assignment_expression" or text_of(field(node, "operator")) != "=":
            continue
        target = field(node, "left")
        if target.type == "identifier" and text_of(target) in exchanged and (kind := _own(statement, target, source)) is not None:
            yield Edit(target.start_byte, target.start_byte, f"{kind} ")


def _own(statement: Node, target: Node, source: KernelSource) -> str | None:
    """The type to declare it with, where all that uses the new value is in this block."""
    block, name = statement.parent, text_of(target)
    found = source.scopes.declaration(name, target)
    kind = declared_as(name, target, source.scopes)
    if found is None or found.origin is not Origin.LOCAL or found.is_constant or kind is None or kind.endswith("*"):
        return None
    if block is None or block.type != "compound_statement" or block == found.scope or not is_within(block, found.scope):
        return None
    uses = [n for n in of_kind(found.scope, "identifier") if text_of(n) == name]
    others = [n for n in uses if not (is_within(n, block) and n.start_byte >= statement.start_byte)]
    loops = [a for a in ancestors(block) if a.type in LOOPS and is_within(a, found.scope)]
    again = any(n.start_byte > block.end_byte or any(is_within(n, loop) for loop in loops) for n in others)
    itself = any(text_of(n) == name for n in of_kind(statement, "identifier") if n != target)
    jumps = any(True for _ in of_kind(source.body, "lambda_expression", "labeled_statement", "goto_statement"))
    pointed = any(_leads_to(n, name) for n in of_kind(found.scope, "pointer_expression", "init_declarator"))
    is_case = block.parent is not None and block.parent.type == "switch_statement"
    return None if again or itself or jumps or pointed or is_case else kind


def _leads_to(node: Node, name: str) -> bool:
    """Whether the variable's address is taken, or a reference made to it."""
    if node.type == "init_declarator":
        refers = any(True for _ in of_kind(field(node, "declarator"), "reference_declarator"))
        return refers and any(text_of(n) == name for n in of_kind(field(node, "value"), "identifier"))
    return text_of(field(node, "operator")) == "&" and text_of(field(node, "argument")) == name
