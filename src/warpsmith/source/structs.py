"""Types by name: what a type comes down to in this instance of the kernel, and of which type a member of a struct is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.tree import field, of_kind, text_of
from warpsmith.spec.entry import split_entry

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|struct|typename|__restrict__|__restrict|restrict|__global|global|__local|local)\b|[*&]"
)


def plain_type(text: str, names: Names) -> str:
    """Without qualifiers, stars and aliases, template parameters bound: `const Packed` → `Pack<T, kLanes>`, `T*` → `float`."""
    name = " ".join(_QUALIFIERS.sub(" ", text).split())
    for _ in range(8):  # aliases of aliases; a name that stands for itself ends here, too
        target = names.source.bindings.get(name) or _alias(name, names)
        if target is None or target == name:
            break
        name = target
    return name


def member_type(owner: str, member: str, names: Names) -> str | None:
    """The plain type of a member (of its elements, for an array); None where the struct is not one of this file."""
    name, arguments = split_entry(plain_type(owner, names))
    for struct in (s for s in _structs(names) if text_of(field(s, "name")) == name):
        for declaration in of_kind(field(struct, "body"), "field_declaration"):
            if member in {text_of(n) for n in of_kind(declaration, "field_identifier")}:
                kind = declaration.child_by_field_name("type")
                bound = dict(zip(_template_parameters(struct), arguments, strict=False))
                return None if kind is None else plain_type(bound.get(text_of(kind), text_of(kind)), names)
    return None


def pointee_type(pointer: Node, names: Names) -> str | None:
    """What a name declared as a pointer (a parameter or a local) points to."""
    declarator = names.definition(pointer).node
    if declarator is None:
        return None
    declaration = declarator if declarator.type.endswith("parameter_declaration") else declarator.parent
    kind = declaration.child_by_field_name("type") if declaration is not None else None
    stars = sum(1 for _ in of_kind(declarator, "pointer_declarator"))
    return None if kind is None or stars != 1 or text_of(kind) == "auto" else plain_type(text_of(kind), names)


def _alias(name: str, names: Names) -> str | None:
    for node in of_kind(names.source.tree.root, "alias_declaration"):
        named, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
        if named is not None and kind is not None and text_of(named) == name:
            return " ".join(text_of(kind).split())
    found = re.search(rf"\btypedef\s+([\w:\s]+?)\s+{re.escape(name)}\s*;", names.source.text) if name.isidentifier() else None
    return found[1] if found else None


def _template_parameters(struct: Node) -> list[str]:
    parent = struct.parent
    while parent is not None and parent.type != "template_declaration":
        parent = parent.parent
    listed = next((c for c in parent.children if c.type == "template_parameter_list"), None) if parent is not None else None
    declared = [text_of(child).partition("=")[0] for child in (listed.named_children if listed is not None else ())]
    return [words[-1] if (words := re.findall(r"\w+", text)) else "" for text in declared]


def size_expression(kind: str, names: Names) -> str | None:
    """The bytes of a type as an expression of kernel.toml: a plain type, or a struct of one array of them, as packs are."""
    name = plain_type(kind, names)
    known = names.size_of(name)
    if known is not None:
        return str(known)
    struct = next((s for s in _structs(names) if text_of(field(s, "name")) == split_entry(name)[0]), None)
    fields = [] if struct is None else list(of_kind(field(struct, "body"), "field_declaration"))
    arrays = [a for f in fields for a in of_kind(f, "array_declarator")]
    if struct is None or len(fields) != 1 or len(arrays) != 1:
        return None
    element = member_type(kind, text_of(next(of_kind(arrays[0], "field_identifier"))), names)
    size, count = names.size_of(element or ""), _argument(text_of(field(arrays[0], "size")), struct, kind, names)
    aligned = next(of_kind(struct, "alignas_qualifier", "alignas_specifier"), None)
    to = re.search(r"\(\s*(\d+)\s*\)", text_of(aligned)) if aligned is not None else None  # else to its own size, as packs are
    rounded = f"ceildiv({size} * ({count}), {to[1]}) * {to[1]}" if to is not None else f"{size} * ({count})"
    return None if size is None or count is None else rounded


def _structs(names: Names) -> Iterator[Node]:
    for struct in of_kind(names.source.tree.root, "struct_specifier", "class_specifier"):
        if struct.child_by_field_name("name") is not None and struct.child_by_field_name("body") is not None:
            yield struct


def _argument(parameter: str, struct: Node, kind: str, names: Names) -> str | None:
    """What a template parameter of the struct is, in the alias that `kind` names."""
    listed = _template_parameters(struct)
    if parameter not in listed:
        return parameter if parameter.isdigit() else None
    for alias in of_kind(names.source.tree.root, "alias_declaration"):
        arguments = next(of_kind(alias, "template_argument_list"), None)
        if (
            text_of(field(alias, "name")) == kind
            and arguments is not None
            and listed.index(parameter) < len(arguments.named_children)
        ):
            given = arguments.named_children[listed.index(parameter)]
            inner = next(of_kind(given, "identifier", "type_identifier", "number_literal"), given)
            return names.expression(inner) if text_of(inner) == text_of(given) else None
    return None
