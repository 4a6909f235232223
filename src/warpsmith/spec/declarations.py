"""Finds the kernels of a source file and their parameters with tree-sitter, to write a kernel.toml or check one.

Comments and `#if 0` branches are not part of a declaration, and the CUDA grammar does not know OpenCL's qualifiers. All are
blanked at equal length first, so that positions stay valid. `spec.uses` finds what the parameters are used for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.core.opencl_types import HOST_HANDLE
from warpsmith.spec.comments import blanked, with_blank_comments, with_blank_dead_code

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SIZE = re.compile(r"[0-9]{1,9}")
_KERNEL_WORD = re.compile(r"\b(?:__kernel|kernel)\b")
_OPENCL_WORDS = re.compile(r"\b(?:__kernel|kernel|__global|global|__local|local|__constant|constant|__private|private)\b")
_LOCAL_WORD = re.compile(r"\b(?:__local|local)\b")
_CONSTANT_WORD = re.compile(r"\b(?:__constant|constant)\b")
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
# Macros between the star and the name, which the grammar takes for the name: those that the file defines as empty or
# `restrict`, and those of headers with such a name.
_QUALIFIER_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]*(?:__restrict__|__restrict|restrict)?[ \t]*$", re.MULTILINE)
_RESTRICT_MACRO = re.compile(r"(?<=[*\s])\w*RESTRICT\w*(?=\s+\w)")
_DECLARATORS = frozenset({"pointer_declarator", "array_declarator", "reference_declarator", "parenthesized_declarator"})


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """`type` is without qualifiers, stars and brackets; `depth` counts the stars. A parameter without a name has an empty one."""

    name: str
    type: str
    depth: int
    is_const: bool
    is_local: bool
    text: str  # as it is declared, for those who are to recognise it


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    name: str
    kind: str  # "typename", or the type of a value
    default: str | None
    is_pack: bool = False


@dataclass(frozen=True, slots=True)
class KernelDeclaration:
    """`is_plain`: every parameter was understood, with no macro, `#if` or pack among them."""

    name: str
    line: int
    template: tuple[TemplateParameter, ...]
    parameters: tuple[ParameterDeclaration, ...]
    is_plain: bool
    launch_bounds: int | None
    required_block: str | None  # what reqd_work_group_size has in its brackets
    handle: str | None  # the type of a parameter that is no memory and no value: an image, a sampler
    body: Node | None = field(compare=False, repr=False)

    @property
    def plain_name(self) -> str:
        return self.name.rsplit("::", 1)[-1]

    @property
    def body_text(self) -> str:
        return text_of(self.body) if self.body is not None else ""


class Declarations:
    """A source file's declarations outside function bodies."""

    def __init__(self, text: str, language: Language) -> None:
        self.language = language
        self.text = with_blank_dead_code(with_blank_comments(text))
        masked = _ATTRIBUTE.sub(_blank, self.text)
        for macro in {match[1] for match in _QUALIFIER_MACRO.finditer(masked)}:
            masked = re.sub(rf"(?<=[*\s]){macro}(?=\s+\w)", _blank, masked)
        masked = _RESTRICT_MACRO.sub(_blank, masked)
        if language is Language.OPENCL:
            masked = _OPENCL_WORDS.sub(_blank, masked)
        self._source, self._masked = self.text.encode(), masked.encode()
        self._marks = [len(self.text[: m.start()].encode()) for m in _KERNEL_WORD.finditer(self.text)]
        self.root = _parser().parse(self._masked).root_node

    @cached_property
    def kernels(self) -> list[KernelDeclaration]:
        """All declared kernels, in the order of the file."""
        found = [self._kernel(function) for function in self._functions(everywhere=False) if self._is_kernel(function)]
        # A macro followed by a block can look like a function around the kernels.
        return found or [self._kernel(function) for function in self._functions(everywhere=True) if self._is_kernel(function)]

    def function(self, name: str) -> Node | None:
        """The definition of a non-kernel function, if there is exactly one of that name."""
        found = [
            f
            for f in self._functions(everywhere=False)
            if f.type == "function_definition" and not self._is_kernel(f) and _function_name(f) == name
        ]
        return found[0] if len(found) == 1 else None

    def line_at(self, place: int) -> int:
        """The line of a byte offset, as nodes have them."""
        return self._masked.count(b"\n", 0, place) + 1

    def aliases(self) -> dict[str, str | None]:
        """Names that stand for a type: `typedef`, `using` and `#define`. None if it is ambiguous."""
        found: dict[str, str | None] = {}
        for node in walk(self.root, {"compound_statement", "field_declaration_list"}):
            pair = _alias(node)
            if pair is not None:
                name, target = pair
                found[name] = target if found.get(name, target) == target else None
        return found

    def _functions(self, *, everywhere: bool) -> Iterator[Node]:
        for node in walk(self.root, frozenset() if everywhere else {"compound_statement"}):
            if node.type in {"function_definition", "declaration"} and first(node, "function_declarator") is not None:
                yield node

    def _is_kernel(self, function: Node) -> bool:
        if self.language is not Language.OPENCL:
            return any(child.type == "__global__" for child in function.children)
        # Only blanks lie between the blanked qualifier and the function.
        start = function.start_byte
        return any(mark < start and not self._masked[mark:start].strip() for mark in self._marks)

    def _kernel(self, function: Node) -> KernelDeclaration:
        bounds = first(function, "launch_bounds")
        number = next((c for c in bounds.named_children if c.type == "number_literal"), None) if bounds else None
        scopes: list[str] = []
        template: tuple[TemplateParameter, ...] = ()
        parent = function.parent
        while parent is not None:
            if parent.type == "template_declaration" and not template:
                template = _template(parent)
            if parent.type == "namespace_definition" and (scope := parent.child_by_field_name("name")) is not None:
                scopes.insert(0, text_of(scope))
            parent = parent.parent
        listed = first(function, "parameter_list")
        parameters, is_plain = self._parameters(listed) if listed is not None else ((), False)
        return KernelDeclaration(
            name="::".join([*scopes, _function_name(function)]),
            line=self.line_at(_name_node(function).start_byte),
            template=template,
            parameters=parameters,
            is_plain=is_plain,
            launch_bounds=int(text_of(number)) if number is not None and _SIZE.fullmatch(text_of(number)) else None,
            required_block=self._required_block(function),
            handle=self._handle(listed) if listed is not None else None,
            body=next((child for child in function.children if child.type == "compound_statement"), None),
        )

    def _handle(self, listed: Node) -> str | None:
        found = HOST_HANDLE.search(text_of(listed)) if self.language is Language.OPENCL else None
        return found[0] if found else None

    def _required_block(self, function: Node) -> str | None:
        """The attribute was blanked: it stands before the function, or between its parts."""
        before = max(self._masked.rfind(end, 0, function.start_byte) for end in (b"}", b";")) + 1
        text = self._source[before : function.end_byte].decode(errors="replace").partition("{")[0]
        found = re.search(r"\breqd_work_group_size\s*\(((?:[^()]|\([^()]*\))*)\)", text)
        return found[1] if found else None

    def _parameters(self, listed: Node) -> tuple[tuple[ParameterDeclaration, ...], bool]:
        start = listed.start_byte + 1
        found: list[ParameterDeclaration] = []
        is_plain = not listed.has_error
        for node in listed.named_children:
            if node.type not in {"parameter_declaration", "optional_parameter_declaration"}:
                is_plain = False
                continue
            # From the separator on, so that blanked qualifiers are seen.
            text = self._source[start : node.end_byte].decode(errors="replace").lstrip(", \n\t")
            start = node.end_byte
            if text.strip() == "void":
                continue
            parameter = _parameter(node, text, self.language)
            is_plain = is_plain and parameter is not None
            if parameter is not None:
                found.append(parameter)
        return tuple(found), is_plain


