"""Packages of others that benchmarks read: downloaded by pip once and unpacked in the user's cache, never installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from platformdirs import user_cache_path


def unpacked(requirement: str, *, source: bool = False) -> Path:
    """The folder with what the wheel holds, or the source distribution."""
    folder = user_cache_path("warpsmith") / "benchmarks" / requirement.replace("==", "-")
    if not (folder / ".complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        kind = ("--no-binary", ":all:") if source else ()
        command = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "--dest", str(folder), requirement)
        subprocess.run(command, check=True)
        for archive in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
            shutil.unpack_archive(archive, folder, "zip" if archive.suffix == ".whl" else "gztar")
            archive.unlink()
        (folder / ".complete").touch()
    return folder
