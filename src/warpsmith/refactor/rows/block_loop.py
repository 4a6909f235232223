"""A kernel's body as the body of a loop over blocks: what several blocks of the original did, one does, one after the other.

Used by `passes.rows_per_block` (neighbouring blocks) and `passes.persistent` (blocks a grid's width apart). A block knows its
place by `blockIdx.x` only, so another number there is all it takes, unless blocks wait for each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.preconditions import Unmet, require, require_readable
from warpsmith.refactor.writing import FreeNames, barrier
from warpsmith.source import Edit, KernelParameter, Names
from warpsmith.source.dataflow import base_name, dependents, exits, identifiers, is_fixed, is_in_inner_loop, is_pure
from warpsmith.source.statements import Piece, at_margin, indent_unit, line_at, pieces_of
from warpsmith.source.threads import THREAD, Teamwork, all_launch_uses, is_shared, launch_uses, spelled, teamwork
from warpsmith.source.tree import ancestors, is_within, of_kind, text_of
from warpsmith.source.tree import field as field_of

if TYPE_CHECKING:
    from tree_sitter import Node

_GRID = re.compile(r"\bthis_(?:multi_)?grid\b|\bthis_cluster\b|\bgrid_(?:group|rank)\b|%(?:n?ctaid|n?clusterid|gridid|n?smid)")


@dataclass(frozen=True, slots=True)
class BlockLoop:
    """`block` is the name that stands for blockIdx.x; `copies` declares a block's own copies of parameters that it changes.

    `assumes` is what was not looked into, a sentence.
    """

    subject: Subject = field(repr=False)
    names: Names = field(repr=False)
    free: FreeNames = field(repr=False)
    work: tuple[Piece, ...] = field(repr=False)
    edits: tuple[Edit, ...] = field(repr=False)
    copies: tuple[str, ...]
    block: str
    shares_memory: bool
    is_left_early: bool
    assumes: str = ""

    def text(self, introduction: Sequence[str], header: str, number: str, leave: str | None = None) -> str:
        """The whole file. `number` is the block that a step is for; when `leave` holds there is none any more."""
        source = self.subject.source
        language, tree = source.language, source.tree
        unit = indent_unit(source.function, source.body, tree)
        kind = "size_t" if language is Language.OPENCL else "unsigned int"
        wait = barrier(language)
        # OpenCL has local memory at the outermost level only.
        outside = [p for p in self.work if language is Language.OPENCL and is_shared(p.node, source)]
        # Where a block can be left early, its end is no place that all threads pass: they then meet where the next one begins.
        waits = self.shares_memory
        lines = [
            *(line for piece in outside for line in at_margin(piece, tree)),
            *(spelled(line, language) for line in introduction),
            spelled(f"for ({header}) {{", language),
            *([f"{unit}{wait}  // shared memory is free again"] if waits and self.is_left_early else []),
            f"{unit}const {kind} {self.block} = {spelled(number, language)};",
            *([f"{unit}if ({leave}) break;"] if leave else []),
            *(unit + line for line in self.copies),
            *(line_at(line, unit) for p in self.work if p not in outside for line in at_margin(p, tree, self.edits)),
            *([f"{unit}{wait}  // before shared memory is written again"] if waits and not self.is_left_early else []),
            "}",
        ]
        indent = tree.indentation(self.work[0].node)
        before, after = tree.data[: self.work[0].start].decode(), tree.data[self.work[-1].end :].decode()
        return f"{before}\n" + "\n".join(line_at(line, indent) for line in lines) + after


def block_loop(subject: Subject, names: Names, *, may_assume: bool = False) -> BlockLoop:
    """Raises Unmet when blocks know their place by something else, or wait for each other, or cannot be followed by another.

    `may_assume`: what is not looked into is taken to do nothing of the kind.
    """
    require_readable(subject)
    source = subject.source
    together = teamwork(source)
    knows = any(_GRID.search(source.text_of(body)) for body in source.reached())
    require(together.abroad is None or (may_assume and not knows), f"the kernel {together.described()}")
    assumes = (
        f"{together.abroad.strip()} does not depend on which block executes it, nor on earlier executions"
        if together.abroad
        else ""
    )
    require(together.waits is None, f"{together.waits}: blocks may wait for values that other blocks write")
    _require_only_block_index(subject, names)
    pieces = pieces_of(source.body, source.tree)
    first = next((n for n, p in enumerate(pieces) if not _is_common(p, pieces[n + 1 :], subject, names)), None)
    if first is None:
        raise Unmet("the kernel does not use a block index")
    work = pieces[first:]
    require(next(of_kind(source.body, "goto_statement"), None) is None, "the kernel has a goto")
    free = FreeNames(source.text)
    edits, block = [], free.take("block")
    leaving = [e for p in work for e in exits(p.node)]
    for statement in leaving:
        piece = next(p for p in work if is_within(statement, p.node))
        require(not is_in_inner_loop(statement, piece.node), "an inner loop returns", statement)
        edits.append(Edit(statement.start_byte, statement.end_byte, "continue;"))
    _require_uniform(leaving, work, together, subject)
    indices = (n for p in work for n in block_indices(p.node, names))
    edits += [Edit(n.start_byte, n.end_byte, indexed_by(n, block)) for n in indices]
    copies = []
    for parameter in changed_parameters(work, subject, names):
        own = free.take(f"{parameter.name}_here")
        copies.append(f"{source.full_type(parameter)} {own} = {parameter.name};")
        uses = (n for p in work for n in of_kind(p.node, "identifier") if text_of(n) == parameter.name)
        edits += [Edit(n.start_byte, n.end_byte, own) for n in uses]
    shares = bool(together.shared or together.strange)  # a library may have shared memory of its own
    return BlockLoop(subject, names, free, tuple(work), tuple(edits), tuple(copies), block, shares, bool(leaving), assumes)


def _require_only_block_index(subject: Subject, names: Names) -> None:
    """blockIdx.x is read in the kernel itself, and nothing asks how many blocks there are."""
    source = subject.source
    own = list(block_indices(source.body, names))
    require(own, "blockIdx.x is not used")
    for name, nodes in all_launch_uses(source, names).items():
        if name.startswith("gridDim") or name in {"get_global_size.x", "get_global_linear_id.*", "blockIdx.*"}:
            raise Unmet(f"{text_of(nodes[0])} is used: the kernel depends on the grid's shape", nodes[0])
        if name in {"blockIdx.x", "get_global_id.x"} and len(nodes) > len(launch_uses(source.body, names)[name]):
            raise Unmet("a called function uses blockIdx.x")


def block_indices(within: Node, names: Names) -> Iterator[Node]:
    """Where code asks for its block along x."""
    found = launch_uses(within, names)
    yield from (*found.get("blockIdx.x", ()), *found.get("get_global_id.x", ()))


def indexed_by(node: Node, block: str) -> str:
    """What a use of the block's place becomes where that is called `block`."""
    if "get_global_id" in text_of(node):
        return f"({block} * get_local_size(0) + get_local_id(0))"
    return block


