"""What must hold between lifted constants, the workloads and the device.

The author's values are the evidence: what divides evenly there (a tile by a thread's part of it, a row by an access) is taken to
have to, unless a workload shows that the kernel copes with a remainder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Rule, Subject, Tunable
from warpsmith.refactor.extents import names_of, same, substituted, tidy, value_at
from warpsmith.refactor.lifting.accesses import Division
from warpsmith.refactor.lifting.blocks import indexed_array, indexed_extent
from warpsmith.refactor.lifting.excess_threads import Line, asks_for_more, beyond, same_threads, unasked, unguarded_effect
from warpsmith.refactor.lifting.linking import AXES, Links
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.refactor.lifting.threads import Use, thread_uses
from warpsmith.source.arrays import Array, arrays_of
from warpsmith.source.comparisons import NEGATED
from warpsmith.source.effects import waits
from warpsmith.source.geometry import Geometry, Strength, as_text
from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_REGISTERS = 32  # values of one array that a thread keeps without spilling, where a device has as many
_UNDER_WAY = 8  # multiply-adds at once: two units, four cycles each, on CPUs of the last ten years
_WARP = 32
WHOLE_WARPS = "lanes exchange values: warps must be whole"


def divisibility(subject: Subject, lifted: Symbolic, links: Links, divisions: Sequence[Division]) -> Iterator[Rule]:
    for division in divisions:
        if names_of(f"({division.over}) + ({division.under})") & lifted.constants.keys() and _always(
            subject, lifted, division.over, division.under
        ):
            is_access = names_of(division.under) & links.widths.keys() and names_of(division.over) - lifted.defaults.keys()
            why = "rows must begin and end at a multiple of the access width" if is_access else "there is no remainder code"
            yield Rule(divides(division.over, division.under), f"{division.text} must be exact{division.place}: {why}")
    for loop in _all_loops(lifted.names):
        bound, step = lifted.names.expression(loop.bound), loop.step and lifted.names.expression(loop.step)
        if loop.kind is not LoopKind.COUNTED or bound is None or not step or Polynomial.of(loop.start, lifted.names).terms:
            continue
        if not names_of(f"({bound}) + ({step})") & lifted.constants.keys() or not _always(subject, lifted, bound, step):
            continue
        if names_of(bound) - lifted.defaults.keys() and _has_guard(lifted.names, names_of(bound)):
            continue
        yield Rule(
            divides(bound, step),
            f"the loop over {loop.variable} needs a whole number of steps (line {lifted.source.line_of(loop.node)})",
        )


def shares(subject: Subject, lifted: Symbolic, links: Links, threads: str | None = None) -> Iterator[Rule]:
    """A kernel that does not ask where an axis ends needs blocks that end with it.

    `threads` is the axis of the block whose threads the grid counts, where that is not the grid's own.
    """
    for axis, share in links.shares.items():
        line = Line(threads or axis, axis)
        was = substituted(share.part, {name: str(value) for name, value in lifted.defaults.items()})
        is_exact = _always(subject, lifted, share.whole, share.part)
        if share.rounds_down:
            reason = f"the launch drops the remainder of {share.whole} after whole blocks"
            yield Rule(divides(share.whole, share.part), reason) if is_exact else same_threads(share, was, reason)
            continue
        done = unguarded_effect(lifted.names, line.threads)
        if _has_guard(lifted.names, names_of(share.whole)) and done is None:
            if asks_for_more(subject, lifted.names, line, share):
                yield same_threads(share, was, beyond(share, axis))
            continue
        if is_exact and not share.spare:
            reason = f"not every access is checked against {share.whole}: the last block along {axis} must end with it"
            yield Rule(divides(share.whole, share.part), reason)
            continue
        done = unguarded_effect(lifted.names, axis, "blockIdx")  # a place may be told by the block and a step alone
        if done is not None and done.type != "call_expression":  # a function may ask for itself
            yield same_threads(share, was, unasked(lifted.names, done, axis))


def shared_memory(lifted: Symbolic, dynamic: str) -> Iterator[Rule]:
    arrays = [a for a in arrays_of(lifted.names) if a.is_shared and not a.is_dynamic]
    sizes = [(a, s) for a in arrays if (s := _bytes(a, lifted.names)) is not None]
    varying = [a.name for a, s in sizes if names_of(s) & lifted.constants.keys()]
    if not varying:
        return
    fixed = tidy(" + ".join(s for _, s in sizes))
    listed = " and ".join(dict.fromkeys(varying))
    totals = {fixed: "static_shared_bytes_per_block"}
    if dynamic not in {"", "0"}:
        totals[tidy(f"{fixed} + ({dynamic})")] = "shared_bytes_per_block"
    for total, limit in totals.items():
        at_default = value_at(total, lifted.defaults)
        as_it_was = f" ({at_default} bytes in the original)" if at_default is not None else ""
        yield Rule(f"{total} <= {limit}", f"{listed} must fit in shared memory{as_it_was}")


def private_arrays(lifted: Symbolic, limits: Limits) -> Iterator[Rule]:
    """What a thread keeps for itself must stay in registers; only arrays that two choices multiply are in danger."""
    for array, elements in _multiplied(lifted):
        most = max(min(_REGISTERS, limits.registers_per_thread), value_at(elements, lifted.defaults) or 0)
        yield Rule(f"{tidy(elements)} <= {most}", f"a thread's {array.name} must stay in registers")


def enough_sums(lifted: Symbolic, limits: Limits) -> Iterator[Rule]:
    """What fast configurations have on a CPU: sums for every multiply-add unit. A GPU's has other threads to go on with."""
    if limits.has_banked_scratchpad:
        return
    for array, elements in _multiplied(lifted):
        reason = f"fewer elements of a thread's {array.name} do not hide the latency of multiply-adds"
        yield Rule(f"{tidy(elements)} >= {_UNDER_WAY}", reason)


