"""Serves the page on loopback with the standard library's HTTP server: three addresses, which only read.

Who may ask: programs of this machine that know the address, for it has a secret in it that other users and pages of the web
cannot guess. Requests under another host's name are refused: a name that an attacker points here (DNS rebinding) is of no use.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from warpsmith.live.page import live_page
from warpsmith.live.state import LiveState

_ADDRESS = "127.0.0.1"
_HOSTS = frozenset({_ADDRESS, "localhost"})
_ALIVE_EVERY_S = 10.0  # a line that says nothing tells both sides that the other is there
_PAUSE_S = 0.2  # between two messages: screens need no more
_READERS_AT_MOST = 16
_IDLE_S = 30.0  # for which a connection may say nothing
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LiveServer:
    """Begins to serve when it is made; what it shows is its `state`, which wants to hear of events."""

    def __init__(self, port: int = 0) -> None:
        """Raises OSError where the port is taken."""
        self.state = LiveState()
        self._http = _Http((_ADDRESS, port), self.state)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), name="live page", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://{_ADDRESS}:{self._http.server_address[1]}/{self._http.secret}/"

    def show(self, report: str, patience_s: float) -> None:
        """Hand the result's page to those who look on; returns when each of them has it, or at the end of our patience."""
        readers = self._http.readers
        self._http.report = report.encode("utf-8", "replace")
        with readers.changed:
            expected = readers.now
        self.state.end("report")
        with readers.changed:
            readers.changed.wait_for(lambda: readers.served >= expected, patience_s)

    def tell(self, words: str, patience_s: float) -> None:
        """Why there is no report; returns when those who look on know it."""
        readers = self._http.readers
        self.state.end(words)
        with readers.changed:
            readers.changed.wait_for(lambda: not readers.now, patience_s)

    def close(self) -> None:
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Readers:
    """Pages that are open, and how often the report was handed out."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.now = self.served = 0


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], state: LiveState) -> None:
        super().__init__(address, _Handler)
        self.state = state
        self.secret = secrets.token_urlsafe(16)
        self.report: bytes | None = None
        self.readers = _Readers()
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that left is no error of ours, and stderr is the progress bar's."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    server_version = "warpsmith"
    sys_version = ""
    timeout = _IDLE_S

    def do_GET(self) -> None:
        answer = self._answer()
        if answer is not None:
            answer()

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name that the library gives it
        """Nothing: stderr is the progress bar's."""

    def _answer(self) -> Callable[[], None] | None:
        """None where the request was refused."""
        if (self.headers.get("Host") or "").rpartition(":")[0] not in _HOSTS and self.headers.get("Host") not in _HOSTS:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "request for another host name")
            return None
        given, slash, path = self.path.partition("?")[0].removeprefix("/").partition("/")
        # Bytes: the comparison refuses text with letters beyond ASCII, which a request may have.
        is_known = hmac.compare_digest(given.encode("utf-8", "replace"), self.server.secret.encode())
        answer = {"": self._page, "events": self._events, "report": self._report}.get(path) if is_known and slash else None
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        return answer

    def _page(self) -> None:
        self._send(live_page().encode())

    def _report(self) -> None:
        report = self.server.report
        if report is None:
            self.send_error(HTTPStatus.NOT_FOUND, "there is no report yet")
            return
        self._send(report)
        if self.command == "GET":
            with self.server.readers.changed:
                self.server.readers.served += 1
                self.server.readers.changed.notify_all()

    def _events(self) -> None:
        """Server-sent events: each has all that is shown, but of the points only those that are new."""
        readers = self.server.readers
        with readers.changed:
            if readers.now >= _READERS_AT_MOST:
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open already")
                return
            readers.now += 1
        try:
            self._start("text/event-stream; charset=utf-8", None)
            if self.command == "GET":
                with contextlib.suppress(OSError):  # the page was closed
                    self._stream(self.headers.get("Last-Event-ID") or "")
        finally:
            with readers.changed:
                readers.now -= 1
                readers.changed.notify_all()

    def _stream(self, cursor: str) -> None:
        seen, state = -1, self.server.state
        while not self.server.closing.is_set():
            version = state.wait(seen, _ALIVE_EVERY_S)
            if version == seen:
                self.wfile.write(b": still here\n\n")
                continue
            seen = version
            cursor, found = state.snapshot(cursor)
            # JSON has no line ends of its own, so it is one line of the protocol.
            self.wfile.write(f"id: {cursor}\ndata: {json.dumps(found)}\n\n".encode())
            self.wfile.flush()
            if found["ended"] is not None:
                return
            self.server.closing.wait(_PAUSE_S)

    def _send(self, body: bytes) -> None:
        """Pages have their own content security policies."""
        self._start("text/html; charset=utf-8", len(body))
        if self.command == "GET":
            self.wfile.write(body)

    def _start(self, kind: str, length: int | None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def end_headers(self) -> None:
        """Also of errors."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()
