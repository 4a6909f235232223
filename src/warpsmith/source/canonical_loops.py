"""The same kernel with each counter declared where it begins to count, so that its loops read like those of newer code.

    int i; … for (i = 0; i < n; i++)                     for (int i = 0; i < n; i++)
    int row; … row = blockIdx.x * 8 + threadIdx.y;       int row = blockIdx.x * 8 + threadIdx.y;
    int t = first; while (t < n) { …; t += step; }       for (int t = first; t < n; t += step) { … }

The meaning is the same, the tokens are not: a form for passes to start from where they find nothing in the original's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.source.conditionals import definitions
from warpsmith.source.dataflow import declarators, is_pure
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import has_directives
from warpsmith.source.tree import Edit, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_INTEGER = re.compile(r"(?:unsigned|signed|int|long|short|size_t|u?int(?:32|64)?_t|uint|ulong|\s)+")
_STEPS = frozenset({"+=", "-=", "*=", "/=", "<<=", ">>="})
_OPAQUE = ("lambda_expression", "goto_statement", "labeled_statement", "gnu_asm_expression")


def with_plain_loops(source: KernelSource) -> str:
    """The whole file's text; as it was where nothing can be shown to mean the same."""
    if source.has_errors() or has_directives(source.body) or any(True for _ in of_kind(source.body, *_OPAQUE)):
        return source.text
    return source.edited(*_Plainer(source).edits())