def _multiplied(lifted: Symbolic) -> Iterator[tuple[Array, str]]:
    """A thread's own arrays whose size is a product of several choices."""
    for array in arrays_of(lifted.names):
        elements = array.elements(lifted.names)
        if not array.is_shared and elements is not None and len(names_of(elements) & lifted.constants.keys()) > 1:
            yield array, elements


def block_size(subject: Subject, lifted: Symbolic, block: Sequence[str], tunables: Sequence[Tunable]) -> Iterator[Rule]:
    """At least a warp; whole ones where lanes exchange values. A device's own limit is a rule of every launch."""
    threads = tidy(" * ".join(f"({extent})" for extent in block))
    if not names_of(threads) & lifted.constants.keys():
        return
    if teamwork(lifted.source).by_warps:
        # Rows of whole warps stay that: as many threads in narrower rows would be other warps.
        if len(block) > 1 and names_of(block[0]) & lifted.constants.keys() and _always(subject, lifted, block[0], str(_WARP)):
            yield Rule(f"{tidy(f'({block[0]}) % warp_size')} == 0", WHOLE_WARPS)
        rule = Rule(f"{tidy(f'({threads}) % warp_size')} == 0", WHOLE_WARPS)
        # A block that follows from a workload's sizes is rounded to warps as a rule, and then there is nothing to ask for.
        computed = bool(names_of(threads) - lifted.defaults.keys())
        if not computed or (_always(subject, lifted, threads, str(_WARP)) and _is_broken(rule, tunables, subject)):
            yield rule
    elif len(block) > 1 and (value_at(threads, lifted.defaults) or 0) >= _WARP:
        yield a_warp_at_least(threads)


def a_warp_at_least(threads: str, folded: str | None = None) -> Rule:
    """`folded`: each of the threads that are left does the work of so many."""
    needed = str(_WARP) if folded is None else f"{_WARP} * {folded}"
    return Rule(f"{threads} >= {needed}", f"a block of fewer than {_WARP} threads leaves most lanes of a warp idle")


