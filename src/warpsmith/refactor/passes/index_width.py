"""`index_width`: 32-bit instead of 64-bit index arithmetic.

Exposes INDEX_BITS: 64 as it was; 32 gives local variables and casts of the kernel that are 64 bits wide 32 bits, where workloads,
launch and loop bounds show that neither they nor anything computed from them comes near what 32 bits hold. The types become
macros after the includes, so no further form of the kernel comes about.

Precondition: there are such variables or casts, never changed after their declaration, and on a CPU threads that are neighbours
along x have different values of one of them. What is the same for a row of threads is computed once for all of them there: in
recorded searches configurations that differ in nothing else were no faster for it (seven bundled kernels), while a thread's own
index gained 7 %. What is added to pointers stays as exact: the offset fits, and address arithmetic is the
compiler's. Constraints: no buffer has more elements than such an index reaches.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, intervals_of, names_of, require, require_readable
from warpsmith.refactor.substitution import insertion_point
from warpsmith.source import Edit, Names
from warpsmith.source.dataflow import base_name, declarators
from warpsmith.source.effects import declared_type
from warpsmith.source.integer_ranges import Intervals
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import field, of_kind, text_of, unwrapped, walk
from warpsmith.source.uniform import Uniformity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_SIGNED = re.compile(r"(?:std::)?int64_t|long|long long(?: int)?|(?:std::)?ptrdiff_t")
_UNSIGNED = re.compile(r"(?:std::)?u?size_t|(?:std::)?uint64_t|unsigned long(?: long)?(?: int)?|ulong")
_REACH = 1 << 30  # half of what 32 bits hold: other values of the parameters make launches a little larger
_ARITHMETIC = {"+", "-", "*", "/", "%"}
_COMPARING = {"<", ">", "<=", ">=", "==", "!=", "&&", "||"}
_MAY_BE_NEGATIVE = re.compile(rf"(?:const )?(?:int|int32_t|short|bool|{_SIGNED.pattern})")


class IndexWidth:
    name = "index_width"
    summary = "32-bit instead of 64-bit index arithmetic, where it suffices for all workloads"
    stage = Stage.DECORATE
    priority = -10  # before directives come into the kernel's body
    concerns = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, variant, source = names_of(subject), subject.variant, subject.source
    narrowing = _Narrowing(names, list(intervals_of(subject, names)))
    wide = list(_wide_places(source.body))
    require(wide, "the kernel has no 64-bit index arithmetic of its own")
    own = [place for _, place in wide if subject.limits.has_banked_scratchpad or _is_own(place, names)]
    require(own, f"{_short(wide[0][1])} is uniform along x, so 64 bits cost nothing", wide[0][1])
    fitting = [(kind, place) for kind, place in wide if narrowing.suffices(kind, place)]
    require(any(place in own for _, place in fitting), f"cannot prove that {_short(own[0])} fits in 32 bits", own[0])
    kinds = [kind for kind, _ in fitting]
    at = insertion_point(source)
    if isinstance(at, Declined):
        raise Unmet(at.reason)
    bits = fresh_name(subject, "INDEX_BITS")
    macros = {_plain(kind): fresh_name(subject, f"INDEX_{_shouted(kind)}") for kind in kinds}
    narrow, wide_lines = (
        "".join(f"#define {macro} {_narrow(kind) if narrowed else kind}\n" for kind, macro in macros.items())
        for narrowed in (True, False)
    )
    edits = [Edit(kind.start_byte, kind.end_byte, macros[_plain(kind)]) for kind in kinds]
    gap = "\n" if at and not source.text.encode()[:at].endswith(b"\n") else ""
    head = Edit(at, at, f"{gap}#if {bits} == 32\n{narrow}#else\n{wide_lines}#endif\n")
    meaning = "bits of index arithmetic that is 64 bits wide in the original and need not be"
    tunable = Tunable(bits, (64, 32), 64, meaning, source.line_of(kinds[0]))
    text = source.edited(head, *edits)
    return Rewrite(
        replace(variant, text=text, tunables=(*variant.tunables, tunable), rules=(*variant.rules, *_rules(subject, bits)))
    )


def _wide_places(body: Node) -> Iterator[tuple[Node, Node]]:
    """Types that are 64 bits wide, each with the declaration or cast it stands in."""
    for node in of_kind(body, "declaration", "cast_expression", "call_expression"):
        kind = node.child_by_field_name("type")
        if node.type == "call_expression":
            called = field(node, "function")
            listed = next(of_kind(called, "template_argument_list"), None)
            if listed is None or not text_of(called).startswith("static_cast"):
                continue
            kind = listed.named_children[0]
        if kind is not None and (_SIGNED.fullmatch(_plain(kind)) or _UNSIGNED.fullmatch(_plain(kind))):
            yield kind, node


def _is_own(place: Node, names: Names) -> bool:
    """Whether threads that are neighbours along x may have different values there, for more than to be added to a pointer: that
    is 64 bits wide anyway, and the product before it is one instruction.
    """
    if place.type != "declaration":
        return not _joins_pointer(place, names) and Uniformity(names, place, axes="x").own_name(place) is not None
    if place.parent is not None and place.parent.type == "for_statement":
        return True
    values = [field(d, "value") for d in declarators(place) if d.type == "init_declarator"]
    return any(Uniformity(names, value, axes="x").own_name(value) is not None for value in values)


def _joins_pointer(place: Node, names: Names) -> bool:
    inner, outer = place, place.parent
    while outer is not None and outer.type in {"binary_expression", "parenthesized_expression"}:
        if outer.type == "binary_expression":
            other = field(outer, "left") if field(outer, "right") == inner else field(outer, "right")
            if text_of(field(outer, "operator")) in {"+", "-"} and _is_pointer(other, names):
                return True
        inner, outer = outer, outer.parent
    return False


def _short(place: Node) -> str:
    return " ".join(text_of(place).split())[:60].rstrip(";")


def _plain(kind: Node) -> str:
    return " ".join(text_of(kind).split())


def _shouted(kind: Node) -> str:
    return re.sub(r"\W+", "_", _plain(kind).removeprefix("std::")).upper()


def _narrow(kind: str) -> str:
    return "int" if _SIGNED.fullmatch(kind) else "unsigned int"


class _Narrowing:
    def __init__(self, names: Names, workloads: list[Intervals]) -> None:
        self._names = names
        self._workloads = workloads

    def suffices(self, kind: Node, place: Node) -> bool:
        least = -_REACH if _SIGNED.fullmatch(_plain(kind)) else 0
        if place.type != "declaration":
            return self._fits(place, least) and self._is_harmless(place, least)
        found = declarators(place)
        return bool(found) and all(self._variable_suffices(d, least) for d in found)

    def _variable_suffices(self, declarator: Node, least: int) -> bool:
        if declarator.type != "init_declarator" or field(declarator, "declarator").type != "identifier":
            return False
        name = text_of(field(declarator, "declarator"))
        uses = [
            n
            for n in of_kind(self._names.source.body, "identifier")
            if text_of(n) == name and n.start_byte > declarator.end_byte and self._names.definition(n).node == declarator
        ]
        given = self._fits(field(declarator, "value"), least)
        return given and bool(uses) and all(self._fits(n, least) and self._is_harmless(n, least) for n in uses)

    def _fits(self, node: Node, least: int) -> bool:
        found = [intervals.of(node) for intervals in self._workloads]
        within = all(i is not None and least <= i.low and i.high <= _REACH for i in found)
        return within and (all(i is not None and i.low >= 0 for i in found) or self._is_signed(node))

    def _is_signed(self, node: Node) -> bool:
        """Whether it may be negative and mean that: nothing unsigned takes part."""
        for part in walk(node):
            if self._names.builtin(part) is not None or part.type == "sizeof_expression" or re.search(r"\d[uU]", text_of(part)):
                return False
            if part.type == "identifier" and not _MAY_BE_NEGATIVE.fullmatch(self._type(part)):
                return False
        return True

    def _type(self, use: Node) -> str:
        given = {p.name: p.type for p in self._names.source.parameters}
        is_parameter = self._names.definition(use).origin is Origin.PARAMETER
        return (given.get(text_of(use)) if is_parameter else declared_type(use, self._names)) or ""

    def _is_harmless(self, node: Node, least: int) -> bool:
        """Whether all that is computed from it with 32 bits fits too, up to where it is an offset, a condition or a value."""
        verdict: bool | None = None
        while verdict is None and node.parent is not None:
            verdict, node = self._verdict(node.parent, node, least), node.parent
        return verdict is True

    def _verdict(self, outer: Node, node: Node, least: int) -> bool | None:  # noqa: PLR0911 - one return for each kind
        """None to go on outwards: the outer expression is an index as well."""
        match outer.type:
            case "parenthesized_expression":
                return None
            case "binary_expression":
                operator = text_of(field(outer, "operator"))
                if operator not in _ARITHMETIC:
                    return operator in _COMPARING
                other = field(outer, "left") if field(outer, "right") == node else field(outer, "right")
                return None if self._fits(outer, least) else operator in {"+", "-"} and _is_pointer(other, self._names)
            case "conditional_expression":
                return None if self._fits(outer, least) else False
            case "init_declarator":
                declared = outer.parent.child_by_field_name("type") if outer.parent is not None else None
                return declared is not None and declared.type != "placeholder_type_specifier"
            case "argument_list":
                return outer.parent is not None and text_of(outer.parent).startswith(("static_cast", "reinterpret_cast"))
            case "assignment_expression":
                # A loop's own step is within what its interval allows for.
                return field(outer, "right") == node or (outer.parent is not None and outer.parent.type == "for_statement")
            case _:
                return outer.type in {"subscript_argument_list", "cast_expression", "update_expression", "for_statement"}


def _is_pointer(node: Node, names: Names) -> bool:
    node = unwrapped(node)
    if node.type == "binary_expression":
        return _is_pointer(field(node, "left"), names) or _is_pointer(field(node, "right"), names)
    if node.type == "conditional_expression":
        return _is_pointer(field(node, "consequence"), names)
    if node.type == "call_expression":
        return re.match(r"(?:reinterpret|static)_cast\s*<[^>]*\*\s*>", text_of(node)) is not None
    name = base_name(node) if node.type == "identifier" else ""
    if name in {p.name for p in names.source.parameters if p.depth}:
        return True
    declared = names.definition(node).node if name else None
    return declared is not None and any(True for _ in of_kind(declared, "pointer_declarator", "array_declarator"))


def _rules(subject: Subject, bits: str) -> Iterator[Rule]:
    for buffer in subject.kernel.buffers:
        elements = " * ".join(f"({extent.text})" for extent in buffer.shape)
        if any(extent.names for extent in buffer.shape):
            yield Rule(f"{bits} == 64 or {elements} <= {_REACH}", f"32-bit indices must reach all of {buffer.name}")
