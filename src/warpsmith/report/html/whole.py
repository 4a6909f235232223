"""The frame of every page: head, style, script and content security policy; and writing it to a file."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from importlib.resources import files
from pathlib import Path

from warpsmith.report.html.markup import NOTHING, Html, element


def whole_page(title: str, *content: Html, script: Html | None = None, style: Html = NOTHING, policy: str = "") -> str:
    """A page of ours: its head, what it shows, the script. `style` and `policy` come on top of what every page has."""
    script = script or own_text("page.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(script) + policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", own_text("page.css"), style),
    )
    body = element("body", *content, element("script", script))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def write_text(page_text: str, file: Path) -> None:
    """All of it or nothing: a report that somebody has open is not seen half written. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # The record may hold halves of characters that a kernel or a model produced.
    text = page_text.encode("utf-8", "replace")
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


def _policy(script: str) -> str:
    """Browsers fetch nothing and run nothing but the page's own script, whatever a run's texts contain."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def own_text(name: str, package: str = "warpsmith.report.html") -> Html:
    """A style or a script that lies beside the code."""
    return Html(files(package).joinpath(name).read_text(encoding="utf-8"))
