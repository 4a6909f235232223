"""A kernel that only calls a function of the file, with that function's body for its own.

    template <typename T, int N> __device__ void row(T* out, float* sums) { … }
    template <typename T, int N> __global__ void k(T* out) { row<T, N>(out, nullptr); }

What the function's parameters and template parameters stand for is then known as the kernel's are. The meaning is the same, the
tokens are not: a form for passes to start from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.kernel import KernelSource
from warpsmith.source.tree import Edit, field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def with_forwarded_body(source: KernelSource) -> str:
    """The whole file's text; as it was where the kernel does more than call one function."""
    statements = [s for s in source.body.named_children if s.type != "comment"]
    call = next(iter(statements[0].named_children), None) if [s.type for s in statements] == ["expression_statement"] else None
    if call is None or call.type != "call_expression" or source.language is Language.OPENCL:
        return source.text
    called = _Called.of(call, source)
    declared = called.declarations() if called is not None else None
    if called is None or declared is None:
        return source.text
    body = next(c for c in called.function.children if c.type == "compound_statement")
    written = called.renamed(body)
    lines = "".join(f"\n  {line}" for line in declared)
    return source.edited(Edit(source.body.start_byte, source.body.end_byte, f"{{{lines}{written[1:]}"))


@dataclass(frozen=True, slots=True)
class _Called:
    """A function that is the only one of its name, and what it is given."""

    source: KernelSource
    function: Node
    templates: tuple[tuple[str, str, str], ...]  # kind, name and what it is
    parameters: tuple[tuple[str, str, Node], ...]  # declaration, name and argument

    @classmethod
    def of(cls, call: Node, source: KernelSource) -> _Called | None:
        name = field(call, "function")
        given = [text_of(n) for n in field(name, "arguments").named_children] if name.type == "template_function" else []
        plain = text_of(field(name, "name")) if name.type == "template_function" else text_of(name)
        meanings = source.functions(plain)
        if len(meanings) != 1 or meanings[0].has_error or meanings[0].start_byte > source.function.start_byte:
            return None
        function, directives = meanings[0], ("preproc_def", "preproc_undef", "preproc_function_def", "preproc_call")
        between = source.tree.data[function.end_byte : source.function.start_byte]
        if re.search(rb"^[ \t]*#[ \t]*(?:undef|define)\b", between, re.MULTILINE) or any(
            True for _ in of_kind(function, *directives[:3])
        ):
            return None
        return cls._bound(source, function, given, field(call, "arguments").named_children)

    @classmethod
    def _bound(cls, source: KernelSource, function: Node, given: list[str], arguments: list[Node]) -> _Called | None:
        listed = field(next(of_kind(function, "function_declarator")), "parameters").named_children
        parameters = [p for p in listed if p.type != "comment"]
        arguments = [a for a in arguments if a.type != "comment"]
        outer = function.parent
        before = outer.children[1].named_children if outer is not None and outer.type == "template_declaration" else []
        kinds = [p for p in before if p.type != "comment"]
        templates = []
        for number, parameter in enumerate(kinds):
            declared, _, default = text_of(parameter).partition("=")
            value = given[number] if number < len(given) else default.strip()
            found = re.fullmatch(r"(.*\S)\s+(\w+)\s*", declared, re.DOTALL)
            if found is None or not value or "..." in declared:
                return None
            templates.append((found[1], found[2], value))
        if len(parameters) != len(arguments) or any(p.type != "parameter_declaration" for p in parameters):
            return None
        named = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            names = [n for n in of_kind(parameter, "identifier") if n.parent is None or n.parent.type != "template_argument_list"]
            if not names or any(True for _ in of_kind(parameter, "reference_declarator", "array_declarator")):
                return None
            named.append((source.tree.text_of(parameter), text_of(names[-1]), argument))
        return cls(source, function, tuple(templates), tuple(named))

    def declarations(self) -> list[str] | None:
        """What has to be said before the body; None where a name would mean two things."""
        types = {p.name: _type(p.type) for p in self.source.parameters}
        mine = types.keys() | set(self.source.bindings)
        passed = [text_of(a) for _, _, a in self.parameters if a.type == "identifier" and text_of(a) in mine]
        if len(passed) != len(set(passed)):
            return None
        lines = []
        for kind, name, value in self.templates:
            if name == value:
                continue
            if name in mine:
                return None
            lines.append(f"using {name} = {value};" if kind in {"typename", "class"} else f"constexpr {kind} {name} = {value};")
        body = next(c for c in self.function.children if c.type == "compound_statement")
        own = {text_of(n) for n in of_kind(body, "identifier")} | {name for _, name, _ in self.parameters}
        if own & types.keys() - set(passed):
            return None
        for declared, name, argument in self.parameters:
            text = self.source.text_of(argument)
            if text in passed:
                if (name != text and text in own) or types.get(text) != self._taken(declared[: declared.rindex(name)]):
                    return None
            elif name in mine:
                return None
            else:
                lines.append(f"{declared} = {text};")
        return lines

    def _taken(self, declared: str) -> str:
        """A parameter's type in the kernel's words."""
        for _, name, value in self.templates:
            declared = re.sub(rf"\b{name}\b", value, declared)
        return _type(declared)

    def renamed(self, body: Node) -> str:
        """The body with the kernel's names for what it is given."""
        data, position, pieces = self.source.tree.data, body.start_byte, list[str]()
        names = {name: text_of(a) for _, name, a in self.parameters if a.type == "identifier" and text_of(a) != name}
        for use in of_kind(body, "identifier"):
            if (name := names.get(text_of(use))) is not None:
                pieces += [data[position : use.start_byte].decode(), name]
                position = use.end_byte
        return "".join([*pieces, data[position : body.end_byte].decode()])


def _type(declared: str) -> str:
    """Of a parameter, without what says nothing to who calls."""
    words = re.sub(r"\b(?:const|__restrict(?:__)?|restrict)\b", " ", declared)
    return "".join(words.split()) + ("const" if re.search(r"\bconst\b[^*]*\*", declared) else "")
