"""The whole numbers that a kernel's author fixed: macros (the host's too), constants, template arguments, and bytes per access.

Each is known by the one token that says its value, so that another value can be put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from warpsmith.core.configuration import Value
from warpsmith.source.kernel import KernelSource
from warpsmith.source.tree import ancestors, field, of_kind, text_of, unwrapped
from warpsmith.spec.entry import split_entry

if TYPE_CHECKING:
    from tree_sitter import Node

_WHOLE_NUMBER = re.compile(r"[1-9]\d*|0")
_ACCESS_BYTES = (4, 8, 16, 32)  # a number of bytes over a type's size is the number of its values in one access


class ConstantKind(StrEnum):
    MACRO = "macro"  # its whole body is the number; under its own #ifndef or not
    BRACKETED = "bracketed macro"  # `(32)`
    OUTSIDE = "outside"  # the host defines it when it compiles: nothing in the text says the value
    FILE = "file"
    LOCAL = "local"
    TEMPLATE = "template"  # an argument of the instance
    ACCESS = "access"  # the bytes of `16 / sizeof(T)`
    LITERAL = "literal"  # one place of several where the kernel says the same number


@dataclass(frozen=True, slots=True)
class Constant:
    """`start` and `end` are the bytes of the token; of a macro its whole definition, of a template argument its index twice.

    What comes from outside has no place.
    """

    name: str
    value: int
    kind: ConstantKind
    start: int
    end: int
    line: int | None


def constants_of(source: KernelSource, entry: str, outside: Mapping[str, Value]) -> list[Constant]:
    """What the kernel uses of them, in the order of the text; template arguments last. `outside` are the host's definitions."""
    found = [*_outside(source, outside), *_macros(source, outside), *sorted(_declared(source), key=lambda c: c.start)]
    used = _used(source)
    return [*(c for c in found if c.name in used), *_arguments(source, entry)]


def _used(source: KernelSource) -> set[str]:
    """Names in the kernel and what it reaches, and in the values of constants and macros of those names."""
    values: dict[str, list[Node]] = {}
    for node in of_kind(source.tree.root, "init_declarator", "array_declarator"):
        declared = next((text_of(n) for n in of_kind(field(node, "declarator"), "identifier")), "")
        values.setdefault(declared, []).append(node)
    for name, body in source.scopes.macros.items():
        values.setdefault(name, []).append(body)
    waiting, used = [source.function, *source.reached()], set[str]()
    while waiting:
        new = {text_of(n) for n in of_kind(waiting.pop(), "identifier", "type_identifier")} - used
        used |= new
        waiting += [node for name in new for node in values.get(name, ())]
    return used


def _outside(source: KernelSource, given: Mapping[str, Value]) -> Iterator[Constant]:
    own = {text_of(field(node, "name")) for node in of_kind(source.tree.root, "preproc_def")}
    for name, value in given.items():
        if type(value) is int and value >= 0 and name not in own:
            yield Constant(name, value, ConstantKind.OUTSIDE, 0, 0, None)


def _macros(source: KernelSource, outside: Mapping[str, Value]) -> Iterator[Constant]:
    found = list(of_kind(source.tree.root, "preproc_def"))
    names = [text_of(field(node, "name")) for node in found]
    for node, name in zip(found, names, strict=True):
        body = node.child_by_field_name("value")
        if body is None or names.count(name) > 1:
            continue
        text = text_of(body)
        written = re.match(r"\s*(\()?\s*(\d+)\s*(?(1)\))\s*(?=$|//|/\*)", text)
        if written is None or _WHOLE_NUMBER.fullmatch(written[2]) is None:
            continue
        guard = _guard(node, name)
        if name in outside and guard is not None:
            continue  # the host's number counts, not this one
        outer = guard or node
        if any(a.type.startswith("preproc_") for a in ancestors(outer)):
            continue  # one of several definitions, and which of them counts is not known here
        kind, start, end = ConstantKind.MACRO, outer.start_byte, outer.end_byte
        if written[1]:
            kind, start, end = ConstantKind.BRACKETED, body.start_byte + written.start(2), body.start_byte + written.end(2)
        yield Constant(name, int(written[2]), kind, start, end, source.line_of(node))


def _guard(definition: Node, name: str) -> Node | None:
    """The `#ifndef NAME … #endif` that holds nothing but this definition: whoever defines the name first has the say."""
    group = definition.parent
    if group is None or group.type != "preproc_ifdef" or text_of(field(group, "name")) != name:
        return None
    others = [c for c in group.named_children if c != definition and c.type not in {"comment", "identifier"}]
    return group if text_of(group).startswith("#ifndef") and not others else None


def _declared(source: KernelSource) -> Iterator[Constant]:
    bodies = source.reached()
    for node in of_kind(source.tree.root, "declaration"):
        in_function = any(a.type == "compound_statement" for a in ancestors(node))
        if in_function and not any(b.start_byte <= node.start_byte < b.end_byte for b in bodies):
            continue
        if not any(text_of(c) in {"constexpr", "const"} for c in node.children):
            continue
        for declarator in (c for c in node.children if c.type == "init_declarator"):
            name, value = field(declarator, "declarator"), declarator.child_by_field_name("value")
            if name.type != "identifier" or value is None:
                continue
            kind = ConstantKind.LOCAL if in_function else ConstantKind.FILE
            whole = unwrapped(value)
            token: Node | None = whole
            if whole.type == "binary_expression" and text_of(field(whole, "operator")) == "/":
                token, kind = _access(whole), ConstantKind.ACCESS
            if token is None or token.type != "number_literal" or _WHOLE_NUMBER.fullmatch(text_of(token)) is None:
                continue
            yield Constant(text_of(name), int(text_of(token)), kind, token.start_byte, token.end_byte, source.line_of(token))


def _access(division: Node) -> Node | None:
    """The bytes of `16 / sizeof(T)`."""
    left, right = unwrapped(field(division, "left")), unwrapped(field(division, "right"))
    if right.type == "cast_expression" or text_of(right).startswith("static_cast"):
        right = next(of_kind(right, "sizeof_expression"), right)
    is_access = right.type == "sizeof_expression" and text_of(left) in map(str, _ACCESS_BYTES)
    return left if is_access else None


def _arguments(source: KernelSource, entry: str) -> Iterator[Constant]:
    """Template arguments of the instance that are numbers; those that the template itself gives cannot be told from here."""
    _, arguments = split_entry(entry)
    parent = source.function.parent
    if parent is None or parent.type != "template_declaration":
        return
    listed = next((c for c in parent.children if c.type == "template_parameter_list"), None)
    for index, child in enumerate(listed.named_children if listed is not None else ()):
        words = re.findall(r"\w+", source.text_of(child).partition("=")[0])
        if index < len(arguments) and words and _WHOLE_NUMBER.fullmatch(arguments[index]):
            yield Constant(words[-1], int(arguments[index]), ConstantKind.TEMPLATE, index, index, source.line_of(child))
