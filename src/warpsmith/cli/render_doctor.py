"""Output of `warpsmith doctor`: a line per finding, with its remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from warpsmith.cli.terminal import terminal
from warpsmith.devices.base import State

_STYLES = {State.OK: "green", State.LACKING: "yellow", State.FAILED: "red", State.ABSENT: "dim"}


def render_doctor(found: Mapping[str, Any]) -> None:
    system = found["system"]
    told = [system["distribution"], f"Linux {system['linux']}", system["machine"], f"Python {system['python']}"]
    _print(Text(f"Warpsmith {found['version']}; {', '.join(part for part in told if part)}; {system['cores']} cores"))
    _findings(found["findings"])
    for device in found["devices"]:
        _print(Text(f"\n{device['device']}", style="bold"))
        _findings(device["findings"])
    if found["works"]:
        ran = [device["device"] for device in found["devices"] if device["launch"] is not None]
        _print(Text(f"\nA kernel was launched and verified on {', '.join(ran)}.", style="bold"))
    else:
        _print(Text("\nNot every requested device launched a kernel.", style="bold"))


def _findings(findings: Sequence[Mapping[str, Any]]) -> None:
    for finding in findings:
        state = State(finding["state"])
        _print(Text.assemble("  ", (f"{state:<8}", _STYLES[state]), f"{finding['what']}: {finding['said']}"))
        if finding["remedy"]:
            _print(Text(f"            hint: {finding['remedy']}", style="dim"))


def _print(text: Text) -> None:
    terminal(soft_wrap=True).print(text, highlight=False)
