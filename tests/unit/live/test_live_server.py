"""The page's protocol: who is answered, that nothing can be changed, what the events say, and how the page becomes the report."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from live_events import HOSTILE, a_run, evaluated, measured

from page_reading import Page
from warpsmith.live.server import LiveServer
from warpsmith.tuning.events import Warned


class Asked:
    def __init__(self, server: LiveServer, method: str, path: str | None = None, **headers: str) -> None:
        _, _, self.host, secret, _ = server.address.split("/")
        self.connection = http.client.HTTPConnection(self.host, timeout=60)
        self.connection.request(method, f"/{secret}/" if path is None else path.replace("SECRET", secret), headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def messages(self) -> Iterator[dict[str, Any]]:
        for line in self.answer:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def test_the_page_is_whole_and_fetches_only_from_itself(server: LiveServer):
    asked = Asked(server, "GET")
    assert asked.status == 200
    page = Page(asked.answer.read().decode())
    page.assert_accessible()
    assert page.links == []
    policy = next(known["content"] for tag, known in page.tags if tag == "meta" and "default-src" in (known.get("content") or ""))
    assert "default-src 'none'" in (policy or "")
    assert "connect-src 'self'" in (policy or "")
    assert len(page.scripts) == 1
    assert "innerHTML" not in page.scripts[0]


def test_it_listens_on_loopback_alone(server: LiveServer):
    assert server.address.startswith("http://127.0.0.1:")
    assert server._http.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "127.0.0.2"])
@pytest.mark.parametrize("path", ["/SECRET/", "/SECRET/events", "/SECRET/report"])
def test_another_hosts_name_is_refused(server: LiveServer, host: str, path: str):
    assert Asked(server, "GET", path, Host=host).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:8080", "localhost"])
def test_a_tunnel_may_have_another_port(server: LiveServer, host: str):
    assert Asked(server, "GET", Host=host).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server: LiveServer, method: str):
    assert Asked(server, method).status == 501


@pytest.mark.parametrize(
    "path",
    ["/", "/events", "/wrong/", "/wrong/events", "/SECRET", "/SECRET/../etc/passwd", "/SECRET/events/x", "/%C3%A9/"],
)
def test_who_does_not_know_the_address_gets_nothing(server: LiveServer, path: str):
    assert Asked(server, "GET", path).status == 404


def test_answers_may_not_be_used_by_other_pages(server: LiveServer):
    for path in ("/SECRET/", "/SECRET/events", "/nowhere"):
        headers = Asked(server, "GET", path).answer.headers
        assert headers["Access-Control-Allow-Origin"] is None
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_events_bring_all_and_then_what_is_new(server: LiveServer):
    for event in a_run():
        server.state(event)
    messages = Asked(server, "GET", "/SECRET/events").messages()
    first = next(messages)
    assert (len(first["points"]), first["best"]["speedup"]) == (3, "2.50x")
    assert HOSTILE in first["about"]["Device"]  # as text: the page puts in nothing as markup
    server.state(evaluated(4, measured(3.0)))
    second = next(messages)
    assert (second["since"], [point[2] for point in second["points"]]) == (3, [3.0])


def test_who_was_cut_off_goes_on_where_it_was(server: LiveServer):
    for event in a_run():
        server.state(event)
    asked = Asked(server, "GET", "/SECRET/events")
    identity = asked.answer.readline().decode().strip().removeprefix("id: ")
    again = next(Asked(server, "GET", "/SECRET/events", **{"Last-Event-ID": identity}).messages())
    assert (again["since"], again["points"]) == (3, [])


def test_texts_cannot_end_a_message(server: LiveServer):
    server.state(Warned("one\n\ndata: {}\r\n\r\nid: 7\u2028"))
    found = next(Asked(server, "GET", "/SECRET/events").messages())
    assert found["notes"][0]["text"] == "one data: {} id: 7"


def test_the_page_becomes_the_report(server: LiveServer):
    assert Asked(server, "GET", "/SECRET/report").status == 404
    messages = Asked(server, "GET", "/SECRET/events").messages()
    assert next(messages)["ended"] is None
    shown = threading.Thread(target=server.show, args=("<!DOCTYPE html><p>done", 30.0))
    shown.start()
    assert next(found for found in messages if found["ended"])["ended"] == "report"
    assert shown.is_alive(), "it waits for who looked on"
    assert Asked(server, "GET", "/SECRET/report").answer.read() == b"<!DOCTYPE html><p>done"
    shown.join(60.0)
    assert not shown.is_alive()


def test_without_anybody_who_looks_on_it_ends_at_once(server: LiveServer):
    server.show("done", 30.0)
    server.tell("stopped", 30.0)


def test_why_there_is_no_report_is_told(server: LiveServer):
    messages = Asked(server, "GET", "/SECRET/events").messages()
    next(messages)
    server.tell(f"it failed: {HOSTILE}\n", 10.0)
    assert next(messages)["ended"] == f"it failed: {HOSTILE}"
    assert list(messages) == []


def test_so_many_pages_and_no_more(server: LiveServer):
    held = [Asked(server, "GET", "/SECRET/events") for _ in range(16)]
    assert {asked.status for asked in held} == {200}
    assert Asked(server, "GET", "/SECRET/events").status == 503


def test_a_port_that_is_taken_is_an_error(server: LiveServer):
    taken = int(server.address.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match="in use"):
        LiveServer(taken)
