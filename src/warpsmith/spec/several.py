"""Resolves several kernel names, or a folder of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.errors import InputError
from warpsmith.core.file_names import is_file, is_folder
from warpsmith.spec.bundled import FILE_NAME
from warpsmith.spec.load import find_kernel_file, load_kernel


@dataclass(frozen=True, slots=True)
class Found:
    """One of several kernels; `problem` says why it cannot be loaded."""

    name: str
    path: Path
    problem: InputError | None = None


def is_several(names: Sequence[str | Path]) -> bool:
    """Whether these name more than one kernel, or a folder of them."""
    return len(names) > 1 or any(_is_folder_of_kernels(Path(name).expanduser()) for name in names)


def find_kernels(names: Sequence[str | Path]) -> list[Found]:
    """Each once, in order. A named kernel must be valid; one found in a folder may have a problem, which is recorded with it."""
    found: dict[Path, Found] = {}
    for name in names:
        path = Path(name).expanduser()
        if _is_folder_of_kernels(path):
            for file in kernels_below(path):
                found.setdefault(file.resolve(), _loaded(file))
        else:
            file = find_kernel_file(name)
            found.setdefault(file.resolve(), Found(load_kernel(file).name, file.absolute()))
    return list(found.values())


def _loaded(file: Path) -> Found:
    try:
        return Found(load_kernel(file).name, file.absolute())
    except InputError as error:
        return Found(file.parent.name, file.absolute(), error)


def _is_folder_of_kernels(path: Path) -> bool:
    return is_folder(path) and not is_file(path / FILE_NAME) and next(kernels_below(path), None) is not None


def kernels_below(folder: Path) -> Iterator[Path]:
    """The kernel.toml files below, by name; for a kernel's own folder only its own.

    Everything below a kernel's folder belongs to that kernel; hidden folders are skipped.
    """
    if is_file(folder / FILE_NAME):
        yield folder / FILE_NAME
        return
    for below in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        yield from kernels_below(below)
