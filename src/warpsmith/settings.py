"""The one place that reads the environment.

| variable         | meaning                                                                  |
|------------------|--------------------------------------------------------------------------|
| `WARPSMITH_HOME` | where runs, templates and compiled binaries are kept (default: user data) |
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path


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
        return self.home / "templates" / re.sub(r"[^\w.-]+", "-", kernel)

    def run_folder(self, run: str) -> Path:
        return self.home / "runs" / run


def read_settings() -> Settings:
    named = os.environ.get("WARPSMITH_HOME")
    if named:
        return Settings(Path(named).expanduser().resolve())
    from platformdirs import user_data_path  # noqa: PLC0415 - only when the variable does not say

    return Settings(user_data_path("warpsmith"))
