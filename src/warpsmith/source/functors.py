"""Lambdas and function objects that a kernel hands to functions of its file, and what names mean inside these functions.

For `inlined_helpers`, which writes such calls out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source.kernel import KernelSource
from warpsmith.source.tree import ancestors, of_kind, text_of, unwrapped
from warpsmith.source.tree import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

_PASSED_ON = re.compile(r"std::(?:forward\s*<.*>|move)", re.DOTALL)


class NotWritable(Exception):  # noqa: N818 - the call stays as it is, which is no error
    """What a call does cannot be written in its place."""


@dataclass(slots=True)
class Frame:
    """What names stand for in one function. `hidden` are types that nobody can spell: those of lambdas."""

    said: dict[str, str] = field(default_factory=dict)
    functors: dict[str, Functor] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)  # of variables, as far as they are known
    aliases: dict[str, Node] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Functor:
    """A lambda, or the `operator()` of an object; `frame` is what names mean where it was made."""

    node: Node
    frame: Frame

    @property
    def body(self) -> Node:
        return next(c for c in self.node.children if c.type == "compound_statement")

    @property
    def parameters(self) -> list[Node]:
        listed = next((n for n in of_kind(self.node, "parameter_list")), None)
        return parameters_in(listed) if listed is not None else []


def parameters_in(listed: Node) -> list[Node]:
    return [p for p in listed.named_children if p.type.endswith("parameter_declaration")]


def functor_of(node: Node, frame: Frame, source: KernelSource) -> Functor | None:
    """What an argument is, where that can be called: a lambda, a name of one, an object of one of the file's types."""
    node = unwrapped(node)
    if node.type == "identifier":
        return frame.functors.get(text_of(node))
    if node.type == "lambda_expression":
        return Functor(node, frame)
    if node.type == "call_expression" and _PASSED_ON.fullmatch(text_of(child(node, "function"))):
        return functor_of(child(node, "arguments").named_children[0], frame, source)
    if node.type == "compound_literal_expression":
        return _object_of(child(node, "type"), child(node, "value").named_children, frame, source)
    return None


def _object_of(kind: Node, values: list[Node], frame: Frame, source: KernelSource) -> Functor | None:
    if text_of(kind) in frame.aliases:
        kind = frame.aliases[text_of(kind)]
    name = text_of(kind).partition("<")[0].rpartition("::")[2].strip()
    structs = [s for s in of_kind(source.tree.root, "struct_specifier") if text_of(s).startswith(f"struct {name}")]
    structs = [s for s in structs if s.child_by_field_name("body") is not None and text_of(child(s, "name")) == name]
    if len(structs) != 1:
        return None
    own = Frame()
    given = next(of_kind(kind, "template_argument_list"), None)
    for parameter, argument in zip(
        template_parameters(structs[0]), given.named_children if given is not None else (), strict=False
    ):
        if any(text_of(n) in frame.hidden for n in of_kind(argument, "identifier", "type_identifier")):
            own.hidden.add(parameter)
        else:
            own.said[parameter] = written(argument, frame, source)
    members = child(structs[0], "body").named_children
    fields = [next(of_kind(m, "field_identifier")) for m in members if m.type == "field_declaration"]
    calls = [m for m in members if m.type == "function_definition" and _is_call(m)]
    if (
        len(calls) != 1
        or len(calls) + len(fields) != len([m for m in members if m.type != "comment"])
        or len(fields) != len(values)
    ):
        return None
    for member, value in zip(fields, values, strict=True):
        functor = functor_of(value, frame, source)
        if functor is not None:
            own.functors[text_of(member)] = functor
        else:
            own.said[text_of(member)] = written(value, frame, source)
    return Functor(calls[0], own)


def _is_call(function: Node) -> bool:
    return "operator()" in "".join(text_of(function).partition("{")[0].split())


def template_parameters(of: Node) -> list[str]:
    """The names of the template's parameters, for a function or a type."""
    outer = of.parent
    listed = next((c for c in outer.children if c.type == "template_parameter_list"), None) if outer is not None else None
    if outer is None or outer.type != "template_declaration" or listed is None:
        return []
    return [re.findall(r"\w+", text_of(p).partition("=")[0])[-1] for p in listed.named_children if p.type != "comment"]


def written(node: Node, frame: Frame, source: KernelSource) -> str:
    """The text of an expression or a type in the words of the place that it is written to."""
    if node.type in {"identifier", "type_identifier"} and not _is_member(node):
        name = text_of(node)
        if name in frame.hidden or name in frame.functors:
            raise NotWritable(name)
        return frame.said.get(name, name)
    if not node.children:
        return source.tree.text_of(node)
    return "".join(pieces(node, frame, source))


def pieces(node: Node, frame: Frame, source: KernelSource) -> Iterator[str]:
    data, position = source.tree.data, node.start_byte
    for part in node.children:
        yield data[position : part.start_byte].decode()
        yield written(part, frame, source)
        position = part.end_byte
    yield data[position : node.end_byte].decode()


def _is_member(node: Node) -> bool:
    """The `b` of `a::b`."""
    outer = node.parent
    return outer is not None and outer.type == "qualified_identifier" and outer.child_by_field_name("name") == node


def is_in_lambda(node: Node, within: Node) -> bool:
    for outer in ancestors(node):
        if outer == within:
            return False
        if outer.type == "lambda_expression":
            return True
    return False