def waiting_loops(subject: Subject, names: Names, block: Sequence[str], defaults: Mapping[str, int]) -> Iterator[Rule | str]:
    """Threads that wait for each other in a loop they share must take as many steps. A text says why that is not known."""
    extents = {f"blockDim_{axis}": extent for axis, extent in zip(AXES, [*block, "1", "1"], strict=False)}
    for loop in _all_loops(names):
        start = Polynomial.of(loop.start, names)
        step = None if loop.step is None else as_text(Polynomial.of(loop.step, names))
        if not any(start.mentions(f"threadIdx.{a}") for a in AXES) or not waits(loop.body, names):
            continue
        line, bound = names.source.line_of(loop.node), names.expression(loop.bound)
        if step is not None and not names_of(substituted(step, extents)):
            continue  # a step of so many lanes, whatever the block
        if step is None or bound is None or "gridDim" in step:
            yield f"the loop at line {line} has a barrier, and cannot prove that its trip count is uniform"
            continue
        step = substituted(step, extents)
        if is_exact(subject, defaults, bound, step):
            yield Rule(divides(bound, step), f"the loop at line {line} has a barrier: its trip count must be uniform")


def rooms(lifted: Symbolic, geometry: Geometry, block: Sequence[str]) -> Iterator[Rule]:
    """Arrays that threads index must have room for all of them."""
    threads = tidy(" * ".join(f"({extent})" for extent in block))
    for claim in geometry.threads:
        if not claim.axes and names_of(threads) & lifted.constants.keys() and not same(claim.extent, threads):
            yield Rule(f"{threads} <= {tidy(claim.extent)}", f"__launch_bounds__ promises at most {tidy(claim.extent)} threads")
        number = AXES.find(claim.axes) if claim.axes else -1
        if claim.strength is not Strength.EXTENT or not 0 <= number < len(block) or same(claim.extent, block[number]):
            continue
        rule = f"{block[number]} <= {tidy(claim.extent)}"
        if value_at(rule, lifted.defaults) == 0:
            continue  # not all of the author's own threads have an element: the kernel asks which of them do
        if names_of(rule) & lifted.constants.keys():
            reason = f"an array has room for {tidy(claim.extent)} threads along {claim.axes} (line {claim.line})"
            yield Rule(rule, reason)


def warp_slots(lifted: Symbolic, block: Sequence[str]) -> Iterator[Rule]:
    """`slot[threadIdx.x / 32] = sum`: an array with a slot for each warp, or group, has room for as many as it has slots."""
    arrays = {array.name: array for array in arrays_of(lifted.names) if array.is_shared}
    for axis, extent in zip(AXES, block, strict=False):
        for use in thread_uses(lifted.names, axis) if names_of(extent) & lifted.constants.keys() else ():
            group = _WARP if use.kind is Use.WARP else _grouped(use.polynomial, axis)
            array = None if group is None else arrays.get(indexed_array(use.node))
            room = None if array is None else indexed_extent(use.node, array)
            slots = None if room is None else lifted.names.expression(room)
            if array is not None and slots is not None:
                groups = "warps" if group == _WARP else f"groups of {group} threads"
                reason = f"{array.name} has a slot for each of at most {slots} {groups} (line {lifted.source.line_of(use.node)})"
                yield Rule(f"{extent} <= {tidy(f'{group} * ({slots})')}", reason)


def _grouped(place: Polynomial, axis: str) -> int | None:
    """The threads of a group of which this is the number."""
    found = re.fullmatch(rf"\(threadIdx\.{axis}(/|>>)(\d+)\)", str(place))
    return None if found is None else int(found[2]) if found[1] == "/" else 1 << int(found[2])


def asserted(lifted: Symbolic) -> Iterator[Rule]:
    """What the author states with static_assert."""
    for node in of_kind(lifted.source.tree.root, "static_assert_declaration"):
        condition = node.child_by_field_name("condition")
        text = None if condition is None else _truth(condition, lifted.names)
        if text is not None and names_of(text) & lifted.constants.keys():
            yield Rule(tidy(text), f"the source asserts it (line {lifted.source.line_of(node)})")


