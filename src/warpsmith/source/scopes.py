"""Who declares which name where, and who changes it: one walk over the file, so that looking a name up is quick."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from warpsmith.source.conditionals import definitions
from warpsmith.source.tokens.macros import Macro
from warpsmith.source.tree import Tree, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS = frozenset({"compound_statement", "case_statement"})
_FUNCTIONS = frozenset({"function_definition", "lambda_expression"})
_PARAMETERS = frozenset({"parameter_declaration", "optional_parameter_declaration"})


class Origin(StrEnum):
    LOCAL = "local"
    LOOP = "loop"
    PARAMETER = "parameter"
    TEMPLATE = "template"
    FILE = "file"
    MACRO = "macro"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Declared:
    """`node` is the declarator, or the whole parameter; `is_constant` when the name itself (not what it points to) is const."""

    name: str
    origin: Origin
    scope: Node
    start: int  # of the declaration: the name is known from there on
    node: Node
    value: Node | None
    is_constant: bool


class Scopes:
    def __init__(self, tree: Tree) -> None:
        self._declared: dict[str, list[Declared]] = {}
        self._assigned: dict[str, list[Node]] = {}
        found = definitions(tree.text)
        self.macros = _bodies(filter(None, map(found.only, found.live)), tree)
        """The bodies of object-like macros that are one expression. Their nodes are beyond the file's end, so in no scope."""
        self.assumed = frozenset(found.assumed)
        """Names that decide which macros there are, and were taken for undefined."""
        waiting: list[tuple[Node, Node, Node]] = [(tree.root, tree.root, tree.root)]
        while waiting:
            node, scope, function = waiting.pop()
            self._read(node, scope, function)
            if node.type in _BLOCKS or node.type == "for_statement":
                scope = node
            elif node.type in _FUNCTIONS or node.type == "field_declaration_list":
                scope = function = node
            waiting += [(child, scope, function) for child in reversed(node.children)]

    def declaration(self, name: str, use: Node) -> Declared | None:
        """The innermost one that the use can see."""
        best = None
        for found in self._declared.get(name, ()):
            inside = found.origin is Origin.FILE or is_within(use, found.scope)
            known = found.origin is not Origin.LOCAL or found.start < use.start_byte
            if found.value is not None and is_within(use, found.value):
                continue  # a value cannot be made of its own name: there it means another one
            if inside and known and (best is None or _order(found) >= _order(best)):
                best = found
        return best

    def means(self, name: str, start: int, use: Node) -> bool:
        """Whether the name stands there for what is declared at `start`, and not for another of the same spelling."""
        declared = self.declaration(name, use)
        return declared is not None and declared.node.start_byte == start

    def assignments(self, name: str, within: Node) -> Iterator[Node]:
        """Where the variable itself (not what it points to) is changed, or its address taken."""
        return (node for node in self._assigned.get(name, ()) if is_within(node, within))

    def _read(self, node: Node, scope: Node, function: Node) -> None:
        if node.type == "declaration":
            self._read_declaration(node, scope)
        elif node.type in _PARAMETERS and function.type in _FUNCTIONS:  # else of a template, or of a function without a body
            names = list(of_kind(node, "identifier"))
            if names:
                self._add(
                    Declared(text_of(names[-1]), Origin.PARAMETER, function, node.start_byte, node, None, is_constant=False)
                )
        elif (target := _changed(node)) is not None:
            self._assigned.setdefault(text_of(target), []).append(node)

    def _read_declaration(self, node: Node, scope: Node) -> None:
        if scope.type in _BLOCKS:
            origin = Origin.LOCAL
        elif scope.type == "for_statement":
            origin = Origin.LOOP
        elif scope.type == "field_declaration_list":
            return
        else:
            origin = Origin.FILE
        constant = any(text_of(child) in {"constexpr", "const"} for child in node.children)
        for index, child in enumerate(node.children):
            if node.field_name_for_child(index) != "declarator":
                continue
            direct = field(child, "declarator") if child.type == "init_declarator" else child
            name = next(of_kind(direct, "identifier"), None)
            if name is not None:
                own = direct.type in {"identifier", "reference_declarator"}
                value = child.child_by_field_name("value")
                self._add(Declared(text_of(name), origin, scope, node.start_byte, child, value, constant and own))

    def _add(self, declared: Declared) -> None:
        self._declared.setdefault(declared.name, []).append(declared)


def _bodies(macros: Iterable[Macro], tree: Tree) -> dict[str, Node]:
    """One that is defined in several ways has no meaning that could be known here."""
    texts = {m.name: f"int macro = {m.replacement.strip()};" for m in macros if m.parameters is None and m.replacement.strip()}
    plain = {name: text for name, text in texts.items() if len(_initialisers(Tree(text, tree.language))) == 1}
    read = Tree(" " * len(tree.data) + "\n".join(plain.values()), tree.language) if plain else None
    return dict(zip(plain, _initialisers(read), strict=True)) if read is not None and not read.root.has_error else {}


def _initialisers(tree: Tree) -> list[Node]:
    declared = [] if tree.root.has_error else [c for c in tree.root.children if c.type == "declaration"]
    return [field(n, "value") for d in declared for n in d.named_children if n.type == "init_declarator"]


def _order(declared: Declared) -> tuple[int, int]:
    return (-1 if declared.origin is Origin.FILE else declared.scope.start_byte), declared.start


def _changed(node: Node) -> Node | None:
    """The identifier that an expression changes or whose address it takes."""
    if node.type == "assignment_expression":
        target = unwrapped(field(node, "left"))
    elif node.type == "update_expression" or (node.type == "pointer_expression" and text_of(field(node, "operator")) == "&"):
        target = unwrapped(field(node, "argument"))
    else:
        return None
    while target.type == "field_expression":
        target = unwrapped(field(target, "argument"))
    return target if target.type == "identifier" else None
