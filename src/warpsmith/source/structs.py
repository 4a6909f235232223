"""Types by name: what a type comes down to in this instance of the kernel, and of which type a member of a struct is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.source.kernel import split_entry
from warpsmith.source.names import Names
from warpsmith.source.tree import of_kind, text_of

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
    for struct in of_kind(names.source.tree.root, "struct_specifier", "class_specifier"):
        named, body = struct.child_by_field_name("name"), struct.child_by_field_name("body")
        if named is None or body is None or text_of(named) != name:
            continue
        for declaration in of_kind(body, "field_declaration"):
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
