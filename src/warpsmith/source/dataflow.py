"""What follows from what in a kernel: which names depend on which, what is changed where, whose memory an expression reads.

All answers err on the side of doing more: a name stands for every variable of that name, an unknown function may do anything.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.source.assembly import Assembly, inputs, kind_of, outputs
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import BRANCHES, LOOPS, ancestors, condition_of, field, of_kind, text_of, unwrapped, walk
from warpsmith.spec.kernel import Buffer, Kernel, Role

if TYPE_CHECKING:
    from tree_sitter import Node

Reads: TypeAlias = "Callable[[Node], AbstractSet[str]]"

_CHANGES = {"assignment_expression", "update_expression", "delete_expression", "new_expression", "gnu_asm_expression"}
_ASSIGNMENTS = {"assignment_expression", "gnu_asm_expression"}
_PURE = re.compile(
    r"(?:std::|::)?_{0,2}(?:native_|half_)?(?:f?abs|f?max|f?min|fma|mad|exp(?:2|10|m1)?|log(?:2|10|1p)?|r?sqrt|rcp|cbrt|pow|sin"
    r"|cos|tan|tanh|sinh|cosh|asin|acos|atan2?|erfc?|ceil|floor|round|rint|trunc|fmod|signbit|hypot|isfinite|fdividef|fdiv_r[nzud]|copysign|isnan|isinf"
    r"|clamp|select|saturatef|umul24|mul24|mulhi|popc|clz|ldg|hadd2?|hsub2?|hmul2?|hfma2?|hmax2?|hmin2?|hdiv|h2div)f?"
    r"|make_\w+|__?\w+2\w+|__\w+_as_\w+|as_\w+|convert_\w+|get_\w+|(?:static|reinterpret|const)_cast\s*<.*>"
    r"|unsigned|int|float|double|char|short|long|half|bool|size_t|u?int\d*_t|__half2?|__nv_bfloat162?",
    re.DOTALL,
)
_TYPE = re.compile(r"(?:(?:un)?signed\s+)?(?:char|short|int|long(?:\s+long)?)|unsigned|float|double|half|size_t|u?int\d+_t")


def identifiers(node: Node) -> AbstractSet[str]:
    return {text_of(n) for n in of_kind(node, "identifier")}


def is_pure(node: Node, source: KernelSource) -> bool:
    """Whether evaluating it changes nothing. Functions of the file are pure when all they do is return pure values."""
    return all(
        part.type not in _CHANGES
        and part.type != "lambda_expression"
        and (part.type != "call_expression" or is_pure_call(part, source))
        for part in walk(node)
    )


def is_pure_call(call: Node, source: KernelSource) -> bool:
    """Whether a call is known to do nothing but compute: a function of the language, or a simple one of the file."""
    name = " ".join(text_of(field(call, "function")).split())
    if _PURE.fullmatch(name) or name in source.bindings or _is_cast(name, source) or _is_alias(name, source):
        return True
    called = source.functions(name.partition("<")[0].strip())
    return bool(called) and all(_only_returns(function, name, source) for function in called)


def _is_alias(name: str, source: KernelSource) -> bool:
    """Whether a macro without arguments says the name of a function that only computes (`#define SQRT sqrtf`), in every `#if`."""
    if not name.isidentifier():
        return False
    said = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(.*)", source.text, re.MULTILINE)
    return bool(said) and all(_PURE.fullmatch(text.partition("//")[0].strip()) for text in said)


def _only_returns(called: Node, name: str, source: KernelSource) -> bool:
    """Whether a function takes nothing that it could change, and does nothing but return pure values."""
    bodies = [c for c in called.children if c.type == "compound_statement"]
    statements = [s for b in bodies for s in b.named_children if s.type != "comment"]
    parameters = text_of(field(next(of_kind(called, "function_declarator")), "parameters"))
    calls_itself = any(name in identifiers(b) for b in bodies)
    return (
        re.search(r"[&*]", parameters) is None
        and not calls_itself
        and all(s.type in {"return_statement", "declaration", "alias_declaration"} for s in statements)
        and all(is_pure(s, source) for s in statements)
    )


def _is_cast(name: str, source: KernelSource) -> bool:
    """Of `(INDEX)(n)`, which the grammar takes for a call: whether INDEX is defined as types and nothing else."""
    found = re.fullmatch(r"\(\s*(\w+)\s*\)", name)
    line = rf"^[ \t]*#[ \t]*define[ \t]+{found[1]}[ \t]+(.*\S)" if found else "(?!)"
    defined = re.findall(line, source.text, re.MULTILINE)
    return bool(defined) and all(_TYPE.fullmatch(kind) for kind in defined)


def changed_names(within: Node, source: KernelSource) -> frozenset[str]:
    """Variables that are, or may be, changed inside, or whose elements are.

    By assignment, through their address, by a function that may take a reference, by a method of theirs, by assembly.
    """
    found: set[str] = set()
    for node in walk(within):
        if node.type == "assignment_expression":
            found.add(base_name(field(node, "left")))
        elif node.type == "update_expression" or (node.type == "pointer_expression" and text_of(field(node, "operator")) == "&"):
            found.add(base_name(field(node, "argument")))
        elif node.type == "call_expression":
            called = field(node, "function")
            if called.type == "field_expression":
                found.add(base_name(field(called, "argument")))
            if not is_pure_call(node, source):
                found |= {base_name(a) for a in field(node, "arguments").named_children}
        elif node.type == "gnu_asm_expression":
            reached = () if kind_of(node) is Assembly.OWN else inputs(node)  # what an address leads to
            found |= {base_name(unwrapped(value)) for value in (*outputs(node), *reached)}
    return frozenset(found - {""})


def base_name(node: Node) -> str:
    """The variable at the bottom of `a.b[i].c`, `*a` or `(a)`; empty when there is none."""
    node = unwrapped(node)
    while node.type in {"field_expression", "subscript_expression", "pointer_expression"}:
        node = unwrapped(field(node, "argument"))
    return text_of(node) if node.type == "identifier" else ""


def declared_names(declaration: Node) -> list[str]:
    """The variables that a declaration declares."""
    return [text_of(next(of_kind(d, "identifier"))) for d in declarators(declaration)]


def declarators(declaration: Node) -> list[Node]:
    if declaration.type != "declaration":
        return []
    children = enumerate(declaration.children)
    return [c for i, c in children if declaration.field_name_for_child(i) == "declarator" and any(of_kind(c, "identifier"))]


def is_fixed(statement: Node, after: Iterable[Node], source: KernelSource) -> bool:
    """Whether it only declares things whose values are given there, purely, and never changed in the statements after."""
    if statement.type in {"alias_declaration", "type_definition", "static_assert_declaration"}:
        return True
    if statement.type != "declaration" or not is_pure(statement, source):
        return False
    constant = any(text_of(c) in {"const", "constexpr"} for c in statement.children)
    after, names = list(after), Names(source)
    for declarator in declarators(statement):
        if declarator.type != "init_declarator":
            return False
        direct = field(declarator, "declarator")
        name = text_of(next(of_kind(direct, "identifier")))
        if direct.type == "pointer_declarator":
            # What it points to may change: the pointer itself is meant.
            fixed = not any(names.is_assigned(name, node) for node in after)
        else:
            unchanged = constant or not any(name in changed_names(node, source) for node in after)
            fixed = unchanged and direct.type != "reference_declarator"
        if not fixed:
            return False
    return True


def dependents(seeds: Collection[str], within: Iterable[Node], reads: Reads = identifiers) -> frozenset[str]:
    """All names whose values follow from the seeds in these statements, also by deciding whether something is assigned.

    `reads` says which names an expression uses; it may stand for other things than variables (`threadIdx.x`) by names of its own.
    """
    tainted = set(seeds)
    statements = list(within)

    def touches(node: Node) -> bool:
        return not tainted.isdisjoint(reads(node))

    while True:
        before = len(tainted)
        for statement in statements:
            decided = _Decided(statement, touches)
            for node in of_kind(statement, "init_declarator", *_ASSIGNMENTS, "update_expression", "call_expression"):
                tainted |= _reached_by(node, touches, is_decided=node in decided)
        tainted.discard("")
        if len(tainted) == before:
            return frozenset(tainted)


def _reached_by(node: Node, touches: Callable[[Node], bool], *, is_decided: bool) -> set[str]:
    """The names that get a value here which follows from what is asked about."""
    match node.type:
        case "init_declarator" if is_decided or touches(field(node, "value")):
            return set(identifiers(field(node, "declarator")))
        case "assignment_expression" | "gnu_asm_expression" if is_decided or touches(node):
            return {base_name(value) for value in _assigned(node)}
        case "update_expression" if is_decided:
            return {base_name(field(node, "argument"))}
        case "call_expression" if touches(node):
            called = field(node, "function")
            method = {base_name(field(called, "argument"))} if called.type == "field_expression" else set()
            return method | {base_name(a) for a in field(node, "arguments").named_children if a.type == "pointer_expression"}
        case _:
            return set()


def _assigned(node: Node) -> Iterator[Node]:
    return outputs(node) if node.type == "gnu_asm_expression" else iter((field(node, "left"),))


class _Decided:
    """What stands in branches and loops of the statement whose conditions depend on what is asked about."""

    def __init__(self, statement: Node, touches: Callable[[Node], bool]) -> None:
        self._starts, self._ends = list[int](), list[int]()
        for branch in of_kind(statement, *BRANCHES):
            is_inside = bool(self._ends) and branch.end_byte <= self._ends[-1]
            condition = None if is_inside else condition_of(branch)
            if condition is not None and touches(condition):
                self._starts.append(branch.start_byte)
                self._ends.append(branch.end_byte)

    def __contains__(self, node: Node) -> bool:
        place = bisect_right(self._starts, node.start_byte) - 1
        return place >= 0 and node.end_byte <= self._ends[place]


def reads_inputs_only(node: Node, names: Names, kernel: Kernel, besides: Collection[str] = ()) -> bool:
    """Whether all memory that the code may read belongs to buffers that the kernel does not write, or to those named besides."""
    declared = [p.name for p in names.source.parameters]
    roles = {name: a.role for name, a in zip(declared, kernel.arguments, strict=False) if isinstance(a, Buffer)}
    return all(roles.get(root) is Role.IN for root in _pointer_roots(node, names) - set(besides))


def _pointer_roots(node: Node, names: Names) -> AbstractSet[str]:
    """The pointer parameters that an expression's addresses can come from, through locals; `?` when one is unclear."""
    found: set[str] = set()
    pointers = {p.name for p in names.source.parameters if p.depth}
    for use in of_kind(node, "identifier"):
        definition = names.definition(use)
        if definition.origin is Origin.PARAMETER and text_of(use) in pointers:
            found.add(text_of(use))
        elif definition.origin is Origin.LOCAL and definition.node is not None and not _is_declared_by(definition.node, node):
            found |= _pointer_roots(definition.value, names) if definition.value is not None else {"?"}
    return found


def _is_declared_by(declarator: Node, statement: Node) -> bool:
    return statement.start_byte <= declarator.start_byte and declarator.end_byte <= statement.end_byte


def exits(within: Node) -> Iterator[Node]:
    """Return statements of this function itself, not of lambdas inside it."""
    for node in of_kind(within, "return_statement"):
        owner = next((a for a in ancestors(node) if a.type in {"lambda_expression", "function_definition"}), None)
        if owner is None or owner.type == "function_definition":
            yield node


def is_in_inner_loop(node: Node, region: Node) -> bool:
    """Whether a loop or a switch lies between the node and the region (or is it), so that a jump there would mean that one."""
    for outer in (node, *ancestors(node)):
        if outer.type in LOOPS or outer.type == "switch_statement":
            return True
        if outer == region:
            return False
    return False
