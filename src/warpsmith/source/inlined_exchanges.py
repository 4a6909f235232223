"""Functions in which lanes exchange values and that passes cannot follow, written out where the kernel calls them.

    template <int G> struct Dot { template <int N> static float of(const T (&q)[N], const T (&k)[N]) { … return s; } };
    float qk = scale * Dot<4>::of(query[group], keys);

becomes the statements of `of` with `query[group]` for q and `keys` for k, then `float qk = scale * s_2;`. Such are the static
functions of types, and those that take arrays: what they return differs between lanes. The tokens change, the meaning does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.source.dataflow import is_pure
from warpsmith.source.kernel import KernelSource
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import LOOPS, Edit, ancestors, field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 4
_EXCHANGE = re.compile(r"\b__shfl\w*\s*\(")
_WAITS = re.compile(r"\b__sync\w+|\basm\b|\bbarrier\b")
_ARRAY = re.compile(r"(?:const\s+)?(?P<type>\w+)\s*(?:const\s*)?\(\s*&\s*(?P<name>\w+)\s*\)\s*\[\s*(?P<count>\w+)\s*\]")


def with_inlined_exchanges(source: KernelSource) -> str:
    """The whole file's text."""
    text = source.text
    for _ in range(_DEEPEST if source.language is not Language.OPENCL else 0):
        edits = next(_edits(source), None)
        if edits is None:
            break
        text = source.edited(*edits)
        try:
            source = source.reread(text)
        except InputError:
            break
    return text


def _edits(source: KernelSource) -> Iterator[list[Edit]]:
    """Those of the first call that can be written out."""
    for call in of_kind(source.body, "call_expression"):
        function = _meant(call, source)
        statement = _statement(call)
        if function is None or statement is None:
            continue
        written = _Inlined(source, function, call).written()
        if written is not None:
            lines, value = written
            indent = source.tree.indentation(statement)
            before = "".join(f"{line}\n{indent}" for line in lines)
            yield [Edit(statement.start_byte, statement.start_byte, before), Edit(call.start_byte, call.end_byte, value)]


def _meant(call: Node, source: KernelSource) -> Node | None:
    """The only function that the call may mean, where lanes exchange values in it, or in what it calls."""
    name = re.sub(r"<[^<>]*>", "", text_of(field(call, "function"))).replace(" ", "")
    scope, _, plain = name.rpartition("::")
    meanings = [f for f in source.functions(plain) if _type_of(f, source) in {None, scope.rpartition("::")[2]}]
    of_type = [f for f in meanings if _type_of(f, source) is not None]
    known = of_type if scope and of_type else [f for f in meanings if f not in of_type]
    if len(known) != 1 or known[0].has_error:
        return None
    arrays = _ARRAY.search(text_of(next(of_kind(known[0], "parameter_list")))) is not None
    return known[0] if (of_type == known or arrays) and _exchanges(known[0], source, _DEEPEST) else None


def _exchanges(function: Node, source: KernelSource, depth: int) -> bool:
    text = source.text_of(function)
    if _WAITS.search(text) or not depth:
        return False
    names = {text_of(n) for n in of_kind(function, "identifier")} - {text_of(n) for n in of_kind(function, "function_declarator")}
    called = (f for n in names for f in source.functions(n) if f.start_byte != function.start_byte)
    return _EXCHANGE.search(text) is not None or any(_exchanges(f, source, depth - 1) for f in called)


def _type_of(function: Node, source: KernelSource) -> str | None:
    """The type whose function it is."""
    outer = next((a for a in ancestors(function) if a.type in {"struct_specifier", "class_specifier"}), None)
    name = outer.child_by_field_name("name") if outer is not None else None
    return None if name is None else source.text_of(name)


def _statement(call: Node) -> Node | None:
    """What the call is part of, where it is surely evaluated once, and before nothing else that matters."""
    below = call
    for node in ancestors(call):
        if node.type in {"conditional_expression", "lambda_expression", *LOOPS, "if_statement", "condition_clause"}:
            return None
        if (
            node.type == "binary_expression"
            and text_of(field(node, "operator")) in {"&&", "||"}
            and field(node, "right") == below
        ):
            return None
        if node.type in {"declaration", "expression_statement", "return_statement"}:
            declared = [n for n in node.named_children if n.type == "init_declarator"]
            in_block = node.parent is not None and node.parent.type == "compound_statement"
            others = (
                c for c in of_kind(node, "call_expression", "update_expression") if c != call and c.type != "call_expression"
            )
            return node if in_block and len(declared) <= 1 and not any(True for _ in others) else None
        below = node
    return None


