"""Settings from environment variables, which only this module reads.

| variable                    | meaning                                                                   |
|-----------------------------|---------------------------------------------------------------------------|
| `WARPSMITH_HOME`            | folder of runs, templates and compiled binaries (default: user data)      |
| `WARPSMITH_INPUT_SEED`      | seed of inputs, to repeat a run or a verification (default: random, recorded) |
| `WARPSMITH_CLAIM_PROCESSES` | number of fresh processes per claim (default: 5; at least 2)              |
| `WARPSMITH_CONFINEMENT`     | confinement of workers: `on` (default), `best-effort`, `off`; see `Confinement` |
| `WARPSMITH_MODEL_TIMEOUT`   | time limit of one answer of a language model, in seconds (default: 120)   |
| `WARPSMITH_MODEL_CONTEXT`   | context size of the language model in tokens (default: as its server says) |
| `WARPSMITH_RACECHECK`       | whether winners on the CPU device are run under its checkers: `on` (default), `off` |
| `WARPSMITH_SECOND_OPINION`  | whether the original is also run unoptimised on the CPU device: `on` (default), `off` |
| `WARPSMITH_REPORT`          | whether a run ends by writing its report: `on` (default), `off`           |
| `WARPSMITH_SHARED`          | a folder or an object store (s3://…) to which runs are added, and where `--warm auto` looks |

Keys and addresses of model providers (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, …) are read by pydantic-ai under their usual names;
`openai_base_url` and `secrets` provide what is needed of them here.
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
_SMALLEST_CONTEXT = 1000
_LARGEST_SEED = 2**63 - 1
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/@\s:]*:([^/@\s]+)@")  # of a server's or a proxy's address
_SHORTEST_SECRET = 8  # shorter values are words that stand everywhere


class Confinement(StrEnum):
    """Of workers. ON: model-written code is refused if the system cannot confine it. BEST_EFFORT: it runs with the confinement
    available.
    """

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

    def batch_folder(self, name: str) -> Path:
        return self.home / "batches" / name

    def batch_report_file(self, name: str) -> Path:
        return self.batch_folder(name) / "report.html"

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
    """Number of fresh processes per claim. Raises InputError if invalid."""
    text = os.environ.get("WARPSMITH_CLAIM_PROCESSES", str(_CLAIM_PROCESSES))
    if not text.isdecimal() or int(text) < _FEWEST_PROCESSES:
        raise InputError(
            f"WARPSMITH_CLAIM_PROCESSES={text!r} is not a number of processes", hint=f"a whole number from {_FEWEST_PROCESSES} on"
        )
    return int(text)


def input_seed() -> int | None:
    """The requested seed of inputs. Raises InputError if invalid."""
    text = os.environ.get("WARPSMITH_INPUT_SEED")
    if not text:
        return None
    if not text.isdecimal() or int(text) > _LARGEST_SEED:
        raise InputError(f"WARPSMITH_INPUT_SEED={text!r} is not a seed", hint=f"a whole number from 0 to {_LARGEST_SEED}")
    return int(text)


def model_timeout_s() -> float:
    """Time limit of one answer of a language model. Raises InputError if invalid."""
    text = os.environ.get("WARPSMITH_MODEL_TIMEOUT")
    if not text:
        return _MODEL_TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(
            f"WARPSMITH_MODEL_TIMEOUT={text!r} is not a time in seconds", hint="for example WARPSMITH_MODEL_TIMEOUT=300"
        )
    return seconds


def model_context() -> int | None:
    """A language model's context size in tokens; None if not set. Raises InputError if invalid."""
    text = os.environ.get("WARPSMITH_MODEL_CONTEXT")
    if not text:
        return None
    if not text.isdecimal() or int(text) < _SMALLEST_CONTEXT:
        raise InputError(
            f"WARPSMITH_MODEL_CONTEXT={text!r} is not a number of tokens", hint=f"a whole number from {_SMALLEST_CONTEXT} on"
        )
    return int(text)


def are_races_checked() -> bool:
    """Raises InputError unless it is on or off."""
    return _is_on("WARPSMITH_RACECHECK")


def is_second_opinion_wanted() -> bool:
    """Raises InputError unless it is on or off."""
    return _is_on("WARPSMITH_SECOND_OPINION")


def is_report_wanted() -> bool:
    """Raises InputError unless it is on or off."""
    return _is_on("WARPSMITH_REPORT")


def shared_store() -> str | None:
    return os.environ.get("WARPSMITH_SHARED") or None


def openai_base_url() -> str | None:
    return os.environ.get("OPENAI_BASE_URL") or None


def secrets() -> tuple[str, ...]:
    """Values of the environment that must never be shown or recorded: keys, passwords in addresses; longest first."""
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
