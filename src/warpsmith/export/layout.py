"""The file layout of an export: free names for sources and headers, and adapted `#include` lines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from warpsmith.export.belonging import must_belong_to
from warpsmith.spec.includes import IncludeLine, includes, with_targets
from warpsmith.spec.kernel import Kernel


class Layout:
    """The files of one export.

    A header keeps its path as seen from the kernel's source; one that lies above it moves inside (`../common/a.h` becomes
    `common/a.h`). Every `#include` that meant it is written as the path from the including file, so that a compiler needs no
    folders named.
    """

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        self._kernel = kernel
        self._folder = folder
        self._home = kernel.source.parent.resolve()
        self._folders = (kernel.source.parent, *kernel.include_dirs)
        self._taken: set[str] = set()
        self._places: dict[Path, PurePosixPath] = {}

    def free(self, stem: str, *suffixes: str) -> list[Path]:
        """A file for each suffix; a stem that is taken with one of them gets a number: `k.a.cu`, then `k.a-2.cu`."""
        number = 1
        while any(self._is_taken(f"{_numbered(stem, number)}{suffix}") for suffix in suffixes):
            number += 1
        return [self._folder / self._claim(PurePosixPath(f"{_numbered(stem, number)}{suffix}")) for suffix in suffixes]

    def standing_alone(self, source: Path, text: str, file: Path) -> str:
        """The text of `source` as it is written to `file`, once the headers that it includes are there too.

        Raises InputError for an included file outside the kernel's folders.
        """
        found = list(includes(source, text, self._folders, must_belong_to(self._kernel, source)))
        for include in found:
            if include.file is not None and include.file not in self._places:
                self._copy(include.file, found)
        place = PurePosixPath(file.relative_to(self._folder).as_posix())
        return with_targets(text, self._targets(place, (include for include in found if include.by == source)))

    def _copy(self, header: Path, found: Iterable[IncludeLine]) -> None:
        inside = PurePosixPath(*(part for part in Path(os.path.relpath(header, self._home)).parts if part != ".."))
        self._places[header] = place = self._claim(inside)
        own = [include for include in found if include.by == header]
        for include in own:
            if include.file is not None and include.file not in self._places:
                self._copy(include.file, found)
        target = self._folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        # Bytes that are no UTF-8, in comments of any age, must survive.
        before = header.read_text(encoding="utf-8", errors="surrogateescape")
        target.write_text(with_targets(before, self._targets(place, own)), encoding="utf-8", errors="surrogateescape")

    def _targets(self, place: PurePosixPath, found: Iterable[IncludeLine]) -> dict[str, str]:
        """What the `#include` lines of the file at `place` say from now on, by what they said before."""
        beside = place.parent
        return {
            include.target: f'"{PurePosixPath(os.path.relpath(self._places[include.file], beside)).as_posix()}"'
            for include in found
            if include.file is not None
        }

    def _claim(self, wanted: PurePosixPath) -> PurePosixPath:
        number, name = 1, wanted
        while self._is_taken(str(name)):
            number += 1
            name = wanted.with_name(f"{_numbered(wanted.stem, number)}{wanted.suffix}")
        self._taken.add(str(name).lower())
        return name

    def _is_taken(self, name: str) -> bool:
        return name.lower() in self._taken  # some file systems take A.cu and a.cu for the same


def _numbered(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"
