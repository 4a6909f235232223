"""How a template's text differs from the original's, as a unified diff."""

from __future__ import annotations

import difflib
from pathlib import Path

from warpsmith.spec.document import read_source


def difference(original: Path, changed: Path, text: str | None = None) -> str:
    """Empty where nothing differs. `text` is that of the changed file, where it is at hand."""
    after = read_source(changed) if text is None else text
    before = read_source(original)
    return "\n".join(difflib.unified_diff(before.split("\n"), after.split("\n"), original.name, changed.name, lineterm=""))
