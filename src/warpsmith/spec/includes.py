"""What a source includes with quotes; and the folders it reaches that way without kernel.toml naming them.

`#include "../common/helpers.h"` makes a folder belong to the kernel, since its author wrote the line; what somebody else writes
for it later may not name further ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def included_files(
    source: Path, text: str, folders: Sequence[Path], may_read: Callable[[Path], bool] = lambda _file: True
) -> Iterator[tuple[Path, str]]:
    """The files that the text includes with quotes, directly or not, and what stands in them; each once, as far as it is found.

    They are looked for beside the including file and in the folders. What may not be read is passed over.
    """
    waiting, seen = [(source.parent, text)], {source.resolve()}
    while waiting:
        folder, known = waiting.pop()
        for name in QUOTED_INCLUDE.findall(known):
            file = next((d / name for d in (folder, *folders) if (d / name).is_file()), None)
            if file is not None and file.resolve() not in seen and may_read(file):
                seen.add(file.resolve())
                included = file.read_text(encoding="utf-8", errors="replace")
                yield file, included
                waiting.append((file.parent, included))


def folders_reached(source: Path, known: Sequence[Path]) -> tuple[Path, ...]:
    """The folders of files that the source includes and that lie in none of the known ones."""
    if not source.is_file():
        return ()
    found: dict[Path, None] = {}
    for file, _ in included_files(source, source.read_text(encoding="utf-8", errors="replace"), known):
        home = file.resolve().parent
        if not any(home.is_relative_to(folder.resolve()) for folder in (*known, *found)):
            found[home] = None
    return tuple(found)
