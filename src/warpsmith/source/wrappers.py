"""Functions that only give an exchange, a lane or one access of memory another name, written out where they are called.

    __device__ float shfl_xor_sync(float x, int mask) { float y; y = __shfl_xor_sync(0xffffffff, x, mask); return y; }
    sum += math::shfl_xor_sync(sum, offset);      →      sum += __shfl_xor_sync(0xffffffff, sum, offset);

Of overloads it is the one whose types the arguments were declared with. The meaning is the same, the tokens are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.source.dataflow import is_pure
from warpsmith.source.kernel import KernelSource
from warpsmith.source.pointer_types import declared_as
from warpsmith.source.tree import Edit, ancestors, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_TELLING = re.compile(r"__(?:shfl|ballot|any|all)\w*\s*\(|\bthreadIdx\.x\b|^\*")
_OWN_NAMES = re.compile(r"__\w+|threadIdx|make_\w+")
_PARAMETER = re.compile(r"(?P<type>.+?[\s*&])\s*(?P<name>[A-Za-z_]\w*)", re.DOTALL)
_ROUNDS = 4  # a wrapper may wrap another, or take what one returns
_ATOMS = frozenset({"identifier", "number_literal", "subscript_expression", "field_expression", "call_expression"})


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """`value` is what it returns, or does; `returns` its type, empty for nothing."""

    value: Node
    returns: str
    parameters: tuple[tuple[str, str], ...]  # type and name
    templates: frozenset[str]
    source: KernelSource


def with_wrappers_written_out(source: KernelSource) -> str:
    """The whole file's text."""
    for _ in range(_ROUNDS if source.language is not Language.OPENCL else 0):
        edits = list(_edits(source))
        if not edits:
            break
        try:
            source = source.reread(source.edited(*edits))
        except InputError:
            break
    return source.text


def _edits(source: KernelSource) -> Iterator[Edit]:
    """Calls that have no other such call inside."""
    done = set[int]()
    for body in source.reached():
        found = [(call, said) for call in of_kind(body, "call_expression") if (said := _said(call, source)) is not None]
        for call, said in found:
            inner = any(o is not call and call.start_byte <= o.start_byte and o.end_byte <= call.end_byte for o, _ in found)
            if not inner and call.start_byte not in done:
                done.add(call.start_byte)
                yield Edit(call.start_byte, call.end_byte, said)


def _said(call: Node, source: KernelSource) -> str | None:
    function = text_of(field(call, "function"))
    if not re.fullmatch(r"(?:\w+\s*::\s*)*\w+", function):
        return None
    name = function.rpartition("::")[2].strip()
    arguments = field(call, "arguments").named_children
    meanings = source.functions(name)
    if not meanings or any(a.type == "field_declaration_list" for m in meanings for a in ancestors(m)):
        return None
    wrappers = [_wrapper(meaning, source) for meaning in meanings if len(_parameters(meaning)) == len(arguments)]
    fitting = [w for w in wrappers if w is not None and (len(meanings) == 1 or _fits(w, arguments))]
    if len(fitting) != 1 or (len(meanings) > 1 and not arguments):
        return None
    return _written(fitting[0], arguments, call)


def _fits(wrapper: _Wrapper, arguments: Sequence[Node]) -> bool:
    """Whether the argument that decides was declared with the very type."""
    first, kind = arguments[0], wrapper.parameters[0][0]
    known = declared_as(text_of(first), first, wrapper.source.scopes) if first.type == "identifier" else None
    return known is not None and (known == kind or (kind.endswith("*") and known in {kind, kind.removeprefix("const ")}))


def _wrapper(function: Node, source: KernelSource) -> _Wrapper | None:
    body = next((c for c in function.children if c.type == "compound_statement"), None)
    if body is None:
        return None
    statements = [s for s in body.named_children if s.type not in {"comment", "static_assert_declaration"}]
    value = _value(statements)
    if value is None or not _TELLING.search(text_of(value)):
        return None
    parameters = tuple(
        (_plain(found["type"]), found["name"])
        for p in _parameters(function)
        if (found := _PARAMETER.fullmatch(text_of(p).partition("=")[0].strip())) is not None
    )
    own = {name for _, name in parameters}
    if len(parameters) != len(_parameters(function)):
        return None
    if any(text_of(n) not in own and not _OWN_NAMES.fullmatch(text_of(n)) for n in of_kind(value, "identifier")):
        return None
    declarator = next(of_kind(function, "function_declarator"))
    head = source.tree.data[function.start_byte : declarator.start_byte].decode(errors="replace")
    returns = _plain(head.split()[-1]) if head.split() else ""
    before = function.parent
    listed = text_of(before.children[1]) if before is not None and before.type == "template_declaration" else ""
    returns = "" if returns == "void" else returns
    if bool(returns) != (statements[-1].type == "return_statement") or returns == "auto":
        return None
    return _Wrapper(value, returns, parameters, frozenset(re.findall(r"(?:typename|class)\s+(\w+)", listed)), source)


