"""The server on a local port. Only this machine can reach it, and only with the token: other users of the machine cannot."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from warpsmith.core.errors import InputError, Location, UnavailableError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
_SHORTEST_TOKEN = 16


class RequireToken:
    """Lets requests through that have `Authorization: Bearer TOKEN`."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            if not secrets.compare_digest(given, self._expected):
                await send(
                    {
                        "type": "http.response.start",
                        "status": 401,
                        "headers": [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")],
                    }
                )
                await send({"type": "http.response.body", "body": b"this server needs its token: Authorization: Bearer TOKEN\n"})
                return
        await self._app(scope, receive, send)


def serve(server: MCPServer[Any], port: int, token_file: Path | None) -> None:
    """Until it is stopped. Where and with which token is said on stderr."""
    token = read_token(token_file) if token_file is not None else secrets.token_urlsafe(32)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
            listening.listen()  # who reads the address may connect at once, and waits until it is served
        except OSError as error:
            raise UnavailableError(
                f"port {port} is not available: {error.strerror}", hint="--http 0 takes a free port"
            ) from error
        where = f"http://{LOOPBACK}:{listening.getsockname()[1]}/mcp"
        shown = f"the token in {token_file}" if token_file is not None else f"the token {token}"
        print(f"serving {where} with {shown}", file=sys.stderr, flush=True)  # noqa: T201
        # Host and Origin are checked by the app, so that no web page can reach it under another name.
        app = RequireToken(server.streamable_http_app(host=LOOPBACK), token)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


def read_token(file: Path) -> str:
    """What the file has; a file that is not there is made, for its owner's eyes only."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        token = file.read_text(encoding="utf-8").strip()
        if len(token) < _SHORTEST_TOKEN or not token.isascii() or any(c.isspace() for c in token):
            raise InputError(
                f"invalid token: it must be a word of at least {_SHORTEST_TOKEN} characters",
                location=Location(file),
                hint="remove the file to have one created",
            ) from None
        if file.stat().st_mode & 0o077:
            raise InputError(
                "other users of this machine can read the token", location=Location(file), hint=f"chmod 600 {file}"
            ) from None
        return token
    except OSError as error:
        raise InputError(f"the token cannot be stored here: {error.strerror}", location=Location(file)) from error
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w") as opened:
        opened.write(f"{token}\n")
    return token
