"""Writes a kernel whose threads had one element each with loops over the elements: what `passes.row_loops` offers.

    if (threadIdx.x < n) { … }     becomes     for (int element = threadIdx.x; element < n; element += blockDim.x) { … }

Inside, the thread's index is the element's. What is an element's own is declared there, and found out again where an earlier
guard had found it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.preconditions import require
from warpsmith.refactor.rows.found_again import FoundAgain, found_again
from warpsmith.refactor.rows.one_each import OneEach, Region
from warpsmith.refactor.writing import FreeNames, removed
from warpsmith.source.dataflow import declarators, identifiers
from warpsmith.source.effects import reads_memory
from warpsmith.source.statements import Piece, at_margin, indent_unit, line_at, pieces_of, text_between
from warpsmith.source.tree import Edit, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SUMS = frozenset({"+", "-", "*"})


def with_loops(kernel: OneEach) -> str:
    """The whole file. Raises Unmet where something cannot be found out again."""
    return _Writer(kernel).text()


class _Writer:
    def __init__(self, kernel: OneEach) -> None:
        self._kernel, self._source = kernel, kernel.subject.source
        self._element = FreeNames(self._source.text).take("element")
        self._unit = indent_unit(self._source.function, self._source.body, self._source.tree)
        self._edits = [e for region in kernel.regions for e in self._region_edits(region)]
        self._edits += [e for name in kernel.held.elements for e in self._thread_edits(kernel.held.elements[name])]

    def text(self) -> str:
        kernel = self._kernel
        edits = [self._loop(region, found_again(kernel, region)) for region in kernel.regions]
        # Where they stood, all threads would compute them, also those beyond the row's end: there may be more of these now.
        own = {declarator.start_byte: declarator for declarator in kernel.held.elements.values()}
        for declaration in of_kind(self._source.body, "declaration"):
            listed = declarators(declaration)
            if listed and all(d.start_byte in own for d in listed):
                edits.append(removed(self._source.tree, [declaration]))
                continue
            for d in listed:
                harmless = d.start_byte not in own or not reads_memory(d, kernel.common.names)
                require(harmless, "a per-element value is declared together with others", d)
        return self._source.edited(*edits)

    def _loop(self, region: Region, again: FoundAgain) -> Edit:
        tree, node, name = self._source.tree, region.guard.node, self._element
        limit = self._source.text_of(region.guard.limit)
        lines = [f"for (int {name} = threadIdx.x; {name} < {limit}; {name} += blockDim.x) {{"]
        pieces = [piece for statements in again.statements for piece in statements] + pieces_of(region.body, tree)
        begun = dict(self._begun(again, pieces))
        lines += [self._unit + f"{self._declaration(d)};" for d in again.declared if d not in begun.values()]
        for statements in again.statements:
            inner = [line for piece in statements for line in self._lines(piece, begun)]
            if _declares(statements):
                inner = ["{", *(line_at(line, self._unit) for line in inner), "}"]
            lines += [line_at(line, self._unit) for line in inner]
        lines += [line_at(line, self._unit) for piece in pieces_of(region.body, tree) for line in self._lines(piece, begun)]
        margin = tree.indentation(node)
        first, *others = [*lines, "}"]
        return Edit(node.start_byte, node.end_byte, "\n".join([first, *(line_at(line, margin) for line in others)]))

    def _begun(self, again: FoundAgain, pieces: Sequence[Piece]) -> Iterator[tuple[int, Node]]:
        """Statements that give a variable its first value, by their place: `v = row[i];` declares it, too."""
        inside = [piece for statements in again.statements if _declares(statements) for piece in statements]
        for declarator in again.declared:
            name = text_of(declarator)
            first = next((p for p in pieces if name in identifiers(p.node)), None)
            if declarator.type != "identifier" or first is None or first in inside:
                continue
            change = first.node.named_children[0] if first.node.type == "expression_statement" else first.node
            sets = change.type == "assignment_expression" and text_of(change.children[1]) == "="
            if sets and text_of(change.children[0]) == name and name not in identifiers(change.children[2]):
                yield first.node.start_byte, declarator

    def _lines(self, piece: Piece, begun: Mapping[int, Node]) -> list[str]:
        lines = at_margin(piece, self._source.tree, self._edits)
        declarator = begun.get(piece.node.start_byte)
        if declarator is None:
            return lines
        text = self._source.text_of(piece.node).partition("\n")[0]
        place = next(n for n, line in enumerate(lines) if line.startswith(text[: len(text_of(declarator))]))
        return [*lines[:place], self._kind_text(declarator) + lines[place], *lines[place + 1 :]]

    def _declaration(self, declarator: Node) -> str:
        written = text_between(self._source.tree, declarator.start_byte, declarator.end_byte, self._edits)
        return self._kind_text(declarator) + written

    def _kind_text(self, declarator: Node) -> str:
        declaration = declarator.parent
        assert declaration is not None
        return self._source.tree.data[declaration.start_byte : declarators(declaration)[0].start_byte].decode()

    def _region_edits(self, region: Region) -> Iterator[Edit]:
        yield from self._thread_edits(region.body)
        for sign in region.assigned:
            yield Edit(sign.start_byte, sign.end_byte, "+=")

    def _thread_edits(self, within: Node) -> Iterator[Edit]:
        """The element's number for the thread's, with the type it had unless that makes no difference."""
        for node in of_kind(within, "identifier", "field_expression"):
            if self._kernel.common.names.builtin(node) == "threadIdx.x":
                kind = "unsigned"
            elif node.type == "identifier" and text_of(node) in self._kernel.held.threads:
                declarator = self._kernel.held.threads[text_of(node)]
                if self._kernel.common.declared_at(node) != declarator.start_byte:
                    continue
                kind = self._kind(declarator)
            else:
                continue
            plain = kind == "int" or _is_place(node)
            yield Edit(node.start_byte, node.end_byte, self._element if plain else f"static_cast<{kind}>({self._element})")

    def _kind(self, declarator: Node) -> str:
        text = self._kind_text(declarator)
        kind = " ".join(re.sub(r"\b(?:const|constexpr|register|static)\b", " ", text).split())
        return "unsigned" if kind == "auto" else kind


def _declares(statements: Sequence[Piece]) -> bool:
    return any(piece.node.type == "declaration" for piece in statements)


def _is_place(node: Node) -> bool:
    """An index, or a term of one: what a sign would change there is outside the array."""
    parent = node.parent
    while parent is not None:
        if parent.type == "subscript_argument_list":
            return True
        operator = parent.child_by_field_name("operator")
        adds = parent.type == "binary_expression" and operator is not None and text_of(operator) in _SUMS
        if not adds and parent.type != "parenthesized_expression":
            return False
        parent = parent.parent
    return False
