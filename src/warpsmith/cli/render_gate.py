"""The table of `warpsmith gate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from warpsmith.cli.terminal import terminal
from warpsmith.core.plain_text import printable

_STYLES = {"passed": "green", "failed": "bold red", "new": "yellow", "skipped": "dim"}


def render_gate(result: Mapping[str, Any]) -> None:
    console = terminal()
    for winner in result["winners"]:
        console.print(Text(winner["winner"], style="bold"))
        for check in winner["checks"]:
            outcome, message = check["outcome"], printable(" ".join(check["message"].split()))
            console.print(
                Text.assemble("  ", (f"{outcome:<8}", _STYLES[outcome]), f"{check['check']}: {message}"), soft_wrap=True
            )
    failed = sum(not winner["passed"] for winner in result["winners"])
    count = len(result["winners"])
    console.print(Text(f"{failed} of {count} stored winners fail." if failed else f"{count} stored winners pass."))
    if result["updated"]:
        console.print(Text(f"Accepted: {', '.join(result['updated'])}. Written to {result['baseline']}"), soft_wrap=True)
