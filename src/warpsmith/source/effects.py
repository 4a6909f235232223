"""What a piece of a kernel does besides computing: leave a loop, wait for other threads, write memory, change a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import LOOPS, ancestors, field, of_kind, text_of, unwrapped
from warpsmith.spec.kernel import Buffer, Role

if TYPE_CHECKING:
    from tree_sitter import Node

# Barriers, and operations in which the lanes of a warp take part together.
_WAITING = re.compile(
    r"__syncthreads\w*|__syncwarp|barrier|work_group_\w+|sub_group_\w+|__shfl\w*|__ballot\w*|__any\w*|__all\w*|__reduce_\w+"
    r"|__match_\w+|__activemask|__builtin_amdgcn_\w+|__pipeline_\w+|sync|wait|arrive_and_wait|cg::\w+|cooperative_groups::\w+"
)
_ATOMIC = re.compile(r"atom(?:ic)?_?\w+|red\w*_async\w*|__nv_atomic\w+")
_CAST = re.compile(r"(?:static|reinterpret|const)_cast\s*<")
_PURE = frozenset(
    {"min", "max", "std::min", "std::max", "static_cast", "ceildiv", "div_up", "cdiv", "get_global_id", "get_global_size"}
)


def leaves(body: Node) -> bool:
    """Whether a step of a loop with this body can end the loop: a `break` of its own, or a jump to a label."""
    for node in of_kind(body, "break_statement", "goto_statement", "labeled_statement"):
        if node.type != "break_statement":
            return True
        within = (a for a in ancestors(node) if a.type in LOOPS or a.type == "switch_statement")
        nearest = next(within, None)
        if nearest is None or nearest.start_byte < body.start_byte:
            return True
    return False


def called_functions(within: Node) -> Iterator[tuple[str, Node]]:
    """The name of what is called, without template arguments, and the call."""
    for call in of_kind(within, "call_expression"):
        function = call.child_by_field_name("function")
        if function is not None:
            yield re.sub(r"\s*<.*", "", text_of(function), flags=re.DOTALL).split("->")[-1].split(".")[-1], call


def waits(within: Node, names: Names) -> bool:
    """Whether threads must come here together: a barrier or an exchange between lanes, also in functions of this file.

    Assembly may do anything, so it counts.
    """
    return any(True for _ in of_kind(within, "gnu_asm_expression")) or _calls(within, names, _WAITING, set())


def updates_atomically(within: Node, names: Names) -> bool:
    return _calls(within, names, _ATOMIC, set())


def declares_shared(within: Node, names: Names) -> bool:
    return any(is_shared(node, names.source) for node in of_kind(within, "declaration"))


def sharing_calls(within: Node, names: Names, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, Node]]:
    """Calls of functions that have shared memory, as they are written: another instance has an array of its own."""
    for name, call in called_functions(within):
        functions = names.source.functions(name.rsplit("::", 1)[-1]) if name not in seen else []
        if any(declares_shared(f, names) or any(sharing_calls(f, names, seen | {name})) for f in functions):
            yield "".join(text_of(call.children[0]).split()), call


def reads_memory(node: Node, names: Names) -> bool:
    """Whether it may do more with pointers than compute with them."""
    if any(True for _ in of_kind(node, "subscript_expression", "pointer_expression")):
        return True
    if any("->" in text_of(f) for f in of_kind(node, "field_expression")):
        return True
    calls = (c for c in of_kind(node, "call_expression") if not _CAST.match(text_of(c)))
    return any(_may_point(n, names) for call in calls for n in of_kind(field(call, "arguments"), "identifier"))


def may_change(name: str, within: Node, names: Names) -> bool:
    """Whether the variable can have another value afterwards: assigned, or handed to a function that takes references."""
    if names.is_assigned(name, within):
        return True
    for called, call in called_functions(within):
        arguments = [unwrapped(a) for a in field(call, "arguments").named_children]
        if any(a.type == "identifier" and text_of(a) == name for a in arguments):
            functions = names.source.functions(called)
            if any("&" in text_of(next(of_kind(function, "parameter_list"))) for function in functions):
                return True
    return False


def is_invariant(node: Node, within: Node, names: Names) -> bool:
    """Whether the expression has one value all the while `within` runs. Memory counts only where kernel.toml says it is read."""
    for part in of_kind(node, "identifier", "subscript_expression", "pointer_expression", "call_expression", "field_expression"):
        match part.type:
            case "identifier":
                if may_change(text_of(part), within, names):
                    return False
            case "subscript_expression" | "pointer_expression":
                if not _is_input(field(part, "argument"), names):
                    return False
            case "call_expression":
                called = next(called_functions(part), ("", part))[0]
                if names.builtin(part) is None and called not in _PURE:
                    return False
            case _:
                continue
    return True


def declared_type(node: Node, names: Names) -> str | None:
    """The type with which a local name was declared, without qualifiers; None for anything else."""
    node = unwrapped(node)
    if node.type != "identifier":
        return None
    declarator = names.definition(node).node
    declaration = declarator.parent if declarator is not None else None
    kind = declaration.child_by_field_name("type") if declaration is not None else None
    direct = declarator is not None and declarator.type in {"identifier", "init_declarator"}
    return text_of(kind) if kind is not None and direct else None


def _may_point(use: Node, names: Names) -> bool:
    declared = names.definition(use).node
    if declared is None:
        return False
    declaration = declared if declared.type.endswith("declaration") else declared.parent
    kind = declaration.child_by_field_name("type") if declaration is not None else None
    pointers = of_kind(declared, "pointer_declarator", "array_declarator", "reference_declarator")
    return kind is None or text_of(kind) == "auto" or any(True for _ in pointers)


def _is_input(pointer: Node, names: Names) -> bool:
    """Whether it is a pointer argument that kernel.toml says is only read."""
    pointer = unwrapped(pointer)
    kernel = names.kernel
    if pointer.type != "identifier" or kernel is None or names.definition(pointer).origin is not Origin.PARAMETER:
        return False
    declared = [p.name for p in names.source.parameters]
    index = declared.index(text_of(pointer)) if text_of(pointer) in declared else -1
    argument = kernel.arguments[index] if 0 <= index < len(kernel.arguments) else None
    return isinstance(argument, Buffer) and argument.role is Role.IN


def _calls(within: Node, names: Names, wanted: re.Pattern[str], seen: set[str]) -> bool:
    for name, _ in called_functions(within):
        if wanted.fullmatch(name):
            return True
        if name not in seen:
            seen.add(name)
            if any(_calls(function, names, wanted, seen) for function in names.source.functions(name.rsplit("::", 1)[-1])):
                return True
    return False
