"""JSON schemas of answers, as short as they can be: every request has them. What the fields mean is said in the prompts."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_SPARED = frozenset({"title", "default", "maxLength", "minLength", "maxItems", "minItems"})


def compact(*schemas: type[BaseModel]) -> dict[str, Any]:
    """Of one answer, or of one that can be any of several: the fields of all, none of them required."""
    whole = [schema.model_json_schema() for schema in schemas]
    defined = {name: entry for one in whole for name, entry in one.get("$defs", {}).items()}
    properties = {name: entry for one in whole for name, entry in one.get("properties", {}).items()}
    found: dict[str, Any] = {"type": "object", "properties": _short(properties, defined)}
    if len(schemas) == 1 and (required := whole[0].get("required")):
        found["required"] = required
    return found


def _short(value: Any, defined: dict[str, Any]) -> Any:
    """Without what only repeats itself, and references written out: each is used once or twice."""
    if isinstance(value, list):
        return [_short(part, defined) for part in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _short(defined[value["$ref"].rpartition("/")[2]], defined)
    if isinstance(value.get("anyOf"), list):  # a value or nothing
        [kind, *others] = [part for part in value["anyOf"] if part.get("type") != "null"]
        if not others:
            return _short({**{k: v for k, v in value.items() if k != "anyOf"}, **kind}, defined)
    return {name: _short(part, defined) for name, part in value.items() if not _is_spared(name, part)}


def _is_spared(name: str, part: Any) -> bool:
    return (name in _SPARED and not isinstance(part, dict)) or (name == "description" and isinstance(part, str) and "\n" in part)
