"""A kernel whose threads each do the work of several along one axis: what `passes.fold_threads` writes.

Between barriers it does not matter which thread does what in which order. So statements become loops over the threads that one
stands for, and what differs between these and is used again later becomes an array. What is the same for all of them is left as
it is: loops with the same steps for all stay around those of the threads, so that a value which all of them need is loaded once
for all. That is what folding is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.mapping.common_work import CommonWork, scope_of
from warpsmith.refactor.preconditions import require
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Names
from warpsmith.source.dataflow import declarators
from warpsmith.source.effects import reads_memory, waits
from warpsmith.source.polynomial import global_axis
from warpsmith.source.redundant_barriers import is_barrier
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import Piece, header_of, indent_unit, line_at, pieces_of, text_between, with_pragma
from warpsmith.source.threads import is_shared, spelled
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_ASKED = re.compile(r"\b(?:threadIdx|blockDim|get_local_id|get_local_size|get_global_id)\b")
# They are not written anew, and would give what the smaller block makes of them.
_COUNTING = frozenset({"get_global_size", "get_enqueued_local_size", "get_local_linear_id", "get_global_linear_id"})
_TYPES = frozenset({"alias_declaration", "type_definition", "static_assert_declaration", "using_declaration"})
_COMMON = _TYPES | {"declaration", "compound_statement", "return_statement"}
_QUALIFIERS = re.compile(r"\b(?:const|constexpr|volatile|register|static)\b")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement, or of a declaration one variable."""

    node: Node
    declarator: Node | None = None
    comments: tuple[str, ...] = ()


