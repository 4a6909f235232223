"""One launch, followed: geometry, scalars and memory as terms over host variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.spec.declarations import KernelDeclaration, text_of
from warpsmith.spec.host.buffers import Allocation, allocation, pointer
from warpsmith.spec.host.expressions import HostFrame
from warpsmith.spec.host.follow import Follower
from warpsmith.spec.host.launches import HostLaunch, one_line
from warpsmith.spec.host.terms import SizeTerm

if TYPE_CHECKING:
    from tree_sitter import Node

_FLOAT_LITERAL = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?=[fF]?$)")


@dataclass(frozen=True, slots=True)
class HostReading:
    """What could not be followed is absent.

    `literals` are scalars with a literal float or boolean value, as TOML; `passed` are all scalars, as C++.
    """

    line: int
    text: str
    grid: tuple[SizeTerm | None, ...] | None
    block: tuple[SizeTerm | None, ...] | None
    shared: SizeTerm | None
    scalars: dict[str, SizeTerm]
    literals: dict[str, str]
    passed: dict[str, str]
    memory: dict[str, Allocation]
    template: dict[str, SizeTerm | str]

    @property
    def form(self) -> tuple[object, ...]:
        """The properties in which launches of one kernel may differ."""
        return self.grid, self.block, self.shared, self.template


def read(follower: Follower, launch: HostLaunch, kernel: KernelDeclaration) -> HostReading:
    frame = HostFrame(launch.call.start_byte)
    given = list(zip(kernel.parameters, launch.arguments or (), strict=False))
    scalars, literals, memory = dict[str, SizeTerm](), dict[str, str](), dict[str, Allocation]()
    for parameter, node in given:
        if parameter.depth:
            found = pointer(follower, node, frame)
            allocated = allocation(follower, found) if found is not None else None
            if allocated is not None:
                memory[parameter.name] = allocated
        elif (literal := _literal(follower, node, frame)) is not None:
            literals[parameter.name] = literal
        elif (term := follower.whole(node, frame)) is not None and _is_whole(follower, parameter.type):
            scalars[parameter.name] = term
        elif isinstance(term, int):
            literals[parameter.name] = repr(float(term))
    return HostReading(
        line=follower.index.line(launch.call.start_byte),
        text=launch.text,
        grid=_extents(follower, launch.grid, frame),
        block=_extents(follower, launch.block, frame),
        shared=follower.whole(launch.shared, frame) if launch.shared is not None else 0,
        scalars=scalars,
        literals=literals,
        passed={p.name: one_line(text_of(node)) for p, node in given if not p.depth},
        memory=memory,
        template=_template(follower, launch, kernel, frame),
    )


def _extents(follower: Follower, node: Node, frame: HostFrame) -> tuple[SizeTerm | None, ...] | None:
    """Without trailing axes of one."""
    found = follower.extents(node, frame)
    if found is None:
        return None
    while len(found) > 1 and found[-1] == 1:
        found.pop()
    return tuple(found)


def _literal(follower: Follower, node: Node, frame: HostFrame) -> str | None:
    """A literal float or boolean, here or in the declaration of a variable that never changes."""
    if node.type == "identifier":
        name = text_of(node)
        variable = follower.variable(name, frame)
        macro = follower.index.macros.get(name) if variable is None else None
        if macro is not None and macro.parameters is None:
            return _literal(follower, macro.body, HostFrame(macro.place)) if macro.body.type != "identifier" else None
        is_open = variable is None or variable.depth or len(variable.values) != 1 or follower.is_parameter(variable)
        if variable is None or is_open or follower.index.changes(variable) or variable.values[0].type == "identifier":
            return None
        return _literal(follower, variable.values[0], HostFrame(variable.place))
    text = text_of(node).strip("() ")
    if text in {"true", "false"}:
        return text
    number = _FLOAT_LITERAL.match(text)
    is_float = number is not None and not number[0].lstrip("-").isdigit()
    return repr(float(number[0])) if number is not None and is_float else None


def _is_whole(follower: Follower, type_text: str) -> bool:
    known = follower.type_of(type_text)
    return known is not None and known.lanes == 1 and known.dtype.is_whole


def _template(follower: Follower, launch: HostLaunch, kernel: KernelDeclaration, frame: HostFrame) -> dict[str, SizeTerm | str]:
    """The launch's template arguments, and the types that are deduced from its pointers."""
    found: dict[str, SizeTerm | str] = {}
    for parameter, node in zip(kernel.template, launch.template, strict=False):
        text = " ".join(text_of(node).split())
        if text in {"true", "false"} or (parameter.kind == "typename" and follower.type_of(text) is not None):
            found[parameter.name] = text
        elif parameter.kind != "typename" and (term := _template_value(follower, node, frame)) is not None:
            found[parameter.name] = term
    for declared, node in zip(kernel.parameters, launch.arguments or (), strict=False):
        is_open = any(p.name == declared.type and p.kind == "typename" for p in kernel.template) and declared.type not in found
        source = pointer(follower, node, frame) if is_open and declared.depth == 1 else None
        variable = source.variable if source is not None else None
        if variable is not None and variable.depth == 1 and follower.type_of(variable.type) is not None:
            found[declared.type] = variable.type
    return found


def _template_value(follower: Follower, node: Node, frame: HostFrame) -> SizeTerm | None:
    """The grammar parses a name among template arguments as a type."""
    text = text_of(node)
    return follower.named(text, frame) if text.isidentifier() else follower.whole(node, frame)
