"""Finds the kernels of a source file and their parameters with tree-sitter, for the skeleton of a kernel.toml.

OpenCL's qualifiers are unknown to the CUDA grammar: they are blanked out at equal length first, so that all places stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language

if TYPE_CHECKING:
    from tree_sitter import Node

_OPENCL_WORDS = re.compile(rb"\b(?:__kernel|kernel|__global|global|__local|local|__constant|constant|__private|private)\b")
_ATTRIBUTE = re.compile(rb"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|__restrict__|__restrict|restrict|struct|typename|register|__grid_constant__)\b|[*&]|\[[^\]]*\]"
)


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """`type` is without qualifiers, stars and brackets; `depth` counts the stars."""

    name: str
    type: str
    depth: int
    is_const: bool
    is_local: bool
    is_read: bool
    is_written: bool
    is_certain: bool  # whether the body shows plainly that it is read or written


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    name: str
    kind: str  # "typename", or the type of a value
    default: str | None


@dataclass(frozen=True, slots=True)
class KernelDeclaration:
    name: str
    line: int
    template: tuple[TemplateParameter, ...]
    parameters: tuple[ParameterDeclaration, ...]
    body: str
    launch_bounds: int | None


def find_kernels(text: str, language: Language) -> list[KernelDeclaration]:
    """In the order of the file; of a declaration and its definition, the definition."""
    import tree_sitter_cuda  # noqa: PLC0415 - loaded when used, so that `--help` stays fast
    from tree_sitter import Language as Grammar  # noqa: PLC0415
    from tree_sitter import Parser  # noqa: PLC0415

    source = text.encode()
    masked = _ATTRIBUTE.sub(_blank, source)
    marks: list[int] = []
    if language is Language.OPENCL:
        marks = [m.start() for m in re.finditer(rb"\b(?:__kernel|kernel)\b", masked)]
        masked = _OPENCL_WORDS.sub(_blank, masked)
    root = Parser(Grammar(tree_sitter_cuda.language())).parse(masked).root_node
    found: dict[str, KernelDeclaration] = {}
    for function in _functions(root):
        if language is Language.OPENCL:
            is_kernel = _is_marked(function, marks, masked)
        else:
            is_kernel = any(child.type == "__global__" for child in function.children)
        if is_kernel:
            kernel = _kernel(function, source)
            if kernel.name not in found or kernel.body:
                found[kernel.name] = kernel
    return list(found.values())


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match.group())


def _walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text; without recursion, since sources nest deeply."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.children))


def _functions(root: Node) -> Iterator[Node]:
    for node in _walk(root):
        if node.type in {"function_definition", "declaration"} and _first(node, "function_declarator") is not None:
            yield node


def _is_marked(function: Node, marks: list[int], source: bytes) -> bool:
    """Whether only blanks lie between a `kernel` that was blanked out and this function."""
    return any(m < function.start_byte and not source[m : function.start_byte].strip() for m in marks)


def _first(node: Node, kind: str) -> Node | None:
    """The first node of a kind in the declaration, not looking into its body."""
    for child in node.children:
        if child.type == kind:
            return child
        if child.type != "compound_statement":
            found = _first(child, kind)
            if found is not None:
                return found
    return None


def _kernel(function: Node, source: bytes) -> KernelDeclaration:
    declarator = _first(function, "function_declarator")
    assert declarator is not None
    name_node = declarator.child_by_field_name("declarator") or declarator.children[0]
    body = next((child for child in function.children if child.type == "compound_statement"), None)
    bounds = _first(function, "launch_bounds")
    number = next((c for c in bounds.named_children if c.type == "number_literal"), None) if bounds else None
    scopes: list[str] = []
    template: tuple[TemplateParameter, ...] = ()
    parent = function.parent
    while parent is not None:
        if parent.type == "template_declaration" and not template:
            template = _template(parent)
        if parent.type == "namespace_definition" and (scope := parent.child_by_field_name("name")) is not None:
            scopes.insert(0, _text(scope))
        parent = parent.parent
    parameters = _first(declarator, "parameter_list")
    return KernelDeclaration(
        name="::".join([*scopes, _text(name_node)]),
        line=source.count(b"\n", 0, name_node.start_byte) + 1,
        template=template,
        parameters=tuple(_parameters(parameters, body, source)) if parameters else (),
        body=_text(body) if body else "",
        launch_bounds=int(_text(number)) if number is not None and _text(number).isdigit() else None,
    )


def _parameters(listed: Node, body: Node | None, source: bytes) -> Iterator[ParameterDeclaration]:
    start = listed.start_byte + 1
    for node in listed.named_children:
        if node.type not in {"parameter_declaration", "optional_parameter_declaration"}:
            continue
        # From the separator on, so that the qualifiers which were blanked out are seen.
        text = source[start : node.end_byte].decode(errors="replace").lstrip(", \n\t")
        start = node.end_byte
        names = [n for n in _walk(node) if n.type == "identifier"]
        if text.strip() == "void" or not names:
            continue
        name = _text(names[-1])
        before = re.sub(rf"\b{name}\b(?!.*\b{name}\b)", "", text.split("=")[0], flags=re.DOTALL)
        plain = re.sub(r"\b(?:__global|global|__local|local|__constant|constant|__private|private)\b", "", before)
        read, written, certain = _uses(body, name) if body is not None else (True, True, False)
        yield ParameterDeclaration(
            name=name,
            type=" ".join(_QUALIFIERS.sub(" ", plain).split()),
            depth=before.count("*") + before.count("["),
            is_const=bool(re.search(r"^[^*]*\b(?:const|__constant|constant)\b", before)),
            is_local=bool(re.search(r"\b(?:__local|local)\b", before)),
            is_read=read,
            is_written=written,
            is_certain=certain,
        )


def _uses(body: Node, name: str) -> tuple[bool, bool, bool]:
    """(read, written, certain): an element that is only ever assigned is not read; a use of the pointer itself may do both."""
    read = written = False
    certain = True
    for node in _walk(body):
        if node.type == "identifier" and _text(node) == name:
            element = node.parent
            target = (
                element.parent if element is not None and element.type in {"subscript_expression", "pointer_expression"} else None
            )
            if target is not None and target.type == "assignment_expression" and target.child_by_field_name("left") == element:
                written = True
                operator = target.child_by_field_name("operator")
                read = read or (operator is not None and _text(operator) != "=")
            elif target is not None and target.type != "update_expression":
                read = True
            else:
                read = written = True
                certain = certain and target is not None
    return read, written, certain


def _template(node: Node) -> tuple[TemplateParameter, ...]:
    listed = next((child for child in node.children if child.type == "template_parameter_list"), None)
    found = []
    for child in listed.named_children if listed else ():
        text = _text(child)
        declared, _, default = text.partition("=")
        words = declared.replace("...", " ").split()
        if words:
            kind = "typename" if words[0] in {"typename", "class"} else " ".join(words[:-1]) or words[0]
            found.append(TemplateParameter(words[-1], kind, default.strip() or None))
    return tuple(found)


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
