"""The static page: placeholders, and the script that fills them from events."""

from __future__ import annotations

from functools import cache

from warpsmith.report.html.markup import Html, element, section, table
from warpsmith.report.html.whole import own_text, whole_page

_PACKAGE = "warpsmith.live"


@cache
def live_page() -> str:
    script, style = own_text("live.js", _PACKAGE), own_text("live.css", _PACKAGE)
    without = element("noscript", element("p", "This page needs JavaScript, which updates it during the run."))
    main = element(
        "main",
        without,
        element("div", _batch(), hidden=True, id="batch"),
        section("now", "Now", _stage(), _columns("working", ("where", "step", "for", "configuration")), _listed("queued")).html,
        section("search", "The search", _plot(), _counts(), _columns("latest", ("#", "outcome", "result", "configuration"))).html,
        element("div", section("rounds", "The rounds", element("div", id="round-list")).html, hidden=True, id="with-rounds"),
        element("div", _said(), hidden=True, id="with-notes"),
    )
    # What the page asks for is at its own address: the events, and the report in the end.
    return whole_page("Warpsmith", _header(), main, script=script, style=style, policy="; connect-src 'self'")


def _header() -> Html:
    title = element("h1", element("span", "…", class_="kernel", id="kernel"), element("span", "", id="device"))
    figure = element("p", element("span", "…", id="best"), element("small", "", id="interval"), class_="figure")
    words = element(
        "div",
        element("p", "As searched: claims are measured again at the end.", id="words"),
        element("p", element("code", "", id="best-configuration")),
        element("p", "", id="spent"),
        element("progress", "", id="progress", aria_label="The budget"),
    )
    return element(
        "header", title, element("div", figure, words, class_="verdict open"), element("dl", id="about", class_="about")
    )


def _stage() -> Html:
    return element("p", element("b", "", id="stage"), " ", element("span", "", id="stage-detail"), role="status")


def _columns(name: str, columns: tuple[str, ...]) -> Html:
    captions = {"working": "Compile and measurement workers", "latest": "The latest evaluations"}
    return element("div", table(captions[name], columns, [], id=name), id=f"{name}-table")


def _listed(name: str) -> Html:
    return element("ul", id=name)


def _plot() -> Html:
    caption = "Every evaluation's speedup over the original (dashed), and the best so far. Below: evaluations without a time."
    return element("figure", element("div", "", id="plot"), element("figcaption", caption), class_="broad")


def _counts() -> Html:
    return element("p", "", id="counts")


def _batch() -> Html:
    columns = ("kernel", "stage", "best as searched", "result")
    listed = table("All kernels", columns, [], id="kernel-table")
    return section("kernels", "Kernels", element("p", "", id="batch-now"), listed).html


def _said() -> Html:
    return section("said", "What was said", element("p", id="cost"), _listed("notes")).html
