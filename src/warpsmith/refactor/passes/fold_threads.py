"""`fold_threads`: a thread does the work of several along y, so that what all of them need is loaded once.

Exposes ROWS_PER_THREAD: 1 as it was; else a block has so many times fewer threads along y, and each stands for that many, a
block's height apart. Threads of a matrix product that compute one element each load two numbers for a multiplication; with eight
rows a thread it is nine for eight.

Precondition: inside a loop that has the same steps for all threads along y, something is loaded that is the same for all of them
beside something that is not. Threads come to barriers together, and do not exchange values inside warps. A thread does not have
sums of its own in an array already. Constraints: ROWS_PER_THREAD divides the block's height.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.folded_code import FoldedWriter
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import (
    answered,
    names_of,
    on_workloads,
    require,
    require_free_block,
    require_readable,
)
from warpsmith.source.arrays import arrays_of
from warpsmith.source.effects import updates_atomically
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import of_kind

_VALUES = (2, 4, 8)
_OPAQUE = ("lambda_expression", "goto_statement", "labeled_statement", "gnu_asm_expression", "switch_statement")


class FoldThreads:
    name = "fold_threads"
    summary = "a thread does the work of several along y, and loads once what all of them need"
    stage = Stage.RESTRUCTURE
    priority = 60  # after what decides where tiles are and who fills them
    concerns = frozenset({Concern.LOCALITY, Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    require_free_block(source)
    require(len(variant.block) > 1, "the block has one dimension")
    height = variant.block[1]
    most = min(on_workloads(subject, height))
    require(most > 1, "the block has one thread along y")
    together = teamwork(source)
    unclear = together.described() if together.exchanges or together.library or together.waits else ""
    require(not unclear, f"the kernel {unclear}")
    require(not any(True for _ in of_kind(source.body, *_OPAQUE)), "the kernel has statements that are not looked into")
    require(not updates_atomically(source.body, names), "the kernel updates memory atomically")
    own = next((a for a in arrays_of(names) if not a.is_shared), None)
    require(own is None, "a thread has an array of its own already", None if own is None else own.declarator)
    name = fresh_name(subject, "ROWS_PER_THREAD")
    writer = FoldedWriter(subject, names, "y", name)
    text = writer.text()
    require(writer.shares_loads, "nothing is loaded in a loop that several threads along y need alike")
    rules = [Rule(tidy(f"({height}) % {name} == 0"), "each thread along y stands for as many")]
    block = (variant.block[0], tidy(f"({height}) / {name}"), *variant.block[2:])
    if subject.limits.is_gpu:
        threads = tidy(" * ".join(f"({extent})" for extent in variant.block))
        rules.append(Rule(f"{threads} >= 32 * {name}", "a block of fewer than 32 threads leaves most of a warp idle"))
    made = replace(variant, text=text, block=block, rules=(*variant.rules, *rules))
    meaning = "threads along y that one does the work of"
    choice = Tunable(name, (1, *_VALUES), 1, meaning, source.line_of(source.body))
    return Rewrite(variant, choice, dict.fromkeys(_VALUES, made))