def _value(statements: Sequence[Node]) -> Node | None:
    """Of `return value;`, `T y; y = value; return y;`, `T y = value; return y;` and `value;`."""
    kinds = [s.type for s in statements]
    if kinds == ["return_statement"]:
        return next(iter(statements[0].named_children), None)
    if kinds == ["expression_statement"]:
        return next(iter(statements[0].named_children), None)
    if kinds not in (["declaration", "return_statement"], ["declaration", "expression_statement", "return_statement"]):
        return None
    returned = next(iter(statements[-1].named_children), None)
    given = next(of_kind(statements[-2], "init_declarator" if len(kinds) == 2 else "assignment_expression"), None)
    if returned is None or given is None or returned.type != "identifier":
        return None
    target, value = given.child_by_field_name("declarator") or field(given, "left"), given.child_by_field_name("value")
    declared = [text_of(n) for n in statements[0].named_children if n.type in {"identifier", "init_declarator"}]
    same = text_of(target) == text_of(returned) and (len(declared) == 1) and re.split(r"\W", declared[0])[0] == text_of(returned)
    return (value if value is not None else field(given, "right")) if same else None


def _written(wrapper: _Wrapper, arguments: Sequence[Node], call: Node) -> str | None:
    uses = list(of_kind(wrapper.value, "identifier"))
    given: dict[str, str] = {}
    for (kind, name), argument in zip(wrapper.parameters, arguments, strict=True):
        if sum(text_of(use) == name for use in uses) != 1 and not is_pure(argument, wrapper.source):
            return None
        text = wrapper.source.text_of(argument)
        known = declared_as(text, argument, wrapper.source.scopes) if argument.type == "identifier" else None
        given[name] = text if argument.type in _ATOMS else f"({text})"
        if known != kind and kind not in wrapper.templates and not kind.endswith("*") and not _is_converted(name, uses):
            given[name] = f"static_cast<{kind}>({text})"
        pointed = known.removesuffix("*") if known is not None and known.endswith("*") else None
        if pointed is not None:  # a cast to what it is already
            given[f"*{name}"] = pointed
    data, position, pieces = wrapper.source.tree.data, wrapper.value.start_byte, list[str]()
    for use in uses:
        if text_of(use) in given:
            pieces += [data[position : use.start_byte].decode(), given[text_of(use)]]
            position = use.end_byte
    text = "".join([*pieces, data[position : wrapper.value.end_byte].decode()])
    for name, pointed in ((n[1:], p) for n, p in given.items() if n.startswith("*")):
        text = re.sub(rf"\*\({re.escape(pointed)}\*\)\({re.escape(given[name])}\)", f"*{given[name]}", text)
    statement = call.parent is not None and call.parent.type == "expression_statement"
    if not wrapper.returns:
        return text if statement else None
    same = text.startswith("__shfl") and any(k == wrapper.returns and _is_exchanged(n, uses) for k, n in wrapper.parameters)
    if same or (text.startswith("*") and _read_as(text, wrapper) == wrapper.returns):
        return text if text.startswith("__") or statement or _is_whole_value(call) else f"({text})"
    return f"static_cast<{wrapper.returns}>({text})"


def _is_converted(name: str, uses: Sequence[Node]) -> bool:
    """Whether the parameter goes where it takes another type anyway: it is stored, or says which lane."""
    return all(
        use.parent is not None
        and (
            (use.parent.type == "assignment_expression" and use.parent.child_by_field_name("right") == use)
            or (use.parent.type == "argument_list" and not _is_exchanged(name, uses))
        )
        for use in uses
        if text_of(use) == name
    )


def _read_as(text: str, wrapper: _Wrapper) -> str:
    """The type of what is loaded."""
    cast = re.match(r"\*\((?:const )?([\w ]+)\*\)", text)
    pointers = [kind.removeprefix("const ").removesuffix("*") for kind, _ in wrapper.parameters if kind.endswith("*")]
    return cast[1] if cast is not None else pointers[0] if pointers else ""


def _is_exchanged(name: str, uses: Sequence[Node]) -> bool:
    """Whether the parameter is what another lane is given."""
    for use in uses:
        listed = use.parent
        if text_of(use) == name and listed is not None and listed.type == "argument_list" and listed.parent is not None:
            function = text_of(field(listed.parent, "function"))
            place = [text_of(unwrapped(c)) for c in listed.named_children].index(name)
            if function.startswith("__shfl") and place == (1 if function.endswith("_sync") else 0):
                return True
    return False


def _is_whole_value(call: Node) -> bool:
    parent = call.parent
    return parent is not None and parent.type in {"init_declarator", "assignment_expression", "return_statement", "argument_list"}


def _parameters(function: Node) -> list[Node]:
    listed = field(next(of_kind(function, "function_declarator")), "parameters")
    return [p for p in listed.named_children if p.type.endswith("parameter_declaration")]


def _plain(kind: str) -> str:
    """Without a reference, or `const` of the value itself."""
    words = " ".join(re.sub(r"\b__restrict(?:__)?\b", "", kind).replace("&", " ").split()).replace(" *", "*")
    return words if words.endswith("*") else re.sub(r"^const |\bconst$", "", words).strip()
