"""Which accesses of a step go to the place of its number, so that neighbouring steps can make them together, as one wide access.

    out[row * n + i] = f(x[i], y[i % 8])        // x[i] and out[row * n + i] can, y[i % 8] cannot

What cannot stays an access of one element: that is right whatever its address. A buffer that steps write is accessed in one way
only, since values held back in a pack must not be missed by anybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as data
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.access_paths import Place, place_of, read_places, written_places
from warpsmith.source.dataflow import declared_names, is_pure_call
from warpsmith.source.effects import called_functions, is_invariant
from warpsmith.source.kernel import function_name
from warpsmith.source.names import Definition, Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_JUMPS = ("continue_statement", "return_statement", "goto_statement", "labeled_statement")
_SIZES = {1, 2, 4, 8}
_POINTER_CAST = re.compile(r"reinterpret_cast|_cast\s*<[^>]*\*")
_QUALIFIERS = re.compile(r"\b(?:const|restrict|__restrict__|__restrict|__global|global)\b|\*")


@dataclass(frozen=True, slots=True)
class Pack:
    """Accesses of neighbouring steps that are neighbours. `base` is where step 0 is, in elements from the buffer's start."""

    array: str
    type: str
    size_bytes: int
    first: str  # the element of the first step, with its variable called as `PackedSteps` was told
    base: Polynomial
    accesses: tuple[Node, ...] = data(repr=False)
    is_read: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class _Access:
    node: Node
    array: Node
    root: str
    address: Polynomial
    base: Polynomial


