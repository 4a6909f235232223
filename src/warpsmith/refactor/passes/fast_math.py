"""`fast_math`: the hardware's approximate functions and division in place of the exact ones. Off by default.

Exposes: calls of logf, log2f, log10f, exp2f, sinf, cosf, tanf, powf (OpenCL: without the f), and divisions of floats.
Precondition: such a call or division is there; divisions whose operands are surely floats. `expf` is the pass `exponential`'s.
Parameters: FAST_MATH. Constraints: none; the kernel's tolerance on its workloads decides whether it may be on.

Calls are sent elsewhere by macros after the includes. A division `a / b` becomes DIVIDE(a, b), whose macro gives the same tokens
back when it is off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import unreadable
from warpsmith.refactor.substitution import call_lines, insertion_point
from warpsmith.source import Edit, KernelSource, Names
from warpsmith.source.floats import is_float
from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CUDA = {name: f"__{name}" for name in ("logf", "log2f", "log10f", "sinf", "cosf", "tanf", "powf")}
_OPENCL = {name: f"native_{name}" for name in ("log", "log2", "log10", "exp2", "sin", "cos", "tan", "sqrt", "rsqrt")}
_VARYING = ("identifier", "call_expression", "field_expression")


class FastMath:
    name = "fast_math"
    summary = "the hardware's approximate functions and division"
    stage = Stage.DECORATE
    concerns = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        source = subject.source
        if (unclear := unreadable(source)) is not None:
            return unclear
        opencl = source.language is Language.OPENCL
        functions = _OPENCL if opencl else _CUDA
        lines = {name: found for name in functions if (found := call_lines(source, name))}
        divisions = list(_divisions(source, Names(source, [t.name for t in subject.variant.tunables])))
        if not lines and not divisions:
            return Declined("the kernel calls no function that has an approximation and has no float division")
        at = insertion_point(source, *lines)
        if isinstance(at, Declined):
            return at
        name = fresh_name(subject, "FAST_MATH")
        divide = fresh_name(subject, "DIVIDE")
        edits = [edit for node in divisions for edit in _as_call(node, divide)]
        on = "".join(f"#define {exact} {functions[exact]}\n" for exact in lines)
        quotient = "native_divide" if opencl else "__fdividef"
        off = ""
        if divisions:
            on += f"#define {divide}(a, b) {quotient}(a, b)\n"
            off = f"#else\n#define {divide}(a, b) a / b\n"
        head = Edit(at, at, f"#if {name}\n{on}{off}#endif\n\n")
        what = [*(f"{exact} as {functions[exact]}" for exact in lines), *([f"division as {quotient}"] if divisions else [])]
        line = min([*(found[0] for found in lines.values()), *(source.line_of(node) for node in divisions)])
        tunable = Tunable(name, (0, 1), 0, f"1: {', '.join(what)}; as far as the tolerance allows", line)
        variant = subject.variant
        return Rewrite(replace(variant, text=source.edited(head, *edits), tunables=(*variant.tunables, tunable)))


def _divisions(source: KernelSource, names: Names) -> Iterator[Node]:
    """Quotients of floats, none inside another; those with a comma outside parentheses could not be a macro's argument.

    Those of two numbers, `1.0f / 3.0f`, a compiler computes: there is nothing to choose.
    """
    inside: list[tuple[int, int]] = []
    for body in source.reached():
        for node in of_kind(body, "binary_expression"):
            if text_of(field(node, "operator")) != "/" or any(start <= node.start_byte < end for start, end in inside):
                continue
            operands = field(node, "left"), field(node, "right")
            if all(not any(of_kind(part, *_VARYING)) for part in operands):
                continue
            if is_float(node, names) and not any(_unsafe(operand) for operand in operands):
                inside.append((node.start_byte, node.end_byte))
                yield node


def _as_call(node: Node, macro: str) -> list[Edit]:
    left, right = field(node, "left"), field(node, "right")
    return [
        Edit(node.start_byte, node.start_byte, f"{macro}("),
        Edit(left.end_byte, right.start_byte, ", "),
        Edit(node.end_byte, node.end_byte, ")"),
    ]


def _unsafe(operand: Node) -> bool:
    """Commas of template arguments and initialisers would part a macro's arguments; doubles are not to be narrowed."""
    text = text_of(operand)
    return "double" in text or "#" in text or any(True for _ in of_kind(operand, "template_argument_list", "initializer_list"))
