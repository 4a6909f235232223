"""Our pages in a real browser: the live one follows events, runs nothing of a run's texts and becomes the report; both fit."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from browser import browser, needs_browser
from warpsmith.live.server import LiveServer
from warpsmith.report.html.markup import element, section, table
from warpsmith.report.html.whole import whole_page

sys.path.append(str(Path(__file__).parents[1] / "unit" / "live"))
from live_events import HOSTILE, a_run, evaluated, measured

_REPORT = "<!DOCTYPE html><title>the report</title><p>done"


@pytest.fixture
def server():
    found = LiveServer()
    yield found
    found.close()


@needs_browser
def test_a_run_as_a_browser_shows_it(server: LiveServer, tmp_path: Path):
    with browser(tmp_path) as page:
        page.open(server.address)
        page.until("return document.getElementById('stage').textContent === 'start'")
        for event in a_run():
            server.state(event)
        page.until("return document.querySelectorAll('#plot circle').length === 2")
        assert page.run("return document.getElementById('best').textContent") == "2.50x"
        assert page.run("return document.querySelectorAll('#plot .failed').length") == 1
        assert page.run("return document.querySelectorAll('#working tbody tr').length") == 1
        assert "1,200 tokens, $0.2500" in page.run("return document.getElementById('cost').textContent")
        # What would be markup is text, and nothing of it ran.
        assert HOSTILE in page.run("return document.getElementById('notes').textContent")
        assert page.run("return document.querySelectorAll('img').length + document.querySelectorAll('script').length") == 1
        for width in (1600, 768, 375):
            page.size(width, 900)
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"it overflows at {width}"
        server.state(evaluated(4, measured(3.0)))
        page.until("return document.querySelectorAll('#plot circle').length === 3")
        assert page.complaints == []
        shown = threading.Thread(target=server.show, args=(_REPORT, 20.0))
        shown.start()
        page.until("return document.title === 'the report'")
        shown.join(10.0)
        assert not shown.is_alive()


@needs_browser
def test_a_report_fits_every_screen(tmp_path: Path):
    rows = [[f"{n}", "1,234.567 ms", "1.23 - 4.56", "a long reason that goes on and on", "BLOCK=1024 VEC=4"] for n in range(3)]
    listed = table("Many cells", ("name", "time", "interval", "reason", "values"), rows, numbers=[1])
    part = element("main", section("workloads", "Part", listed).html)
    file = tmp_path / "page.html"
    file.write_text(whole_page("title", element("header", element("h1", "title")), part))
    with browser(tmp_path / "browser") as page:
        for width in (1600, 768, 375):
            page.size(width, 900)
            page.open(file.as_uri())
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"it overflows at {width}"
            beyond = "return [...document.querySelectorAll('td')].some((c) => c.getBoundingClientRect().right > innerWidth + 1)"
            assert not page.run(beyond), f"cells are beyond the edge at {width}"
        assert page.run("return getComputedStyle(document.querySelector('td'), '::before').content") == '"time"'
        assert page.complaints == []


@needs_browser
def test_a_run_that_was_stopped_says_so(server: LiveServer, tmp_path: Path):
    with browser(tmp_path) as page:
        page.open(server.address)
        page.until("return document.getElementById('stage').textContent === 'start'")
        server.tell("The run was stopped", 20.0)
        page.until("return document.getElementById('words').textContent === 'The run was stopped'")
