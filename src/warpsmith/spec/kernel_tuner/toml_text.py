"""Values and expressions as TOML has them."""

from __future__ import annotations

import json
import math
import re

from warpsmith.core.configuration import Value

_LONGEST = 2**63  # TOML's integers


def literal(value: Value) -> str:
    """Text in quotes, numbers bare."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def is_writable(value: Value) -> bool:
    """Whether kernel.toml takes it as a parameter's value."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or -_LONGEST <= value < _LONGEST


def quoted_unless_number(text: str) -> str:
    """An expression, or a plain number."""
    return text if re.fullmatch(r"-?\d+", text) else literal(text)


def commented(text: str) -> str:
    """One line that is safe behind a `#`."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
