"""Which files of the code base a source includes, and where they lie: in the folders given, and in those plain to see beside it.

A header that no folder given has is looked for as a person would: from the file that includes it upwards, then from the source
upwards, in each folder, in its `include` (`includes`, `inc`), and in that of the folders in it. Never among headers that a
toolkit or the host's libraries bring, never in folders that hold more than code, and not where two folders would do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.file_names import is_file
from warpsmith.isolation.folders import home_folder, is_source_beside, lies_in, wide_folders
from warpsmith.source.extract.headers import is_of_code_base

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_INCLUDE_FOLDERS = ("include", "includes", "inc")
_INSTALLED = frozenset({"site-packages", "dist-packages"})  # many code bases, side by side


@dataclass(frozen=True, slots=True)
class Reach:
    """`absent` are headers that are elsewhere, as spelled; `found` are folders that nobody named."""

    texts: dict[Path, str]
    absent: set[str]
    given: tuple[Path, ...]
    found: tuple[Path, ...]

    @property
    def folders(self) -> list[Path]:
        return [*self.given, *self.found]


def reach_of(source: Path, folders: Sequence[Path]) -> Reach:
    """Of a source and the folders given, all of them resolved."""
    found: tuple[Path, ...] = ()
    texts: dict[Path, str] = {}
    while True:
        reached, absent, another = _walk(source, [*folders, *found], texts)
        if another is None:
            return Reach(reached, absent, tuple(folders), found)
        found = (*found, another)  # what was absent before may be in it, too


def can_stand_in(name: str) -> bool:
    """Whether an empty header can take its place."""
    return ".." not in Path(name).parts and not Path(name).is_absolute()


def _walk(source: Path, folders: Sequence[Path], known: dict[Path, str]) -> tuple[dict[Path, str], set[str], Path | None]:
    """The files that the source may include, the headers that are elsewhere, and a folder that has one of those."""
    texts: dict[Path, str] = {}
    absent: set[str] = set()
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file in texts:
            continue
        texts[file] = known[file] = known[file] if file in known else file.read_text(encoding="utf-8", errors="replace")
        for quote, name in _INCLUDE.findall(texts[file]):
            places = [file.parent, *folders] if quote == '"' else folders
            found = next((place / name for place in places if is_file(place / name)), None)
            if found is not None and (is_source_beside(found, source.parent) or lies_in(found, [source.parent, *folders])):
                waiting.append(found.resolve())
            elif can_stand_in(name):
                absent.add(f"<{name}>" if quote == "<" else f'"{name}"')
                # A build also knows the folder of the file it compiles, wherever the header lies that includes another.
                if is_of_code_base(name) and (another := _folder_of(name, file) or _folder_of(name, source)) is not None:
                    return texts, absent, another
    return texts, absent, None


def _folder_of(name: str, includer: Path) -> Path | None:
    wide = wide_folders(home_folder())
    for above in includer.parents:
        if above in wide or above.name in _INSTALLED:
            return None
        own = [above / include for include in _INCLUDE_FOLDERS]
        for places in ([above], own, list(_neighbours(above)) if "/" in name else []):
            holding = [place for place in places if _has(place, name, includer)]
            if len(holding) == 1:
                return holding[0].resolve()
            if holding:
                return None
    return None


def _neighbours(folder: Path) -> Iterator[Path]:
    found = sorted(include for name in _INCLUDE_FOLDERS for include in folder.glob(f"*/{name}"))
    return (include for include in found if not include.parent.name.startswith("."))


def _has(folder: Path, name: str, includer: Path) -> bool:
    return is_file(folder / name) and is_source_beside(folder / name, includer.parent)
