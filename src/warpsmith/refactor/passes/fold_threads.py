"""`fold_rows`, `fold_columns`: a thread does the work of several along y, or x, so that what all of them need is loaded once.

Exposes ROWS_PER_THREAD or COLUMNS_PER_THREAD: 1 as it was; else a block has so many times fewer threads along the axis, and each
stands for that many, as far apart as the block is then wide. Threads of a matrix product that compute one element each load two
numbers for a multiplication; with eight rows a thread it is nine for eight, with four rows and two columns six.

Precondition: inside a loop that has the same steps for all threads along the axis, something is loaded that is the same for all
of them beside something that is not. Threads come to barriers together, and do not exchange values inside warps. A thread does
not have sums of its own in an array already. Constraints: the parameter divides the block's extent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.lifting.rules import a_warp_at_least
from warpsmith.refactor.mapping.folded_code import FoldedWriter
from warpsmith.refactor.mapping.required_block import following
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, axis, names_of, on_workloads, require, require_readable
from warpsmith.source import Names
from warpsmith.source.arrays import arrays_of
from warpsmith.source.effects import updates_atomically
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import of_kind, text_of

_OPAQUE = ("lambda_expression", "goto_statement", "labeled_statement", "gnu_asm_expression", "switch_statement")


@dataclass(frozen=True, slots=True)
class _Fold:
    axis: str
    parameter: str
    values: tuple[int, ...]
    besides: str  # the parameter of the other fold, which leaves arrays of its own


_ROWS = _Fold("y", "ROWS_PER_THREAD", (2, 4, 8), "COLUMNS_PER_THREAD")
_COLUMNS = _Fold("x", "COLUMNS_PER_THREAD", (2, 4), "ROWS_PER_THREAD")


class FoldRows:
    name = "fold_rows"
    summary = "a thread does the work of several along y and loads their common values once"
    stage = Stage.RESTRUCTURE
    priority = 60  # after what decides where tiles are and who fills them
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject, _ROWS))


class FoldColumns:
    name = "fold_columns"
    summary = "a thread does the work of several along x and loads their common values once"
    stage = Stage.RESTRUCTURE
    priority = 61
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject, _COLUMNS))


def _rewrite(subject: Subject, fold: _Fold) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    _require_foldable(subject, names, fold)
    extent = axis(variant.block, fold.axis)
    require(min(on_workloads(subject, extent)) > 1, f"the block has one thread along {fold.axis}")
    lanes = fold.axis == "x" and len(variant.block) == 1 and not subject.limits.has_banked_scratchpad
    require(not lanes, "on a CPU the threads of a one-dimensional block are vector lanes and already share their loads")
    name = fresh_name(subject, fold.parameter)
    writer = FoldedWriter(subject, names, fold.axis, name)
    text = writer.text()
    require(writer.shares_loads, f"no load in a loop is uniform along {fold.axis}")
    rules = [Rule(tidy(f"({extent}) % {name} == 0"), f"each thread along {fold.axis} does the work of the same number")]
    block = list(variant.block)
    block["xyz".index(fold.axis)] = tidy(f"({extent}) / {name}")
    if subject.limits.has_banked_scratchpad:
        threads = tidy(" * ".join(f"({e})" for e in variant.block))
        rules.append(a_warp_at_least(threads, name))
    made = following(subject, replace(variant, text=text, block=tuple(block), rules=(*variant.rules, *rules)))
    meaning = f"threads of the original along {fold.axis} per thread"
    choice = Tunable(name, (1, *fold.values), 1, meaning, source.line_of(source.body))
    return Rewrite(variant, choice, dict.fromkeys(fold.values, made))


def _require_foldable(subject: Subject, names: Names, fold: _Fold) -> None:
    source = subject.source
    together = teamwork(source)
    if together.by_warps or together.library or together.waits:
        raise Unmet(f"the kernel {together.described()}")
    require(not any(True for _ in of_kind(source.body, *_OPAQUE)), "the kernel has statements that are not analysed")
    require(not updates_atomically(source.body, names), "the kernel updates memory atomically")
    arrays = [a for a in arrays_of(names) if not a.is_shared]
    own = next((a for a in arrays if fold.besides not in text_of(a.declarator)), None)
    require(own is None, "a thread already has an array in registers", None if own is None else own.declarator)
