"""The one place that reads the environment.

| variable                    | meaning                                                                   |
|-----------------------------|---------------------------------------------------------------------------|
| `WARPSMITH_HOME`            | where runs, templates and compiled binaries are kept (default: user data) |
| `WARPSMITH_CLAIM_PROCESSES` | how many fresh processes a claim rests on (default: 5; at least 2)        |
| `WARPSMITH_CONFINEMENT`     | of workers: `on` (default), `best-effort`, `off`; see `Confinement`       |
| `WARPSMITH_MODEL_TIMEOUT`   | seconds that a language model has for one answer (default: 120)           |
| `WARPSMITH_RACECHECK`       | whether winners on the CPU device are watched for races: `on` (default), `off` |
| `WARPSMITH_SECOND_OPINION`  | whether the original is run plainly too, on the CPU device: `on` (default), `off` |

Keys and addresses of model providers (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, …) are read by pydantic-ai under their usual names;
what must be known of them here is told by `openai_base_url` and `secrets`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from warpsmith.core.errors import InputError
from warpsmith.core.file_names import as_file_name, require_recordable

_CLAIM_PROCESSES = 5
_FEWEST_PROCESSES = 2  # one alone cannot tell how much processes differ
_MODEL_TIMEOUT_S = 120.0
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/@\s:]*:([^/@\s]+)@")  # of a server's or a proxy's address
_SHORTEST_SECRET = 8  # shorter values are words that stand everywhere


class Confinement(StrEnum):
    """Of workers. ON: where the system cannot, code of models is refused. BEST_EFFORT: it is run with what the system has."""

    ON = "on"
    BEST_EFFORT = "best-effort"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Settings:
    home: Path

    @property
    def database(self) -> Path:
        return self.home / "runs.sqlite"

    @property
    def binary_cache(self) -> Path:
        return self.home / "binaries"

    def template_folder(self, kernel: str) -> Path:
        return self.home / "templates" / as_file_name(kernel, "kernel")

    def run_folder(self, run: str) -> Path:
        return self.home / "runs" / run

    def report_file(self, run: str) -> Path:
        return self.run_folder(run) / "report.html"

    def comparison_folder(self, name: str) -> Path:
        return self.home / "comparisons" / name


def read_settings() -> Settings:
    named = os.environ.get("WARPSMITH_HOME")
    if named:
        home = Path(named).expanduser().resolve()
        require_recordable(home)  # the record has paths of templates in it
        return Settings(home)
    from platformdirs import user_data_path  # noqa: PLC0415 - only when the variable does not say

    return Settings(user_data_path("warpsmith"))


def claim_processes() -> int:
    """How many fresh processes a claim rests on. Raises InputError for what is no such number."""
    text = os.environ.get("WARPSMITH_CLAIM_PROCESSES", str(_CLAIM_PROCESSES))
    if not text.isdecimal() or int(text) < _FEWEST_PROCESSES:
        raise InputError(
            f"WARPSMITH_CLAIM_PROCESSES={text!r} is no number of processes", hint=f"a whole number from {_FEWEST_PROCESSES} on"
        )
    return int(text)


def model_timeout_s() -> float:
    """How long a language model may take for one answer. Raises InputError for what is no such time."""
    text = os.environ.get("WARPSMITH_MODEL_TIMEOUT")
    if not text:
        return _MODEL_TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(
            f"WARPSMITH_MODEL_TIMEOUT={text!r} is no time in seconds", hint="for example WARPSMITH_MODEL_TIMEOUT=300"
        )
    return seconds


def are_races_checked() -> bool:
    """Raises InputError for what says neither yes nor no."""
    return _is_on("WARPSMITH_RACECHECK")


def is_second_opinion_wanted() -> bool:
    """Raises InputError for what says neither yes nor no."""
    return _is_on("WARPSMITH_SECOND_OPINION")


def openai_base_url() -> str | None:
    return os.environ.get("OPENAI_BASE_URL") or None


def secrets() -> tuple[str, ...]:
    """Values of the environment that nothing may show or record: keys and the like, passwords in addresses; the longest first."""
    found = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    found |= {match[1] for value in os.environ.values() if (match := _PASSWORD.search(value))}
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST_SECRET), key=len, reverse=True))


def read_confinement() -> Confinement:
    named = os.environ.get("WARPSMITH_CONFINEMENT", Confinement.ON)
    try:
        return Confinement(named)
    except ValueError:
        expected = ", ".join(Confinement)
        raise InputError(f"WARPSMITH_CONFINEMENT is {named!r}", hint=f"it can be one of: {expected}") from None


def _is_on(name: str) -> bool:
    text = os.environ.get(name, "on")
    if text not in {"on", "off"}:
        raise InputError(f"{name} is {text!r}", hint="it can be one of: on, off")
    return text == "on"
