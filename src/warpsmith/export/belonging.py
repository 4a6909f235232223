"""Which included files an export may contain: those in the kernel's folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.isolation.folders import lies_in
from warpsmith.spec.kernel import Kernel


def must_belong_to(kernel: Kernel, source: Path) -> Callable[[Path], bool]:
    """For `spec.includes`: true for a file of the kernel's; raises InputError for one that lies elsewhere, or is hidden."""
    folders = tuple(folder.resolve() for folder in kernel.folders)

    def belongs(file: Path) -> bool:
        # The user's own links, directly in a folder of the kernel's, may lead elsewhere: workers follow them too.
        own_link = file.is_symlink() and file.parent in folders and not file.name.startswith(".")
        if not own_link and not lies_in(file, folders):
            raise InputError(
                f"{file} is included but outside the kernel's folders, or hidden in them, so it is not exported",
                location=Location(source),
                hint="add its folder to include_dirs in kernel.toml, or remove the #include",
            )
        return True

    return belongs
