"""Barriers that order nothing: between them and the barrier before, or the kernel's end, no thread touches what others might.

Memory that threads may see of each other is shared memory and every buffer that is not only read. A barrier keeps accesses before
it apart from accesses after it; where there are none on one side, up to the next barrier there, it keeps nothing apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.access_paths import read_places, written_places
from warpsmith.source.dataflow import is_pure
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import pieces_of
from warpsmith.source.threads import is_shared, teamwork
from warpsmith.source.tree import of_kind, text_of
from warpsmith.spec.kernel import Buffer, Kernel, Role

if TYPE_CHECKING:
    from tree_sitter import Node

_BARRIER = re.compile(r"(?:__syncthreads\s*\(\s*\)|(?:work_group_)?barrier\s*\(\s*\w+(?:\s*\|\s*\w+)*\s*\))\s*;")
_MACRO = re.compile(r"\w+\s*;")  # a name as a statement can only be that
_WAITING_INSIDE = re.compile(r"\b(?:__sync\w*|barrier|work_group_\w+)\s*\(")


def is_barrier(statement: Node) -> bool:
    """A statement that is a plain barrier of the whole block, and nothing else."""
    return statement.type == "expression_statement" and _BARRIER.fullmatch(text_of(statement)) is not None


def spare_barriers(names: Names, kernel: Kernel) -> list[Node]:
    """The statements of the kernel's body that could go, all of them together."""
    quiet = _Quiet(names, kernel)
    found: list[Node] = []
    if any(True for _ in of_kind(names.source.body, "goto_statement")):
        return found  # what comes before a statement is then more than what stands before it
    for block in of_kind(names.source.body, "compound_statement"):
        is_whole = block == names.source.body
        found += quiet.spare([piece.node for piece in pieces_of(block, names.source.tree)], is_whole=is_whole)
    return found


class _Quiet:
    """Tells statements that touch nothing other threads might."""

    def __init__(self, names: Names, kernel: Kernel) -> None:
        self._names = names
        pairs = zip(names.source.parameters, kernel.arguments, strict=False)
        self._inputs = frozenset(p.name for p, a in pairs if isinstance(a, Buffer) and a.role is Role.IN)
        self._shared = frozenset(text_of(n) for d in teamwork(names.source).shared for n in of_kind(d, "identifier"))

    def spare(self, statements: list[Node], *, is_whole: bool) -> Iterator[Node]:
        """Those with nothing since the barrier before them that stays; of the whole kernel, its start and end count as such."""
        since_barrier = is_whole
        for statement in statements:
            if is_barrier(statement):
                if since_barrier:
                    yield statement
                since_barrier = True
            elif not self._is_quiet(statement):
                since_barrier = False
        if is_whole:
            yield from self._trailing(statements)

    def _trailing(self, statements: list[Node]) -> Iterator[Node]:
        """The last barrier, unless it is spare already for what stands before it."""
        quiet_before = True
        last: Node | None = None
        for statement in statements:
            if is_barrier(statement):
                last = last if quiet_before else statement
                quiet_before = True
            elif not self._is_quiet(statement):
                quiet_before, last = False, None
        if last is not None:
            yield last

    def _is_quiet(self, statement: Node) -> bool:  # noqa: PLR0911 - one return for each kind of access
        source, names = self._names.source, self._names
        if statement.type == "declaration" and is_shared(statement, source):
            return True  # it only names the memory
        if _WAITING_INSIDE.search(text_of(statement)) or _MACRO.fullmatch(text_of(statement)):
            return False
        if any(text_of(n) in self._shared or self._is_of_file(n) for n in of_kind(statement, "identifier")):
            return False
        if any(True for _ in of_kind(statement, "gnu_asm_expression", "lambda_expression")):
            return False
        if not all(is_pure(call, source) for call in of_kind(statement, "call_expression")):
            return False
        if any(True for _ in written_places(statement, names)):
            return False
        return all(place.roots <= self._inputs for place in read_places(statement, names))

    def _is_of_file(self, name: Node) -> bool:
        """A variable of the device, or a macro: that may be anything but a number."""
        found = self._names.definition(name)
        if found.origin in {Origin.FILE, Origin.MACRO}:
            return self._names.value(name) is None and text_of(name) not in self._names.parameters
        return False
