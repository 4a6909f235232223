"""How the grid follows a block whose number of threads has become a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Declined, Rule, Subject
from warpsmith.refactor.extents import names_of, spelled, tidy, value_at, with_part
from warpsmith.refactor.lifting import rules
from warpsmith.refactor.lifting.blocks import Freedom
from warpsmith.refactor.lifting.excess_threads import Line, as_many_threads
from warpsmith.refactor.lifting.linking import AXES, Links, divisors, link_grid
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.geometry import geometry_of
from warpsmith.source.loops import LoopKind, loops_of
from warpsmith.source.names import Names


@dataclass(frozen=True, slots=True)
class Grid:
    grid: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    blocks: str = ""  # the axis along which it counts blocks by their size


def follow_grid(subject: Subject, names: Names, found: Freedom, value: int, block: list[str]) -> Grid | Declined:
    """The grid with the parameter in it where blocks lie side by side; `block` already has it."""
    variant, parameter = subject.variant, found.parameter
    defaults = {t.name: t.default for t in variant.tunables} | {parameter: value}
    links = Links([tidy(g) for g in variant.grid], block)
    extents = {f"blockDim_{axis}": extent for axis, extent in zip(AXES, [*block, "1", "1"], strict=False)}
    geometry = geometry_of(names, defaults)
    if not found.needs_grid:
        # Where every block strides over all there is, any grid does. One that was made for the block's size goes on to follow it.
        loops = [loop for body in names.source.reached() for loop in loops_of(body, names)]
        strided = {loop.axis for loop in loops if loop.kind is LoopKind.GRID_STRIDE}
        follows = [
            _scaled(text, parameter, value) if axis in strided else text for axis, text in zip(AXES, links.grid, strict=False)
        ]
        return Grid(tuple(follows))
    for axis in AXES:
        link_grid(links, geometry, axis, extents, defaults, frozenset({parameter}))
    if parameter in links.refused:
        return Declined(links.refused[parameter])
    if parameter not in links.linked:
        return Declined("cannot tell which axis of the grid counts adjacent blocks")
    lifted = Symbolic(variant, names, {}, defaults)
    lines = {Line(found.axis, axis): share for axis, share in links.shares.items()}
    kept = [r for line, share in lines.items() for r in as_many_threads(subject, names, line, share, value, parameter)]
    blocks = next((axis for axis, share in links.shares.items() if parameter in names_of(share.part)), "")
    return Grid(tuple(links.grid), (*rules.shares(subject, lifted, links, found.axis), *kept), blocks)


def _scaled(text: str, parameter: str, value: int) -> str:
    """`ceildiv(n, 1024)` with blocks of 256: each thread takes four."""
    expression = Expression.parse(text)
    found = [(p, n) for p, _ in divisors(expression.tree) if (n := value_at(spelled(p), {})) is not None and n % value == 0]
    return with_part(expression, found[0][0], f"{parameter} * {found[0][1] // value}") if len(found) == 1 else text
