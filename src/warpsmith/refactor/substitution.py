"""What passes share that send calls of a function elsewhere by a macro: where the calls are, and where the macro may stand."""

from __future__ import annotations

from warpsmith.refactor.base import Declined
from warpsmith.source import KernelSource
from warpsmith.source.tree import ancestors, field, of_kind, text_of


def call_lines(source: KernelSource, name: str) -> list[int]:
    """Where the kernel and what it reaches call the function, by its plain name."""
    return [
        source.line_of(call)
        for body in source.reached()
        for call in of_kind(body, "call_expression")
        if text_of(field(call, "function")) == name
    ]


def insertion_point(source: KernelSource, *names: str) -> int | Declined:
    """After the last #include, before anything that uses a name; declined where both cannot be had, or a name is not a call."""
    includes = list(of_kind(source.tree.root, "preproc_include"))
    uses = [n for n in of_kind(source.tree.root, "identifier", "field_identifier") if text_of(n) in names]
    for use in uses:
        parent = use.parent
        if parent is None or parent.type != "call_expression" or field(parent, "function") != use:
            return Declined(f"{text_of(use)} is used other than in a call", source.line_of(use))
    at = max((node.end_byte for node in includes), default=0)
    early = next((use for use in uses if use.start_byte < at), None)
    if early is not None:
        return Declined(
            f"{text_of(early)} is used before the last #include, whose contents a macro would change", source.line_of(early)
        )
    if any(a.type.startswith("preproc_if") for node in includes if node.end_byte == at for a in ancestors(node)):
        return Declined("the last #include stands under an #if")
    if not includes:
        first = next((c for c in source.tree.root.children if c.type != "comment"), source.tree.root)
        at = source.tree.data.rfind(b"\n", 0, first.start_byte) + 1  # OpenCL's qualifiers are not of the node
    return at


def before_kernel(source: KernelSource) -> int:
    """The beginning of the line where the kernel's definition starts, its `template <…>` included."""
    return source.tree.data.rfind(b"\n", 0, source.definition.start_byte) + 1