def refused_handle(kernel: KernelDeclaration, source: Path) -> InputError:
    """The error for a kernel with a parameter that cannot be passed."""
    hint = "only buffers and scalars can be passed: use plain global memory instead"
    return InputError(f"{kernel.name} takes an {kernel.handle}", location=Location(source, kernel.line), hint=hint)


def find_kernels(declarations: Declarations) -> list[KernelDeclaration]:
    """In the order of the file; of a declaration and its definition, the definition."""
    found: dict[str, KernelDeclaration] = {}
    for kernel in declarations.kernels:
        if kernel.name not in found or kernel.body is not None:
            found[kernel.name] = kernel
    return list(found.values())


def walk(node: Node, closed: frozenset[str] | set[str] = frozenset()) -> Iterator[Node]:
    """The node and its descendants in source order, not entering closed kinds; without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if current.type not in closed:
            waiting.extend(reversed(current.children))


def first(node: Node, kind: str) -> Node | None:
    """The first node of a kind in the declaration, outside its body."""
    return next((n for child in node.children for n in walk(child, {"compound_statement"}) if n.type == kind), None)


def text_of(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def expression_nodes(text: str) -> list[Node]:
    """The expressions of a comma-separated list; none if the text is something else."""
    call = first(_parser().parse(f"int expressions = list({text});".encode()).root_node, "argument_list")
    return [] if call is None or call.has_error else [child for child in call.named_children if child.type != "comment"]


def declared_name(declarator: Node | None) -> tuple[Node | None, int]:
    """A declarator's identifier, and its number of stars and brackets; None for a function."""
    depth = 0
    while declarator is not None and declarator.type in _DECLARATORS:
        depth += declarator.type in {"pointer_declarator", "array_declarator"}
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type == "identifier" or c.type in _DECLARATORS), None
        )
    return (declarator if declarator is not None and declarator.type == "identifier" else None), depth


