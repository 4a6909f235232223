"""Reads `kernels.toml`: code bases (what pip downloads, where their sources lie) and kernels with the instances to extract."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class CodeBase:
    """`defines` may use `{arch}`, the number of the target's architecture (`800`)."""

    name: str
    requirement: str
    sources: str
    include_dirs: tuple[str, ...]
    defines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """`folder` has a kernel.toml and a reference when the kernel is to run."""

    name: str
    code_base: CodeBase
    source: str
    kernel: str
    instance: str | None
    targets: tuple[str, ...]
    include_dirs: tuple[str, ...]

    @property
    def folder(self) -> Path | None:
        folder = HERE / self.name
        return folder if (folder / "kernel.toml").is_file() else None


def catalogue() -> list[Entry]:
    data = tomllib.loads((HERE / "kernels.toml").read_text(encoding="utf-8"))
    bases = {
        name: CodeBase(name, base["requirement"], base["sources"], tuple(base.get("include_dirs", ())), base.get("defines", {}))
        for name, base in data["code_bases"].items()
    }
    return [
        Entry(
            name=name,
            code_base=bases[kernel["code_base"]],
            source=kernel["source"],
            kernel=kernel["kernel"],
            instance=f"{kernel['kernel']}{kernel['arguments']}" if "arguments" in kernel else None,
            targets=tuple(kernel.get("targets", data["targets"])),
            include_dirs=tuple(kernel.get("include_dirs", ())),
        )
        for name, kernel in data["kernels"].items()
    ]


def fetched(base: CodeBase, cache: Path) -> Path:
    """The unpacked package, downloaded once."""
    folder = cache / base.requirement.replace("==", "-")
    if not (folder / ".complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), base.requirement]
        subprocess.run(command, check=True)
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
            wheel.unlink()
        (folder / ".complete").touch()
    return folder
