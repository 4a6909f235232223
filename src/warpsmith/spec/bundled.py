"""Example kernels that come with Warpsmith, found by name in the installed package or in the repository."""

from __future__ import annotations

from pathlib import Path

FILE_NAME = "kernel.toml"


def bundled_names() -> tuple[str, ...]:
    """Folder names below `examples`, with a slash for each of several instances of an example: `merge_attn_states_lse/f16`."""
    root = _root()
    if root is None:
        return ()
    return tuple(sorted(file.parent.relative_to(root).as_posix() for file in root.rglob(FILE_NAME)))


def bundled_path(name: str) -> Path | None:
    """The kernel.toml of an example, or None."""
    root = _root()
    if root is None or name not in bundled_names():
        return None
    return root / name / FILE_NAME


def _root() -> Path | None:
    package = Path(__file__).resolve().parents[1]
    candidates = (package / "examples", package.parents[1] / "examples")
    return next((folder for folder in candidates if folder.is_dir()), None)
