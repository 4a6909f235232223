"""Kernels whose threads each do elements of their own, taken apart so that one thread can do those of a whole block.

`const int x = …` that tells threads apart belongs to each element; what is the same for all is done once; the rest is the work.
Threads that share nothing and never wait may run one after the other, in any order. Where a thread takes rows a block apart,
`for (j = 0; j < TILE; j += ROWS)`, the loop is taken apart as well: rows then count only as threadIdx.y + j, and nothing is
carried from step to step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.preconditions import present, require
from warpsmith.source import Edit, Loop, Names, Polynomial, loops_of
from warpsmith.source.dataflow import changed_names, declared_names, dependents, exits, identifiers, is_in_inner_loop, is_pure
from warpsmith.source.independence import carried
from warpsmith.source.reaching import ReachingNames
from warpsmith.source.statements import Piece, at_margin, pieces_of, text_between
from warpsmith.source.threads import all_launch_uses, launch_uses, teamwork
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_THREAD = frozenset({"threadIdx", "get_local_id", "get_global_id"})
_LAUNCH = re.compile(r"(?:threadIdx|blockDim|get_global_id)\.[xy]|(?:blockIdx|gridDim)\.[xyz]")
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


@dataclass(frozen=True, slots=True)
class Reached:
    """A variable that changes before the work begins, with the value that it has there."""

    name: str
    type: str
    value: Node = field(repr=False)


@dataclass(frozen=True, slots=True)
class Elements:
    """`kept` is done once, `own` and `work` for each element; `rows` is the loop over a thread's rows, if it has one."""

    subject: Subject = field(repr=False)
    kept: tuple[Piece, ...] = field(repr=False)
    own: tuple[Piece | Reached, ...] = field(repr=False)
    work: tuple[Piece, ...] = field(repr=False)
    rows: Loop | None
    start: int
    end: int

    def once(self) -> list[str]:
        return [line for piece in self.kept for line in at_margin(piece, self.subject.source.tree)]

    def each(self, names: Names, values: dict[str, str]) -> list[str]:
        """The lines for one element, with what the launch's names become; a return goes on to the next element."""
        tree, lines = self.subject.source.tree, []
        uses = launch_uses(self.subject.source.body, names)
        edits = [Edit(n.start_byte, n.end_byte, values[name]) for name in uses.keys() & values.keys() for n in uses[name]]
        edits += [Edit(n.start_byte, n.end_byte, "continue;") for p in self.work for n in exits(p.node)]
        for item in (*self.own, *self.work):
            if isinstance(item, Piece):
                lines += at_margin(item, tree, edits)
            else:
                value = text_between(tree, item.value.start_byte, item.value.end_byte, edits)
                lines.append(f"const {item.type} {item.name} = {value};")
        return lines


def elements(subject: Subject, names: Names) -> Elements:
    """Raises Unmet when threads work together, or when it is not clear what belongs to each of them."""
    _require_alone(subject, names)
    source = subject.source
    reaching = ReachingNames(source, names.parameters, subject.kernel)
    pieces = pieces_of(source.body, source.tree)
    first = next((n for n, p in enumerate(pieces) if not _only_names(p.node, subject)), None)
    head, tail = pieces[: present(first, "the kernel does nothing but name things")], pieces[first:]
    kept, own = _sorted(subject, reaching, head, tail)
    rows = _rows(tail, subject, names)
    if rows is not None:
        _require_rows(rows, reaching)
    for leaving in (e for p in tail for e in exits(p.node)):
        inner = rows is not None or any(is_in_inner_loop(leaving, p.node) for p in tail if is_within(leaving, p.node))
        require(not inner, "a loop returns", leaving)
    work = tail if rows is None else pieces_of(rows.body, source.tree)
    return Elements(subject, tuple(kept), tuple(own), tuple(work), rows, pieces[0].start, pieces[-1].end)


def _require_alone(subject: Subject, names: Names) -> None:
    source, together = subject.source, teamwork(subject.source)
    require(together.none, f"the kernel {together.described()}: its threads cannot run one after the other")
    require(together.waits is None, f"{together.waits}: threads may wait for each other")
    jump = next(of_kind(source.body, "goto_statement", "labeled_statement"), None)
    require(jump is None, "the kernel has a goto", jump)
    own = launch_uses(source.body, names)
    for name, nodes in all_launch_uses(source, names).items():
        require(_LAUNCH.fullmatch(name), f"{text_of(nodes[0])} is used", nodes[0])
        require(len(nodes) == len(own.get(name, ())), f"a function that the kernel calls uses {text_of(nodes[0])}")


def _only_names(node: Node, subject: Subject) -> bool:
    """A declaration with pure values, or `name = value;` of a local."""
    if node.type in {"declaration", "alias_declaration"}:
        return is_pure(node, subject.source)
    target = _assigned(node)
    return target is not None and is_pure(field_of(node.named_children[0], "right"), subject.source)


