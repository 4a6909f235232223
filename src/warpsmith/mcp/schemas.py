"""Compact tool schemas: they stay in an agent's context, so every word costs tokens.

What it gives is told with types and meaning. What it gets shows itself: answers name their fields, and say what to call next.
"""

from __future__ import annotations

from typing import Any

_NOTHING: tuple[Any, ...] = ("", [], {}, None)


def slim_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Without titles, empty defaults and the null beside an optional value; definitions stand where they are used."""
    slim: dict[str, Any] = _slim(schema, schema.get("$defs", {}))
    return {**slim, "additionalProperties": False}


def _slim(node: Any, definitions: dict[str, Any]) -> Any:
    match node:
        case {"$ref": str(name), **rest}:
            return {**_slim(definitions[name.rpartition("/")[2]], definitions), **_slim(rest, definitions)}
        case {"anyOf": list(choices), **rest} if {"type": "null"} in choices and len(choices) == 2:
            return _slim({**next(choice for choice in choices if choice != {"type": "null"}), **rest}, definitions)
        case dict():
            return {key: _inside(key, value, definitions) for key, value in node.items() if not _is_idle(key, value)}
        case list():
            return [_slim(each, definitions) for each in node]
        case _:
            return node


def _inside(key: str, value: Any, definitions: dict[str, Any]) -> Any:
    """Names of properties are no keywords."""
    if key == "properties":
        return {name: _slim(each, definitions) for name, each in value.items()}
    return value if key in {"enum", "default", "const"} else _slim(value, definitions)


def _is_idle(key: str, value: Any) -> bool:
    return key in {"title", "$defs"} or (key == "default" and value in _NOTHING) or (key == "additionalProperties" and not value)
