"""`whole_tiles`: work on a tile without bounds checks wherever all of the tile lies inside.

Exposes: loops in which every step checks whether its element exists, `if (row < m && col < n) …`, `if (row >= m) break;` or
`inside ? a[…] : 0.0f`. With WHOLE, what the checks ask of the last thread of a row in its last step is asked once before the
loops. If that holds, they run without checks; else as they stand, but only for what lies inside: one row of the thread's elements
after the other where these are independent (`source.own_elements`) and some row does not exist, else for threads of which
something lies inside (`source.dead_work`). Loops that fill a tile ask about a row as a whole (`refactor.tiles.row_checks`).

With WHOLE = 2, tiles that would stick out begin earlier instead, where an element's value follows from its coordinates alone
(`refactor.tiles.moved_tiles`).

Precondition: a check compares sums of the block's place, the threads' places and the loops' counts with something that does not
change meanwhile, so that its hardest case is known beforehand (`source.symbolic_bounds`). Other parts of a condition stay. What
is left out changes only the thread's own variables, and these are read elsewhere under such checks alone.
Parameter: WHOLE, 0 as it was. Constraints: none.

It comes after all passes that change loops: what it writes stands beside the loops under an `#if` of its own, so that no further
forms arise. Masks and compares go; on the CPU device, where a check becomes a mask for every vector, that is most of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.geometry import block_extent
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, require, require_parsed
from warpsmith.refactor.tiles.bounds_checks import Check, check_of, hardest_case, without_check
from warpsmith.refactor.tiles.lane_accesses import from_first_lane, lane_accesses
from warpsmith.refactor.tiles.moved_tiles import moved_tiles
from warpsmith.refactor.tiles.one_by_one import one_by_one, rolled, with_directives
from warpsmith.refactor.tiles.row_checks import by_rows, row_checks
from warpsmith.refactor.writing import indented, joined_if
from warpsmith.source import Edit, Loop, LoopKind, Names, Polynomial, loops_of
from warpsmith.source.comparisons import NEGATED
from warpsmith.source.dead_work import needed
from warpsmith.source.effects import declares_shared, waits
from warpsmith.source.own_elements import OwnElements, own_elements
from warpsmith.source.reaching import ReachingNames
from warpsmith.source.signs import Signs
from warpsmith.source.statements import text_between
from warpsmith.source.symbolic_bounds import Extremes
from warpsmith.source.threads import spelled
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DIRECTIVES = frozenset({"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"})
_MOST_LINES = 120  # a copy of more than that nobody reads
_OWN_AXES = "yz"  # a thread's rows are its own business; along x neighbours are lanes of one vector, and should go one way


class WholeTiles:
    name = "whole_tiles"
    summary = "boundary versioning: interior tiles run without bounds checks"
    stage = Stage.DECORATE
    priority = 10  # after `unroll`: a copy of the loops has their pragmas, too
    concerns = frozenset({Concern.DIVERGENCE, Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


@dataclass(frozen=True, slots=True)
class _Region:
    """Loops to be written twice, with what stands before them and belongs to them.

    `needed`: else nobody stores their results. `elements`: of which some may be stored by nobody, `singles` where those are rows
    and less than half of a row is stored; `inside`: then all are.
    """

    loop: Loop
    start: int
    checks: tuple[Check, ...]
    needed: tuple[str, ...]
    elements: OwnElements | None = None
    singles: OwnElements | None = None
    inside: tuple[str, ...] = ()

    @property
    def node(self) -> Node:
        return self.loop.node

    @property
    def condition(self) -> list[str]:
        asked = [part for check in self.checks for part in check.asked]
        return list(dict.fromkeys(asked or self.inside))

    @property
    def gain(self) -> tuple[int, bool, int, int]:
        return len(self.condition), self.elements is not None, len(self.needed), -self.start


def _rewrite(subject: Subject) -> Rewrite:
    source, variant = subject.source, subject.variant
    require_parsed(source)
    others = [n for n in of_kind(source.body, *_DIRECTIVES) if not _holds_pragmas_only(n)]
    require(not others, "the kernel has #if branches, so its statements depend on macros")
    names = ReachingNames(source, {t.name for t in variant.tunables}, subject.kernel)
    regions = list(_regions(subject, names))
    require(regions, "no loop has a bounds check of a tile's elements in each iteration")
    name = fresh_name(subject, "WHOLE")
    edits = [_written(names, region, name) for region in regions]
    values: tuple[int, ...] = (0, 1)
    notes: tuple[str, ...] = ()
    meaning = "1: interior tiles are not checked"
    try:
        edits.append(moved_tiles(subject, f"{name} == 2"))
        values, meaning = (0, 1, 2), f"{meaning} · 2: boundary tiles are shifted inside"
    except Unmet as why:
        notes = (f"no {name}=2: {why.reason}",)
    gains = any(not check.leaves for region in regions for check in region.checks)  # one compare a row makes no difference
    tunable = Tunable(name, values, 0, meaning, source.line_of(regions[0].node), likely=values[1:] if gains else ())
    text = source.edited(*edits)
    return Rewrite(replace(variant, text=text, tunables=(*variant.tunables, tunable)), notes=notes)


def _holds_pragmas_only(group: Node) -> bool:
    """As `unroll` writes them: which pragma it is depends on a macro, and nothing else does."""
    inner = [n for n in group.named_children if n.type not in {"comment", "preproc_else", "preproc_elif"}]
    condition = group.child_by_field_name("condition")
    return all(n.type == "preproc_call" for n in inner if n != condition)


# ── what to write twice ──


def _regions(subject: Subject, names: Names) -> Iterator[_Region]:
    """The outermost loops without a barrier in which the most can be asked beforehand."""
    source = subject.source
    loops = [loop for loop in loops_of(source.body, names) if _may_be_copied(loop, names)]
    end = -1
    for loop in loops:
        if loop.node.start_byte < end:
            continue
        inner = [other for other in loops if is_within(other.node, loop.node)]
        best = max((_region(subject, names, each) for each in inner), key=lambda region: region.gain)
        if best.condition or best.needed:
            end = best.node.end_byte
            yield best


def _may_be_copied(loop: Loop, names: Names) -> bool:
    parent = loop.node.parent
    lines = text_of(loop.node).count("\n")
    labels = any(True for _ in of_kind(loop.node, "labeled_statement", "goto_statement"))
    return (
        parent is not None
        and parent.type == "compound_statement"
        and lines <= _MOST_LINES
        and not labels
        and _has_its_own_lines(loop.node, names)
        and not _goes_over_tiles(loop, names)
        and not waits(loop.node, names)
        and not declares_shared(loop.node, names)
    )


def _has_its_own_lines(node: Node, names: Names) -> bool:
    """So that directives may be put around it."""
    data = names.source.tree.data
    before = data[data.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
    after = data[node.end_byte :].split(b"\n", 1)[0]
    return not before.strip() and not after.strip()


def _goes_over_tiles(loop: Loop, names: Names) -> bool:
    """Whether it takes all threads from tile to tile: around it, only the last tile could be asked about, for all of them."""
    strides = loop.kind is LoopKind.COUNTED and loop.step is not None and names.value(loop.step) != 1
    return strides and Signs(names).is_about_data(loop.bound)  # else over a thread's own part of one


def _region(subject: Subject, names: Names, loop: Loop) -> _Region:
    extremes = Extremes(names, loop.node, _extents(subject), _OWN_AXES)
    conditional = of_kind(loop.node, "if_statement", "conditional_expression")
    found = [check for node in conditional if (check := check_of(node, extremes, names)) is not None]
    start = subject.source.tree.line_start(with_directives(loop.node))
    wanted = tuple(needed(loop, names, _extents(subject)))
    lanes = any(_checks_lanes(check.node, names) for check in found)
    elements = _elements(subject, names, loop, lanes=lanes) if found or wanted else None
    singles = own_elements(loop, names, _extents(subject)) if elements is not None and elements.half and not lanes else None
    inside = _inside(elements, extremes, names) if elements is not None else ()
    if found or inside:
        return _Region(loop, start, tuple(found), () if elements else wanted, elements, singles, inside)
    return _Region(loop, start, (), wanted)


def _elements(subject: Subject, names: Names, loop: Loop, *, lanes: bool) -> OwnElements | None:
    """What to do one after the other at an edge: rows, whose elements still share what they read; or single elements, so that the
    checks of lanes go with them. Not these in a product: there, one after the other was measured 100 times as slow.
    """
    in_product = any(a.type == "for_statement" for a in ancestors(loop.node))
    rows = own_elements(loop, names, _extents(subject), _OWN_AXES) if in_product or not lanes else None
    if rows is None and not (in_product and lanes):
        return own_elements(loop, names, _extents(subject))
    return rows


def _checks_lanes(node: Node, names: Names) -> bool:
    parts = [p for p in of_kind(field(node, "condition"), "binary_expression") if text_of(field(p, "operator")) in NEGATED]
    sides = [field(part, side) for part in parts for side in ("left", "right")]
    return any(Polynomial.of(side, names).mentions("threadIdx.x") for side in sides)


def _inside(elements: OwnElements, extremes: Extremes, names: Names) -> tuple[str, ...]:
    """When a thread has all of its elements to do, as far as it differs between threads along y and z: along x, where some lanes
    have nothing to do, the others take no longer for that.
    """
    places = [spelled(f"threadIdx.{axis}", names.source.language) for axis in _OWN_AXES]
    hardest = [text for check in elements.checks if (text := hardest_case(check, extremes)) is not None]
    return tuple(dict.fromkeys(text for text in hardest if any(place in text for place in places)))


def _extents(subject: Subject) -> dict[str, str]:
    return {f"blockDim.{name}": block_extent(subject, name) for name in "xyz"}


# ── writing ──


def _written(names: Names, region: _Region, name: str) -> Edit:
    tree = names.source.tree
    blanks, end = tree.indentation(region.node), region.node.end_byte
    stands = tree.data[region.start : end].decode()
    edits = [edit for check in region.checks for edit in without_check(check, tree)]
    edits += [edit for access in lane_accesses(region.node, names, edits) for edit in from_first_lane(access, names)]
    otherwise = _otherwise(names, region, stands)
    unchecked = text_between(tree, region.start, end, edits)
    lines = [
        f"{blanks}// Where all of it lies inside, no step needs to look.",
        *joined_if(region.condition, blanks),
        indented(unchecked, 2),
        f"{blanks}}} else {{",
        indented(otherwise, 2),
        f"{blanks}}}",
    ]
    text = "\n".join(lines) if region.condition else stands
    if region.needed:
        why = f"{blanks}// Where all of it lies outside, nobody stores what comes out."
        text = "\n".join([why, *joined_if(region.needed, blanks), indented(text, 2), f"{blanks}}}"])
    return Edit(region.start, end, "\n".join([f"#if {name}", text, "#else", stands, "#endif"]))


def _otherwise(names: Names, region: _Region, stands: str) -> str:
    tree = names.source.tree
    if region.elements is None:
        checks = {check.node: check.parts for check in region.checks if not check.leaves}
        asked = row_checks(region.loop, checks, names)
        return by_rows(region.loop, region.start, asked, checks, names) if asked else stands
    blanks = tree.indentation(region.node)
    text = one_by_one(tree, region.start, region.node, region.elements)
    if region.elements.half and region.singles is not None:
        # Asked for each lane, the masks were computed where all of it lies inside as well: about 3 % of matmul.
        by_lanes = replace(region.singles, stored=region.singles.for_some)
        singles = one_by_one(tree, region.start, region.node, by_lanes)
        text = _either(region.elements.half, text, singles, blanks)
    if region.elements.half and region.inside and region.checks:
        text = _either(region.inside, rolled(tree, region.start, region.node, region.elements), text, blanks)
    return text


def _either(condition: Sequence[str], text: str, other: str, blanks: str) -> str:
    return "\n".join([*joined_if(condition, blanks), indented(text, 2), f"{blanks}}} else {{", indented(other, 2), f"{blanks}}}"])
