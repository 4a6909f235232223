"""Kernels whose threads each have one element of their block's row: `if (threadIdx.x < n) { … }`, before and after sums over it.

The statements of such a kernel are read in their order. Those inside the guards are an *element's*; all others are *common*:
every thread does the same with the same values, or the first one does it alone. What passes from elements to common code are only
sums (maxima, …) over the block, so who has which element does not matter, nor how many threads there are. What passes from one
guard to the next is the element's own, and has to be found out again (`found_again`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.preconditions import names_of, present, require
from warpsmith.refactor.rows.common_code import CommonCode
from warpsmith.refactor.rows.held import ADDED, Held, Is
from warpsmith.source import Polynomial
from warpsmith.source.accumulators import combination
from warpsmith.source.dataflow import changed_names, declarators, exits, identifiers, is_in_inner_loop, is_pure
from warpsmith.source.effects import declares_shared, leaves, waits
from warpsmith.source.guards import Guard, guard_of, is_return
from warpsmith.source.redundant_barriers import is_barrier
from warpsmith.source.statements import header_of
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import ancestors, of_kind, text_of, unwrapped
from warpsmith.source.tree import field as field_of
from warpsmith.source.whole_block import family, is_zero, reduction_in

if TYPE_CHECKING:
    from tree_sitter import Node

_THREAD = Polynomial.atom("threadIdx.x")
_SILENT = frozenset({"comment", "alias_declaration", "type_definition", "static_assert_declaration", "using_declaration", ";"})
_JUMPS = frozenset({"return_statement", "continue_statement", "break_statement"})
_OPAQUE = ("lambda_expression", "goto_statement", "labeled_statement", "gnu_asm_expression", "switch_statement")


@dataclass(frozen=True, slots=True)
class Region:
    """`block` is what the guard is a statement of; `assigned` are first terms of a thread's part, to be added from now on."""

    guard: Guard
    block: Node
    assigned: tuple[Node, ...]

    @property
    def body(self) -> Node:
        assert self.guard.body is not None
        return self.guard.body


