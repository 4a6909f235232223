"""The arrays that a kernel declares: in shared memory, static or dynamic, and the thread's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Array:
    """`extents` are the nodes of its sizes, outermost first; a dynamic array has none for its first."""

    name: str
    element: str
    is_shared: bool
    is_dynamic: bool
    declarator: Node = field(compare=False, repr=False)
    extents: tuple[Node, ...] = field(compare=False, repr=False)

    def elements(self, names: Names) -> str | None:
        """How many, as an expression of kernel.toml; None where that is not known."""
        if not self.extents:
            return None
        known = [names.expression(extent) for extent in self.extents]
        return " * ".join(f"({text})" for text in known if text is not None) if None not in known else None


def arrays_of(names: Names) -> Iterator[Array]:
    """Of the kernel and of the functions that it reaches. OpenCL's dynamic ones are `__local` parameters."""
    source = names.source
    for given in source.local_parameters:
        element = given.type.replace("*", " ").replace("restrict", " ").split()
        yield Array(
            given.name, element[-1] if element else "", is_shared=True, is_dynamic=True, declarator=given.node, extents=()
        )
    for body in source.reached():
        for declaration in of_kind(body, "declaration"):
            shared = is_shared(declaration, source)
            dynamic = any(text_of(c) == "extern" for c in declaration.children)
            kind = declaration.child_by_field_name("type")
            for index, child in enumerate(declaration.children):
                if declaration.field_name_for_child(index) != "declarator":
                    continue
                declarator = child.child_by_field_name("declarator") if child.type == "init_declarator" else child
                if declarator is None or declarator.type != "array_declarator":
                    continue
                yield _array(declarator, "" if kind is None else text_of(kind), is_shared=shared, is_dynamic=dynamic)


def named_in_macros(name: str, names: Names) -> bool:
    """Whether a macro of the file mentions the name: then not all of its uses can be seen."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    macros = of_kind(names.source.tree.root, "preproc_def", "preproc_function_def")
    return any(word.search(text_of(macro)) for macro in macros)


def _array(declarator: Node, element: str, *, is_shared: bool, is_dynamic: bool) -> Array:
    extents: list[Node] = []
    node = declarator
    while node.type == "array_declarator":
        size = node.child_by_field_name("size")
        if size is not None:
            extents.append(size)
        inner = node.child_by_field_name("declarator")
        if inner is None:
            break
        node = inner
    return Array(text_of(node), element, is_shared, is_dynamic, declarator, tuple(reversed(extents)))
