"""The whole page: the sections in the order in which people ask, with their style and the few lines of script inside."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl

from warpsmith.report.html.configuration import configuration
from warpsmith.report.html.course import course
from warpsmith.report.html.evaluations import evaluations
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.headline import headline
from warpsmith.report.html.influence import influence
from warpsmith.report.html.markup import Html, Section, element, joined
from warpsmith.report.html.method import method
from warpsmith.report.html.rewrite import rewrite
from warpsmith.report.html.rounds import rounds
from warpsmith.report.html.space import space
from warpsmith.report.html.targets import targets
from warpsmith.report.html.template import template
from warpsmith.report.html.workloads import workloads
from warpsmith.report.style import STYLE

_SECTIONS: tuple[Callable[[RunFacts], Section | None], ...] = (
    workloads,
    configuration,
    rewrite,
    course,
    influence,
    space,
    rounds,
    template,
    targets,
    method,
    evaluations,
)


def page(facts: RunFacts) -> str:
    """The same facts give the same text."""
    with mpl.rc_context(STYLE):
        sections = [made for make in _SECTIONS if (made := make(facts)) is not None]
    script = _own("page.js")
    title = f"{facts.result['kernel']} on {facts.result['device']}: Warpsmith report"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", _own("page.css")),
    )
    body = element(
        "body",
        headline(facts),
        _contents(sections),
        element("main", *(made.html for made in sections)),
        element("script", script),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def write_page(facts: RunFacts, file: Path) -> None:
    """All of it or nothing: a report that somebody has open is not seen half written. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # The record may hold halves of characters that a kernel or a model produced.
    text = page(facts).encode("utf-8", "replace")
    if file.exists() and not file.is_file():
        file.write_bytes(text)  # a pipe or a device takes it; it must not be replaced by a file
        return
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    except OSError as error:
        error.filename = str(file)  # the name that was asked for; nobody knows the other
        raise
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text)
        written.chmod(0o644)
        written.replace(file)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def _contents(sections: Sequence[Section]) -> Html:
    links = [element("a", made.title, href=f"#{made.anchor}") for made in sections]
    return element("nav", joined(links, " "), aria_label="Contents")


def _policy(script: str) -> str:
    """Browsers fetch nothing and run nothing but the page's own script, whatever a run's texts contain."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _own(name: str) -> Html:
    return Html(files("warpsmith.report.html").joinpath(name).read_text(encoding="utf-8"))
