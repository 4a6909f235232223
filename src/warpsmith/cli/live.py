"""`tune --live`: the live page, in addition to progress on stderr."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from warpsmith.core.errors import InputError, WarpsmithError
from warpsmith.tuning.events import Emit, Event

if TYPE_CHECKING:
    from warpsmith.live.server import LiveServer

_PATIENCE_S = 10.0  # for which a browser may take to fetch the report
_WORD_S = 1.0


@contextlib.contextmanager
def live(*, wanted: bool, port: int | None) -> Iterator[Live]:
    """Whether the page is `wanted`; a `port` wants it, too. What ends the run early is told on the page."""
    if not wanted and port is None:
        yield Live(None)
        return
    from warpsmith.live.server import LiveServer  # noqa: PLC0415

    try:
        server = LiveServer(port or 0)
    except OSError as error:
        hint = "another --live-port, or --live alone, which takes a free one"
        raise InputError(f"the live page cannot listen on port {port}: {error.strerror}", hint=hint) from None
    typer.echo(f"live      {server.address}", err=True)
    try:
        yield Live(server)
    except KeyboardInterrupt:
        server.tell("The run was stopped: `warpsmith resume` continues it.", _WORD_S)
        raise
    except WarpsmithError as error:
        server.tell(f"The run failed: {error.message}", _WORD_S)
        raise
    finally:
        server.close()


class Live:
    """The page, where there is one."""

    def __init__(self, server: LiveServer | None) -> None:
        self._server = server

    def also(self, emit: Emit) -> Emit:
        """Events go to the page, too."""
        if (server := self._server) is None:
            return emit

        def both(event: Event) -> None:
            emit(event)
            server.state(event)

        return both

    def become(self, report: str | None) -> None:
        """The run is done: whoever looks on gets the report that is in this file."""
        if self._server is not None and report is not None:
            self.become_page(Path(report).read_text(encoding="utf-8", errors="replace"))
        elif self._server is not None:
            self._server.tell("The run is finished, but its report could not be written.", _WORD_S)

    def become_page(self, page: str) -> None:
        if self._server is not None:
            self._server.show(page, _PATIENCE_S)
