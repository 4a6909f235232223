"""What one guard of a kernel leaves to the next for each element, found out again there: the statements that it takes.

For `one_each`. Between two guards other elements have their turn, so what a thread had in its variables is gone. A variable is
found out again by the statements that made it what it is, from the inputs: none of them may do anything else, and what they read
nobody writes. What cannot be found out like that would have to be kept, and is declined.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.preconditions import require
from warpsmith.refactor.rows.one_each import OneEach, Region
from warpsmith.source.dataflow import base_name, changed_names, declared_names, identifiers, is_pure_call
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import Piece, pieces_of
from warpsmith.source.tree import field, is_within, of_kind, text_of, unwrapped, walk
from warpsmith.spec.kernel import Buffer, Role

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = frozenset({"declaration", "expression_statement", "for_statement", "if_statement", "compound_statement"})
_NEVER = frozenset({"lambda_expression", "new_expression", "delete_expression", "gnu_asm_expression", "return_statement"})


@dataclass(frozen=True, slots=True)
class FoundAgain:
    """For one region: the variables to declare in it, and the statements of each region before, all in their order."""

    declared: tuple[Node, ...]
    statements: tuple[tuple[Piece, ...], ...]


def found_again(kernel: OneEach, region: Region) -> FoundAgain:
    elements = kernel.held.elements
    needed = set(identifiers(region.body) & elements.keys())
    before = [r for r in kernel.regions if r.block == region.block and r.guard.node.end_byte <= region.guard.node.start_byte]
    slices: list[tuple[Piece, ...]] = []
    for earlier in reversed(before):
        taken = _slice(kernel, earlier, region, needed)
        if taken:
            slices.append(taken)
    while more := {n for name in needed for n in identifiers(elements[name]) & elements.keys()} - needed:
        needed |= more
    declared = sorted((elements[name] for name in needed), key=lambda node: node.start_byte)
    for declarator in declared:
        value = declarator.child_by_field_name("value")
        if value is not None:
            name = text_of(next(of_kind(declarator, "identifier")))
            changing = identifiers(value) & (elements.keys() - kernel.held.fixed)
            require(not changing, f"{name} is computed from per-element values at that point", declarator)
            _require_repeatable(kernel, declarator, set(), _Since(kernel))
    return FoundAgain(tuple(declared), tuple(reversed(slices)))


@dataclass(frozen=True, slots=True)
class _Since:
    """The time from one region of a block to another; without them, any time."""

    kernel: OneEach
    first: Region | None = None
    last: Region | None = None

    def is_unchanged(self, name: str) -> bool:
        """Whether a common number is what it was."""
        if self.kernel.held.is_steady(name):
            return True
        if self.first is None or self.last is None or not self.kernel.held.is_common_number(name):
            return False
        begin, end = self.first.guard.node.start_byte, self.last.guard.node.start_byte
        between = (s for s in self.last.block.named_children if begin <= s.start_byte < end)
        return not any(name in changed_names(statement, self.kernel.subject.source) for statement in between)


def _slice(kernel: OneEach, earlier: Region, region: Region, needed: set[str]) -> tuple[Piece, ...]:
    """The statements that set what is needed; `needed` grows by what they need themselves."""
    pieces = pieces_of(earlier.body, kernel.subject.source.tree)
    local = {name for piece in pieces for name in declared_names(piece.node)}
    hidden = {name for name in local if kernel.held.is_known(name)}
    require(not hidden, f"two variables have the name {', '.join(sorted(hidden))}", earlier.body)
    inside: set[str] = set()
    found: list[Piece] = []
    for piece in reversed(pieces):
        changed = changed_names(piece.node, kernel.subject.source) | set(declared_names(piece.node))
        if changed.isdisjoint(needed | inside):
            continue
        _require_repeatable(kernel, piece.node, local, _Since(kernel, earlier, region))
        read = identifiers(piece.node)
        needed |= read & kernel.held.elements.keys()
        inside |= read & local
        found.append(piece)
    return tuple(reversed(found))


def _require_repeatable(kernel: OneEach, node: Node, local: set[str], since: _Since) -> None:
    """Done again, it gives the same result and does nothing else."""
    source, what = kernel.subject.source, "a value passed from one guard to the next cannot be recomputed"
    require(
        node.type in _PLAIN or node.type.endswith("declarator"),
        f"{what}: a statement is not a plain assignment or declaration",
        node,
    )
    for part in walk(node):
        require(part.type not in _NEVER, f"{what}: a statement is not a plain assignment or declaration", part)
        if part.type == "call_expression":
            require(is_pure_call(part, source), f"{what}: {text_of(field(part, 'function'))} may have side effects", part)
        if part.type in {"assignment_expression", "update_expression"}:
            target = unwrapped(field(part, "left" if part.type == "assignment_expression" else "argument"))
            require(
                _is_variable(kernel, target, local, node), f"{what}: the statement writes memory or a reduction variable", part
            )
        if part.type == "pointer_expression":
            require(text_of(field(part, "operator")) == "*", f"{what}: an address is taken", part)
    for use in of_kind(node, "identifier"):
        require(_is_lasting(kernel, use, local, since), f"{what}: {text_of(use)} may have changed since", use)


def _is_variable(kernel: OneEach, target: Node, local: set[str], statement: Node) -> bool:
    """The element's own variable or a part of it, and not what a pointer leads to."""
    name = base_name(target)
    if "->" in text_of(target) or any(True for _ in of_kind(target, "pointer_expression", "call_expression")):
        return False
    use = next((n for n in of_kind(target, "identifier") if text_of(n) == name), None)
    found = kernel.common.names.definition(use) if use is not None else None
    if found is None or found.node is None or found.origin not in {Origin.LOCAL, Origin.LOOP}:
        return False
    points = any(True for _ in of_kind(found.node, "pointer_declarator", "reference_declarator"))
    kind = found.node.parent.child_by_field_name("type") if found.node.parent is not None else None
    opaque = kind is None or text_of(kind) == "auto"
    own = name in kernel.held.elements or name in local or is_within(found.node, statement)
    return own and (target.type == "identifier" or not (points or opaque))


def _is_lasting(kernel: OneEach, use: Node, local: Collection[str], since: _Since) -> bool:  # noqa: PLR0911 - one return for each origin
    """Whether what the name stands for, and what it leads to, is the same whenever it is asked for."""
    name, found = text_of(use), kernel.common.names.definition(use)
    if name in local or name in kernel.held.elements or name in kernel.held.threads or name == "threadIdx":
        return True
    if found.origin is Origin.PARAMETER:
        return _is_input(kernel, name)
    if found.origin is Origin.LOOP:
        return True
    if found.origin is Origin.LOCAL:
        region = found.node is not None and any(is_within(found.node, r.body) for r in kernel.regions)
        if region:
            return True
        if kernel.held.is_common_number(name):
            return since.is_unchanged(name)
        steady = kernel.held.is_steady(name) and found.value is not None
        return steady and all(_is_lasting(kernel, inner, (), since) for inner in of_kind(found.value or use, "identifier"))
    return found.origin is not Origin.FILE or found.value is not None


def _is_input(kernel: OneEach, name: str) -> bool:
    """A scalar, or a buffer that the kernel only reads."""
    declared = {p.name: p for p in kernel.subject.source.parameters}
    pairs = dict(zip(declared, kernel.subject.kernel.arguments, strict=False))
    argument = pairs.get(name)
    return not isinstance(argument, Buffer) or argument.role is Role.IN