@dataclass(slots=True)
class OneEach:
    """The regions in their order, and what variables hold after the last statement."""

    subject: Subject
    regions: list[Region] = field(default_factory=list)
    common: CommonCode = field(init=False)
    held: Held = field(init=False)

    def __post_init__(self) -> None:
        names, source = names_of(self.subject), self.subject.source
        self.common = CommonCode(names)
        self.held = Held(self.common, frozenset(p.name for p in source.parameters))
        opaque = next(of_kind(source.body, *_OPAQUE, "reference_declarator", "structured_binding_declarator"), None)
        require(opaque is None, "the kernel has statements that are not analysed", opaque)
        self._read(source.body)
        require(self.regions, "no code has the guard `if (threadIdx.x < n)` with a block-uniform n")
        for name in self.held.elements.keys() - self.held.fixed:
            self._require_own(name)

    # ── common code ──

    def _read(self, block: Node) -> None:
        for statement in block.named_children if block.type == "compound_statement" else [block]:
            if statement.type in _SILENT or statement.type.startswith("preproc_") or is_barrier(statement):
                continue
            self._statement(statement)

    def _statement(self, node: Node) -> None:
        match node.type:
            case "declaration":
                if not is_shared(node, self.subject.source):
                    for declarator in declarators(node):
                        self._declare(declarator)
            case "expression_statement":
                self._change(node)
            case "if_statement":
                self._if(node)
            case "for_statement":
                self._for(node)
            case "compound_statement":
                self._read(node)
            case kind if kind in _JUMPS:
                require(kind != "return_statement" or is_return(node), "the kernel returns a value", node)
            case _:
                require(False, "a statement outside the guards is not analysable", node)

    def _for(self, node: Node) -> None:
        for part in header_of(node):
            self.held.require_common(part, "a loop's trip count is not block-uniform", steps=True)
            for name in changed_names(part, self.subject.source) & self.held.state.keys():
                self.held.state[name] = Is.UNSURE
        self._inside(field_of(node, "body"))

    def _declare(self, declarator: Node) -> None:
        name = text_of(next(of_kind(declarator, "identifier")))
        known = name in self.held.state or name in self.held.elements or name in self.held.threads
        require(not known and name not in self.held.parameters, f"two variables have the name {name}", declarator)
        require(not self.common.is_static(declarator), f"{name} has static storage", declarator)
        value = declarator.child_by_field_name("value")
        if not self.common.changes(name, declarator):
            if value is None or self.held.is_common(value):
                self.held.state[name] = Is.COMMON
            elif self._is_index(declarator, value):
                self.held.threads[name] = declarator
            else:
                alone = is_pure(value, self.subject.source)
                require(alone, f"the value of {name} is not block-uniform, and computing it may have side effects", value)
                self.held.elements[name] = declarator
                self.held.fixed.add(name)
        elif value is None:
            self.held.elements[name] = declarator
        else:
            self.held.require_common(value, f"the initial value of {name} is not block-uniform")
            self.held.state[name] = Is.ZERO if is_zero(value) else Is.COMMON
            if name not in self._parts() and self._is_elements_own(declarator, name):
                del self.held.state[name]
                self.held.elements[name] = declarator

    def _is_index(self, declarator: Node, value: Node) -> bool:
        kind = self.common.kind(declarator)
        return Polynomial.of(value, self.common.names) == _THREAD and kind in {"auto", *ADDED}

    def _change(self, statement: Node) -> None:
        """`total = sum over the block;`, or a store that all threads make alike."""
        if not statement.named_children:
            return
        node = unwrapped(statement.named_children[0])
        require(node.type == "assignment_expression", "a statement outside the guards is not an assignment", node)
        target, value, sign = unwrapped(field_of(node, "left")), field_of(node, "right"), text_of(field_of(node, "operator"))
        self.held.require_common(value, f"{text_of(target)} is assigned a value that is not block-uniform")
        if target.type == "identifier" and text_of(target) in self.held.state:
            name = text_of(target)
            require(sign == "=" or self.held.state[name] in {Is.COMMON, Is.ZERO}, f"{name} is not block-uniform", node)
            self.held.state[name] = Is.ZERO if sign == "=" and is_zero(value) else Is.COMMON
            return
        self.held.require_common(target, "an address is not block-uniform")
        require(sign == "=", "all threads of a block write to one address", node)

    def _if(self, node: Node) -> None:
        guard = next((g for g in guard_of(node, self.common.names) if g.left == _THREAD and g.body is not None), None)
        if guard is not None and self.held.is_common(guard.limit):
            self._region(guard)
        elif self.common.is_first_thread(node):
            self._first_thread(field_of(node, "consequence"))
        else:
            self.held.require_common(field_of(node, "condition"), "a branch is not block-uniform")
            self._inside(field_of(node, "consequence"))
            if (other := node.child_by_field_name("alternative")) is not None:
                self._inside(other.named_children[-1])

    def _first_thread(self, work: Node) -> None:
        """What one thread does for all of them, as long as it is about nothing of its own."""
        require(not waits(work, self.common.names), "the code of the first thread contains a barrier", work)
        apart = self.held.apart(work, self.held.common_names())
        require(apart is None, f"the first thread uses {apart}, which is not block-uniform", work)
        self._require_no_calls(work)
        held = self.held.state.keys() | self.held.elements.keys() | self.held.threads.keys()
        changed = changed_names(work, self.subject.source) & held
        values = {name for name in changed if not self.common.is_pointer(name, work)}
        require(not values, f"the first thread alone changes {', '.join(sorted(values))}", work)

    def _inside(self, block: Node) -> None:
        """A block that may be done never, once or several times: what it changes is not known before or afterwards."""
        known = changed_names(block, self.subject.source) & self.held.state.keys()
        changed = {name for name in known if not self.common.is_pointer(name, block)}
        for name in changed:
            self.held.state[name] = Is.UNSURE
        self._read(block)
        for name in changed:
            self.held.state[name] = Is.UNSURE

    # ── elements ──

    def _region(self, guard: Guard) -> None:
        body, source, names = present(guard.body, "", guard.node), self.subject.source, self.common.names
        require(not waits(body, names) and not declares_shared(body, names), "threads cooperate inside a guard", body)
        stray = [n for n in (*exits(body), *of_kind(body, "continue_statement")) if not is_in_inner_loop(n, body)]
        require(not stray and not any(exits(body)) and not leaves(body), "the code inside a guard jumps out of it", body)
        self._require_no_calls(body)
        assigned: list[Node] = []
        parts = {n for n in changed_names(body, source) & self.held.state.keys() if not self.common.is_pointer(n, body)}
        for name in sorted(parts):
            assigned += self._part(name, guard)
        besides = {*self.held.common_names(), *parts, *self.held.elements, *self.held.threads, "threadIdx"}
        apart = self.held.apart(body, besides)
        require(apart is None, f"the code inside a guard uses {apart}, which is not block-uniform", body)
        whole = [n for n in of_kind(body, "identifier") if text_of(n) == "threadIdx" and not self.common.is_thread(n)]
        require(not whole, "threadIdx is used other than by its x component", body)
        self.regions.append(Region(guard, guard.node.parent or source.body, tuple(assigned)))

    def _part(self, name: str, guard: Guard) -> Iterator[Node]:
        """A sum that the region adds to; the operators of assignments that give its first term."""
        body, state = present(guard.body, "", guard.node), self.held.state[name]
        found = combination(name, body)
        how = family(found) if found is not None else None
        first = [] if how is not None else self.common.first_terms(name, body)
        how = "+" if first else how
        require(how is not None, f"{name} is changed inside a guard by more than a sum, minimum or maximum over elements", body)
        kinds = {self.common.kind(d) for d in self.common.declared(name)}
        require(kinds <= ADDED, f"{name} may be too narrow for several elements", body)
        fresh = state is Is.ZERO or (state is Is.COMMON and how != "+")
        more = state is Is.PART and self.held.combined.get(name) == how and not first
        require(fresh or more, f"{name} does not start with the neutral element", body)
        self.held.state[name], self.held.combined[name] = Is.PART, how or ""
        return iter(first)

    def _require_own(self, name: str) -> None:
        """A variable without a value for common code: only guards in the block where it is declared may use it."""
        declarator = self.held.elements[name]
        scope = next(a for a in ancestors(declarator) if a.type == "compound_statement")
        regions = [r.body for r in self.regions if r.block == scope]
        for use in of_kind(self.subject.source.body, "identifier"):
            if text_of(use) == name and self.common.declared_at(use) == declarator.start_byte:
                inside = any(r.start_byte <= use.start_byte < r.end_byte for r in regions)
                within = declarator.start_byte <= use.start_byte < declarator.end_byte
                require(inside or within, f"{name}, a per-element value, is used outside the guards", use)

    def _is_elements_own(self, declarator: Node, name: str) -> bool:
        """Whether only guards of its block use a variable that begins with a common value."""
        scope = next(a for a in ancestors(declarator) if a.type == "compound_statement")
        bodies = [g.body for s in scope.named_children for g in guard_of(s, self.common.names) if g.left == _THREAD and g.body]
        uses = [u for u in of_kind(scope, "identifier") if text_of(u) == name and u.start_byte >= declarator.end_byte]
        pure = is_pure(declarator, self.subject.source)
        return pure and all(any(b.start_byte <= u.start_byte < b.end_byte for b in bodies) for u in uses)

    def _parts(self) -> set[str]:
        """Names that are given to a reduction somewhere."""
        calls = [c for c in of_kind(self.subject.source.body, "call_expression") if reduction_in(c, self.common.reductions)]
        return {name for call in calls for name in identifiers(field_of(call, "arguments"))}

    def _require_no_calls(self, node: Node) -> None:
        called = next((c for c in of_kind(node, "call_expression") if reduction_in(c, self.common.reductions)), None)
        require(called is None, "cannot prove that all threads reach a block reduction", called)
