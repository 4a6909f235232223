"""A comparison's result: the object that `compare --json` prints, its Markdown page, and the files it is kept in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.core.jsonable import as_json
from warpsmith.record.result import AboveRoofEntry
from warpsmith.tuning.comparison.figures import Final, Floats, advantage, courses, summary, taken, wins
from warpsmith.tuning.comparison.plan import RESULT_FILE, ComparisonPlan
from warpsmith.tuning.order import Mode

NAMES = {Mode.TEMPLATE: "template + search", Mode.DIRECT: "direct rewriting"}


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """`others` is the largest share of the cores that other programs took while the claims were measured."""

    name: str
    plan: ComparisonPlan
    finals: tuple[Final, ...]
    others: float | None
    seconds: float  # of this call: what an earlier, stopped one had done took no time again
    above: Sequence[AboveRoofEntry] = ()  # the roof: as a run's result has it (`roofline.above`)

    def of(self, mode: Mode) -> list[Final]:
        return [final for final in self.finals if final.mode is mode]

    def speedups(self, mode: Mode) -> Floats:
        return np.array([final.speedup.value for final in self.of(mode)])

    def as_dict(self) -> dict[str, Any]:
        plan = self.plan
        template, direct = self.speedups(Mode.TEMPLATE), self.speedups(Mode.DIRECT)
        ahead = advantage(template, direct)
        return {
            "comparison": self.name,
            "kernel": plan.kernel.name,
            "device": plan.device,
            "agent": plan.agent,
            "strategy": plan.strategy,
            "seeds": plan.seeds,
            "budget": {"evaluations": plan.budget.evaluations, "seconds": plan.budget.seconds},
            **{str(mode): summary(self.of(mode)) for mode in Mode},
            "advantage": {"value": round(ahead.value, 4), "ci95": [round(ahead.low, 4), round(ahead.high, 4)]},
            "wins": wins(template, direct),
            "others_share": round(self.others, 3) if self.others is not None else None,
            "above_roof": as_json(self.above),
            "seconds": round(self.seconds, 1),
            "model": taken(self.finals),
            "runs": [_entry(final) for final in self.finals],
        }

    def markdown(self) -> str:
        """A page that stands by itself."""
        found, plan = self.as_dict(), self.plan
        limits = [f"{plan.budget.evaluations} evaluations"] if plan.budget.evaluations is not None else []
        limits += [f"{plan.budget.seconds:g} s"] if plan.budget.seconds is not None else []
        won, ahead = found["wins"], found["advantage"]
        each = f"{' and '.join(limits)} for each run, including the original"
        median = f"{ahead['value']:.2f} [{ahead['ci95'][0]:.2f}, {ahead['ci95'][1]:.2f}]"
        pairs = f"{won['template']} go to {NAMES[Mode.TEMPLATE]}, {won['direct']} to {NAMES[Mode.DIRECT]}, {won['ties']} are ties"
        lines = [
            f"# {plan.kernel.name}: {NAMES[Mode.TEMPLATE]} against {NAMES[Mode.DIRECT]}",
            "",
            f"Device {plan.device}, agent {plan.agent}, {plan.seeds} seeds, {each}.",
            "Speedups over the original; all winners were measured together with it in fresh processes.",
            "",
            "| | median speedup | 95 % interval | spread | worst | best | below 1 | failed evaluations | median time |",
            "|---|---|---|---|---|---|---|---|---|",
            *(_row(mode, found[mode]) for mode in Mode),
            "",
            f"Spread is the interquartile range over the median. The first median over the second: {median}.",
            f"Of {won['pairs']} pairs of runs, one of each, {pairs} (within 1 %).",
            *(f"{'Out' if a.refused else 'Above the roof'} on {a.workload}: {a.reason}." for a in self.above),
            "",
            "![best so far and final speedups](compare.svg)",
            "",
            "| seed | " + " | ".join(f"{NAMES[mode]} | 95 % interval" for mode in Mode) + " |",
            "|---" * (1 + 2 * len(Mode)) + "|",
        ]
        for seed in range(plan.seeds):
            finals = [next(f for f in self.of(mode) if f.seed == seed) for mode in Mode]
            cells = [f"{f.speedup.value:.2f}× | {f.speedup.low:.2f} – {f.speedup.high:.2f}" for f in finals]
            lines.append(f"| {seed} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> None:
        """compare.md, compare.json, compare.svg and compare.png."""
        from warpsmith.report.comparison import Side, draw_comparison  # noqa: PLC0415 - plotting libraries only when they plot

        folder.mkdir(parents=True, exist_ok=True)
        length = max(len(final.course) for final in self.finals)
        sides = [Side(NAMES[mode], courses(self.of(mode), length), self.speedups(mode)) for mode in Mode]
        title = f"{self.plan.kernel.name} on {self.plan.device}, agent {self.plan.agent}, {self.plan.seeds} seeds"
        draw_comparison(sides, title, folder / "compare")
        (folder / "compare.md").write_text(self.markdown(), encoding="utf-8")
        # Last: where it lies, the comparison is over.
        (folder / RESULT_FILE).write_text(json.dumps(self.as_dict(), indent=2) + "\n", encoding="utf-8")


def _row(mode: Mode, found: dict[str, Any]) -> str:
    low, high = found["ci95"]
    cells = (
        NAMES[mode],
        f"{found['median_speedup']:.2f}×",
        f"{low:.2f} – {high:.2f}",
        f"{found['spread']:.1%}",
        f"{found['worst']:.2f}×",
        f"{found['best']:.2f}×",
        found["regressions"],
        f"{found['failures']} of {sum(found['evaluations'])}",
        f"{np.median(found['seconds']):.0f} s",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _entry(final: Final) -> dict[str, Any]:
    return {
        "run": final.run,
        "mode": final.mode,
        "seed": final.seed,
        "config": dict(final.configuration.pairs),
        "speedup": round(final.speedup.value, 4),
        "ci95": [round(final.speedup.low, 4), round(final.speedup.high, 4)],
        "workloads": {name: round(value, 4) for name, value in final.workloads.items()},
        "evaluations": final.evaluations,
        "failures": final.failures,
        "seconds": round(final.seconds, 1),
        "best_so_far": [round(value, 4) for value in final.course],
        "model": as_json(final.model),
    }
