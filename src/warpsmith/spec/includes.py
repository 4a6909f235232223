"""The folders that a user's source includes from without kernel.toml naming them: `#include "../common/helpers.h"`.

They belong to the kernel, since its author wrote the line; what somebody else writes for it later may not name further ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def folders_reached(source: Path, known: Sequence[Path]) -> tuple[Path, ...]:
    """Those of files that the source includes with quotes, directly or not, and that lie in none of the known folders."""
    found: dict[Path, None] = {}
    waiting, seen = [source], {source.resolve()}
    while waiting:
        file = waiting.pop()
        for name in QUOTED_INCLUDE.findall(_text(file)):
            included = next((folder / name for folder in (file.parent, *known) if (folder / name).is_file()), None)
            if included is None or included.resolve() in seen:
                continue
            seen.add(included.resolve())
            waiting.append(included)
            home = included.resolve().parent
            if not any(home.is_relative_to(folder.resolve()) for folder in (*known, *found)):
                found[home] = None
    return tuple(found)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
