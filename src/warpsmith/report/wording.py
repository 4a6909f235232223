"""Formatting of figures and names, shared by terminal and HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Measured, Outcome

OUTCOME_WORDS: Mapping[str, str] = {
    "Measured": "measured",
    "Infeasible": "infeasible",
    "CompileFailed": "failed to compile",
    "LaunchFailed": "failed to launch",
    "WrongResult": "wrong",
    "Crashed": "crashed",
    "TimedOut": "timed out",
}


def time_text(us: float) -> str:
    return f"{us / 1e3:.3f} ms" if us >= 1e3 else f"{us:.1f} µs"


def speedup_text(speedup: float) -> str:
    return f"{speedup:.2f}x"


def searched_text(speedup: float, ci95: Sequence[float] | None) -> str:
    """A speedup as the search measured it, with its interval if there is one."""
    return speedup_text(speedup) + (f" [{ci95[0]:.2f}, {ci95[1]:.2f}]" if ci95 is not None and ci95[0] < ci95[1] else "")


def interval_text(ci95: Sequence[float]) -> str:
    """None for the original, which is not compared with itself."""
    low, high = ci95
    return "-" if low == high else f"{low:.2f} - {high:.2f}"


def fraction_text(fraction: float | None) -> str:
    return "-" if fraction is None else f"{fraction:.0%}"


def configuration_text(config: Mapping[str, Any]) -> str:
    return str(Configuration.of(config))


def failure_text(outcome: Outcome) -> str:
    """Why there is no time; empty where there is one."""
    return "" if isinstance(outcome, Measured) else outcome.reason.strip()


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {OUTCOME_WORDS[kind]}" for kind, count in counts.items() if count)


def price_text(usd: float, *, unpriced: bool) -> str:
    """What models cost; without a known price for any of it, no figure."""
    if unpriced and not usd:
        return "at an unknown price"
    return f"${usd:.4f}" + (" and calls of unknown price" if unpriced else "")


def cost_text(cost: Mapping[str, Any]) -> str:
    """Of the object under `cost` in a transcript."""
    if not cost["answers"]:
        return "no model answered"
    parts = [f"{cost['answers']} answers in {cost['seconds']:.0f} s"]
    parts.append(f"{cost['input_tokens']:,} tokens in and {cost['output_tokens']:,} out")
    if cost["usd"] is not None:
        parts.append(f"${cost['usd']:.4f}")
    if cost["unpriced"]:
        parts.append("no known price" if cost["usd"] is None else f"{cost['unpriced']} of them without a known price")
    return ", ".join(parts)


def removed_text(count: int, *, estimate: bool) -> str:
    return ("~" if estimate else "") + f"{count:,}"


def short(path: str) -> str:
    home = str(Path.home())
    return "~" + path[len(home) :] if path.startswith(home + "/") else path
