"""A block's work on its row as stages: a sweep over the row and what is done with its result, until the next sweep.

A stage needs names that were declared before it. Some can be declared again, from the block's place alone (pointers to the row);
others are what an earlier stage found out (a maximum), and have to be kept until then. `row_stages` tells which is which, so that
stages of different rows can be done side by side; `passes.joined_rows` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as data
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import changed_names, declarators, is_fixed, is_pure, reads_inputs_only
from warpsmith.source.effects import declares_shared, is_invariant, may_change, reads_memory, sharing_calls, waits
from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import Piece
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = frozenset({"alias_declaration", "type_definition", "static_assert_declaration", "using_declaration"})


@dataclass(frozen=True, slots=True)
class RowVariable:
    """A variable of one row: where it is declared, and the stage after whose sweep that is (0: before the first)."""

    name: str
    piece: Piece = data(repr=False)
    declarator: Node = data(repr=False)
    stage: int


@dataclass(frozen=True, slots=True)
class RowStage:
    """`again` are declarations to be made anew for it, `kept` the variables whose values the stage before leaves."""

    number: int
    piece: Piece = data(repr=False)  # of the sweep
    sweep: Loop = data(repr=False)
    after: tuple[Piece, ...] = data(repr=False)
    again: tuple[Piece, ...] = data(repr=False)
    kept: tuple[RowVariable, ...]


@dataclass(frozen=True, slots=True)
class RowStages:
    """`common` are the declarations that are the same for all rows."""

    common: tuple[Piece, ...] = data(repr=False)
    stages: tuple[RowStage, ...]
    variables: tuple[RowVariable, ...]


class Unstaged(Exception):  # noqa: N818 - that a kernel is not like this is no error
    """Why the work cannot be taken apart, and where."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


def row_stages(work: Sequence[Piece], blocks: Sequence[Node], names: Names) -> RowStages:
    """Of the statements that differ from block to block; `blocks` is where they ask for their block. Raises Unstaged."""
    return _Staging(work, blocks, names).result()


