"""Values and expressions of a script that TOML can express."""

from __future__ import annotations

import math
import re

from warpsmith.core.configuration import Value
from warpsmith.spec.toml_writing import toml_value

LARGEST_FLOAT = 1e300  # an integer of Python's may be larger than any float
_LONGEST = 2**63  # TOML's integers


def is_writable(value: Value) -> bool:
    """Whether kernel.toml accepts it as a parameter's value."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or -_LONGEST <= value < _LONGEST


def quoted_unless_number(text: str) -> str:
    """An expression, or a plain number."""
    return text if re.fullmatch(r"-?\d+", text) else toml_value(text)