class PackedSteps:
    """`statements` are a step's, `index` its number as polynomials know it, `first` the name for a pack's first number."""

    def __init__(self, names: Names, statements: Sequence[Node], variable: str, index: Polynomial, first: str) -> None:
        self._names, self._statements, self._index = names, statements, index
        self._variable, self._first = variable, first

    def objection(self) -> str | None:
        """Why neighbouring steps cannot be done side by side, access by access; None when they can."""
        source = self._names.source
        for statement in self._statements:
            if any(True for _ in of_kind(statement, *_JUMPS)):
                return f"an iteration over {self._variable} can end early, so some of its accesses may be skipped"
            if any(True for _ in of_kind(statement, "reference_declarator", "lambda_expression", "gnu_asm_expression")):
                return f"an iteration over {self._variable} may write through references"
            for name, call in called_functions(statement):
                element = any(place_of(a, self._names) is not None for a in field(call, "arguments").named_children)
                if element and not (is_pure_call(call, source) or self._takes_values(name)):
                    return f"{name} may change an element passed to it"
        unclear = next((w for w in self._writes if "?" in w.roots), None)
        return f"cannot tell what line {source.line_of(unclear.node)} writes to" if unclear is not None else None

    def packs(self) -> list[Pack]:
        """In the order of their first access."""
        groups: dict[tuple[str, str], list[_Access]] = {}
        for access in self._accesses:
            groups.setdefault((access.root, str(access.address)), []).append(access)
        found = (self._pack(root, group) for (root, _), group in groups.items())
        return sorted((p for p in found if p is not None), key=lambda p: p.accesses[0].start_byte)

    @cached_property
    def _writes(self) -> list[Place]:
        return [place for s in self._statements for place in written_places(s, self._names)]

    @cached_property
    def _accesses(self) -> list[_Access]:
        nodes = (n for s in self._statements for n in of_kind(s, "subscript_expression"))
        return [access for node in nodes if (access := self._access(node)) is not None]

    @cached_property
    def _declared(self) -> set[str]:
        """What a step declares for itself."""
        return {name for s in self._statements for d in of_kind(s, "declaration") for name in declared_names(d)}

    def _access(self, node: Node) -> _Access | None:
        place, array = place_of(node, self._names), unwrapped(field(node, "argument"))
        if place is None or array.type != "identifier" or len(place.addresses) != 1 or len(place.roots) != 1:
            return None
        (root,), (address,) = place.roots, place.addresses
        base = address - Polynomial.atom(root) - self._index
        alone = not any(base.mentions(atom) for atom in (root, *self._index.atoms))
        taken = node.parent is not None and node.parent.type == "pointer_expression"  # its address is what is wanted
        return _Access(node, array, root, address, base) if alone and not taken and root != "?" else None

    def _pack(self, root: str, group: Sequence[_Access]) -> Pack | None:
        nodes = [access.node for access in group]
        writes = [w.node for w in self._writes if root in w.roots]
        reads = [r.node for s in self._statements for r in read_places(s, self._names) if root in r.roots]
        if writes and any(node not in nodes for node in (*writes, *reads)):
            return None  # another step's element might be read or written past the pack
        kind = self._element_type(group[0].array)
        size = self._names.size_of(kind) if kind is not None else None
        first = self._text_at_first(nodes[0])
        sure = [node for node in (writes or nodes) if self._is_always_done(node)]
        if kind is None or size not in _SIZES or first is None or not sure:
            return None
        replaced = [n for n in writes if n in sure and _is_plain_assignment(n)]
        done = min((n.parent.end_byte for n in replaced if n.parent is not None), default=None)
        is_read = any(done is None or node.start_byte < done for node in reads) or any(
            not _is_plain_assignment(n) and (done is None or n.start_byte < done) for n in writes
        )
        return Pack(text_of(group[0].array), kind, size, first, group[0].base, tuple(nodes), is_read, bool(writes))

    def _element_type(self, array: Node) -> str | None:
        """What the pointer points to, where nothing on its way from a parameter changed the unit that offsets count."""
        found = self._names.definition(array)
        declared = self._declaration(found)
        if declared is None or declared.count("*") != 1 or re.search(r"\b(?:volatile|auto)\b", declared):
            return None
        if self._names.source.language is Language.OPENCL and not re.search(r"\b(?:__)?global\b", declared):
            return None
        while found.origin is Origin.LOCAL and found.value is not None:
            casts = [text_of(field(c, "type")) for c in of_kind(found.value, "cast_expression")]
            if "*" in "".join(casts) or _POINTER_CAST.search(text_of(found.value)):
                return None
            uses = [(n, self._names.definition(n)) for n in of_kind(found.value, "identifier")]
            pointers = [n for n, definition in uses if "*" in (self._declaration(definition) or "")]
            if len(pointers) != 1:
                return None
            found = self._names.definition(pointers[0])
        return " ".join(_QUALIFIERS.sub(" ", declared).split())

    def _declaration(self, found: Definition) -> str | None:
        """The text before a name where it is declared, if it never changes afterwards."""
        parent = found.node.parent if found.node is not None else None
        if not found.is_fixed or found.node is None or parent is None:
            return None
        if found.origin is Origin.PARAMETER:
            outer, before = found.node, b"(,"
        elif found.origin is Origin.LOCAL and parent.type == "declaration":
            outer, before = parent, b";{}\n"
        else:
            return None
        name = next((n for n in of_kind(found.node, "identifier") if text_of(n) == found.name), found.node)
        data = self._names.source.tree.data
        # OpenCL's qualifiers stand before the node: they were blanked out for the parser.
        start = max(data.rfind(bytes([sign]), 0, outer.start_byte) for sign in before) + 1
        return data[start : name.start_byte].decode()

    def _text_at_first(self, node: Node) -> str | None:
        """The access as it is in a pack's first step, in names that are known before the step."""
        data, position, pieces = self._names.source.tree.data, node.start_byte, list[str]()
        for use in of_kind(node, "identifier"):
            name, found = text_of(use), self._names.definition(use)
            own = found.node is not None and any(is_within(found.node, s) for s in self._statements)
            if name == self._variable and not own:
                text = self._first
            elif own:
                inner = self._text_at_first(found.value) if found.is_fixed and found.value is not None else None
                if inner is None:
                    return None
                text = f"({inner})"
            elif all(is_invariant(use, s, self._names) for s in self._statements):
                continue
            else:
                return None
            pieces += [data[position : use.start_byte].decode(), text]
            position = use.end_byte
        return "".join([*pieces, data[position : node.end_byte].decode()])

    def _is_always_done(self, node: Node) -> bool:
        """Whether every step comes by here: no condition or loop stands between."""
        for outer in ancestors(node):
            if any(outer == s.parent for s in self._statements):
                return True
            if outer.type in {"if_statement", "conditional_expression"}:
                if not is_within(node, field(outer, "condition")):
                    return False
            elif outer.type == "binary_expression" and text_of(field(outer, "operator")) in {"&&", "||", "and", "or"}:
                if is_within(node, field(outer, "right")):
                    return False
            elif outer.type in LOOPS or outer.type == "switch_statement":
                return False
        return True

    def _takes_values(self, name: str) -> bool:
        """Whether every function of that name in the file leaves what it is given as it is: values, or references to const."""
        tree, plain = self._names.source.tree, name.rsplit("::", 1)[-1]
        functions = [f for f in of_kind(tree.root, "function_definition") if function_name(tree, f) == plain]
        listed = [p for f in functions for p in next(of_kind(f, "parameter_list")).named_children]
        return bool(functions) and not any("&" in text_of(p) and not re.match(r"const\b", text_of(p)) for p in listed)


def _is_plain_assignment(node: Node) -> bool:
    parent = node.parent
    is_target = parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node
    return is_target and parent is not None and text_of(field(parent, "operator")) == "="