def _truth(node: Node, names: Names) -> str | None:
    """A comparison, or several joined, as an expression of kernel.toml."""
    node = unwrapped(node)
    if node.type != "binary_expression":
        return None
    operator = text_of(field(node, "operator"))
    parts = [field(node, side) for side in ("left", "right")]
    texts = [_truth(part, names) if operator in {"&&", "||"} else names.expression(part) for part in parts]
    if None in texts or operator not in {"&&", "||", "==", "!=", *NEGATED}:
        return None
    word = {"&&": "and", "||": "or"}.get(operator, operator)
    return f"({texts[0]}) {word} ({texts[1]})"


def without_idle(rules: Sequence[Rule], tunables: Sequence[Tunable]) -> list[Rule]:
    """Each rule once, and none that every value allows anyway; but there are other devices and other workloads."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.expression not in found and not _holds_always(rule, tunables):
            found[rule.expression] = rule
    return list(found.values())


def _holds_always(rule: Rule, tunables: Sequence[Tunable]) -> bool:
    expression = Expression.parse(rule.expression)
    used = [t for t in tunables if t.name in expression.names]
    if len(used) < len(expression.names):
        return False
    cases = islice(product(*(t.values for t in used)), 10_000)
    try:
        return all(expression.evaluate(dict(zip((t.name for t in used), case, strict=True))) for case in cases)
    except InputError:
        return False


def _is_broken(rule: Rule, tunables: Sequence[Tunable], subject: Subject) -> bool:
    """Whether some value breaks it on some workload, the other parameters at their defaults."""
    expression, defaults = Expression.parse(rule.expression), {t.name: t.default for t in tunables}
    cases = ({**defaults, t.name: value} for t in tunables if t.name in expression.names for value in t.values)
    known = [{**subject.limits.names(), **workload.sizes} for workload in subject.kernel.workloads]
    try:
        return any(not expression.evaluate({**names, **case}) for case in cases for names in known)
    except InputError:
        return True


def _always(subject: Subject, lifted: Symbolic, over: str, under: str) -> bool:
    return is_exact(subject, lifted.defaults, over, under)


def is_exact(subject: Subject, defaults: Mapping[str, int], over: str, under: str) -> bool:
    """Whether the division is exact at the default, for every workload."""
    values = [value_at(f"({over}) % ({under})", {**w.sizes, **defaults}) for w in subject.kernel.workloads]
    return all(value == 0 for value in values)


def divides(over: str, under: str) -> str:
    return tidy(f"({over}) % ({under})") + " == 0"


def _bytes(array: Array, names: Names) -> str | None:
    size, elements = names.size_of(array.element), array.elements(names)
    return None if size is None or elements is None else f"{size} * {elements}"


def _all_loops(names: Names) -> Iterator[Loop]:
    return (loop for body in names.source.reached() for loop in loops_of(body, names))


def _has_guard(names: Names, sizes: frozenset[str]) -> bool:
    """Whether some comparison of a thread's place asks for one of these sizes."""
    for body in names.source.reached():
        for node in of_kind(body, "binary_expression"):
            if text_of(field(node, "operator")) not in NEGATED or _is_plain_header(node, names):
                continue
            for side in ("left", "right"):
                text = names.expression(field(node, side))
                if text is not None and names_of(text) & sizes:
                    return True
        for call in of_kind(body, "call_expression"):
            if text_of(field(call, "function")).rpartition("::")[2] == "min":
                known = [
                    names.expression(a) for part in field(call, "arguments").named_children for a in of_kind(part, "identifier")
                ]
                if any(text is not None and names_of(text) & sizes for text in known):
                    return True
    return False


def _is_plain_header(node: Node, names: Names) -> bool:
    """The condition of a loop that starts at the same place for all threads: it guards no thread."""
    parent = next((a for a in ancestors(node) if a.type == "for_statement"), None)
    if parent is None or parent.child_by_field_name("condition") != node:
        return False
    first = parent.child_by_field_name("initializer")
    value = next((field(d, "value") for d in of_kind(first, "init_declarator")), None) if first is not None else None
    return value is not None and not any(Polynomial.of(value, names).mentions(f"threadIdx.{a}") for a in "xyz")
