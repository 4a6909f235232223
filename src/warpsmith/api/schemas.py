"""JSON schemas of public formats: kernel.toml, and the object that `tune --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SchemaName = Literal["kernel", "result"]
_BESIDE_RESULTS = {
    "report": {"type": ["string", "null"], "description": "Where the run's report lies."},
    "evaluation_list": {"type": "array", "items": {"type": "object"}, "description": "Of `show RUN --evaluations`."},
    "importance": {"type": "object", "description": "Of `show RUN --importance`."},
    "transcript": {"description": "Of `show RUN --transcript`."},
}


def json_schema(subject: SchemaName) -> dict[str, Any]:
    return _kernel_schema() if subject == "kernel" else _result_schema()


def _kernel_schema() -> dict[str, Any]:
    """TOML has no null: a key that may be left out is simply left out."""
    from warpsmith.spec.schema import KernelFile  # noqa: PLC0415

    found = _without_null(_plain(KernelFile.model_json_schema()))
    return {"$schema": DIALECT, "title": "kernel.toml", **found}


def _result_schema() -> dict[str, Any]:
    """A finished run's object, an unfinished run's, or an error's. Fields are added in later versions, so others are allowed."""
    from pydantic import TypeAdapter  # noqa: PLC0415

    from warpsmith.record.result import ErrorEntry, RunResult, UnfinishedRun  # noqa: PLC0415

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Failed:
        """A command that ended before there was a run."""

        error: ErrorEntry

    found = _plain(TypeAdapter(RunResult | UnfinishedRun | Failed).json_schema(mode="serialization"))
    for kind in (RunResult, UnfinishedRun):
        found["$defs"][kind.__name__]["properties"] |= _BESIDE_RESULTS
    for definition in found["$defs"].values():
        if "ci95" in definition["properties"]:
            definition["properties"]["ci95"] = _interval(definition["properties"]["ci95"])
    return {"$schema": DIALECT, "title": "warpsmith tune --json", **found}


def _interval(found: Any) -> Any:
    """A bound may be infinite, and JSON has no such number."""
    if isinstance(found, list):
        return [_interval(entry) for entry in found]
    if not isinstance(found, dict):
        return found
    return {"type": ["number", "null"]} if found == {"type": "number"} else {key: _interval(own) for key, own in found.items()}


def _plain(found: Any) -> Any:
    """Without the titles that only repeat a key."""
    match found:
        case dict():
            return {
                key: {name: _plain(own) for name, own in value.items()} if key in {"properties", "$defs"} else _plain(value)
                for key, value in found.items()
                if key != "title"
            }
        case list():
            return [_plain(entry) for entry in found]
        case _:
            return found


def _without_null(found: Any) -> Any:
    match found:
        case dict():
            kept = {key: _without_null(value) for key, value in found.items() if not (key == "default" and value is None)}
            match kept.get("anyOf"):
                case [only]:  # what is said of the key goes before what is said of its type
                    del kept["anyOf"]
                    kept = {**only, **kept}
            return kept
        case list():
            return [_without_null(entry) for entry in found if entry is not None and entry != {"type": "null"}]
        case _:
            return found