class _Inlined:
    """One call."""

    def __init__(self, source: KernelSource, function: Node, call: Node) -> None:
        self._source, self._function, self._call = source, function, call
        self._words = set(re.findall(r"\w+", source.text))

    def written(self) -> tuple[list[str], str] | None:
        """The statements before, and what stands for the call."""
        body = next(c for c in self._function.children if c.type == "compound_statement")
        statements = [s for s in body.children if s.type not in {"{", "}", "comment"}]
        returned = statements[-1] if statements and statements[-1].type == "return_statement" else None
        if returned is None or len(list(of_kind(body, "return_statement"))) > 1 or not returned.named_children:
            return None
        names = self._given()
        templates = self._templates()
        if names is None or templates is None:
            return None
        for kind in of_kind(body, "declaration", "alias_declaration"):
            for name in _declared(kind):
                names[name] = self._fresh(name)
        said = {**templates, **names}
        lines = [line for s in statements[:-1] for line in self._said(s, said).split("\n")]
        value = returned.named_children[0]
        text = self._said(value, said)
        return lines, text if value.type in {"identifier", "call_expression"} else f"({text})"

    def _given(self) -> dict[str, str] | None:
        """What stands for each parameter: the argument, which is computed nowhere else."""
        listed = field(next(of_kind(self._function, "function_declarator")), "parameters").named_children
        arguments = [a for a in field(self._call, "arguments").named_children if a.type != "comment"]
        parameters = [p for p in listed if p.type != "comment"]
        if len(parameters) != len(arguments):
            return None
        given: dict[str, str] = {}
        for parameter, argument in zip(parameters, arguments, strict=True):
            found = _ARRAY.fullmatch(" ".join(text_of(parameter).split()))
            if found is None or not is_pure(argument, self._source):
                return None
            text = self._source.text_of(argument)
            given[found["name"]] = text if argument.type in {"identifier", "subscript_expression"} else f"({text})"
        return given

    def _templates(self) -> dict[str, str] | None:
        """What template parameters stand for: said by the call, or read off an array that it is given."""
        given = self._deduced()
        outer = [
            a for a in ancestors(self._function) if a.type in {"template_declaration", "struct_specifier", "class_specifier"}
        ]
        own = [outer[0]] if outer and outer[0].type == "template_declaration" else []
        rest = outer[len(own) :]
        of_type = rest[1] if len(rest) > 1 and rest[1].type == "template_declaration" else None
        function = field(self._call, "function")
        scopes = list(of_kind(function, "template_type"))
        mine = list(of_kind(function, "template_function"))
        for declared, said in ((of_type, scopes[-1:]), (own[0] if own else None, mine[-1:])):
            explicit = [self._source.text_of(n) for n in field(said[0], "arguments").named_children] if said else []
            for number, name in enumerate(_template_names(declared) if declared is not None else ()):
                if number < len(explicit):
                    given[name] = explicit[number]
                elif name not in given:
                    return None
        return given

    def _deduced(self) -> dict[str, str]:
        found: dict[str, str] = {}
        listed = field(next(of_kind(self._function, "function_declarator")), "parameters").named_children
        for parameter, argument in zip(listed, field(self._call, "arguments").named_children, strict=False):
            taken = _ARRAY.fullmatch(" ".join(text_of(parameter).split()))
            declared = self._array(argument) if argument.type == "identifier" else None
            if taken is not None and declared is not None:
                found |= {taken["type"]: declared[0], taken["count"]: declared[1]}
        return found

    def _array(self, argument: Node) -> tuple[str, str] | None:
        """Type and extent of a local array of one dimension."""
        declared = self._source.scopes.declaration(text_of(argument), argument)
        node = declared.node if declared is not None and declared.origin is Origin.LOCAL else None
        declaration = node.parent if node is not None else None
        node = field(node, "declarator") if node is not None and node.type == "init_declarator" else node
        if (
            node is None
            or declaration is None
            or node.type != "array_declarator"
            or field(node, "declarator").type != "identifier"
        ):
            return None
        kind, size = declaration.child_by_field_name("type"), node.child_by_field_name("size")
        return (self._source.text_of(kind), self._source.text_of(size)) if kind is not None and size is not None else None

    def _fresh(self, name: str) -> str:
        number = 2
        while f"{name}_{number}" in self._words:
            number += 1
        self._words.add(f"{name}_{number}")
        return f"{name}_{number}"

    def _said(self, node: Node, names: Mapping[str, str]) -> str:
        data, position, pieces = self._source.tree.data, node.start_byte, list[str]()
        for use in of_kind(node, "identifier", "type_identifier", "namespace_identifier"):
            if text_of(use) in names and use.start_byte >= position:
                pieces += [data[position : use.start_byte].decode(), names[text_of(use)]]
                position = use.end_byte
        text = "".join([*pieces, data[position : node.end_byte].decode()])
        margin = self._source.tree.indentation(node)
        return "\n".join(line.removeprefix(margin) for line in text.split("\n"))


def _declared(node: Node) -> Sequence[str]:
    if node.type == "alias_declaration":
        return [text_of(field(node, "name"))]
    found = []
    for index, child in enumerate(node.children):
        if node.field_name_for_child(index) == "declarator":
            found += [text_of(n) for n in of_kind(child, "identifier")][:1]
    return found


def _template_names(declared: Node) -> list[str]:
    listed = next((c for c in declared.children if c.type == "template_parameter_list"), None)
    texts = [text_of(c).partition("=")[0] for c in listed.named_children if c.type != "comment"] if listed is not None else []
    return [re.findall(r"\w+", text)[-1] for text in texts]
