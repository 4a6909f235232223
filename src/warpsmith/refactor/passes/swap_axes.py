"""`swap_axes`: the first two dimensions of the launch change places.

Exposes SWAP_AXES: 1 where neighbouring threads (along x) do not touch neighbouring elements but those along y do, as in
`a[row * n + col]` with the row from threadIdx.x. Every use of x becomes one of y and the other way round, in the kernel and in
the launch: each thread does what it did, under another number.

Precondition: some access to global memory runs along y rather than x, launch names are used by axis and in the kernel itself,
and the threads of a warp do not work together, since warps follow x. Constraints: none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.mapping.required_block import following
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, present, require, require_readable
from warpsmith.source import Edit, Names, Polynomial
from warpsmith.source.dataflow import base_name
from warpsmith.source.threads import all_launch_uses, launch_uses, teamwork
from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_BLOCKS_Y = 65535  # CUDA's and HIP's limit along y and z
_OTHER = {"x": "y", "y": "x", "z": "z"}
_ONE = Polynomial.constant(1)


class SwapAxes:
    name = "swap_axes"
    summary = "x and y of the launch are swapped, so that adjacent threads access adjacent elements"
    stage = Stage.RESTRUCTURE
    priority = -10  # before what looks for strides along x
    concerns = frozenset({Concern.COALESCING})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, variant, source = names_of(subject), subject.variant, subject.source
    together = teamwork(source)
    helped = present(_runs_along_y(subject, names), "no access to global memory runs along threadIdx.y rather than threadIdx.x")
    require(not together.by_warps and together.library is None, f"the kernel {together.described()}, and warps follow x")
    require(together.waits is None, f"{together.waits}: threads of a warp may rely on each other")
    own = launch_uses(source.body, names)
    for name, nodes in all_launch_uses(source, names).items():
        require(not name.endswith(".*"), f"{text_of(nodes[0])} is used as a whole", nodes[0])
        require(len(nodes) == len(own.get(name, ())), f"a called function uses {text_of(nodes[0])}")
    blocks = max(on_workloads(subject, axis(variant.grid, "x")))
    fits = blocks <= _MOST_BLOCKS_Y or source.language is Language.OPENCL
    require(fits, f"the grid has {blocks} blocks along x, and at most {_MOST_BLOCKS_Y} are possible along y")
    edits = [_swapped(node, subject) for name, nodes in own.items() if name[-1] in "xy" for node in nodes]
    made = replace(variant, text=source.edited(*edits), grid=_turned(variant.grid), block=_turned(variant.block))
    made = following(subject, made)
    line = source.line_of(helped)
    choice = Tunable(fresh_name(subject, "SWAP_AXES"), (0, 1), 0, "1: x and y of the launch are swapped", line)
    return Rewrite(variant, choice, {1: made})


def _runs_along_y(subject: Subject, names: Names) -> Node | None:
    """An access whose neighbours along y are neighbours in memory, while those along x are further apart."""
    pointers = {p.name for p in subject.source.parameters if p.depth}
    for access in of_kind(subject.source.body, "subscript_expression"):
        if base_name(access) not in pointers:
            continue
        inside = field(access, "indices").named_children
        if len(inside) != 1:
            continue
        index = Polynomial.of(inside[0], names)
        along_x = index.coefficient("threadIdx.x")
        if index.coefficient("threadIdx.y") == _ONE and along_x is not None and along_x.terms and along_x != _ONE:
            return access
    return None


def _swapped(node: Node, subject: Subject) -> Edit:
    text = text_of(node)
    if subject.source.language is Language.OPENCL:
        digit = next(c for c in text if c in "01")
        return Edit(node.start_byte, node.end_byte, text.replace(digit, "10"[int(digit)]))
    return Edit(node.end_byte - 1, node.end_byte, _OTHER[text[-1]])


def _turned(extents: tuple[str, ...]) -> tuple[str, ...]:
    turned = [axis(extents, "y"), axis(extents, "x"), axis(extents, "z")]
    while len(turned) > 1 and turned[-1] == "1":
        turned.pop()
    return tuple(turned)