def _assigned(node: Node) -> str | None:
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    if inner is None or inner.type != "assignment_expression" or text_of(field_of(inner, "operator")) != "=":
        return None
    left = field_of(inner, "left")
    return text_of(left) if left.type == "identifier" else None


def _sorted(
    subject: Subject, reaching: ReachingNames, head: Sequence[Piece], tail: Sequence[Piece]
) -> tuple[list[Piece], list[Piece | Reached]]:
    """What of the head is the same for all elements, and what is each one's own, in the order of the values."""
    nodes = [p.node for p in (*head, *tail)]
    later = frozenset().union(*(changed_names(p.node, subject.source) for p in tail))
    differing = dependents(_THREAD, nodes) | later
    changing = {name for p in head if (name := _assigned(p.node)) is not None}
    kept: list[Piece] = []
    own: list[tuple[int, Piece | Reached]] = []
    for piece in head:
        named = set(declared_names(piece.node))
        if (target := _assigned(piece.node)) is not None:
            require(target in differing, f"{target}, the same for all threads, changes", piece.node)
        elif not named & differing:
            kept.append(piece)
        elif not named & changing:
            used = identifiers(piece.node) & changing
            require(not used, f"{', '.join(sorted(used))}: used before it changes", piece.node)
            own.append((piece.start, piece))
        elif any(named & set(map(text_of, of_kind(p.node, "identifier"))) for p in tail):
            require(len(named) == 1, "several names are declared together, and one of them changes", piece.node)
            found = _reached(piece.node, next(iter(named)), tail, reaching)
            own.append((found.value.start_byte, found))
    return kept, [item for _, item in sorted(own, key=lambda pair: pair[0])]


def _reached(declaration: Node, name: str, tail: Sequence[Piece], reaching: ReachingNames) -> Reached:
    """The value must be made of names that do not change."""
    use = next(n for p in tail for n in of_kind(p.node, "identifier") if text_of(n) == name)
    require(not any(reaching.is_assigned(name, p.node) for p in tail), f"{name} goes on changing", use)
    found = reaching.definition(use)
    value = present(found.value if found.is_fixed else None, f"what {name} is when the work begins is not known", use)
    for inner in of_kind(value, "identifier"):
        declared = reaching.source.scopes.declaration(text_of(inner), inner)
        changes = declared is not None and reaching.is_assigned(declared.name, declared.scope)
        require(not changes, f"{name} is made of {text_of(inner)}, which changes", inner)
    kind = present(declaration.child_by_field_name("type"), f"{name} has no type of its own", declaration)
    plain = next(of_kind(declaration, "pointer_declarator", "reference_declarator", "array_declarator"), None) is None
    require(plain, f"{name} changes and is no plain variable", declaration)
    return Reached(name, text_of(kind), value)


def _rows(tail: Sequence[Piece], subject: Subject, names: Names) -> Loop | None:
    """The loop that is all of the work, with steps as far apart as the block is high."""
    loop = next(loops_of(tail[0].node, names), None) if len(tail) == 1 else None
    if loop is None or loop.node != tail[0].node or loop.step is None or not loop.ends_below or loop.jumps():
        return None
    geometry = Geometry.of(subject, names)
    by_block = geometry.polynomial(loop.step, names) == geometry.resolved(Polynomial.atom("blockDim.y"))
    return loop if by_block and names.value(loop.start) == 0 else None


def _require_rows(loop: Loop, names: ReachingNames) -> None:
    over = next(carried(loop, names), None)
    require(over is None, f"{over} is carried from one step of {loop.variable} to the next", loop.node)
    checked = list(_integers(loop.body))
    for node in checked:
        index = Polynomial.of(node, names)
        by_thread, by_step = index.coefficient("threadIdx.y"), index.coefficient(loop.atom)
        same = by_thread is not None and by_thread == by_step
        require(same, f"rows do not count as threadIdx.y + {loop.variable} alone", node)
    marked = dependents({*_THREAD, loop.variable}, [names.source.body]) | _THREAD
    for use in of_kind(loop.body, "identifier"):
        parent, declared = use.parent, names.definition(use).node
        is_base = parent is not None and parent.type == "subscript_expression" and field_of(parent, "argument") == use
        known = is_base or (declared is not None and is_within(declared, loop.body)) or text_of(use) not in marked
        require(known or any(is_within(use, n) for n in checked), f"{text_of(use)} is more than an index or a bound", use)


def _integers(body: Node) -> Iterator[Node]:
    """Subscripts, and what is compared."""
    for node in of_kind(body, "subscript_expression", "binary_expression"):
        if node.type == "subscript_expression":
            yield from field_of(node, "indices").named_children
        elif text_of(field_of(node, "operator")) in _COMPARISONS:
            yield from (unwrapped(field_of(node, side)) for side in ("left", "right"))