class _Staging:
    def __init__(self, work: Sequence[Piece], blocks: Sequence[Node], names: Names) -> None:
        self._work, self._blocks, self._names = work, blocks, names
        self._sweeps = self._found_sweeps()
        first = work.index(self._sweeps[0][0])
        self._before = [p for p in work[:first] if not self._is_common(p)]
        self._common = [p for p in work[:first] if p not in self._before]

    def result(self) -> RowStages:
        self._check()
        again: dict[int, list[Piece]] = {}
        kept: dict[int, list[RowVariable]] = {}
        later: list[RowVariable] = []  # what the stage after this one wants to have been kept
        for number in range(len(self._sweeps), 0, -1):
            wanted = [*self._used(self._nodes(number)), *later]
            wanted = [v for v in dict.fromkeys(wanted) if v.stage < number]
            later = [v for v in wanted if not self._can_be_declared_again(v, number)]
            again[number] = self._closure([v for v in wanted if v not in later])
            kept[number] = later
        for variable in {v for variables in kept.values() for v in variables}:
            self._require_copied(variable)
        stages = tuple(
            RowStage(n, piece, sweep, tuple(self._after(n)), tuple(again[n]), tuple(kept[n]))
            for n, (piece, sweep) in enumerate(self._sweeps, 1)
        )
        return RowStages(tuple(self._common), stages, self._variables)

    def _found_sweeps(self) -> list[tuple[Piece, Loop]]:
        loops = {loop.node.start_byte: loop for piece in self._work for loop in loops_of(piece.node, self._names)}
        strided = [(p, loop) for p in self._work if (loop := loops.get(p.node.start_byte)) is not None]
        strided = [(p, loop) for p, loop in strided if loop.kind is LoopKind.BLOCK_STRIDE]
        same = [(p, loop) for p, loop in strided if _header(loop) == _header(strided[0][1])]
        if len(same) < 2:
            raise Unstaged("no row is traversed more than once by loops over the same range")
        return same

    def _after(self, number: int) -> list[Piece]:
        begin = self._work.index(self._sweeps[number - 1][0]) + 1
        last = number == len(self._sweeps)
        return list(self._work[begin : None if last else self._work.index(self._sweeps[number][0])])

    def _nodes(self, number: int) -> list[Node]:
        return [self._sweeps[number - 1][0].node, *(p.node for p in self._after(number))]

    def _is_common(self, piece: Piece) -> bool:
        """Whether it declares the same for every block, and may do so before all else."""
        node = piece.node
        if node.type == "declaration" and is_shared(node, self._names.source):
            return True
        after = [p.node for p in self._work if p.start >= piece.end]
        own_block = any(is_within(b, node) for b in self._blocks)
        if own_block or reads_memory(node, self._names) or not is_fixed(node, after, self._names.source):
            return False
        declared = [self._names.definition(n).node for n in of_kind(node, "identifier")]
        before = [p for p in self._work if p.end <= piece.start]
        own = [p for p in before if any(d is not None and is_within(d, p.node) for d in declared)]
        return all(self._is_common(p) for p in own)

    @cached_property
    def _variables(self) -> tuple[RowVariable, ...]:
        placed = [(p, 0) for p in self._before]
        placed += [(p, number) for number in range(1, len(self._sweeps) + 1) for p in self._after(number)]
        return tuple(
            RowVariable(text_of(next(of_kind(declarator, "identifier"))), piece, declarator, stage)
            for piece, stage in placed
            for declarator in declarators(piece.node)
        )

    def _used(self, nodes: Iterable[Node]) -> Iterator[RowVariable]:
        for node in nodes:
            for use in of_kind(node, "identifier"):
                found = variable_of(use, self._variables, self._names)
                if found is not None:
                    yield found

    def _can_be_declared_again(self, variable: RowVariable, number: int) -> bool:
        if variable.stage > 0:
            return False
        if number == 1:
            return True
        node, names = variable.piece.node, self._names
        inputs = names.kernel is not None and reads_inputs_only(node, names, names.kernel)
        if reads_memory(node, names) and not inputs:
            return False
        together = [v for v in self._variables if v.piece == variable.piece]
        earlier = [n for stage in range(1, number) for n in self._nodes(stage)]
        if any(_changes(v, n, names) for v in together for n in earlier):
            return False
        sources = [v for v in self._used([node]) if v.piece != variable.piece]
        return all(self._can_be_declared_again(v, number) for v in sources)

    def _closure(self, variables: Sequence[RowVariable]) -> list[Piece]:
        """Their declarations, and those of all that these are made of, in order."""
        found: dict[int, Piece] = {}
        waiting = list(variables)
        while waiting:
            piece = waiting.pop().piece
            if piece.start not in found:
                found[piece.start] = piece
                waiting += self._used([piece.node])
        return [found[start] for start in sorted(found)]

    def _check(self) -> None:
        names = self._names
        for piece in self._before:
            plain = piece.node.type == "declaration" and is_pure(piece.node, names.source)
            _require(plain, "a statement other than a declaration precedes the first sweep over the row", piece.node)
            given = all(d.type == "init_declarator" for d in declarators(piece.node))
            _require(given, "a variable without an initialiser precedes the first sweep over the row", piece.node)
        for _, sweep in self._sweeps:
            self._check_sweep(sweep)
        for number in range(1, len(self._sweeps) + 1):
            declared = next((p.node for p in self._after(number) if p.node.type in _TYPES), None)
            _require(declared is None, "a type is declared between the sweeps", declared)
        self._check_shared()

    def _check_sweep(self, sweep: Loop) -> None:
        name, names = sweep.variable, self._names
        _require(not sweep.jumps(), f"an iteration of the loop over {name} can break or continue", sweep.node)
        _require(not sweep.changes_variable(names), f"the loop body changes {name}", sweep.node)
        _require(not waits(sweep.body, names), f"the loop over {name} contains a barrier", sweep.node)
        _require(not declares_shared(sweep.body, names), f"the loop over {name} declares shared memory", sweep.node)
        header = [n for n in (sweep.start, sweep.bound, sweep.step) if n is not None]
        steady = all(is_invariant(n, names.source.body, names) for n in header)
        own = any(self._used(header)) or any(is_within(b, n) for b in self._blocks for n in header)
        _require(steady and not own, f"the range of {name} is not the same for all rows", sweep.node)

    def _check_shared(self) -> None:
        """What is in shared memory must not outlive a stage: the next one to come is another row's."""
        names, source = self._names, self._names.source
        seen: dict[str, int] = {}
        for number in range(1, len(self._sweeps) + 1):
            for node in self._nodes(number):
                used = {f"{called}()": call for called, call in sharing_calls(node, names)}
                for use in of_kind(node, "identifier"):
                    declared = names.definition(use).node
                    declaration = declared if declared is None or declared.type == "declaration" else declared.parent
                    if declaration is not None and declaration.type == "declaration" and is_shared(declaration, source):
                        used[text_of(use)] = use
                for what, where in used.items():
                    once = seen.setdefault(what, number) == number
                    _require(once, f"shared memory ({what}) is used after more than one sweep over the row", where)

    def _require_copied(self, variable: RowVariable) -> None:
        """Whether it can be kept in another variable of its type."""
        kinds = {n.type for part in _before_name(variable) for n in (part, *part.children)}
        alone = len(declarators(variable.piece.node)) == 1
        simple = not kinds & {"array_declarator", "reference_declarator", "function_declarator", "placeholder_type_specifier"}
        needed = f"{variable.name} is needed after the next sweep"
        _require(alone, f"{needed}, and declared together with others", variable.piece.node)
        _require(simple, f"{needed}, and its type cannot be copied", variable.piece.node)


def variable_of(use: Node, variables: Sequence[RowVariable], names: Names) -> RowVariable | None:
    """The row's variable that an identifier stands for."""
    definition = names.definition(use)
    if definition.origin is not Origin.LOCAL or definition.node is None:
        return None
    return next((v for v in variables if v.name == text_of(use) and is_within(definition.node, v.piece.node)), None)


def _header(loop: Loop) -> str:
    return " ".join(text_of(loop.node)[: loop.body.start_byte - loop.node.start_byte].split())


def _changes(variable: RowVariable, node: Node, names: Names) -> bool:
    if may_change(variable.name, node, names):
        return True
    pointer = any(True for _ in of_kind(variable.declarator, "pointer_declarator"))
    return not pointer and variable.name in changed_names(node, names.source)


def _before_name(variable: RowVariable) -> list[Node]:
    children = variable.piece.node.children
    return [c for c in children if c.start_byte <= variable.declarator.start_byte]


def _require(holds: object, reason: str, node: Node | None) -> None:
    if not holds:
        raise Unstaged(reason, node)
