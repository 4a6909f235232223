"""The launch's own names for what a kernel says as a number, or by a parameter's name, as the block was launched:

    for (int i = threadIdx.x; i < n; i += 256)       for (int i = threadIdx.x; i < n; i += blockDim.x)
    blockIdx.x * BLOCK + threadIdx.x                 blockIdx.x * blockDim.x + threadIdx.x

Both mean the same in a block of 256 (or BLOCK) threads, and what is said in only one way needs to be recognised in only one. The
tokens are not the same: a form for passes to start from, and only for those that leave the launch as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.statements import has_directives
from warpsmith.source.tree import Edit, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_AXES = "xyz"
_PLACES = ("blockIdx", "gridDim")


def with_launch_names(source: KernelSource, block: Sequence[str], parameters: Collection[str]) -> str:
    """The whole file's text. `block` are the extents of the launch; `parameters` what is named in them."""
    if source.language is Language.OPENCL or source.has_errors() or has_directives(source.body):
        return source.text
    names = Names(source, parameters)
    extents = {axis: extent for axis, extent in zip(_AXES, block, strict=False) if extent != "1"}
    found = {
        node.start_byte: (node, axis)
        for body in source.reached()
        for node, axis in (*_steps(body, names, extents), *_factors_of_places(body, names, extents))
    }
    return source.edited(*(Edit(node.start_byte, node.end_byte, f"blockDim.{axis}") for node, axis in found.values()))


def _steps(body: Node, names: Names, extents: dict[str, str]) -> Iterator[tuple[Node, str]]:
    """Of loops that begin with the thread's place in one axis, and go on by the block's extent in it, or a multiple of that."""
    for loop in of_kind(body, "for_statement"):
        update, first = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
        if (
            update is None
            or first is None
            or update.type != "assignment_expression"
            or text_of(field(update, "operator")) != "+="
        ):
            continue
        begun = next(of_kind(first, "init_declarator", "assignment_expression"), None)
        if begun is None:
            continue
        start = Polynomial.of(field(begun, "value" if begun.type == "init_declarator" else "right"), names)
        axes = [axis for axis in _AXES if start.mentions(f"threadIdx.{axis}")]
        if len(axes) == 1 and axes[0] in extents:
            same = (node for node in _factors(field(update, "right")) if names.expression(node) == extents[axes[0]])
            yield from ((node, axes[0]) for node in list(same)[:1])


def _factors_of_places(body: Node, names: Names, extents: dict[str, str]) -> Iterator[tuple[Node, str]]:
    """`blockIdx.x * 256`. Not beside a cast: the extent is unsigned, which may matter there."""
    for product in of_kind(body, "binary_expression"):
        if text_of(field(product, "operator")) != "*":
            continue
        left, right = field(product, "left"), field(product, "right")
        for place, other in ((left, right), (right, left)):
            known, _, axis = text_of(unwrapped(place)).partition(".")
            if known in _PLACES and axis in extents and names.expression(other) == extents[axis]:
                yield other, axis


def _factors(node: Node) -> Iterator[Node]:
    node = unwrapped(node)
    if node.type == "binary_expression" and text_of(field(node, "operator")) == "*":
        yield from _factors(field(node, "left"))
        yield from _factors(field(node, "right"))
    else:
        yield node
