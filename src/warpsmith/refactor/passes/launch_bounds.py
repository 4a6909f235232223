"""`launch_bounds`: what the compiler is told about the launch, so that it shares out registers accordingly.

Exposes: `__launch_bounds__` of the kernel: how many blocks should fit on a multiprocessor at once.
Precondition: CUDA or HIP; the block's extents are parameters and numbers only, or the kernel has bounds already.
Parameters: MIN_BLOCKS (0: as it was). Constraints: none; the bound on threads is the block's own size.

An empty macro stands where the bounds go, so at the default no token changes.
"""

from __future__ import annotations

import re
from dataclasses import replace

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Call, Literal, Name, Node
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable, Variant
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import unreadable
from warpsmith.refactor.substitution import before_kernel
from warpsmith.source import Edit, KernelSource
from warpsmith.source.specifier_macros import specifier_macros
from warpsmith.source.tree import of_kind, text_of

_BLOCKS = (0, 1, 2, 4)


class LaunchBounds:
    name = "launch_bounds"
    summary = "minimum resident blocks per multiprocessor, which limits registers"
    stage = Stage.DECORATE
    concerns = frozenset({Concern.PARALLELISM})
    priority = 50  # last: what it writes into the head of the kernel is hard to read

    def apply(self, subject: Subject) -> Answer:
        source, variant = subject.source, subject.variant
        if source.language is Language.OPENCL:
            return Declined("OpenCL has no launch bounds")
        if (unclear := unreadable(source)) is not None:
            return unclear
        head = source.tree.data[source.function.start_byte : source.declarator.start_byte].decode(errors="replace")
        name, macro = fresh_name(subject, "MIN_BLOCKS"), fresh_name(subject, "LAUNCH_BOUNDS")
        given = next((n for n in of_kind(source.function, "launch_bounds")), None)
        if given is not None:
            arguments = [c for c in given.named_children if c.type != "comment"]
            if len(arguments) != 1 or "," in text_of(given):
                return Declined("its launch bounds already give the number of blocks", source.line_of(given))
            edit = Edit(arguments[0].end_byte, arguments[0].end_byte, f" {macro}")
            body = f", {name}"
        elif (problem := _unclear(head, source)) is not None:
            return Declined(problem, source.line_of(source.function))
        else:
            threads = _threads(variant)
            if threads is None:
                return Declined(f"the block's size is not an expression of parameters and numbers: {', '.join(variant.block)}")
            edit = Edit(source.declarator.start_byte, source.declarator.start_byte, f"{macro} ")
            body = f"__launch_bounds__({threads}, {name})"
        at = before_kernel(source)
        defined = f"#if {name} > 0\n#define {macro} {body}\n#else\n#define {macro}\n#endif\n"
        tunable = Tunable(
            name, _BLOCKS, 0, "minimum resident blocks per multiprocessor; 0: not specified", source.line_of(source.function)
        )
        text = source.edited(Edit(at, at, defined), edit)
        return Rewrite(replace(variant, text=text, tunables=(*variant.tunables, tunable)))


def _unclear(head: str, source: KernelSource) -> str | None:
    """Whether there may be bounds that the grammar does not show: also in a macro that is not known to stand for nothing."""
    if "__launch_bounds__" in head or "__block_size__" in head:
        return "its launch bounds are not understood"
    for name in specifier_macros(source.tree.data, source.declarator.start_byte):
        meanings = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(?:\([^()]*\))?(.*)$", source.text, re.MULTILINE)
        if not meanings or any(meaning.strip() for meaning in meanings):
            return f"{name} may have launch bounds in it"
    return None


def _threads(variant: Variant) -> str | None:
    """The most threads a block can have, as C over parameters."""
    names = {t.name for t in variant.tunables}
    extents = [_bound(Expression.parse(extent).tree, names) for extent in variant.block]
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents):
        return None
    return " * ".join(extent for extent in known if extent != "1") or "1"


def _bound(node: Node, names: set[str]) -> str | None:
    match node:
        case Literal(value=int() as value):
            return str(value)
        case Name(name=name) if name in names:
            return name
        case Binary(operator="*" | "/" as operator, left=left, right=right):
            parts = _bound(left, names), _bound(right, names)
            return None if None in parts else f"({parts[0]} {operator} {parts[1]})"
        case Call(function="min", arguments=arguments):
            # Any of them bounds it; a parameter says more than a number.
            found = [b for b in (_bound(a, names) for a in arguments) if b is not None]
            return next((b for b in found if not re.fullmatch(r"\d+", b)), found[0] if found else None)
        case _:
            return None
