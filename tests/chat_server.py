"""An OpenAI-compatible server on loopback that answers from a script: what tests of language models talk to.

A script is a list of behaviours, one for each request; the last one answers all that follow. A behaviour is a function of the
request's body that gives a `Response`, or does worse to the connection.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Response:
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    declared: int | None = None  # Content-Length, where it is a lie
    drip_s: float | None = None  # one byte at a time


Body = dict[str, Any]
Behaviour = Callable[[Body], "Response | None"]  # None: the connection is closed without a word


def completion(message: Body, *, finish: str = "stop", usage: Body | None = None, **more: Any) -> Response:
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        **more,
    }
    if usage is not None:
        body["usage"] = usage
    return Response(json.dumps(body).encode())


USAGE = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}


def answers(answer: Any, **more: Any) -> Behaviour:
    """By tool call where the request has tools, in words where it has none. Text is sent as it is."""
    text = answer if isinstance(answer, str) else json.dumps(answer)

    def behave(body: Body) -> Response:
        if not body.get("tools"):
            return completion({"content": text}, **{"usage": USAGE, **more})
        name = body["tools"][0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": text}}
        return completion({"content": None, "tool_calls": [call]}, **{"finish": "tool_calls", "usage": USAGE, **more})

    return behave


def says(**message: Any) -> Behaviour:
    return lambda body: completion(message, usage=USAGE)


def fails(status: int, text: str = "no", **headers: str) -> Behaviour:
    body = json.dumps({"error": {"message": text, "type": "error"}}).encode()
    return lambda _body: Response(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def refuses_tools(then: Behaviour) -> Behaviour:
    return lambda body: fails(400, "this model does not support tools")(body) if body.get("tools") else then(body)


class ChatServer:
    """`requests` are the bodies that came, in order; `headers` those of the last one."""

    def __init__(self, script: Sequence[Behaviour]) -> None:
        self.script = list(script)
        self.requests: list[Body] = []
        self.headers: dict[str, str] = {}
        self._stop = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.headers = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append(body)
                response = server.script[min(len(server.requests), len(server.script)) - 1](body)
                self.close_connection = True
                if response is None:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                with contextlib.suppress(OSError):
                    self._send(response)

            def _send(self, response: Response) -> None:
                self.send_response(response.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Connection", "close")  # a client that kept it would lose a request now and then
                self.send_header("Content-Length", str(response.declared or len(response.body)))
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if response.drip_s is None:
                    self.wfile.write(response.body)
                    return
                for byte in response.body:
                    self.wfile.write(bytes([byte]))
                    if server._stop.wait(response.drip_s):
                        return

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._http.shutdown()
        self._http.server_close()


@contextlib.contextmanager
def serving(*script: Behaviour) -> Iterator[ChatServer]:
    with ChatServer(script) as server:
        yield server
