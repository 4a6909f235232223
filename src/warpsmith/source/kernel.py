"""One kernel inside its file: the function that an entry names, its parameters, and what its template parameters are bound to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.source.scopes import Scopes
from warpsmith.source.tree import Edit, Tree, of_kind, walk
from warpsmith.spec.entry import split_entry

if TYPE_CHECKING:
    from tree_sitter import Node

_BODIES = {"compound_statement", "field_initializer_list"}  # a constructor does things before its braces
_LOCAL_WORD = re.compile(rb"\b(?:__local|local)\b(?=[^,]*\*)")
_SPACE_WORD = re.compile(rb"\b(?:__)?(?:global|constant|generic)\b")
_KERNEL_WORD = re.compile(rb"\b(?:__kernel|kernel)\b")


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter as declared. `type` is what stands before the name; `depth` counts the stars."""

    name: str
    type: str
    depth: int
    node: Node = field(compare=False, repr=False)


_RESTRICT = re.compile(r"\b(?:__restrict__|__restrict|restrict)\b")


class KernelSource:
    """The syntax of one kernel. `bindings` maps template parameters to the instance's arguments (`T` → `float`)."""

    def __init__(self, tree: Tree, function: Node, bindings: Mapping[str, str]) -> None:
        self.tree = tree
        self.function = function
        self.bindings = bindings

    @property
    def text(self) -> str:
        return self.tree.text

    def declaration_of(self, parameter: KernelParameter) -> str:
        """As it stands in the parameter list, with OpenCL's qualifiers, which the grammar does not know."""
        data, node = self.tree.data, parameter.node
        start = max(data.rfind(mark, 0, node.start_byte) for mark in (b"(", b","))
        return data[start + 1 : node.end_byte].decode(errors="replace")

    def is_restrict(self, parameter: KernelParameter) -> bool:
        """Whether its author promises that nothing else leads to what is written through it."""
        return _RESTRICT.search(self.declaration_of(parameter)) is not None

    @property
    def language(self) -> Language:
        return self.tree.language

    @cached_property
    def body(self) -> Node:
        return next(child for child in self.function.children if child.type == "compound_statement")

    @property
    def definition(self) -> Node:
        """The function with the `template <…>` and the `extern "C"` that it stands in: before it, anything can be declared."""
        node = self.function
        while node.parent is not None and node.parent.type in {
            "template_declaration",
            "linkage_specification",
            "declaration_list",
        }:
            if node.parent.type == "declaration_list" and (node.parent.parent or node).type != "linkage_specification":
                break  # of a namespace, whose names it may need
            node = node.parent
        return node

    @cached_property
    def scopes(self) -> Scopes:
        return Scopes(self.tree)

    @cached_property
    def declarator(self) -> Node:
        return next(of_kind(self.function, "function_declarator"))

    @cached_property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """Those that get a value from kernel.toml, in its order: all but OpenCL's `__local` ones."""
        return tuple(p for p in self._declared if not self._is_local(p.node))

    @cached_property
    def local_parameters(self) -> tuple[KernelParameter, ...]:
        """Pointers to memory of the block that the launch gives a size: OpenCL's `extern __shared__`."""
        return tuple(p for p in self._declared if self._is_local(p.node))

    @cached_property
    def _declared(self) -> tuple[KernelParameter, ...]:
        listed = next(of_kind(self.declarator, "parameter_list"))
        return tuple(p for node in listed.named_children if (p := self._parameter(node)) is not None)

    def _is_local(self, node: Node) -> bool:
        if self.language is not Language.OPENCL:
            return False
        declared = self.tree.qualifiers_before(node) + self.tree.data[node.start_byte : node.end_byte]
        return _LOCAL_WORD.search(declared) is not None

    def full_type(self, parameter: KernelParameter) -> str:
        """The type with which another variable can hold the same: in OpenCL with its address space."""
        space = _SPACE_WORD.search(self.tree.qualifiers_before(parameter.node))
        return f"{space[0].decode()} {parameter.type}" if space is not None else parameter.type

    @cached_property
    def device_functions(self) -> dict[str, Node]:
        """Other functions of the file with a body, by name: the ones that the kernel may call. Of overloads, the last."""
        return {name: functions[-1] for name, functions in self._overloads.items()}

    def functions(self, name: str) -> list[Node]:
        """All that a call of this name may mean: which overload it is, types would have to tell."""
        return self._overloads.get(name, [])

    @cached_property
    def _overloads(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in of_kind(self.tree.root, "function_definition"):
            converts = any(child.type == "operator_cast" for child in node.children)
            name = "operator" if converts else function_name(self.tree, node)
            if name is not None and node.start_byte != self.function.start_byte:
                found.setdefault(name, []).append(node)
        return found

    def reached(self) -> list[Node]:
        """The kernel's body and those of the functions of this file that it reaches, the kernel's first.

        A type is reached with its constructors, and its other functions only where an object, a scope or the type itself calls
        them. Operators are not named where they are used, so all of the file's count.
        """
        operators = [name for name in self._overloads if name.startswith("operator")]
        found, waiting, seen = [self.body], [self.body], set[int]()
        while waiting:
            body = waiting.pop()
            inside = is_method(body.parent) if body.parent is not None else False
            named = of_kind(body, "identifier", "field_identifier", "type_identifier")
            meant = {(self.tree.text_of(use), inside or not _is_plain(use)) for use in named} | {
                (name, True) for name in operators
            }
            for name, may_be_method in sorted(meant):
                for function in self._overloads.get(name, ()):
                    constructs = any(c.type == "field_initializer_list" for c in function.children) or name in self._types
                    if function.start_byte in seen or not (may_be_method or constructs or not is_method(function)):
                        continue
                    seen.add(function.start_byte)
                    bodies = [c for c in function.children if c.type in _BODIES]
                    found += bodies
                    waiting += bodies
        return found

    @cached_property
    def _types(self) -> frozenset[str]:
        named = (n.child_by_field_name("name") for n in of_kind(self.tree.root, "struct_specifier", "class_specifier"))
        return frozenset(re.match(r"\w*", self.tree.text_of(name))[0] for name in named if name is not None)  # type: ignore[index]

    def has_errors(self) -> bool:
        """Whether the grammar did not understand a part of the kernel: then nothing should be changed there."""
        return self.first_error() is not None

    def first_error(self) -> Node | None:
        """Where the grammar does not understand the kernel; a function among statements is a macro with a block behind it."""
        if self.function.has_error:
            return next((node for node in walk(self.function) if node.is_error or node.is_missing), self.function)
        inside = of_kind(self.body, "function_definition")
        return next((n for n in inside if n.parent is None or n.parent.type != "field_declaration_list"), None)

    def text_of(self, node: Node) -> str:
        return self.tree.text_of(node)

    def line_of(self, node: Node) -> int:
        return self.tree.line_of(node)

    def edited(self, *edits: Edit) -> str:
        return self.tree.edited(edits)

    def reread(self, text: str) -> KernelSource:
        """The same kernel and instance in another text."""
        name = function_name(self.tree, self.function) or ""
        read = parse_kernel(text, self.language, name)
        return KernelSource(read.tree, read.function, self.bindings)

    def _parameter(self, node: Node) -> KernelParameter | None:
        if node.type not in {"parameter_declaration", "optional_parameter_declaration"}:
            return None
        names = [n for n in of_kind(node, "identifier") if n.parent is not None and n.parent.type != "template_argument_list"]
        if not names:
            return None
        declared = self.tree.data[node.start_byte : names[-1].start_byte].decode(errors="replace")
        return KernelParameter(self.text_of(names[-1]), " ".join(declared.split()), declared.count("*"), node)


def parse_kernel(text: str, language: Language, entry: str) -> KernelSource:
    """Find the kernel that `entry` names (a plain name or a template instance). Raises InputError when it is not in this file."""
    tree = Tree(text, language)
    name, arguments = split_entry(entry)
    plain = name.rsplit("::", 1)[-1]
    for function in of_kind(tree.root, "function_definition"):
        if function_name(tree, function) == plain and _is_kernel(tree, function):
            return KernelSource(tree, function, _bindings(tree, function, arguments))
    declared = re.search(rf"\b(?:__global__|__kernel|kernel)\b[^;{{}}]*\b{re.escape(plain)}\s*\(", text)
    if declared is not None:
        raise InputError(
            f"the declaration of {plain!r} cannot be parsed (line {text.count(chr(10), 0, declared.end()) + 1})",
            hint="an #if between __global__ and the parameters cannot be parsed",
        )
    raise InputError(f"no kernel {plain!r} in this source", hint="an entry is the name of a __global__ or __kernel function")


def function_name(tree: Tree, function: Node) -> str | None:
    declarator = next(
        (n for child in function.children if child.type != "compound_statement" for n in of_kind(child, "function_declarator")),
        None,
    )
    if declarator is None:
        return None
    name = declarator.child_by_field_name("declarator")
    return tree.text_of(name).rsplit("::", 1)[-1] if name is not None else None


def is_method(function: Node) -> bool:
    """Whether it is a type's own function, which nobody else calls by its name alone."""
    outer = function.parent
    while outer is not None and outer.type == "template_declaration":
        outer = outer.parent
    return outer is not None and outer.type == "field_declaration_list"


def _is_plain(use: Node) -> bool:
    """Whether a name stands alone, rather than behind an object or a scope."""
    outer = use.parent.parent if use.parent is not None and use.parent.type == "template_function" else use.parent
    return use.type == "identifier" and (outer is None or outer.type not in {"qualified_identifier", "field_expression"})


def _is_kernel(tree: Tree, function: Node) -> bool:
    if tree.language is not Language.OPENCL:
        return any(child.type == "__global__" for child in function.children)
    before = tree.data[: function.start_byte]
    # The qualifier was blanked out for the parser: only blanks and attributes lie between it and the function.
    last = None
    for last in _KERNEL_WORD.finditer(before):  # noqa: B007 - the last one is wanted
        pass
    return last is not None and b";" not in before[last.end() :] and b"}" not in before[last.end() :]


def _bindings(tree: Tree, function: Node, arguments: list[str]) -> dict[str, str]:
    parent = function.parent
    listed = (
        next((c for c in parent.children if c.type == "template_parameter_list"), None)
        if parent is not None and parent.type == "template_declaration"
        else None
    )
    bound: dict[str, str] = {}
    for index, child in enumerate(listed.named_children if listed is not None else ()):
        declared, _, default = tree.text_of(child).partition("=")
        names = [n for n in walk(child) if n.type in {"identifier", "type_identifier"}]
        words = re.findall(r"\w+", declared)
        if not words or not names:
            continue
        value = arguments[index] if index < len(arguments) else default.strip()
        if value:
            bound[words[-1]] = value
    return bound
