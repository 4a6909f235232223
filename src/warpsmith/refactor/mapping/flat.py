"""Flat kernels: one index, the thread's place in a grid of one dimension, whose guard says where the work ends.

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;          // or: if (i < n) { … }

Each value of the index is then done on its own, so it does not matter which thread does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.preconditions import axis, on_workloads, present, require
from warpsmith.source import Edit, Names, Polynomial
from warpsmith.source.dataflow import declarators, dependents, exits, identifiers, is_fixed, is_in_inner_loop
from warpsmith.source.effects import may_change
from warpsmith.source.guards import Guard, guard_of
from warpsmith.source.statements import Piece, at_margin, indent_unit, line_at, pieces_of
from warpsmith.source.threads import all_launch_uses
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import is_within, of_kind, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tree_sitter import Node

FLAT = Polynomial.atom("blockIdx.x") * Polynomial.atom("blockDim.x") + Polynomial.atom("threadIdx.x")
_OWN = {"threadIdx.x", "blockIdx.x", "blockDim.x", "get_global_id.x"}


@dataclass(frozen=True, slots=True)
class FlatKernel:
    """`work` is all that needs the index, in order, without its guard; it takes the place of the text from `start` to `end`."""

    variable: str
    type: str
    declaration: Piece
    guard: Guard
    work: tuple[Piece, ...] = field(repr=False)
    start: int
    end: int
    indent: str


def flat_indices(source_body: Node, names: Names) -> Iterator[tuple[Node, Node]]:
    """Declarations of one variable that is the thread's place in the grid, with the declarator."""
    for declaration in source_body.named_children:
        found = declarators(declaration)
        if len(found) != 1 or found[0].type != "init_declarator" or field_of(found[0], "declarator").type != "identifier":
            continue
        if Polynomial.of(field_of(found[0], "value"), names) == FLAT:
            yield declaration, found[0]


def flat_kernel(
    subject: Subject, names: Names, declaration: Node, declarator: Node, guarded: Collection[Polynomial] = (FLAT,)
) -> FlatKernel:
    """Raises Unmet unless nothing but the index tells threads apart. `guarded` are the values whose guard will do."""
    source, grid = subject.source, subject.variant.grid
    variable = text_of(field_of(declarator, "declarator"))
    require(axis(grid, "y") == axis(grid, "z") == "1", "the grid has several dimensions", declaration)
    for name, nodes in all_launch_uses(source, names).items():
        stray = next((n for n in nodes if name not in _OWN or not is_within(n, declarator)), None)
        if stray is not None:
            require(False, f"{source.text_of(stray)} is used in addition to the index {variable}", stray)
    pieces = pieces_of(source.body, source.tree)
    nodes = [p.node for p in pieces]
    tainted = dependents({variable}, nodes)
    place = nodes.index(declaration)
    first = next((n for n in range(place + 1, len(pieces)) if identifiers(nodes[n]) & tainted), None)
    first = present(first, f"nothing depends on {variable}", declaration)
    guard = next((g for n in nodes[first:] for g in guard_of(n, names) if g.left in guarded), None)
    guard = present(guard, f"{variable} has no guard, so the kernel cannot have more threads than the original", declaration)
    at = nodes.index(guard.node)
    for number in range(at):
        fixed = is_fixed(nodes[number], nodes[number + 1 :], source)
        require(fixed, "a statement before the guard cannot be shared by several elements", nodes[number])
    work = [*pieces[first:at], *pieces[at + 1 :]]
    if guard.body is not None:
        require(at == len(pieces) - 1, "a statement follows the guarded code", guard.node)
        work = [*pieces[first:at], *pieces_of(guard.body, source.tree)]
    for parameter in source.parameters:
        stray = next((piece.node for piece in work if may_change(parameter.name, piece.node, names)), None)
        require(stray is None, f"{parameter.name} is changed, but the next element needs its original value", stray)
    require_known_at(pieces[first].start, guard.limit, subject, names)
    kind = source.tree.data[declaration.start_byte : declarator.start_byte].decode().strip()
    return FlatKernel(
        variable=variable,
        type=kind,
        declaration=pieces[place],
        guard=guard,
        work=tuple(work),
        start=pieces[first].start,
        end=pieces[-1].end,
        indent=source.tree.indentation(declaration),
    )


def changeable(kind: str) -> str:
    """The type without `const`, wherever that stands."""
    return " ".join(word for word in kind.split() if word != "const")


def require_known_at(place: int, node: Node, subject: Subject, names: Names) -> None:
    """Every name of the expression has its value before this place of the kernel."""
    for use in of_kind(node, "identifier"):
        found = names.definition(use).node
        late = found is not None and is_within(found, subject.source.body) and found.start_byte >= place
        require(not late, f"{text_of(use)} is not available before the index is computed", use)


def reaches_end(subject: Subject, names: Names, flat: FlatKernel) -> bool:
    """Whether the original has a thread for all that its guard lets through, on every workload."""
    limit = names.expression(flat.guard.limit)
    if limit is None:
        return False
    threads = f"({axis(subject.variant.grid, 'x')}) * ({axis(subject.variant.block, 'x')})"
    return all(have >= needed for have, needed in zip(*(on_workloads(subject, e) for e in (threads, limit)), strict=True))


def element_loop(subject: Subject, flat: FlatKernel, introduction: Sequence[str], header: str) -> str:
    """The whole file, with the work inside a loop whose variable is the index."""
    source = subject.source
    unit = indent_unit(source.function, source.body, source.tree)
    edits = []
    for piece in flat.work:
        for leaving in exits(piece.node):
            require(not is_in_inner_loop(leaving, piece.node), "an inner loop returns", leaving)
            edits.append(Edit(leaving.start_byte, leaving.end_byte, "continue;"))
    work = (line_at(line, unit) for piece in flat.work for line in at_margin(piece, source.tree, edits))
    lines = [*introduction, f"for ({header}) {{", *work, "}"]
    data = source.tree.data
    before = data[: flat.declaration.start] + data[flat.declaration.end : flat.start]
    return before.decode() + "\n" + "\n".join(line_at(line, flat.indent) for line in lines) + data[flat.end :].decode()
