"""`late_loads`: values that a thread loads into an array of its own first, or where it uses them.

Exposes: arrays of a thread, `float taps[4][9]`, that loops fill element by element from a buffer that is only read, and that are
only read afterwards. With LATE the array is gone, and each use loads its element itself.
Precondition: an element's subscripts are the loops' own counters, so that its address can be written with a use's subscripts;
what the address is made of means the same there. Loads are the same or fewer, from the same places.
Parameter: LATE, 0 as it was. Constraints: none.

An array of the thread costs registers, or memory where it is too large for them; caches and the compiler keep what is used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, require, require_readable, those_that_can
from warpsmith.refactor.writing import operand, removed
from warpsmith.source import Edit, Names, loops_of
from warpsmith.source.arrays import Array, arrays_of, named_in_macros
from warpsmith.source.dataflow import declarators, is_pure, reads_inputs_only
from warpsmith.source.effects import may_change
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import text_between, with_pragma
from warpsmith.source.tiles.loaded import indices_of
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


class LateLoads:
    name = "late_loads"
    summary = "values loaded into a register array first, or at their use"
    stage = Stage.RESTRUCTURE
    priority = 25  # before `direct_reads`, which puts loads into places where this would find them again
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


@dataclass(frozen=True, slots=True)
class _Held:
    """An array of the thread: the statement that fills it, the load with its loops' counters, and the elements that are read."""

    array: Array
    filling: Node
    load: Node
    counters: tuple[str, ...]
    reads: tuple[Node, ...]


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, source = names_of(subject), subject.source
    arrays = [a for a in arrays_of(names) if not a.is_shared and is_within(a.declarator, source.body)]
    require(arrays, "the kernel has no per-thread array")
    found = those_that_can(arrays, lambda array: _held(subject, names, array))
    edits = [edit for held in found for edit in _edits(subject, names, held)]
    listed = " and ".join(held.array.name for held in found)
    meaning = f"{listed}: 0: loaded before use · 1: each value loaded at its use"
    choice = Tunable(fresh_name(subject, "LATE"), (0, 1), 0, meaning, source.line_of(found[0].array.declarator))
    return Rewrite(subject.variant, choice, {1: replace(subject.variant, text=source.edited(*edits))})


# ── recognising ──


def _held(subject: Subject, names: Names, array: Array) -> _Held:
    name, declaration = array.name, array.declarator.parent
    alone = declaration is not None and declaration.type == "declaration" and len(declarators(declaration)) == 1
    require(alone, f"{name} has an initialiser, or is declared together with other variables", array.declarator)
    require(not named_in_macros(name, names), f"a macro mentions {name}, so some of its uses may be hidden", array.declarator)
    writes, reads = _uses(subject, names, array)
    require(len(writes) == 1, f"{name} is not filled by one statement", array.declarator)
    (write, element) = writes[0]
    filling = _filling(names, array, write, declaration)
    require(all(read.start_byte > filling.end_byte for read in reads) and reads, f"{name} is used before it is filled", filling)
    counters = tuple(text_of(unwrapped(index)) for index in indices_of(element))
    loops = {loop.variable: loop for loop in loops_of(filling, names)}
    nested = sum(1 for _ in of_kind(filling, "for_statement"))
    plain = len(set(counters)) == len(counters) == nested and loops.keys() == set(counters)
    require(plain, f"the subscripts of {name} are not the counters of the loops that fill it", element)
    load = field(write, "right")
    require(_is_load(load, subject, names), f"{name} is filled with more than a value of a read-only buffer", load)
    held = _Held(array, filling, load, counters, tuple(reads))
    for read in reads:
        _require_same_meaning(names, held, load, read)
    return held


