"""Calls of the file's functions that are handed lambdas, written out in their place, and calls of the lambdas with them.

    for_each<4>(row, n, threadIdx.x, [&](float x) { sum += x; });
        →   const int begin = threadIdx.x;  for (int i = begin; i < n; i += blockDim.x) { sum += row[i]; }

Arguments that a function may change are variables of its own; every variable gets a name that no other has. What returns early
becomes a condition with an `else`. A call that cannot be written so stays. A form for passes to start from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.source.functors import (
    Frame,
    Functor,
    NotWritable,
    functor_of,
    is_in_lambda,
    parameters_in,
    template_parameters,
)
from warpsmith.source.kernel import KernelSource
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import Edit, is_within, of_kind, text_of, unwrapped
from warpsmith.source.tree import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

_PLACE = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[[\w+ ]*\])*")
_DEEPEST = 6  # calls in calls


def with_inlined_helpers(source: KernelSource) -> str:
    """The whole file's text; unchanged where nothing is handed a lambda."""
    has_lambda = any(True for _ in of_kind(source.body, "lambda_expression"))
    return _Inlining(source).text() if has_lambda else source.text


class _Inlining:
    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._taken = set(re.findall(r"[A-Za-z_]\w*", source.text_of(source.function)))
        self._kernel = Frame(functors=dict(self._lambdas()))
        self._constants = set[str]()  # of the variables that were made here
        self._depth = 0

    def text(self) -> str:
        edits = list[Edit]()
        for statement in of_kind(self._source.body, "expression_statement"):
            if is_in_lambda(statement, self._source.body):
                continue
            try:
                lines = self._call(statement, self._kernel)
            except NotWritable:
                continue
            if lines is not None:
                edits.append(Edit(statement.start_byte, statement.end_byte, self._placed(statement, lines)))
        return self._source.edited(*edits, *self._unused(edits)) if edits else self._source.text

    def _placed(self, statement: Node, lines: Sequence[str]) -> str:
        margin = self._source.tree.indentation(statement)
        if statement.parent is None or statement.parent.type != "compound_statement":
            lines = ["{", *lines, "}"]
        return ("\n" + margin).join(_indented(line for text in lines for line in text.split("\n")))

    def _lambdas(self) -> Iterator[tuple[str, Functor]]:
        """Variables that are lambdas."""
        for made in of_kind(self._source.body, "init_declarator"):
            value, name = child(made, "value"), child(made, "declarator")
            if value.type == "lambda_expression" and name.type == "identifier" and not is_in_lambda(made, self._source.body):
                yield text_of(name), Functor(value, Frame())

    def _unused(self, edits: Sequence[Edit]) -> Iterator[Edit]:
        """Declarations of lambdas that nothing calls any more."""
        for made in of_kind(self._source.body, "init_declarator"):
            outer = made.parent
            if child(made, "value").type != "lambda_expression" or outer is None or outer.type != "declaration":
                continue
            uses = [n for n in of_kind(self._source.body, "identifier") if text_of(n) == text_of(child(made, "declarator"))]
            if all(is_within(u, made) or any(e.start <= u.start_byte < e.end for e in edits) for u in uses):
                yield Edit(self._source.tree.line_start(outer), outer.end_byte, "")

    # ── calls ──

    def _call(self, statement: Node, frame: Frame) -> list[str] | None:
        """The statements that a call stands for; None for a statement that is nothing of the kind."""
        call = statement.named_children[0] if statement.named_children else statement
        if call.type != "call_expression":
            return None
        given = [a for a in child(call, "arguments").named_children if a.type != "comment"]
        name = child(call, "function")
        functor = functor_of(name, frame, self._source) if name.type == "identifier" else None
        if functor is not None:
            self._require_unchanged(functor)
            return self._written_out(functor.parameters, functor.body, given, frame, _copy(functor.frame))
        if not any(functor_of(a, frame, self._source) is not None for a in given):
            return None
        function = self._function(text_of(name).partition("<")[0].rpartition("::")[2].strip(), len(given))
        listed = parameters_in(child(next(of_kind(function, "function_declarator")), "parameters"))
        body = next(c for c in function.children if c.type == "compound_statement")
        self._require_own_names(function, body)
        own = self._bound(function, name, listed, given, frame)
        return self._written_out(listed, body, given, frame, own)

    def _function(self, name: str, count: int) -> Node:
        found = []
        for function in self._source.functions(name):
            declarator = next(of_kind(function, "function_declarator"))
            before = text_of(function)[: declarator.start_byte - function.start_byte]
            if len(parameters_in(child(declarator, "parameters"))) == count and "void" in before.split():
                found.append(function)
        if len(found) != 1:
            raise NotWritable(name)
        return found[0]

    def _bound(self, function: Node, name: Node, listed: list[Node], given: list[Node], frame: Frame) -> Frame:
        """Template parameters, as far as they are said or follow from the types of arguments."""
        own, unknown = Frame(), template_parameters(function)
        explicit = next(of_kind(name, "template_argument_list"), None)
        for argument in explicit.named_children if explicit is not None else ():
            own.said[unknown.pop(0)] = self._text(argument, frame)
        for parameter, argument in zip(listed, given, strict=True):
            found = re.match(
                r"(?:const\s+)?(\w+)\s*(?:\*|&{1,2})?\s*(?:__restrict__\s*)?\w+$", " ".join(text_of(parameter).split())
            )
            if found is None or found[1] not in unknown or functor_of(argument, frame, self._source) is not None:
                continue
            kind, is_pointer = self._type(argument, frame), "*" in text_of(parameter)
            if kind and is_pointer == kind.endswith("*"):
                own.said[found[1]] = kind.removesuffix("*").strip()
                unknown.remove(found[1])
        own.hidden |= set(unknown)
        return own

    def _type(self, argument: Node, frame: Frame) -> str:
        """Of a variable, without `const`; empty where it is not known."""
        argument = unwrapped(argument)
        name = text_of(argument)
        if argument.type != "identifier":
            return ""
        if name in frame.types:
            return frame.types[name]
        found = self._source.scopes.declaration(name, argument)
        if found is None or frame is not self._kernel:
            return ""
        return self._declared_type(found.node, self._kernel)

    def _declared_type(self, declared: Node, frame: Frame) -> str:
        holder = declared if declared.child_by_field_name("type") is not None else declared.parent
        kind = holder.child_by_field_name("type") if holder is not None else None
        if holder is None or kind is None or text_of(kind) == "auto":
            return ""
        part = holder if holder == declared else declared
        if any(True for _ in of_kind(part, "array_declarator", "function_declarator")):
            return ""
        return self._text(kind, frame) + "*" * sum(1 for _ in of_kind(part, "pointer_declarator"))

    # ── bodies ──

    def _written_out(self, listed: list[Node], body: Node, given: list[Node], frame: Frame, own: Frame) -> list[str]:
        if len(listed) != len(given) or self._depth >= _DEEPEST:
            raise NotWritable("arguments")
        lines = list[str]()
        for parameter, argument in zip(listed, given, strict=True):
            lines += self._parameter(parameter, argument, body, frame, own)
        for name in self._declared_in(body):
            own.said[name] = self._free(name)
        self._depth += 1
        try:
            return [*lines, *self._sequence([c for c in body.children if c.is_named], own)]
        finally:
            self._depth -= 1

    def _parameter(self, parameter: Node, argument: Node, body: Node, frame: Frame, own: Frame) -> Iterator[str]:
        names = list(of_kind(parameter, "identifier"))
        if not names:
            return
        name = text_of(names[-1])
        functor = functor_of(argument, frame, self._source)
        if functor is not None:
            own.functors[name] = functor
            return
        own.functors.pop(name, None)
        value = self._text(argument, frame)
        head = self._source.tree.data[parameter.start_byte : names[-1].start_byte].decode()
        is_reference = any(True for _ in of_kind(parameter, "reference_declarator"))
        if is_reference and _PLACE.fullmatch(value):
            if set(re.findall(r"\w+", value)) & self._changed_in(body, own) and not value.isidentifier():
                raise NotWritable(f"{value} may refer to another object later")
            own.said[name] = value
            own.types[name] = self._type(argument, frame)
            return
        if is_reference and "const" not in head.split():
            raise NotWritable(name)
        own.types[name] = self._declared_type(parameter, own)
        kind = " ".join(self._text_between(parameter, names[-1], own).replace("&", " ").split())
        is_fixed = self._is_fixed(name, body)
        if is_fixed and self._is_constant(value) and own.types[name] == self._type(argument, frame) != "":
            own.said[name] = value
            return
        fixed = "const " if is_fixed and "*" not in kind and not kind.startswith("const") else ""
        own.said[name] = self._free(name)
        if is_fixed:
            self._constants.add(own.said[name])
        yield f"{fixed}{kind} {own.said[name]} = {value};"

    def _text_between(self, parameter: Node, end: Node, frame: Frame) -> str:
        kinds = [c for c in parameter.children if c.end_byte <= end.start_byte]
        text = " ".join(self._text(c, frame) for c in kinds)
        rest = parameter.child_by_field_name("declarator")
        return text + "*" * (sum(1 for _ in of_kind(rest, "pointer_declarator")) if rest is not None else 0)

    def _is_fixed(self, name: str, body: Node) -> bool:
        return next(self._source.scopes.assignments(name, body), None) is None

    def _is_constant(self, value: str) -> bool:
        """Whether it is a variable that nothing changes."""
        if value in self._constants or not value.isidentifier():
            return value in self._constants
        declared = next((n for n in of_kind(self._source.function, "identifier") if text_of(n) == value), None)
        return declared is not None and self._is_fixed(value, self._source.body)

    def _changed_in(self, body: Node, frame: Frame) -> set[str]:
        names = {text_of(n) for n in of_kind(body, "identifier")} - self._declared_in(body)
        return {frame.said.get(n, n) for n in names if not self._is_fixed(n, body)}

    def _declared_in(self, body: Node) -> set[str]:
        names = set()
        for node in of_kind(body, "declaration", "alias_declaration"):
            if is_in_lambda(node, body):
                raise NotWritable("a lambda in a lambda")
            if node.type == "alias_declaration":
                names.add(text_of(child(node, "name")))
                continue
            for index, part in enumerate(node.children):
                if node.field_name_for_child(index) == "declarator":
                    direct = child(part, "declarator") if part.type == "init_declarator" else part
                    names.add(text_of(next(of_kind(direct, "identifier"))))
            if any(text_of(c) in {"static", "extern", "__shared__"} for c in node.children):
                raise NotWritable("a static variable")
        return names

    def _sequence(self, statements: Sequence[Node], frame: Frame) -> Iterator[str]:
        for place, node in enumerate(statements):
            if node.type == "return_statement" and not node.named_children:
                return
            returns = list(of_kind(node, "return_statement"))
            if not returns:
                yield from self._statement(node, frame)
                continue
            inside = child(node, "consequence") if node.type == "if_statement" else node
            own = [c for c in inside.children if c.is_named] if inside.type == "compound_statement" else [inside]
            leaves = len(returns) == 1 and own and own[-1] == returns[0] and not returns[0].named_children
            if node.type != "if_statement" or not leaves or node.child_by_field_name("alternative") is not None:
                raise NotWritable("return")
            yield f"if {self._text(child(node, 'condition'), frame)} {{"
            yield from self._sequence(own, frame)
            yield "} else {"
            yield from self._sequence(statements[place + 1 :], frame)
            yield "}"
            return

    def _statement(self, node: Node, frame: Frame) -> Iterator[str]:
        if node.type in {"static_assert_declaration", "comment"}:
            return
        if node.type == "alias_declaration":
            named = {text_of(n) for n in of_kind(node, "identifier", "type_identifier")}
            if named & frame.hidden:
                frame.aliases[text_of(child(node, "name"))] = next(of_kind(child(node, "type"), "template_type"), node)
                return
        yield self._text(node, frame)

    def _text(self, node: Node, frame: Frame) -> str:
        """A node in the words of the kernel, with the calls in it written out."""
        if node.type == "expression_statement":
            lines = self._call(node, frame)
            if lines is not None:
                return self._placed(node, lines)
        if node.type == "lambda_expression":
            raise NotWritable("a lambda in a lambda")
        if node.type == "call_expression" and (value := self._value(node, frame)) is not None:
            return value
        if node.type in {"identifier", "type_identifier"}:
            name = text_of(node)
            outer = node.parent
            if outer is not None and outer.type == "qualified_identifier" and outer.child_by_field_name("name") == node:
                return name
            if name in frame.hidden or name in frame.functors:
                raise NotWritable(name)
            return frame.said.get(name, name)
        if not node.children:
            return self._source.tree.text_of(node)
        data, position, parts = self._source.tree.data, node.start_byte, list[str]()
        for part in node.children:
            parts += [data[position : part.start_byte].decode(), self._text(part, frame)]
            position = part.end_byte
        return "".join([*parts, data[position : node.end_byte].decode()])

    def _value(self, call: Node, frame: Frame) -> str | None:
        """What a lambda that only returns something gives in an expression; None for other calls."""
        name = child(call, "function")
        functor = functor_of(name, frame, self._source) if name.type == "identifier" else None
        if functor is None:
            return None
        self._require_unchanged(functor)
        statements = [s for s in functor.body.named_children if s.type != "comment"]
        given = child(call, "arguments").named_children
        only = statements[0] if [s.type for s in statements] == ["return_statement"] else None
        if only is None or not only.named_children or len(given) != len(functor.parameters):
            raise NotWritable("a lambda of several statements in an expression")
        own = _copy(functor.frame)
        for parameter, argument in zip(functor.parameters, given, strict=True):
            value = self._text(argument, frame)
            if not _PLACE.fullmatch(value) and not re.fullmatch(r"[\w.]+", value):
                raise NotWritable("an argument that would be evaluated more than once")
            own.said[text_of(list(of_kind(parameter, "identifier"))[-1])] = value
        return f"({self._text(only.named_children[0], own)})"

    # ── conditions ──

    def _require_unchanged(self, functor: Functor) -> None:
        """What a lambda copied still has the value that it had then."""
        capture = next((c for c in functor.node.children if c.type == "lambda_capture_specifier"), None)
        if capture is None:
            return
        if any(text_of(c) == "mutable" for c in functor.node.children) or "this" in text_of(capture):
            raise NotWritable("mutable")
        captured = [c.strip() for c in text_of(capture).strip("[]").split(",")]
        if "=" in text_of(capture) and captured != ["="]:
            raise NotWritable("captures with initialisers")
        copied = {text_of(n) for n in of_kind(functor.body, "identifier")} if captured == ["="] else set(captured)
        for name in copied:
            later = (a for a in self._source.scopes.assignments(name, self._source.body) if a.start_byte > capture.start_byte)
            if name.isidentifier() and any(not is_within(a, functor.body) for a in later):
                raise NotWritable(f"{name} changes after a lambda copied it")

    def _require_own_names(self, function: Node, body: Node) -> None:
        """What a function of the file means by its names, it means here, too."""
        scopes = self._source.scopes
        kernel = {text_of(n) for n in of_kind(self._source.function, "identifier")}
        for use in of_kind(body, "identifier"):
            found = scopes.declaration(text_of(use), use)
            is_own = found is not None and found.origin is not Origin.FILE
            if (
                not is_own
                and text_of(use) in kernel
                and self._is_local(text_of(use))
                and text_of(use) not in template_parameters(function)
            ):
                raise NotWritable(f"{text_of(use)} names another variable in the kernel")

    def _is_local(self, name: str) -> bool:
        """Whether the kernel declares a variable of that name somewhere."""
        uses = (n for n in of_kind(self._source.function, "identifier") if text_of(n) == name)
        return any((f := self._source.scopes.declaration(name, n)) is not None and f.origin is not Origin.FILE for n in uses)

    def _free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def _indented(lines: Iterable[str]) -> Iterator[str]:
    """Lines of nested blocks, each as far to the right as it is deep."""
    depth = 0
    for line in (text.strip() for text in lines):
        if line:
            code = line.partition("//")[0]
            closing = len(code) - len(code.lstrip("}"))
            yield line if line.startswith("#") else "  " * (depth - closing) + line
            depth += sum(code.count(c) for c in "{([") - sum(code.count(c) for c in "})]")


def _copy(frame: Frame) -> Frame:
    """A frame for one call: of a lambda that the kernel made, with what the kernel calls; of an object, with its members."""
    return Frame(dict(frame.said), dict(frame.functors), dict(frame.types), dict(frame.aliases), set(frame.hidden))
