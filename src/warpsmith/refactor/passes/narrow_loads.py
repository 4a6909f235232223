"""`narrow_loads`: sums over packs (`float4`) as sums over their elements, one load each.

Exposes LOAD: the elements that a thread loads at once in a strided loop which only collects them, as in

    for (int i = thread; i < n / 4; i += threads) { const float4 x = packs[i]; sum += (x.x + x.y) + (x.z + x.w); }

GPUs like wide loads. A device that vectorises across threads has to take packs apart again, and likes elements.

Precondition: a step loads one pack and does nothing but combine terms of it, the same term of every element, by sums, maxima and
their like; a thread's own result is not stored, since it is made of other elements then; the steps are distributed over the
threads of a block or of the grid. Floats are added up in another order: within the tolerance, not bit for bit.
Constraints: elements can be counted by the loop's own type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.loops.collecting import require_no_own_results, require_reduced
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, present, require, require_readable, those_that_can
from warpsmith.refactor.writing import FreeNames, operand
from warpsmith.source import Edit, Loop, Names, loops_of
from warpsmith.source.accumulators import combination, terms_of
from warpsmith.source.dataflow import identifiers, is_pure, reads_inputs_only
from warpsmith.source.effects import is_invariant
from warpsmith.source.independence import carried
from warpsmith.source.statements import pieces_of
from warpsmith.source.structs import pointee_type
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_PACK = re.compile(r"(float|double|int|uint|half)([24])")
_ELEMENTS = {"uint": "unsigned int"}
_LANES = "xyzw"
_MOST = 2**30  # that a 32-bit index counts to, with room for the step beyond the end
_SHORT = frozenset({"int", "int32_t", "unsigned", "unsigned int", "uint32_t", "uint"})


class NarrowLoads:
    name = "narrow_loads"
    summary = "sums over packs with one wide load per iteration, or over single elements"
    stage = Stage.RESTRUCTURE
    priority = 40  # before steps are shared out anew or done several at a time
    concerns = frozenset({Concern.COALESCING, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


@dataclass(frozen=True, slots=True)
class _Packs:
    """A loop that collects packs: the load, its pointer, and a pack's type in two parts."""

    loop: Loop
    load: Node
    name: str
    pointer: str
    element: str
    lanes: int
    rule: Rule | None


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    opencl = subject.source.language is Language.OPENCL
    require(not opencl, "a pointer to elements would need the address space of the pack's pointer in OpenCL")
    names, source = names_of(subject), subject.source
    geometry = Geometry.of(subject, names)
    strided = [o for o in loops_of(source.body, names) if geometry.thread_share(o, names) is not None]
    require(strided, "the kernel has no block-stride or grid-stride loop")
    found = those_that_can(strided, lambda loop: _packs(subject, loop, geometry, names))
    lanes = found[0].lanes
    found = [packs for packs in found if packs.lanes == lanes]
    _require_common(found, strided, geometry, names)
    free = FreeNames(source.text)
    edits = [edit for packs in found for edit in _narrowed(subject, packs, free)]
    rules = tuple(packs.rule for packs in found if packs.rule is not None)
    variant = subject.variant
    narrow = replace(variant, text=source.edited(*edits), rules=(*variant.rules, *dict.fromkeys(rules)))
    meant = "elements per load where a thread sums packs"
    choice = Tunable(fresh_name(subject, "LOAD"), (1, lanes), lanes, meant, source.line_of(found[0].load))
    return Rewrite(variant, choice, {1: narrow})


def _require_common(found: list[_Packs], strided: list[Loop], geometry: Geometry, names: Names) -> None:
    """What is collected belongs to all: to a block where its threads share the steps, to the grid where blocks do, too."""
    sums = sorted({variable for packs in found for variable in carried(packs.loop, names)})
    require_reduced(sums, found[0].loop, strided, names)
    shares = [geometry.thread_share(packs.loop, names) for packs in found]
    if any(share is not None and share.mentions("blockIdx") for share in shares):
        require_no_own_results(sums, [packs.loop for packs in found], names)


def _packs(subject: Subject, loop: Loop, geometry: Geometry, names: Names) -> _Packs:
    source = subject.source
    share = present(
        geometry.thread_share(loop, names), f"the loop over {loop.variable} is not distributed over threads", loop.node
    )
    from_zero = geometry.base(loop, share, names) is None and loop.ends_below and loop.step is not None
    in_block = loop.node.parent is not None and loop.node.parent.type == "compound_statement"
    require(in_block, f"the loop over {loop.variable} is a condition's only statement, without braces", loop.node)
    require(from_zero, f"the loop over {loop.variable} does not start at the thread's index", loop.node)
    header = (loop.start, loop.bound, loop.step)
    steady = all(part is None or is_invariant(part, loop.body, names) for part in header)
    steady = steady and not loop.changes_variable(names)
    require(steady, f"the range of {loop.variable} may change while the loop runs", loop.node)
    statements = [piece.node for piece in pieces_of(loop.body, source.tree)]
    first = _load(statements[0]) if len(statements) > 1 else None
    load = present(first, f"an iteration over {loop.variable} does not start with the load that it accumulates", loop.node)
    pointer = unwrapped(field(field(load, "value"), "argument"))
    at_step = text_of(field(field(load, "value"), "indices").named_children[0]) == loop.variable
    require(pointer.type == "identifier" and at_step, f"an iteration over {loop.variable} does not load at {loop.variable}", load)
    kind = present(
        _PACK.fullmatch(pointee_type(pointer, names) or ""), "the loaded value is not a pack of two or four numbers", load
    )
    unchanged = names.definition(pointer).is_fixed and reads_inputs_only(loop.body, names, subject.kernel)
    require(unchanged, f"{text_of(pointer)} or what it points to may change", load)
    name = text_of(field(load, "declarator"))
    collected = set(carried(loop, names))
    for statement in statements[1:]:
        symmetric = collected and _is_symmetric(statement, name, loop, int(kind[2]), names)
        require(symmetric, f"line {source.line_of(statement)} treats the elements of a pack differently", statement)
    for variable in collected:
        only = combination(variable, loop.body)
        require(only, f"{variable} is carried between iterations over {loop.variable}", loop.node)
    rule = _rule(loop, int(kind[2]), names)
    return _Packs(loop, load, name, text_of(pointer), _ELEMENTS.get(kind[1], kind[1]), int(kind[2]), rule)


