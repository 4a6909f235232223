"""Which kernels are meant by several names, or by a folder that holds several."""

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
    """A kernel of several; `problem` says why it cannot be loaded."""

    name: str
    path: Path
    problem: InputError | None = None


def is_several(names: Sequence[str | Path]) -> bool:
    """Whether these mean more than one kernel, or a folder of them."""
    return len(names) > 1 or any(_is_folder_of_kernels(Path(name).expanduser()) for name in names)


def find_kernels(names: Sequence[str | Path]) -> list[Found]:
    """Each once, in order. One that was named must be right; one found in a folder may have a problem, which is its own."""
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
    """Their kernel.toml, by name; of a kernel's own folder its own.

    What lies below a kernel's folder is the kernel's; hidden folders are somebody else's.
    """
    if is_file(folder / FILE_NAME):
        yield folder / FILE_NAME
        return
    for below in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        yield from kernels_below(below)
