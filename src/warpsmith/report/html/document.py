"""The report of a run: its sections in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl

from warpsmith.report.html.against import against
from warpsmith.report.html.configuration import configuration
from warpsmith.report.html.course import course
from warpsmith.report.html.evaluations import evaluations
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.headline import headline
from warpsmith.report.html.influence import influence
from warpsmith.report.html.markup import Html, Section, element, joined
from warpsmith.report.html.method import method
from warpsmith.report.html.rewrite import rewrite
from warpsmith.report.html.roofline import roofline
from warpsmith.report.html.rounds import rounds
from warpsmith.report.html.source import source
from warpsmith.report.html.space import space
from warpsmith.report.html.targets import targets
from warpsmith.report.html.template import template
from warpsmith.report.html.whole import whole_page, write_text
from warpsmith.report.html.workloads import workloads
from warpsmith.report.style import STYLE

_SECTIONS: tuple[Callable[[RunFacts], Section | None], ...] = (
    against,
    workloads,
    roofline,
    configuration,
    rewrite,
    course,
    influence,
    space,
    rounds,
    source,
    template,
    targets,
    method,
    evaluations,
)


def page(facts: RunFacts) -> str:
    """The same facts give the same text."""
    with mpl.rc_context(STYLE):
        sections = [made for make in _SECTIONS if (made := make(facts)) is not None]
    title = f"{facts.result.kernel} on {facts.result.device}: Warpsmith report"
    return whole_page(title, headline(facts), _contents(sections), element("main", *(made.html for made in sections)))


def write_page(facts: RunFacts, file: Path) -> None:
    """The report of a run. Raises OSError."""
    write_text(page(facts), file)


def _contents(sections: Sequence[Section]) -> Html:
    links = [element("a", made.title, href=f"#{made.anchor}") for made in sections]
    return element("nav", joined(links, " "), aria_label="Contents")
