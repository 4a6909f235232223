"""`warpsmith devices`: available devices with their limits; why others are unavailable."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from warpsmith.cli.options import JsonOption, print_json


def devices(json: JsonOption = False) -> None:
    """List the available devices with their limits, and why others are unavailable."""
    from warpsmith.api import list_devices  # noqa: PLC0415
    from warpsmith.core.errors import UnavailableError  # noqa: PLC0415
    from warpsmith.isolation.confinement import confinement_report  # noqa: PLC0415

    confinement = confinement_report()
    found = list_devices()
    if json:
        entries: list[dict[str, Any]] = []
        for name, answer in found.items():
            if isinstance(answer, UnavailableError):
                entries.append({"device": name, "available": False, "reason": answer.message, "hint": answer.hint})
            else:
                entries.append(
                    {
                        "device": name,
                        "available": True,
                        "description": answer.description,
                        "languages": sorted(answer.languages),
                        "limits": asdict(answer.limits),
                        "versions": dict(answer.versions),
                    }
                )
        print_json({"devices": entries, "confinement": {"complete": confinement.is_complete, **asdict(confinement)}})
        return
    from warpsmith.cli.render import render_confinement, render_devices  # noqa: PLC0415

    render_devices(found)
    render_confinement(confinement)