@dataclass(slots=True)
class FoldedWriter:
    """`parameter` says how many threads along the axis one stands for; they are as far apart as the block is then wide."""

    subject: Subject
    names: Names
    axis: str
    parameter: str
    _work: CommonWork = field(init=False)
    _arrays: set[int] = field(default_factory=set)  # variables that are arrays over the threads, by where they are declared
    _free: FreeNames = field(init=False)
    _one: str = field(init=False)
    shares_loads: bool = False  # whether any of the threads' loads, inside a loop common to them, is the same for all

    def __post_init__(self) -> None:
        source = self.subject.source
        self._free = FreeNames(source.text)
        self._one = self._free.take("fold")
        self._work = CommonWork(self.names, self.axis)

    def text(self) -> str:
        source = self.subject.source
        for function in source.reached()[1:]:
            asked = _ASKED.search(source.text_of(function))
            require(asked is None, f"a called function uses {asked[0] if asked else ''}", function)
        changed = next((p.name for p in source.parameters if self.names.is_assigned(p.name, source.body)), None)
        require(changed is None, f"the parameter {changed} is changed")
        for name in of_kind(source.body, "identifier"):
            require(text_of(name) not in _COUNTING, f"{text_of(name)} counts threads, and the pass reduces their number", name)
            if text_of(name) in {"threadIdx", "blockDim"}:
                known = name.parent is not None and self.names.builtin(name.parent) is not None
                require(known, f"{text_of(name)} is used as a whole", name)
        unit = indent_unit(source.function, source.body, source.tree)
        lines = self._block(source.body, (), unit)
        body = "\n".join(line_at(line, unit) for line in lines)
        return source.edited(Edit(source.body.start_byte, source.body.end_byte, f"{{\n{body}\n}}"))

    # ── statements ──

    def _block(self, block: Node, checks: tuple[str, ...], unit: str, *, top: bool = True) -> list[str]:
        """`checks`: arrays that say which of the threads take part."""
        lines: list[str] = []
        waiting: list[_Statement] = []
        statements = [s for piece in pieces_of(block, self.subject.source.tree) for s in self._parts(piece)]
        for number, statement in enumerate(statements):
            node = statement.node
            if self._is_folded(statement, checks):
                waiting.append(statement)
                continue
            lines += self._loop(waiting, checks, unit)
            waiting = []
            lines += statement.comments
            if (condition := self._work.left_by_some(node)) is not None:
                require(top and not any(waits(s.node, self.names) for s in statements[number:]), "some threads leave early", node)
                check = self._free.take("stays")
                lines += self._checked(check, f"!({self._text(unwrapped(condition))})", checks, unit)
                checks = (check,)
            else:
                lines += self._common(statement, checks, unit)
        return lines + self._loop(waiting, checks, unit)

    def _parts(self, piece: Piece) -> Iterator[_Statement]:
        node, beside = piece.node, piece.node.parent.named_children if piece.node.parent is not None else []
        inside = (c for c in beside if c.type == "comment" and piece.start <= c.start_byte < piece.end)
        comments = tuple(self.subject.source.text_of(c) for c in inside)
        if node.type != "declaration" or is_shared(node, self.subject.source):
            yield _Statement(node, None, comments)
            return
        for declarator in declarators(node):
            yield _Statement(node, declarator, comments)
            comments = ()

    def _is_folded(self, statement: _Statement, checks: tuple[str, ...]) -> bool:
        """Whether it is one that each of the threads does by itself, from its beginning to its end."""
        node = statement.node
        if statement.declarator is not None:
            # Where none of the threads takes part, nothing may be read.
            unsafe = bool(checks) and reads_memory(statement.declarator, self.names)
            return unsafe or not self._work.is_common_variable(statement.declarator)
        if node.type in _COMMON or is_barrier(node) or self._work.is_around_common_loops(node):
            return False
        if self._work.left_by_some(node) is not None:
            return False
        require(not waits(node, self.names), "a barrier stands in control flow that is not uniform", node)
        require(not any(True for _ in of_kind(node, "return_statement")), "some threads leave early", node)
        return True

    def _common(self, statement: _Statement, checks: tuple[str, ...], unit: str) -> list[str]:
        """What is done once for all of the threads, around what each does."""
        node = statement.node
        if statement.declarator is not None:
            return [f"{self._kind(node)}{self._text(statement.declarator)};"]
        if node.type in {"for_statement", "if_statement"} and checks:
            reads = any(reads_memory(part, self.names) for part in header_of(node))
            require(not reads, "a loop or condition reads a value that only active threads have", node)
        if node.type == "for_statement":
            body = field_of(node, "body")
            return [*self._pragma(node), f"{self._head(node, body)} {{", *self._inner(body, checks, unit), "}"]
        if node.type == "compound_statement":
            return ["{", *self._inner(node, checks, unit), "}"]
        if node.type == "if_statement" and self._work.is_uniform(field_of(node, "condition")):
            return self._if(node, checks, unit)
        if node.type == "if_statement":
            check = self._free.take("takes_part")
            condition = unwrapped(field_of(node, "condition"))
            lines = self._checked(check, self._text(condition), checks, unit)
            return [*lines, "{", *self._inner(field_of(node, "consequence"), (check,), unit), "}"]
        return [self.subject.source.tree.qualifiers_before(node).decode() + self._text(node)]

    def _if(self, node: Node, checks: tuple[str, ...], unit: str) -> list[str]:
        body = field_of(node, "consequence")
        lines = [f"{self._head(node, body)} {{", *self._inner(body, checks, unit)]
        other = node.child_by_field_name("alternative")
        if other is None:
            return [*lines, "}"]
        return [*lines, "} else {", *self._inner(other.named_children[-1], checks, unit), "}"]

    def _inner(self, block: Node, checks: tuple[str, ...], unit: str) -> list[str]:
        return [line_at(line, unit) for line in self._block(block, checks, unit, top=False)]

    def _head(self, node: Node, body: Node) -> str:
        return self._between(node.start_byte, body.start_byte).strip()

    def _pragma(self, node: Node) -> list[str]:
        return [text_of(pragma).strip() for pragma in with_pragma(node)[:-1]]

    # ── loops over the threads ──

    def _loop(self, statements: Sequence[_Statement], checks: tuple[str, ...], unit: str) -> list[str]:
        if not statements:
            return []
        end = statements[-1].node.end_byte
        kept = [s for s in statements if s.declarator is not None and self._is_used_after(s, end)]
        lines = [self._array(statement) for statement in kept]
        return [*lines, *self._over_threads([line for s in statements for line in self._folded(s)], checks, unit)]

    def _over_threads(self, body: Sequence[str], checks: tuple[str, ...], unit: str) -> list[str]:
        if not body:
            return []
        head = f"for (int {self._one} = 0; {self._one} < {self.parameter}; ++{self._one}) {{"
        inner = list(body)
        if checks:
            inner = [f"if ({' && '.join(f'{c}[{self._one}]' for c in checks)}) {{", *(line_at(x, unit) for x in inner), "}"]
        return ["#pragma unroll", head, *(line_at(line, unit) for line in inner), "}"]

    def _checked(self, check: str, condition: str, checks: tuple[str, ...], unit: str) -> list[str]:
        both = " && ".join([*(f"{c}[{self._one}]" for c in checks), condition])
        return [f"bool {check}[{self.parameter}];", *self._over_threads([f"{check}[{self._one}] = {both};"], (), unit)]

    def _array(self, statement: _Statement) -> str:
        node, declarator = statement.node, statement.declarator
        assert declarator is not None
        kind = self._kind(node)
        inner = field_of(declarator, "declarator") if declarator.type == "init_declarator" else declarator
        name, data = next(of_kind(inner, "identifier")), self.subject.source.tree.data
        before = re.sub(r"\b(?:__restrict(?:__)?|restrict)\b", "", data[inner.start_byte : name.start_byte].decode()).strip()
        extents = data[name.end_byte : inner.end_byte].decode()  # of another fold
        begun = declarator.type == "init_declarator" and bool(extents)
        require(
            before in {"", "*"} and "auto" not in kind and not begun,
            f"{text_of(name)} cannot be replaced by one value per thread",
            node,
        )
        self._arrays.add(declarator.start_byte)
        if not before:
            kind = " ".join(_QUALIFIERS.sub("", kind).split()) + " "
        return f"{kind.rstrip()}{before} {text_of(name)}[{self.parameter}]{extents};"

    def _folded(self, statement: _Statement) -> list[str]:
        node, declarator = statement.node, statement.declarator
        self.shares_loads = self.shares_loads or self._work.is_load_shared(node if declarator is None else declarator)
        if declarator is None:
            return [*statement.comments, *self._lines(node)]
        if declarator.start_byte not in self._arrays:
            return [*statement.comments, f"{self._kind(node)}{self._text(declarator)};"]
        if declarator.type != "init_declarator":
            return [*statement.comments]
        value = field_of(declarator, "value")
        name = text_of(next(of_kind(declarator, "identifier")))
        require(value.type not in {"initializer_list", "argument_list"}, f"{name} is initialised with a list", value)
        return [*statement.comments, f"{name}[{self._one}] = {self._text(value)};"]

    def _lines(self, node: Node) -> list[str]:
        margin = self.subject.source.tree.indentation(node)
        return [*self._pragma(node), *(line.removeprefix(margin) for line in self._text(node).split("\n"))]

    def _is_used_after(self, statement: _Statement, end: int) -> bool:
        assert statement.declarator is not None
        name = text_of(next(of_kind(statement.declarator, "identifier")))
        scope = scope_of(statement.declarator)
        return any(
            use.start_byte >= end and self._declared(use) == statement.declarator.start_byte
            for use in of_kind(scope, "identifier")
            if text_of(use) == name
        )

    def _declared(self, use: Node) -> int | None:
        found = self.names.definition(use)
        return found.node.start_byte if found.origin is Origin.LOCAL and found.node is not None else None

    # ── text ──

    def _kind(self, declaration: Node) -> str:
        first, tree = declarators(declaration)[0], self.subject.source.tree
        return (tree.qualifiers_before(declaration) + tree.data[declaration.start_byte : first.start_byte]).decode()

    def _text(self, node: Node) -> str:
        return self._between(node.start_byte, node.end_byte)

    def _between(self, start: int, end: int) -> str:
        body = self.subject.source.body
        inside = [n for n in of_kind(body, "identifier", "field_expression", "call_expression") if start <= n.start_byte < end]
        return text_between(self.subject.source.tree, start, end, [e for n in inside if (e := self._edit(n)) is not None])

    def _edit(self, node: Node) -> Edit | None:
        language, text = self.subject.source.language, None
        thread, width = (spelled(f"{name}.{self.axis}", language) for name in ("threadIdx", "blockDim"))
        if node.type == "identifier":
            found = self._declared(node)
            text = f"{text_of(node)}[{self._one}]" if found in self._arrays else None
        elif (builtin := self.names.builtin(node)) == f"threadIdx.{self.axis}":
            text = f"({thread} + {self._one} * {width})"
        elif builtin == f"blockDim.{self.axis}":
            text = f"({width} * {self.parameter})"
        elif global_axis(text_of(node)) == self.axis:
            block = spelled(f"blockIdx.{self.axis}", language)
            text = f"({block} * {width} * {self.parameter} + {thread} + {self._one} * {width})"
        return None if text is None else Edit(node.start_byte, node.end_byte, text)
