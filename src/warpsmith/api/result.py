"""The object of a run: the dictionary that the command line prints as JSON, which notebooks show as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from warpsmith.record.result import Figures, RunResult, UnfinishedRun, read_result
from warpsmith.report.html.markup import Content, element, paragraphs, table
from warpsmith.report.notes import result_notes, unfinished_notes
from warpsmith.report.wording import fraction_text, interval_text, speedup_text, time_text

_COLUMNS = ("", "time", "speedup", "95 % interval", "of roofline")


class Result(dict[str, Any]):
    """As `tune --json` describes it; `typed` has the same as dataclasses."""

    @cached_property
    def typed(self) -> RunResult | UnfinishedRun:
        return read_result(self)

    def evaluations_table(self) -> list[dict[str, Any]]:
        """A row for each evaluation, for `pandas.DataFrame(...)` and the like: its parameters, outcome and figures as searched.

        `speedup` is that of the whole configuration; a column for each workload has its median time in µs.
        """
        from warpsmith.api.runs import show_run  # noqa: PLC0415 - results come from there

        known = self.get("evaluation_list") or show_run(self["run"], evaluations=True)["evaluation_list"]
        return [_flat(number, entry) for number, entry in enumerate(known)]

    def _repr_html_(self) -> str:
        result = self.typed
        caption = f"{result.kernel} on {result.device}"
        if isinstance(result, UnfinishedRun):
            return paragraphs([element("b", caption), *unfinished_notes(result)])
        shown = table(caption, _COLUMNS, _rows(result), numbers=range(1, 5))
        return element("div", shown, paragraphs(result_notes(result)))


def _rows(result: RunResult) -> Iterator[list[Content]]:
    for title, entry in (("baseline (the original)", result.baseline), ("general configuration", result.general)):
        yield _row(element("b", title), entry)
        for name, workload in entry.workloads.items():
            yield _row(name, workload)
    for name, workload in result.heldout.items():
        yield _row(f"{name} (held out)", workload)


def _row(name: Content, entry: Figures) -> list[Content]:
    figures = speedup_text(entry.speedup), interval_text(entry.ci95), fraction_text(entry.roofline_fraction)
    return [name, time_text(entry.median_us), *figures]


def _flat(number: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    times: Mapping[str, Any] = entry.get("times") or {}
    return {
        "number": number,
        **entry["config"],
        "outcome": entry["outcome"],
        "speedup": entry["speedup"],
        "reason": None if times else entry["summary"],
        "seconds": entry["seconds"],
        **{f"{name} (µs)": figures["median_us"] for name, figures in times.items()},
    }
