"""Parses a configuration from the command line: `A=1 B=2`."""

from __future__ import annotations

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError
from warpsmith.template import Template


def named_configuration(template: Template, text: str) -> Configuration:
    """The rest have their defaults. Raises InputError."""
    values: dict[str, Value] = {p.name: p.default for p in template.parameters}
    candidates = {p.name: p.values for p in template.parameters}
    for item in text.replace(",", " ").split():
        name, _, written = item.partition("=")
        if name not in candidates:
            raise InputError(f"{name!r} is not a parameter", hint=f"the parameters are {', '.join(candidates)}")
        matching = [value for value in candidates[name] if str(value) == written]
        if not matching:
            raise InputError(
                f"{name}={written} is not among its values", hint=f"{name} may be {', '.join(map(str, candidates[name]))}"
            )
        values[name] = matching[0]
    return Configuration.of(values)