def _is_common(piece: Piece, after: Sequence[Piece], subject: Subject, names: Names) -> bool:
    """Whether a statement can be done once for all blocks: it fixes names, or declares shared memory, whatever the block."""
    if any(True for _ in block_indices(piece.node, names)):
        return False
    if piece.node.type == "declaration" and is_shared(piece.node, subject.source):
        return True
    return is_fixed(piece.node, [p.node for p in after], subject.source)


def _require_uniform(leaving: Sequence[Node], work: Sequence[Piece], together: Teamwork, subject: Subject) -> None:
    """Where threads wait for each other, all or none of a block may be gone already."""
    if not leaving or not together.meets:
        return
    nodes = [p.node for p in work]
    unknown = {
        base_name(field_of(n, "declarator" if n.type == "init_declarator" else "left"))
        for node in nodes
        for n in of_kind(node, "init_declarator", "assignment_expression")
        if not is_pure(field_of(n, "value" if n.type == "init_declarator" else "right"), subject.source)
    }
    differing = dependents(THREAD | unknown, [*nodes, subject.source.body])
    for statement in leaving:
        for outer in ancestors(statement):
            condition = outer.child_by_field_name("condition")
            if condition is not None and (identifiers(condition) & differing or not is_pure(condition, subject.source)):
                raise Unmet("some threads of a block may return before a barrier", statement)
            if outer == subject.source.body:
                break


def changed_parameters(work: Sequence[Piece], subject: Subject, names: Names) -> list[KernelParameter]:
    source = subject.source
    changed = [p for p in (*source.parameters, *source.local_parameters) if any(names.is_assigned(p.name, w.node) for w in work)]
    for parameter in changed:
        require(
            parameter not in source.local_parameters, f"{parameter.name}, a pointer to shared memory, is changed", parameter.node
        )
        plain = "(" not in parameter.type and "[" not in source.text_of(parameter.node)
        require(plain, f"{parameter.name} is changed and its type cannot be copied", parameter.node)
        shadowed = any(
            parameter.name in identifiers(field_of(n, "declarator"))
            for piece in work
            for n in of_kind(piece.node, "init_declarator")
        )
        require(not shadowed, f"{parameter.name} is declared again", parameter.node)
    return changed