def _load(statement: Node) -> Node | None:
    """The declarator of `const float4 x = packs[i];`."""
    declared = [c for c in statement.named_children if c.type == "init_declarator"] if statement.type == "declaration" else []
    plain = len(declared) == 1 and field(declared[0], "declarator").type == "identifier"
    return declared[0] if plain and field(declared[0], "value").type == "subscript_expression" else None


def _assignment(statement: Node) -> tuple[Node, str, list[Node]] | None:
    """What a statement collects in, by which operation, and the terms."""
    node = statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else statement
    if node.type != "assignment_expression":
        return None
    target, value, sign = unwrapped(field(node, "left")), unwrapped(field(node, "right")), text_of(field(node, "operator"))
    if sign == "+=":
        return target, "+", list(terms_of(value, "+"))
    if sign == "=" and value.type == "call_expression":
        called = text_of(field(value, "function"))
        return target, called, [t for t in terms_of(value, called) if text_of(t) != text_of(target)]
    return None


def _is_symmetric(statement: Node, pack: str, loop: Loop, lanes: int, names: Names) -> bool:
    """Whether each element of the pack gives one and the same term, and nothing else is in the sum."""
    found = _assignment(statement)
    if found is None or not all(is_pure(term, names.source) for term in found[2]):
        return False
    words: dict[str, list[str]] = {}
    for term in found[2]:
        uses = [n for n in of_kind(term, "identifier") if text_of(n) == pack]
        parents = [n.parent for n in uses]
        members = {text_of(field(p, "field")) for p in parents if p is not None and p.type == "field_expression"}
        whole = any(p is None or p.type != "field_expression" for p in parents)
        if len(members) != 1 or whole or loop.variable in identifiers(term):
            return False
        words.setdefault(members.pop(), []).append(re.sub(rf"\b{pack}\s*\.\s*\w+", "$", text_of(term)))
    listed = [sorted(words.get(lane, [])) for lane in _LANES[:lanes]]
    return len(words) == lanes and all(one == listed[0] for one in listed)


def _rule(loop: Loop, lanes: int, names: Names) -> Rule | None:
    if loop.type not in _SHORT:
        return None
    bound = present(
        names.expression(loop.bound), "the number of packs cannot be computed from the sizes in kernel.toml", loop.node
    )
    return Rule(f"{operand(bound)} * {lanes} < {_MOST}", f"the elements are counted by an {loop.type}")


def _narrowed(subject: Subject, packs: _Packs, free: FreeNames) -> list[Edit]:
    source, loop = subject.source, packs.loop
    tree, bound = source.tree, source.text_of(loop.bound)
    declaration = present(packs.load.parent, "no declaration")
    elements, begin = free.take("elements"), tree.line_start(loop.pragma or loop.node)
    view = f"const {packs.element}* {elements} = reinterpret_cast<const {packs.element}*>({packs.pointer});"
    product = loop.bound.type == "binary_expression" and text_of(field(loop.bound, "operator")) in {"*", "/"}
    wide = bound if product else operand(bound)
    edits = [
        Edit(begin, begin, f"{tree.indentation(loop.node)}{view}\n"),
        Edit(loop.bound.start_byte, loop.bound.end_byte, f"{wide} * {packs.lanes}"),
        Edit(declaration.start_byte, declaration.end_byte, f"const {packs.element} {packs.name} = {elements}[{loop.variable}];"),
    ]
    for statement in [piece.node for piece in pieces_of(loop.body, tree)][1:]:
        found = _assignment(statement)
        assert found is not None  # it is symmetric
        target, operation, terms = found
        mine = [_of_element(tree.text_of(t), packs.name) for t in terms if re.search(rf"\b{packs.name}\s*\.\s*x\b", text_of(t))]
        if operation == "+":
            text = f"{text_of(target)} += {' + '.join(mine)};"
        else:
            highest = reduce(lambda so_far, term: f"{operation}({so_far}, {term})", mine, text_of(target))
            text = f"{text_of(target)} = {highest};"
        edits.append(Edit(statement.start_byte, statement.end_byte, text))
    return edits


def _of_element(term: str, pack: str) -> str:
    return re.sub(rf"\b{pack}\s*\.\s*x\b", pack, term)