def _uses(subject: Subject, names: Names, array: Array) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """Assignments of whole elements, with these, and the elements that are read."""
    writes: list[tuple[Node, Node]] = []
    reads: list[Node] = []
    for use in of_kind(subject.source.body, "identifier"):
        declared = names.definition(use).node if text_of(use) == array.name else None
        if declared is None or is_within(use, array.declarator) or not is_within(array.declarator, declared):
            continue
        element = use
        for _ in array.extents:
            parent = element.parent
            is_element = parent is not None and parent.type == "subscript_expression" and field(parent, "argument") == element
            require(is_element, f"{array.name} is used as a whole", use)
            assert parent is not None
            element = parent
        parent = element.parent
        if parent is not None and parent.type == "assignment_expression" and field(parent, "left") == element:
            require(text_of(field(parent, "operator")) == "=", f"an element of {array.name} is changed", use)
            writes.append((parent, element))
        else:
            taken = parent is not None and parent.type in {"update_expression", "pointer_expression", "field_expression"}
            require(not taken, f"an element of {array.name} is changed, or its address taken", use)
            reads.append(element)
    return writes, reads


def _filling(names: Names, array: Array, write: Node, declaration: Node | None) -> Node:
    """The loops around the assignment, up to the block in which the array is declared; they do nothing else."""
    block = declaration.parent if declaration is not None else None
    whole = write
    for outer in ancestors(write):
        if outer == block:
            break
        whole = outer
    require(whole.parent == block and whole.type == "for_statement", f"{array.name} is not filled by a separate loop nest", write)
    require(_only_fills(whole, write, names), f"the loops that fill {array.name} have other effects", whole)
    return whole


def _only_fills(statement: Node, write: Node, names: Names) -> bool:
    match statement.type:
        case "for_statement":
            return _only_fills(field(statement, "body"), write, names)
        case "compound_statement":
            return all(_only_fills(inner, write, names) for inner in statement.named_children)
        case "expression_statement":
            return write.parent == statement
        case "declaration":
            return is_pure(statement, names.source)
        case _:
            return statement.type in {"comment", "preproc_call"}


def _is_load(value: Node, subject: Subject, names: Names) -> bool:
    value = unwrapped(value)
    called = text_of(field(value, "function")) if value.type == "call_expression" else ""
    loads = called == "__ldg" or value.type == "subscript_expression" or text_of(value).startswith("*")
    return loads and is_pure(value, names.source) and reads_inputs_only(value, names, subject.kernel)


def _require_same_meaning(names: Names, held: _Held, node: Node, read: Node) -> None:
    """Names of the address are counters, constants of the filling, or have the same value where the element is read."""
    scopes = names.source.scopes
    for use in of_kind(node, "identifier"):
        name, found = text_of(use), names.definition(use)
        if name in held.counters or found.origin in {Origin.UNKNOWN, Origin.MACRO, Origin.TEMPLATE, Origin.FILE}:
            continue
        assert found.node is not None
        if is_within(found.node, held.filling):
            require(found.is_fixed and found.value is not None, f"{name} changes while {held.array.name} is filled", use)
            assert found.value is not None
            _require_same_meaning(names, held, found.value, read)
            continue
        seen = scopes.declaration(name, read)
        same = seen is not None and seen.node == found.node
        require(same, f"{name} refers to another variable where {held.array.name} is used", read)
        block = held.filling.parent
        assert block is not None
        require(not may_change(name, block, names), f"{name} may change before {held.array.name} is used", use)


# ── writing ──


def _edits(subject: Subject, names: Names, held: _Held) -> Iterator[Edit]:
    tree, declaration = subject.source.tree, held.array.declarator.parent
    assert declaration is not None
    yield removed(tree, [declaration])
    yield removed(tree, with_pragma(held.filling))
    for read in held.reads:
        subscripts = dict(zip(held.counters, (subject.source.text_of(index) for index in indices_of(read)), strict=True))
        yield Edit(read.start_byte, read.end_byte, _inlined(subject, names, held, held.load, subscripts))


def _inlined(subject: Subject, names: Names, held: _Held, node: Node, subscripts: dict[str, str]) -> str:
    """The expression with counters replaced by a use's subscripts, and constants of the filling by what they stand for."""
    edits = []
    for use in of_kind(node, "identifier"):
        found, name = names.definition(use), text_of(use)
        if name in subscripts:
            edits.append(Edit(use.start_byte, use.end_byte, operand(subscripts[name])))
        elif found.node is not None and found.value is not None and is_within(found.node, held.filling):
            edits.append(Edit(use.start_byte, use.end_byte, f"({_inlined(subject, names, held, found.value, subscripts)})"))
    return text_between(subject.source.tree, node.start_byte, node.end_byte, edits)
