"""Events of a run as its parts would send them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from warpsmith.live.server import LiveServer


@pytest.fixture
def server() -> Iterator[LiveServer]:
    found = LiveServer()
    yield found
    found.close()
