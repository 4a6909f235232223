"""Ties a launch's numbers to the constants of the source that they are: `block = [16, 16]` to `TILE_N / THREAD_N`, …

Several expressions may have the right value at the default. What the source says of its geometry (`source.geometry`) picks among
them, the more direct evidence first; where two stay possible there is no link, and what they are made of is not lifted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Call, Literal, Node, children
from warpsmith.refactor.extents import names_of, same, spelled, substituted, tidy, value_at, with_part
from warpsmith.source.geometry import Geometry, Strength

AXES = "xyz"


class Untied(str):
    """A reason that says no more than that nothing shows how the launch follows: what is tried may turn out right."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """What the blocks along an axis share out, and each one's part. `rounds_down`: the launch leaves out what is left over.

    `spare`: so many blocks more than whole ones there are, as in `n / 256 + 1`, whether something is left over or not.
    """

    whole: str
    part: str
    rounds_down: bool = False
    spare: int = 0

    def threads(self, part: str) -> str:
        """How many there are with blocks of this part each."""
        if self.spare:
            return tidy(f"(({self.whole}) / ({part}) + {self.spare}) * ({part})")
        count = f"({self.whole}) / ({part})" if self.rounds_down else f"ceildiv({self.whole}, {part})"
        return tidy(f"{count} * ({part})")


@dataclass(slots=True)
class Links:
    """The launch with parameters in it. `refused` has, by parameter, why it cannot be tied; `linked` those that are."""

    grid: list[str]
    block: list[str]
    refused: dict[str, str] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)
    shared: str = "0"  # dynamic shared memory in bytes
    widths: dict[str, bool] = field(default_factory=dict)  # parameters that are the width of an access: whether in bytes
    shares: dict[str, Shared] = field(default_factory=dict)  # by axis

    def refuse(self, names: frozenset[str], reason: str) -> None:
        for name in names:
            self.refused.setdefault(name, reason)


def link(
    geometry: Geometry, grid: Sequence[str], block: Sequence[str], defaults: Mapping[str, int], lifted: frozenset[str]
) -> Links:
    """Tie the launch to the parameters in `lifted`; all other names in it stay as they are."""
    links = Links([tidy(g) for g in grid], [tidy(b) for b in block])
    for number, axis in enumerate(AXES[: len(block)]):
        _link_block(links, geometry, number, axis, defaults, lifted)
    _check_products(links, geometry, defaults, lifted)
    extents = {f"blockDim_{axis}": extent for axis, extent in zip(AXES, [*links.block, "1", "1"], strict=False)}
    for axis in AXES:
        link_grid(links, geometry, axis, extents, defaults, lifted)
    return links


def _link_block(
    links: Links, geometry: Geometry, number: int, axis: str, defaults: Mapping[str, int], lifted: frozenset[str]
) -> None:
    extent = links.block[number]
    alone = len(links.block) == 1
    claims = [c for c in geometry.threads if c.axes == axis or (alone and not c.axes and names_of(c.extent))]
    claims = [c for c in claims if names_of(c.extent) <= defaults.keys()]  # what the launch's own names say fits any block
    if not extent.isdigit():
        # The block follows from a workload's sizes: what the source takes for fixed cannot be tied to it.
        for claim in claims:
            links.refuse(
                names_of(claim.extent) & lifted, f"line {claim.line} uses it as the block's size, which the launch computes"
            )
        return
    fitting = [c for c in claims if value_at(c.extent, defaults) == int(extent)]
    for claim in (c for c in claims if c.strength is Strength.STRIDE and c.axes and c not in fitting):
        reason = f"line {claim.line} implies block.{axis} = {tidy(claim.extent)}, but the launch has {extent}"
        links.refuse(names_of(claim.extent) & lifted, reason)
    best = [c for c in fitting if c.strength == max(f.strength for f in fitting)]
    if not best:
        return
    if not all(same(best[0].extent, c.extent) for c in best):
        either = " or ".join(dict.fromkeys(tidy(c.extent) for c in best))
        for claim in best:
            links.refuse(names_of(claim.extent) & lifted, f"block.{axis} = {extent} may be {either}")
        return
    chosen = tidy(best[0].extent)
    if names_of(chosen) & lifted:
        links.block[number] = chosen
        links.linked |= names_of(chosen) & lifted
    # An array may have room to spare; anything else says what the block is, and only one of them can be right.
    for claim in (c for c in fitting if c.strength is not Strength.EXTENT and not same(c.extent, chosen)):
        reason = f"line {claim.line} implies block.{axis} = {tidy(claim.extent)}, other lines {chosen}"
        links.refuse((names_of(claim.extent) & lifted) - names_of(chosen), reason)


def _check_products(links: Links, geometry: Geometry, defaults: Mapping[str, int], lifted: frozenset[str]) -> None:
    """Strides over all threads and __launch_bounds__ must say the same as the axes together."""
    for claim in geometry.threads:
        names = names_of(claim.extent)
        if len(claim.axes) == 1 or not names & lifted or not names <= defaults.keys():
            continue
        axes = claim.axes or AXES[: len(links.block)]
        together = tidy(" * ".join(f"({links.block[AXES.index(a)]})" for a in axes if AXES.index(a) < len(links.block)) or "1")
        if same(claim.extent, together):
            continue
        if claim.axes == "" and (value_at(claim.extent, defaults) or 0) > (value_at(together, defaults) or 0):
            continue  # __launch_bounds__ is an upper bound; the rule for it is made with the others
        reason = f"line {claim.line} implies {tidy(claim.extent)} threads in a block, the launch {together}"
        links.refuse(names & lifted, reason)


def link_grid(
    links: Links,
    geometry: Geometry,
    axis: str,
    extents: Mapping[str, str],
    defaults: Mapping[str, int],
    lifted: frozenset[str],
) -> None:
    """Along one axis. `extents` say what stands for the launch's own `blockDim_x`."""
    shares = [(substituted(s.extent, extents), s.line) for s in geometry.shares if s.axis == axis and "gridDim" not in s.extent]
    shares = [(extent, line) for extent, line in shares if names_of(extent) & lifted]
    if not shares:
        return
    involved = frozenset().union(*(names_of(extent) & lifted for extent, _ in shares))
    number, line = AXES.index(axis), shares[0][1]
    if number >= len(links.grid):
        links.refuse(involved, f"line {line} uses blockIdx.{axis}, but the launch has no grid.{axis}")
        return
    grid = Expression.parse(links.grid[number])
    found = [(extent, *division) for extent, _ in shares for division in _explained(grid.tree, extent, defaults, lifted)]
    first = found[0][0] if found else shares[0][0]
    if not all(same(first, extent) for extent, *_ in found) or len({part.span for _, part, _ in found}) > 1:
        links.refuse(involved, f"grid.{axis} = {grid.text} may count blocks that are {' or '.join({e for e, *_ in found})} apart")
    elif found and axis in geometry.per_block:
        line = geometry.per_block[axis]
        links.refuse(
            names_of(first) & lifted, f"each block has one element (line {line}), so the number of blocks is not tunable"
        )
    elif found:
        _, part, division = found[0]
        rounded, all_of_it = _rounded_up(division), _with_spare(grid.tree, division)
        if rounded is not None:
            links.grid[number] = with_part(grid, division, f"ceildiv({spelled(rounded)}, {first})")
            links.shares[axis] = Shared(spelled(rounded), first)
        elif all_of_it is not None and all_of_it[1] == 0:
            links.grid[number] = tidy(f"ceildiv({all_of_it[0]}, {first})")
            links.shares[axis] = Shared(all_of_it[0], first)
        elif all_of_it is not None:
            links.grid[number] = tidy(f"({all_of_it[0]}) / ({first}) + {all_of_it[1]}")
            links.shares[axis] = Shared(all_of_it[0], first, spare=all_of_it[1])
        else:
            links.grid[number] = with_part(grid, part, first)
            links.shares[axis] = Shared(spelled(_numerator(division)), first, isinstance(division, Binary))
        links.linked |= names_of(first) & lifted
        # Others multiply a block's place by something else, the length of a row for one.
        links.refuse(involved - names_of(first), f"grid.{axis} = {grid.text} counts blocks that are {first} apart")
    elif all(value_at(extent, defaults) == 1 and same(first, extent) for extent, _ in shares):
        links.shares[axis] = Shared(grid.text, first)
        links.grid[number] = tidy(f"ceildiv({grid.text}, {first})")
        links.linked |= involved
    else:
        value = value_at(first, defaults)
        reason = f"grid.{axis} = {grid.text} does not show the {first} = {value} that blocks are apart (line {line})"
        links.refuse(involved, Untied(reason))


