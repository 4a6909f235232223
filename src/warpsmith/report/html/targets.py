"""Resources of the winners on additional compile targets."""

from __future__ import annotations

from warpsmith.record.result import RunResult
from warpsmith.report.compiled import compiled_cells, compiled_rows
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Content, Section, paragraphs, section, table

_COLUMNS = ("whose", "registers", "spilled", "shared", "widest load", "occupancy", "limited by")
_NOTE = "Compiled only: resources that the compiler reports, and the resulting occupancy. Nothing was run or timed there."


def targets(facts: RunFacts) -> Section | None:
    shown = []
    result = facts.result
    if not isinstance(result, RunResult):
        return None
    for target in result.also_compile:
        rows: list[list[Content]] = [[whose, *compiled_cells(entry)] for whose, entry in compiled_rows(target, result)]
        shown.append(table(f"{target.target}: {target.description}", _COLUMNS, rows, numbers=range(1, 6)))
    return section("targets", "On other targets", paragraphs([_NOTE], class_="note"), *shown) if shown else None