class _Plainer:
    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._names = Names(source)
        texts = (macro.replacement for found in definitions(source.text).live.values() for macro in found)
        self._in_macros = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}

    def edits(self) -> Iterator[Edit]:
        for declaration in of_kind(self._source.body, "declaration"):
            block, listed = declaration.parent, declarators(declaration)
            if block is None or block.type != "compound_statement" or not self._is_integer(declaration, listed):
                continue
            moved: list[Node] = []
            for declarator in listed:
                edits = self._moved(declaration, declarator, block, alone=len(listed) == 1)
                if edits or (edits is not None and declarator.type == "identifier"):
                    moved.append(declarator)
                    yield from edits
            if moved:
                yield self._rest(declaration, [d for d in listed if d not in moved])

    def _is_integer(self, declaration: Node, listed: Sequence[Node]) -> bool:
        kind = self._source.tree.data[declaration.start_byte : listed[0].start_byte].decode() if listed else "?"
        line = self._source.tree.data[: declaration.start_byte].rpartition(b"\n")[2]
        return not line.strip() and _INTEGER.fullmatch(kind) is not None

    def _moved(self, declaration: Node, declarator: Node, block: Node, *, alone: bool) -> list[Edit] | None:
        """What declares the variable at another place, nothing when nobody needs it; None where that may not be the same."""
        name = next(of_kind(declarator, "identifier"))
        uses = [n for n in of_kind(block, "identifier") if text_of(n) == text_of(name) and n != name]
        if text_of(name) in self._in_macros or not all(self._is_of(use, declarator) for use in uses):
            return None
        if any(u.parent is not None and u.parent.type == "pointer_expression" for u in uses):
            return None
        if not uses:
            return []
        kind = self._source.tree.data[declaration.start_byte : declarators(declaration)[0].start_byte].decode().strip()
        if declarator.type == "identifier":
            return self._counters(uses, kind) or self._single(uses, block, kind) or None
        return (
            self._while(declaration, declarator, uses, kind) or None if declarator.type == "init_declarator" and alone else None
        )

    def _is_of(self, use: Node, declarator: Node) -> bool:
        found = self._names.definition(use)
        return found.origin is Origin.LOCAL and found.node == declarator

    def _counters(self, uses: Sequence[Node], kind: str) -> list[Edit]:
        """All uses are in loops that begin by setting the variable."""
        loops = {loop.id: loop for use in uses if (loop := _begun_by(use)) is not None}.values()
        name = text_of(uses[0])
        homes = [[loop for loop in loops if is_within(use, loop)] for use in uses]
        starts = [field(field(loop, "initializer"), "right") for loop in loops]
        if not all(len(home) == 1 for home in homes) or any(name in _words(start) for start in starts):
            return []
        return [Edit(at, at, f"{kind} ") for loop in loops for at in [field(loop, "initializer").start_byte]]

    def _single(self, uses: Sequence[Node], block: Node, kind: str) -> list[Edit]:
        """It is set once, in the block that declares it, before anything uses it."""
        first, *others = uses
        statement = next((a for a in ancestors(first) if a.parent == block), None)
        change = first.parent
        if statement is None or change is None or statement.type != "expression_statement" or change.parent != statement:
            return []
        plain = change.type == "assignment_expression" and text_of(field(change, "operator")) == "="
        if not plain or field(change, "left") != first or any(is_within(o, statement) for o in others):
            return []
        changed = list(self._names.assignments(text_of(first), block))
        return [Edit(statement.start_byte, statement.start_byte, f"{kind} ")] if changed == [change] else []

    def _while(self, declaration: Node, declarator: Node, uses: Sequence[Node], kind: str) -> list[Edit]:
        """All uses are in one `while` after it that ends its step by adding to the variable, or halving it."""
        block, name = declaration.parent, text_of(uses[0])
        loop = next((a for a in ancestors(uses[0]) if a.type == "while_statement" and a.parent == block), None)
        body = None if loop is None else field(loop, "body")
        if loop is None or body is None or body.type != "compound_statement" or not all(is_within(u, loop) for u in uses):
            return []
        statements = [c for c in body.named_children if c.type != "comment"]
        step = statements[-1].named_children[0] if statements and statements[-1].type == "expression_statement" else None
        steps = step is not None and step.type == "assignment_expression" and text_of(field(step, "operator")) in _STEPS
        if step is None or not steps or list(self._names.assignments(name, body)) != [step]:
            return []
        value, jumps = field(declarator, "value"), any(True for _ in of_kind(body, "continue_statement"))
        condition = field(loop, "condition")
        known = [self._names.definition(use).node for use in of_kind(step, "identifier")]
        inside = any(node is not None and is_within(node, body) for node in known)
        if jumps or inside or text_of(field(step, "left")) != name or not self._keeps(value, declaration, loop):
            return []
        asked = self._source.text_of(unwrapped(field(condition, "value") if condition.type == "condition_clause" else condition))
        header = f"for ({kind} {self._source.text_of(declarator)}; {asked}; {self._source.text_of(step)}) "
        last = statements[-1]
        return [Edit(loop.start_byte, body.start_byte, header), Edit(self._source.tree.line_start(last), last.end_byte, "")]

    def _keeps(self, value: Node, declaration: Node, loop: Node) -> bool:
        """Whether it is the same right before the loop: made of what nothing ever changes."""
        fixed = all(self._is_known(use) for use in of_kind(value, "identifier"))
        reads = any(True for _ in of_kind(value, "subscript_expression", "pointer_expression"))
        return fixed and not reads and is_pure(value, self._source) and declaration.end_byte <= loop.start_byte

    def _is_known(self, use: Node) -> bool:
        is_launch = use.parent is not None and self._names.builtin(use.parent) is not None
        found = self._names.definition(use)
        return is_launch or found.is_fixed or text_of(use).startswith("get_")

    def _rest(self, declaration: Node, left: Sequence[Node]) -> Edit:
        """The declaration without what has moved."""
        tree = self._source.tree
        first = declarators(declaration)[0]
        if left:
            return Edit(first.start_byte, declaration.end_byte, ", ".join(map(tree.text_of, left)) + ";")
        end = declaration.end_byte
        rest = tree.data[end : tree.data.find(b"\n", end) + 1 or len(tree.data)]
        return Edit(tree.line_start(declaration), end + (len(rest) if not rest.strip() else 0), "")


def _begun_by(use: Node) -> Node | None:
    """The `for` whose beginning sets the variable that is used here."""
    change = use.parent
    loop = change.parent if change is not None else None
    if change is None or loop is None or loop.type != "for_statement" or change != loop.child_by_field_name("initializer"):
        return None
    plain = change.type == "assignment_expression" and text_of(field(change, "operator")) == "="
    return loop if plain and field(change, "left") == use else None


def _words(node: Node) -> set[str]:
    return {text_of(n) for n in of_kind(node, "identifier")}
