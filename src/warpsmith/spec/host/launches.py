"""Launches of a kernel in its own file: `k<<<grid, block, shared>>>(…)`, hipLaunchKernelGGL, cudaLaunchKernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.declarations import KernelDeclaration, text_of
from warpsmith.spec.host.index import Index, arguments_of, called, plain_name

if TYPE_CHECKING:
    from tree_sitter import Node

_BY_ARRAY = re.compile(r"(?:cuda|hip)Launch(?:Cooperative)?Kernel")
_LENGTH = 160


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """`arguments` are in the kernel's order; None if they are not written out (an unknown array of pointers)."""

    call: Node
    template: tuple[Node, ...]
    grid: Node
    block: Node
    shared: Node | None
    arguments: tuple[Node, ...] | None

    @property
    def text(self) -> str:
        return one_line(text_of(self.call))


def launches_of(index: Index, kernel: KernelDeclaration) -> list[HostLaunch]:
    """In source order."""
    found = [pair for call in index.calls if (pair := _read(index, call)) is not None]
    return [
        launch
        for name, launch in found
        if kernel.plain_name in {name, _stands_for(index, name, launch)} and _fits(launch, kernel)
    ]


def _fits(launch: HostLaunch, kernel: KernelDeclaration) -> bool:
    """Not a kernel of the same name in another namespace, or with other parameters."""
    least = sum("=" not in parameter.text for parameter in kernel.parameters)
    if launch.arguments is not None and not least <= len(launch.arguments) <= len(kernel.parameters):
        return False
    qualified = re.match(r"\s*(?:::)?((?:\w+\s*::\s*)+)\w+\s*<", text_of(launch.call))
    scope = "".join(qualified[1].split()) if qualified is not None else ""
    return f"::{kernel.name}".endswith(f"::{scope}{kernel.plain_name}")


def _stands_for(index: Index, name: str, launch: HostLaunch) -> str:
    """`auto kernel = &softmax<float>; kernel<<<…>>>(…)`."""
    variable = index.declared(name, launch.call.start_byte)
    return _function(variable.values[0])[0] if variable is not None and len(variable.values) == 1 else ""


def one_line(text: str) -> str:
    """Source as a comment: on one line, and shortened."""
    line = on_one_line(re.sub(r"//[^\n]*|\\\n", " ", text))
    return line if len(line) <= _LENGTH else f"{line[:_LENGTH]} …"


def _read(index: Index, call: Node) -> tuple[str, HostLaunch] | None:
    function = call.child_by_field_name("function")
    marks = [c for c in (*call.children, *_below(function)) if c.type == "kernel_call_syntax"]
    given = arguments_of(call)
    if marks:
        sizes = [c for c in marks[0].named_children if c.type != "comment"]
        name, template = plain_name(function)
        if len(sizes) < 2:
            return None
        return name, HostLaunch(call, tuple(template), sizes[0], sizes[1], sizes[2] if len(sizes) > 2 else None, tuple(given))
    api, _ = called(call)
    if api == "hipLaunchKernelGGL" and len(given) >= 5:
        name, template = _function(given[0])
        return name, HostLaunch(call, tuple(template), given[1], given[2], given[3], tuple(given[5:]))
    if _BY_ARRAY.fullmatch(api) and len(given) >= 4:
        name, template = _function(given[0])
        listed = _listed(index, given[3], call.start_byte)
        return name, HostLaunch(call, tuple(template), given[1], given[2], given[4] if len(given) > 4 else None, listed)
    return None


def _below(node: Node | None) -> Iterator[Node]:
    """The mark may be below a qualified name."""
    while node is not None:
        yield from node.children
        node = node.child_by_field_name("name") if node.type == "qualified_identifier" else None


def _function(node: Node) -> tuple[str, list[Node]]:
    """A kernel as an argument: `k`, `(k<4>)`, `HIP_KERNEL_NAME(k<4>)`, `(const void*)&k`, `reinterpret_cast<void*>(k)`."""
    for _ in range(8):
        match node.type:
            case "parenthesized_expression" if node.named_children:
                node = node.named_children[0]
            case "cast_expression":
                node = node.child_by_field_name("value") or node.children[0]
            case "pointer_expression":
                node = node.child_by_field_name("argument") or node.children[0]
            case "call_expression" if arguments_of(node):
                node = arguments_of(node)[0]
            case _:
                break
    return plain_name(node)


def _listed(index: Index, array: Node, place: int) -> tuple[Node, ...] | None:
    """The targets of the pointers in `void* args[] = {&a, &n}`."""
    variable = index.declared(text_of(array), place)
    if variable is None or not variable.is_list:
        return None
    found = []
    for value in variable.values:
        address = value
        while address.type == "cast_expression" and (inner := address.child_by_field_name("value")) is not None:
            address = inner
        pointed = address.child_by_field_name("argument") if address.type == "pointer_expression" else None
        if pointed is None or not text_of(address).startswith("&"):
            return None
        found.append(pointed)
    return tuple(found)
