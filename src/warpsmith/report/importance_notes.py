"""Text about parameter importance, from the object under `importance` in `show RUN --importance --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING = 0.005  # a share below it is shown as 0 %, and which value is best is then chance
_PAIRS = 5
_DOUBTFUL = 0.5


def why_unknown(entry: Mapping[str, Any]) -> str | None:
    """Why it cannot be said what mattered; None when it can."""
    if entry["r2"] is None:
        return f"too few results ({entry['measured']} measured, {entry['needed']} needed)"
    if entry["r2"] < _DOUBTFUL:
        return (
            f"unknown, the model explains too little of the {entry['measured']} measured times"
            f" (R² {entry['r2']:.2f}, leave-one-out)"
        )
    return None


def effect_cells(effect: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """Name, share, best value, worst value, worst over best."""
    best, worst = effect["best"], effect["worst"]
    figures = (str(best["value"]), str(worst["value"]), f"{worst['slowdown']:.2f}x")
    name, share = effect["name"], f"{effect['share']:.0%}"
    return (name, share, *figures) if effect["share"] >= NOTHING else (name, share, "-", "-", "-")


def pairs_text(entry: Mapping[str, Any]) -> str:
    """The strongest pairs beyond each parameter alone; empty where there are none."""
    pairs = [pair for pair in entry["pairs"][:_PAIRS] if pair["share"] >= NOTHING]
    return ", ".join(f"{' × '.join(pair['parameters'])} {pair['share']:.0%}" for pair in pairs)


def importance_notes(entry: Mapping[str, Any]) -> list[str]:
    known = f"{entry['measured']} measured configurations" + (f" ({entry['failed']} failed)" if entry["failed"] else "")
    over = f"{'a sample of ' if entry['sampled'] else 'all '}{entry['predicted']:,} feasible ones"
    notes = [
        f"From {known}, predicted for {over}; R² {entry['r2']:.2f}, leave-one-out.",
        f"The slowest configurations are predicted to be {entry['spread']:.2f} times slower than the fastest.",
    ]
    if entry.get("form") is not None:
        notes.append(f"Of FORM={entry['form']}, the fastest, only: importance does not carry over between forms.")
    return notes
