"""Preconditions that several passes share, and how they say that one is not met: `Unmet`, which becomes the pass's `Declined`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Answer, Declined, Subject
from warpsmith.source import KernelSource, Names
from warpsmith.source.integer_ranges import Intervals
from warpsmith.source.statements import has_directives
from warpsmith.source.tree import text_of
from warpsmith.source.work_group_attribute import required_sizes
from warpsmith.spec.kernel import Launch

if TYPE_CHECKING:
    from tree_sitter import Node

REQUIRED_BLOCK = "the source fixes the work-group size (reqd_work_group_size)"
_SHOWN = 40  # characters of what is not understood
T = TypeVar("T")
Item = TypeVar("Item")


class Unmet(Exception):  # noqa: N818 - a precondition that does not hold is no error
    """Ends an attempt to apply a pass. `node` is the place in the source that stands in the way."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


def answered(subject: Subject, attempt: Callable[[], Answer]) -> Answer:
    """What the attempt gives, or its unmet precondition in words."""
    try:
        return attempt()
    except Unmet as unmet:
        return Declined(unmet.reason, None if unmet.node is None else subject.source.line_of(unmet.node))


def require(holds: object, reason: str, node: Node | None = None) -> None:
    if not holds:
        raise Unmet(reason, node)


def present(found: T | None, reason: str, node: Node | None = None) -> T:
    if found is None:
        raise Unmet(reason, node)
    return found


def those_that_can(items: Iterable[Item], attempt: Callable[[Item], T]) -> list[T]:
    """What the attempt makes of each item it can be made of. When of none, the first reason; nothing of nothing."""
    found: list[T] = []
    reasons: list[Unmet] = []
    for item in items:
        try:
            found.append(attempt(item))
        except Unmet as why:
            reasons.append(why)
    if reasons and not found:
        raise reasons[0]
    return found


def unreadable(source: KernelSource) -> Declined | None:
    """For a kernel that is not understood as a whole: what is not."""
    node = source.first_error()
    if node is None:
        return None
    shown = " ".join(text_of(node).split())
    what = (
        f"`{shown if len(shown) <= _SHOWN else shown[:_SHOWN] + ' …'}`" if shown and node != source.function else "a part of it"
    )
    return Declined(f"the kernel cannot be parsed: {what} is not understood", source.line_of(node))


def require_free_block(source: KernelSource) -> None:
    """For passes that give the block another shape."""
    require(required_sizes(source) is None, REQUIRED_BLOCK)


def require_parsed(source: KernelSource) -> None:
    unclear = unreadable(source)
    if unclear is not None:
        raise Unmet(unclear.reason, source.first_error())


def require_readable(subject: Subject) -> None:
    """The whole kernel is understood, and what its statements are does not depend on macros."""
    source = subject.source
    require_parsed(source)
    require(not has_directives(source.body), "the kernel has #if branches, so its statements depend on macros")


def names_of(subject: Subject) -> Names:
    return Names(subject.source, {t.name for t in subject.variant.tunables}, subject.kernel)


def on_workloads(subject: Subject, expression: str) -> list[int]:
    """The expression's values on all workloads, parameters at their defaults; Unmet where it has none."""
    defaults = {t.name: t.default for t in subject.variant.tunables}
    parsed = Expression.parse(expression)
    try:
        return [int(parsed.evaluate({**subject.limits.names(), **defaults, **w.sizes})) for w in subject.kernel.workloads]
    except InputError:
        raise Unmet(f"{expression} cannot be computed from the workloads' sizes") from None


def intervals_of(subject: Subject, names: Names, *, inside: bool = False) -> Iterator[Intervals]:
    """What the kernel's integers may be, for each workload, parameters at their defaults; Unmet where the launch is not known."""
    variant = subject.variant
    grid, block = (tuple(map(Expression.parse, extents)) for extents in (variant.grid, variant.block))
    launch = Launch(grid, block, Expression.parse(0))
    defaults = {t.name: t.default for t in variant.tunables}
    for workload in subject.kernel.workloads:
        known = {**subject.limits.names(), **defaults, **workload.sizes}
        try:
            yield Intervals(names, launch.geometry(known), known, inside=inside)
        except InputError:
            raise Unmet("the launch cannot be computed from the workloads' sizes") from None


def axis(extents: tuple[str, ...], name: str) -> str:
    """One axis of a launch, `1` where it is not given."""
    index = "xyz".index(name)
    return extents[index] if index < len(extents) else "1"
