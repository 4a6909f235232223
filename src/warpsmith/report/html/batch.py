"""The summary page of a batch: one table that links to the reports of its runs, and the allocation of the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warpsmith.report.batch_rows import BATCH_COLUMNS, batch_notes, batch_rows
from warpsmith.report.html.markup import Content, definitions, element, joined, paragraphs, section, table
from warpsmith.report.html.whole import whole_page
from warpsmith.report.wording import speedup_text


def batch_page(result: Mapping[str, Any], links: Mapping[str, str]) -> str:
    """`links` are addresses of reports by run, relative to the page."""
    title = f"{len(result['kernels'])} kernels on {result['device']}"
    figure = speedup_text(result["speedup"]) if result["speedup"] is not None else "No claims yet"
    verdict = element(
        "div",
        element("p", figure, class_="figure"),
        element("div", paragraphs(batch_notes(result))),
        class_=f"verdict {'gain' if _gains(result) else 'open'}",
    )
    about: list[tuple[Content, Content]] = [
        ("Batch", element("code", result["batch"])),
        ("Status", result["status"]),
        ("Budget", _budget(result["budget"])),
        ("Strategy", f"{result['strategy']}, seed {result['seed']}"),
    ]
    header = element("header", element("h1", title), verdict, definitions(about, class_="about"))
    kernels = table("Kernels", BATCH_COLUMNS, _linked(result, links), numbers=range(1, 7), shown_caption=False)
    shares = table(
        "How the budget was allocated: each run's limit after each stage, and the reason",
        ("kernel", "stage", "evaluations", "seconds", "reason"),
        _shares(result),
        numbers=(1, 2, 3),
    )
    content = joined([section("kernels", "Kernels", kernels).html, section("shares", "Shares", shares).html])
    return whole_page(f"{title}: Warpsmith report", header, element("main", content))


def _gains(result: Mapping[str, Any]) -> bool:
    return any(e["general"] is not None and e["general"]["ci95"][0] > 1 for e in result["kernels"])


def _linked(result: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[list[Content]]:
    for entry, (name, *cells) in zip(result["kernels"], batch_rows(result), strict=True):
        link = links.get(entry["run"])
        yield [element("a", name, href=link) if link is not None else name, *cells]


def _shares(result: Mapping[str, Any]) -> Iterator[list[Content]]:
    for entry in result["kernels"]:
        for share in entry["shares"]:
            seconds = "-" if share["seconds"] is None else f"{share['seconds']:.0f}"
            evaluations = "-" if share["evaluations"] is None else str(share["evaluations"])
            yield [entry["kernel"], str(share["stage"]), evaluations, seconds, share["reason"]]


def _budget(budget: Mapping[str, Any]) -> str:
    limits = [f"{budget['evaluations']} evaluations"] if budget["evaluations"] is not None else []
    limits += [f"{budget['seconds']:g} s"] if budget["seconds"] is not None else []
    return ", ".join(limits)
