"""Values in foreign files: parameter values and results, in all spellings that occur."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError, Location

# Kernel Tuner's stand-in for "failed" where an optimiser wanted a number; it gets into some files.
_FAILED_NUMBER = 1e20
_LONGEST = 1e300  # of times in any unit: a file's can all be added up

_WRITTEN_BOOLEANS = {"True": True, "true": True, "False": False, "false": False}


def scalar(value: Any, where: str, file: Path) -> Value:
    """A parameter's value. Booleans that were written as text are booleans, so that two files of one kernel agree."""
    if isinstance(value, str):
        return _WRITTEN_BOOLEANS.get(value, value)
    if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InputError(f"{where} is {value!r}", location=Location(file), hint="values are numbers, text, true or false")


def positive(value: Any) -> float | None:
    """A result that can be compared: finite, above 0 and not a stand-in for a failure; None for anything else.

    Of repeated measurements it is their mean, as Kernel Tuner's own time is.
    """
    if isinstance(value, list):
        each = [positive(one) for one in value]
        found = [one for one in each if one is not None]
        return sum(found) / len(found) if found and len(found) == len(each) else None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < _FAILED_NUMBER else None


def duration(values: Mapping[str, Any], where: str, file: Path) -> float:
    """The sum of those that are there and are times. Raises InputError, which names the place, for one beyond all numbers."""
    found = 0.0
    for name, value in values.items():
        if isinstance(value, int) and abs(value) > _LONGEST:
            raise InputError(
                f"{name} of {where} is not a time", location=Location(file), hint="times are numbers of milliseconds"
            )
        if isinstance(value, (int, float)) and 0 < value <= _LONGEST:
            found += value
    return found


def column(
    name: str, written: Sequence[Any], declared: Iterable[Any], where: Callable[[int], str], file: Path
) -> tuple[list[Value], list[int]]:
    """A parameter's values (those declared in their order, then others that occur) and the position of each one written.

    `where(i)` names the place of `written[i]`, for the message when it is no value.
    """
    values = list(dict.fromkeys(scalar(value, f"a value of {name}", file) for value in declared))
    spelled = {str(value): value for value in values}  # 16 in the list may be "16" in an entry
    meanings: dict[Any, Value] = {}
    for at, value in enumerate(written):
        if isinstance(value, (list, dict)) or value not in meanings:
            meaning = scalar(value, f"{name} of {where(at)}", file)
            meanings[value] = meaning if meaning in values else spelled.get(str(meaning), meaning)
    values += _in_order(value for value in meanings.values() if value not in values)
    places = {value: values.index(meaning) for value, meaning in meanings.items()}
    return values, [places[value] for value in written]


def _in_order(values: Iterable[Value]) -> list[Value]:
    """Distinct values where no file gives an order: numbers ascending, anything else as it came."""
    distinct = list(dict.fromkeys(values))
    numbers = [value for value in distinct if isinstance(value, (int, float))]  # some too large for a float
    return [*sorted(numbers)] if len(numbers) == len(distinct) else distinct
