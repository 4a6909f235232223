"""The table of `warpsmith compare`."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from rich.text import Text

from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.terminal import terminal
from warpsmith.report.wording import price_text

_MODES = {"template": "template + search", "direct": "direct rewriting"}


def render_compare(found: Mapping[str, Any]) -> None:
    console = terminal()
    limits = [f"{found['budget']['evaluations']} evaluations"] if found["budget"]["evaluations"] is not None else []
    limits += [f"{found['budget']['seconds']:g} s"] if found["budget"]["seconds"] is not None else []
    about = f" on {found['device']}: {found['seeds']} seeds, {' and '.join(limits)} each, agent {found['agent']}"
    console.print(Text.assemble((found["kernel"], "bold"), about))
    table = FittingTable(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("speedups", no_wrap=True)
    for name in ("median", "95 % interval", "spread", "worst", "best", "below 1", "failed", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for mode, name in _MODES.items():
        side = found[mode]
        low, high = side["ci95"]
        table.add_row(
            name,
            Text(f"{side['median_speedup']:.2f}x", style="bold"),
            f"{low:.2f} - {high:.2f}",
            f"{side['spread']:.1%}",
            f"{side['worst']:.2f}x",
            f"{side['best']:.2f}x",
            str(side["regressions"]),
            str(side["failures"]),
            f"{median(side['seconds']):.0f} s",
        )
    console.print(table)
    ahead, won = found["advantage"], found["wins"]
    low, high = ahead["ci95"]
    notes = [
        f"Template + search over direct rewriting: {ahead['value']:.2f} [{low:.2f}, {high:.2f}] in the median.",
        f"Of {won['pairs']} pairs, the first wins {won['template']}, the second {won['direct']}; {won['ties']} are ties.",
        f"spread: interquartile range over the median. Written to {found['output']}",
    ]
    notes += [f"The model took {_taken(found['model'])}: {sides}." for sides in _sides(found)]
    notes += [f"Out, as faster than the machine, on {a['workload']}: {a['reason']}." for a in found["above_roof"] if a["refused"]]
    console.print(*map(Text, notes), sep="\n")


def _sides(found: Mapping[str, Any]) -> list[str]:
    """What a model took for each side, in one text; none where no model was asked."""
    parts = [f"{name} {_taken(found[mode]['model'])}" for mode, name in _MODES.items() if found[mode].get("model")]
    return [", ".join(parts)] if parts else []


def _taken(model: Mapping[str, Any]) -> str:
    return f"{model['tokens']:,} tokens, {price_text(model['usd'], unpriced=model['unpriced'])}"
