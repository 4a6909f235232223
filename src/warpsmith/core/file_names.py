"""Names that a user chose freely, as names of files and folders."""

from __future__ import annotations

import re


def as_file_name(text: str, otherwise: str) -> str:
    """One path component, without spaces, that is never hidden and never leads elsewhere."""
    return re.sub(r"[^\w.-]+", "-", text).strip(".-") or otherwise
