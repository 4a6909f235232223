"""The token: who has it gets through, and only its owner can read it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.mcp.http import RequireToken, read_token


def status(headers: list[tuple[bytes, bytes]]) -> int:
    sent: list[dict] = []

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message) -> None:
        sent.append(message)

    asyncio.run(RequireToken(app, "sesame")({"type": "http", "headers": headers}, None, send))
    return sent[0]["status"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"authorization", b"Bearer sesame")], 200),
        ([], 401),
        ([(b"authorization", b"Bearer sesam")], 401),
        ([(b"authorization", b"sesame")], 401),
        ([(b"authorization", b"Bearer wrong"), (b"authorization", b"Bearer sesame")], 401),
    ],
)
def test_only_the_token_opens(headers, expected) -> None:
    assert status(headers) == expected


def test_a_token_is_made_once_for_its_owners_eyes(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = read_token(file)
    assert len(token) > 30
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_token(file) == token
    file.chmod(0o644)
    with pytest.raises(InputError, match="other users"):
        read_token(file)
    file.chmod(0o600)
    file.write_text("short\n")
    with pytest.raises(InputError, match="invalid token"):
        read_token(file)
