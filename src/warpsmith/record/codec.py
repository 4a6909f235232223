"""Outcomes to JSON and back. The kind is stored in a separate column, so the union needs no tag."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter

from warpsmith.core.outcome import Outcome


def encode_outcome(outcome: Outcome) -> tuple[str, str]:
    return type(outcome).__name__, json.dumps(asdict(outcome))


def decode_outcome(kind: str, text: str) -> Outcome:
    outcome: Outcome = _adapter(kind).validate_python(json.loads(text))
    return outcome


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter({member.__name__: member for member in get_args(Outcome)}[kind])
