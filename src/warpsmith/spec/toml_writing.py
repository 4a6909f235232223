"""Writes a kernel.toml in the usual style: one line per entry, names aligned, expressions as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_table(name: str, entries: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """`[name]` and its entries; nested tables are written inline."""
    width = max((len(_key(key)) for key in entries), default=0)
    lines = [f"[{name}]"]
    for key, value in entries.items():
        comment = (comments or {}).get(key)
        lines.append(f"{_key(key):<{width}} = {toml_value(value)}" + (f"   # {comment}" if comment else ""))
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # JSON's escapes are valid TOML; only an unescaped delete character is valid in JSON and not in TOML.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            inner = ", ".join(f"{_key(key)} = {toml_value(entry)}" for key, entry in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case Sequence():
            return f"[{', '.join(map(toml_value, value))}]"
        case _:
            raise TypeError(f"{type(value).__name__} cannot be written to a kernel.toml")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)
