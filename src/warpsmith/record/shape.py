"""What a result needs for its run to be listed: less than `record.result` asks, because early versions had little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OBJECTS = ("per_workload", "heldout", "evaluations")
_OF_A_CLAIM = {"config": dict, "median_us": float | int, "speedup": float | int, "ci95": list, "verified": bool}


def require_claims(result: Mapping[str, Any]) -> None:
    """Raises KeyError or TypeError for what is damaged. Objects of the first versions had little, so little is asked of them."""
    claims = [result["general"], result.get("baseline"), result.get("uncertain")]
    for name in _OBJECTS:
        if not isinstance(entries := result[name] if "run" in result else result.get(name, {}), dict):
            raise TypeError(f"{name} is not an object")
        claims += entries.values() if name != "evaluations" else ()
    for claim in claims:
        if claim is not None:
            _require_claim(claim, whole="run" in result)


def _require_claim(claim: Any, *, whole: bool) -> None:
    if not isinstance(claim, dict):
        raise TypeError("a claim is not an object")
    for name, kind in _OF_A_CLAIM.items():
        if whole and not isinstance(claim[name], kind):
            raise TypeError(f"{name} of a claim is of another kind")