def _explained(tree: Node, extent: str, defaults: Mapping[str, int], lifted: frozenset[str]) -> Iterator[tuple[Node, Node]]:
    """Divisions by what the extent is at the default."""
    as_it_was = substituted(extent, {name: str(defaults[name]) for name in lifted & names_of(extent)})
    return ((part, whole) for part, whole in divisors(tree) if same(spelled(part), as_it_was))


def divisors(node: Node) -> Iterator[tuple[Node, Node]]:
    """By what something is divided, with the division."""
    match node:
        case Call(function="ceildiv", arguments=(_, part)) | Binary(operator="/" | "//", right=part):
            yield part, node
        case _:
            pass
    for child in children(node):
        yield from divisors(child)


def _numerator(division: Node) -> Node:
    match division:
        case Call(arguments=(left, _)) | Binary(left=left):
            return left
        case _:
            return division


def _rounded_up(division: Node) -> Node | None:
    """The n of `(n + 63) / 64`."""
    match division:
        case Binary(left=Binary(operator="+", left=what, right=Literal(value=int() as more)), right=Literal(value=int() as by)):
            return what if more == by - 1 else None
        case _:
            return None


def _with_spare(grid: Node, division: Node) -> tuple[str, int] | None:
    """What `n / 256 + 1` or `(n + 256) / 256` shares out, n, and the blocks beyond whole ones; none for `(n - 1) / 256 + 1`."""
    match grid:
        case Binary(operator="+", left=left, right=Literal(value=int() as more)) if left == division and more > 0:
            pass
        case Binary(operator="+", left=Literal(value=int() as more), right=right) if right == division and more > 0:
            pass
        case _ if grid == division:
            more = 0
        case _:
            return None
    match division:
        case Binary(operator="/" | "//", left=Binary(operator="-", left=what, right=Literal(value=1))) if more == 1:
            return spelled(what), 0
        case Binary(left=Binary(operator="+", left=what, right=Literal(value=int() as by)), right=Literal(value=part)) if (
            by == part
        ):
            return spelled(what), more + 1
        case Binary(operator="/" | "//", left=what) if more:
            return spelled(what), more
        case _:
            return None