def _parameter(node: Node, text: str, language: Language) -> ParameterDeclaration | None:
    """None if this is not one parameter with a type and a name: a macro can look like one."""
    declared = node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator")
    name, depth = declared_name(declarator)
    if declared is None or (declarator is None and declared.type == "type_identifier"):
        return None
    if name is None and declarator is not None and not declarator.type.startswith("abstract_"):
        return None
    if name is None:
        depth = text.count("*") + text.count("[")
    is_opencl = language is Language.OPENCL
    words = re.sub(r"^(?:struct|class|enum|union|typename)\s+", "", text_of(declared))
    is_const = any(c.type == "type_qualifier" and text_of(c) in {"const", "constexpr"} for c in node.children)
    return ParameterDeclaration(
        name=text_of(name) if name is not None else "",
        type=" ".join(words.split()),
        depth=depth,
        is_const=is_const or (is_opencl and _CONSTANT_WORD.search(text) is not None),
        is_local=is_opencl and _LOCAL_WORD.search(text) is not None and depth > 0,
        text=" ".join(text.split()),
    )


def _alias(node: Node) -> tuple[str, str | None] | None:
    match node.type:
        case "alias_declaration":
            name, target = node.child_by_field_name("name"), node.child_by_field_name("type")
        case "type_definition":
            name, target = node.child_by_field_name("declarator"), node.child_by_field_name("type")
        case "preproc_def":
            name, target = node.child_by_field_name("name"), node.child_by_field_name("value")
        case _:
            return None
    if name is None:
        return None
    is_plain = target is not None and re.fullmatch(r"[\w\s:]+", text_of(target).strip())
    return text_of(name), text_of(target).strip() if target is not None and is_plain else None


def _name_node(function: Node) -> Node:
    declarator = first(function, "function_declarator")
    assert declarator is not None
    return declarator.child_by_field_name("declarator") or declarator.children[0]


def _function_name(function: Node) -> str:
    """Without the arguments of a specialisation."""
    return text_of(_name_node(function)).split("<", 1)[0].strip()


def _template(node: Node) -> tuple[TemplateParameter, ...]:
    listed = next((child for child in node.children if child.type == "template_parameter_list"), None)
    found = []
    for child in listed.named_children if listed else ():
        text = text_of(child)
        declared, _, default = text.partition("=")
        words = declared.replace("...", " ").split()
        if words:
            kind = "typename" if words[0] in {"typename", "class"} else " ".join(words[:-1]) or words[0]
            found.append(TemplateParameter(words[-1], kind, default.strip() or None, "..." in declared))
    return tuple(found)


def _blank(match: re.Match[str]) -> str:
    return blanked(match[0])


@cache
def _parser() -> Parser:
    import tree_sitter_cuda  # noqa: PLC0415 - loaded when used, so that `--help` stays fast
    from tree_sitter import Language as Grammar  # noqa: PLC0415
    from tree_sitter import Parser  # noqa: PLC0415

    return Parser(Grammar(tree_sitter_cuda.language()))
