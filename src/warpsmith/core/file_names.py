"""Names that a user chose freely, as names of files and folders."""

from __future__ import annotations

import re

_MOST_BYTES = 100  # systems allow 255, with whatever is put behind it


def as_file_name(text: str, otherwise: str) -> str:
    """One path component, without spaces, that is never hidden, never leads elsewhere and leaves room for a suffix."""
    short = re.sub(r"[^\w.-]+", "-", text).strip(".-").encode()[:_MOST_BYTES].decode(errors="ignore")
    return short.strip(".-") or otherwise
