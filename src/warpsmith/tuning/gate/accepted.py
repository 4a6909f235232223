"""The file of accepted figures: each winner's configuration, its speed on each device, and the compilers' resource reports."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, Location

_VERSION = 1
_HINT = "`warpsmith gate FOLDER --baseline FILE --update` writes one"


class Baseline:
    """`winners[name]` has `config`, `devices` and `targets`.

    `devices` has, by description, `original` (which it was measured beside), `speedup_logs` and `speed_logs` of each process by
    workload; `targets` has, by name, what the compiler said.
    """

    def __init__(self, file: Path, winners: Mapping[str, Any]) -> None:
        self.file = file
        self.winners: dict[str, Any] = dict(winners)

    @classmethod
    def read(cls, file: Path, *, may_be_missing: bool) -> Baseline:
        """Raises InputError for a file that is not there, or is no such file."""
        if may_be_missing and not file.exists():
            return cls(file, {})
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            winners = found["winners"]
            is_known = found["version"] == _VERSION and all(isinstance(winner["config"], dict) for winner in winners.values())
        except FileNotFoundError:
            raise InputError("baseline file not found", location=Location(file), hint=_HINT) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            message = f"not a baseline file: {type(error).__name__}: {error}"
            raise InputError(message, location=Location(file), hint=_HINT) from error
        if not is_known:
            raise InputError(f"not a baseline file of version {_VERSION}", location=Location(file), hint=_HINT)
        return cls(file, winners)

    def configuration(self, name: str) -> Configuration | None:
        known = self.winners.get(name)
        return Configuration.of(known["config"]) if known is not None else None

    def figures(self, name: str, device: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.winners.get(name, {}).get("devices", {}).get(device)
        return found

    def target(self, name: str, target: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.winners.get(name, {}).get("targets", {}).get(target)
        return found

    def accept(self, name: str, config: Mapping[str, Any], devices: Mapping[str, Any], targets: Mapping[str, Any]) -> None:
        """Figures of other devices and targets stay, unless they are of another configuration."""
        known = self.winners.get(name, {})
        same = known.get("config") == dict(config)
        self.winners[name] = {
            "config": dict(config),
            "devices": {**(known.get("devices", {}) if same else {}), **devices},
            "targets": {**(known.get("targets", {}) if same else {}), **targets},
        }

    def keep(self, names: Collection[str]) -> None:
        """What is not stored any more is not accepted any more."""
        self.winners = {name: winner for name, winner in self.winners.items() if name in names}

    def write(self) -> None:
        """All of it or nothing. Sorted, so that a diff shows what changed."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"version": _VERSION, "winners": self.winners}, indent=1, sort_keys=True) + "\n"
        handle, name = tempfile.mkstemp(dir=self.file.parent, prefix=f".{self.file.name}.")
        written = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            written.chmod(0o644)
            written.replace(self.file)
        except BaseException:
            written.unlink(missing_ok=True)
            raise
