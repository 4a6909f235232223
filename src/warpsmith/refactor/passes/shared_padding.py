"""`shared_padding`: extra columns of two-dimensional shared arrays, so that a column's elements lie in different banks.

Exposes PAD: of `tile[N][N + 1]` the 1; where no array has such a column, 0 as it was, else so many columns for every array.
Precondition: the array is only ever used element by element, by as many subscripts as it has extents, and the last one stays
within a row (without its extra columns) for all workloads: then nothing depends on where a row ends. That is shown for the
parameters' defaults. A column beyond that range is padding; one within it, as of a tile with a border, is not.
Constraints: the arrays fit in shared memory.

A number takes the place of a number, or a macro that adds nothing at the default goes around the extent: no further forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, intervals_of, names_of, require, require_readable, those_that_can
from warpsmith.refactor.substitution import insertion_point
from warpsmith.source import Edit, Names
from warpsmith.source.arrays import Array, arrays_of, named_in_macros
from warpsmith.source.integer_ranges import Intervals
from warpsmith.source.tree import field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = (0, 1, 4)  # none · odd rows for elements of a bank's width · rows that 16-byte accesses still find aligned


class SharedPadding:
    name = "shared_padding"
    summary = "padding columns of shared arrays against bank conflicts"
    stage = Stage.DECORATE
    priority = -6  # before directives come into the kernel's body
    concerns = frozenset({Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


@dataclass(frozen=True, slots=True)
class _Padded:
    """`extent` is the array's last; `literal` the number in it that is padding already."""

    array: Array
    extent: Node
    literal: Node | None

    @property
    def columns(self) -> int:
        return 0 if self.literal is None else int(text_of(self.literal))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, source, variant = names_of(subject), subject.source, subject.variant
    arrays = [a for a in arrays_of(names) if a.is_shared and len(a.extents) > 1 and is_within(a.declarator, source.body)]
    require(arrays, "the kernel has no two-dimensional shared array")
    require(subject.limits.has_banked_scratchpad, "shared memory of this device has no banks, so there are no bank conflicts")
    intervals = list(intervals_of(subject, names, inside=True))
    found = those_that_can(arrays, lambda array: _padded(array, names, intervals))
    having = [p for p in found if p.literal is not None and p.columns == max(q.columns for q in found)]
    chosen = having or found
    name, default = fresh_name(subject, "PAD"), chosen[0].columns
    edits = list(_edits(subject, chosen, name))
    listed = " and ".join(p.array.name for p in chosen)
    tunable = Tunable(
        name,
        tuple(sorted({*_VALUES, default})),
        default,
        f"padding columns of {listed}",
        source.line_of(chosen[0].array.declarator),
    )
    rule = Rule(f"{_bytes(subject, chosen, names, name)} <= static_shared_bytes_per_block", f"{listed} must fit in shared memory")
    text = source.edited(*edits)
    return Rewrite(replace(variant, text=text, tunables=(*variant.tunables, tunable), rules=(*variant.rules, rule)))


def _padded(array: Array, names: Names, intervals: list[Intervals]) -> _Padded:
    require(
        not named_in_macros(array.name, names),
        f"a macro mentions {array.name}, so some of its uses may be hidden",
        array.declarator,
    )
    elements = list(_elements(array, names))
    require(elements, f"{array.name} is not used", array.declarator)
    highest = max(_highest_column(element, intervals) for element in elements)
    extent = unwrapped(array.extents[-1])
    columns = [i.of(extent) for i in intervals]
    require(columns and None not in columns, f"the number of columns of {array.name} is unknown", extent)
    least = min(c.low for c in columns if c is not None)
    require(highest < least, f"cannot prove that indices of {array.name} stay within a row", extent)
    literal = None
    if extent.type == "binary_expression" and text_of(field(extent, "operator")) == "+":
        last = field(extent, "right")
        if last.type == "number_literal" and text_of(last).isdigit() and highest < least - int(text_of(last)):
            literal = last
    return _Padded(array, array.extents[-1], literal)


def _elements(array: Array, names: Names) -> Iterator[Node]:
    """The whole elements that are used; Unmet where it is a row, or an element's address."""
    for use in of_kind(names.source.body, "identifier"):
        declared = names.definition(use).node if text_of(use) == array.name else None
        if declared is None or is_within(use, array.declarator) or not is_within(array.declarator, declared):
            continue
        element = use
        for _ in array.extents:
            parent = element.parent
            whole = parent is None or parent.type != "subscript_expression" or field(parent, "argument") != element
            require(not whole, f"{array.name} is used as a whole, or by rows", use)
            assert parent is not None
            element = parent
        outer = element.parent
        taken = outer is not None and outer.type == "pointer_expression" and text_of(outer).startswith("&")
        require(not taken, f"the address of an element of {array.name} is taken: an access may need its rows aligned", use)
        yield element


def _highest_column(element: Node, intervals: list[Intervals]) -> int:
    index = field(element, "indices").named_children[0]
    found = [i.of(index) for i in intervals]
    require(found and all(f is not None and f.low >= 0 for f in found), f"the range of {text_of(index)} is unknown", element)
    return max(f.high for f in found if f is not None)


def _edits(subject: Subject, chosen: list[_Padded], name: str) -> Iterator[Edit]:
    source = subject.source
    if chosen[0].literal is not None:
        yield from (Edit(p.literal.start_byte, p.literal.end_byte, name) for p in chosen if p.literal is not None)
        return
    at = insertion_point(source)
    if isinstance(at, Declined):
        raise Unmet(at.reason)
    macro = fresh_name(subject, "PADDED")
    gap = "\n" if at and not source.text.encode()[:at].endswith(b"\n") else ""
    yield Edit(
        at, at, f"{gap}#if {name}\n#define {macro}(columns) (columns) + {name}\n#else\n#define {macro}(columns) columns\n#endif\n"
    )
    for padded in chosen:
        yield Edit(padded.extent.start_byte, padded.extent.end_byte, f"{macro}({source.text_of(padded.extent)})")


def _bytes(subject: Subject, chosen: list[_Padded], names: Names, name: str) -> str:
    """Of all shared memory, with the extra columns."""
    padded = {p.array.declarator.start_byte: p for p in chosen}
    sizes = [f"({subject.variant.shared})"] if subject.variant.shared != "0" else []
    for array in arrays_of(names):
        if not array.is_shared or array.is_dynamic:
            continue
        extents, size = [names.expression(e) for e in array.extents], names.size_of(array.element)
        require(
            size is not None and None not in extents,
            f"the size of {array.name} cannot be computed from the sizes in kernel.toml",
            array.declarator,
        )
        mine = padded.get(array.declarator.start_byte)
        if mine is not None:
            extents[-1] = f"{extents[-1]} + {name} - {mine.columns}"
        sizes.append(" * ".join([str(size), *(f"({e})" for e in extents)]))
    return tidy(" + ".join(sizes))
