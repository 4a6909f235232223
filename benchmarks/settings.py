"""All settings of the default strategy varied at once: would any of them be better otherwise?

    python -m benchmarks.settings FOLDER [--parts 30] [--first 0] [--thinned 1] [--seeds 10] [--evaluations 100]

or `python -m benchmarks settings` with the folder of caches in WARPSMITH_SPACES; without any, a space that PyPI has. Each search
of a part of a recorded space (`subspaces`) draws every setting: in one of two cases as it is, else one of the others below. Least
squares between the searches of a part tell them apart. So every search says something of every setting; with one of them changed
at a time as many searches would be needed for each.
"""

from __future__ import annotations

import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded import curve_of, parsed
from benchmarks.subspaces import parser_of_parts, parts_of
from warpsmith.record.foreign import Recording
from warpsmith.replay.trial import run_trial
from warpsmith.search.gp import columns, design, encoding, feasibility, hyper, model, strategy, targets
from warpsmith.search.registry import DEFAULT_STRATEGY

CHECKPOINTS = (15, 25, 50, 100, 200)


@dataclass(frozen=True, slots=True)
class Setting:
    """A constant of a module that is read whenever it is needed, and what else it might be."""

    module: ModuleType
    name: str
    others: tuple[Any, ...]


def _told(value: Any) -> str:
    return str((value.mean, value.deviation) if isinstance(value, hyper.Weight) else value)


SETTINGS = (
    Setting(encoding, "_ALIGNMENT", (0.35, 1.2)),
    Setting(encoding, "_HANDICAP", (0.18, 0.45)),
    Setting(encoding, "_MISSING_AT_MOST", (1, 3)),
    Setting(encoding, "_TOO_MANY", (0.2, 1.0)),
    Setting(encoding, "_FEW_NEIGHBOURS", (0.0, 1.0)),
    Setting(columns, "_QUANTITIES_AT_MOST", (0,)),
    Setting(strategy, "_IDENTITIES", ((0.2, 0.6), (0.05, 1.6))),
    Setting(strategy, "_FIRST", (6, 11)),
    Setting(design, "_DRAWN", (64,)),
    Setting(hyper, "_WEIGHT", tuple(hyper.Weight(*each) for each in ((-1.2, 0.7), (-2.0, 0.7), (-1.6, 0.45), (-1.6, 1.1)))),
    Setting(hyper, "_SIGNAL", ((0.5, 1.0), (0.0, 0.4))),
    Setting(hyper, "_NOISE", ((-4.0, 1.5), (-8.0, 2.0))),
    Setting(model, "_REFIT_GROWTH", (1.08,)),
    Setting(targets, "_SCALE_QUANTILE", (0.3, 0.7)),
    Setting(feasibility, "_SHARPNESS", (3.0, 12.0)),
    Setting(feasibility, "_OPTIMISM", (1.0,)),
)
USUAL = [getattr(setting.module, setting.name) for setting in SETTINGS]
LABELS = [f"{setting.name.strip('_').lower()} {_told(other)}" for setting in SETTINGS for other in setting.others]


def main(arguments: list[str] | None = None) -> None:
    options = parsed(parser_of_parts("settings", seeds=10), arguments)
    at = np.array([n for n in CHECKPOINTS if n <= options.evaluations])
    parts = list(parts_of(options))
    searches = len(parts) * options.seeds
    print(f"{searches} searches of {len(parts)} parts; fraction of the optimum after {', '.join(map(str, at))} evaluations")
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(_searched, parts, *([each] * len(parts) for each in (options.seeds, options.evaluations))))
    drawn = np.concatenate([_centred(chosen) for chosen, _ in found])
    fractions = np.concatenate([_centred(curves[:, at - 1]) for _, curves in found])
    average = np.mean([curves[:, at - 1].mean(axis=0) for _, curves in found], axis=0)
    print(f"  {'on average':32} {'   '.join(f'{mean:.4f}         ' for mean in average)}")
    gram = np.linalg.pinv(drawn.T @ drawn)
    effects = gram @ drawn.T @ fractions
    freedom = max(searches - len(parts) - len(LABELS), 1)
    variances = ((fractions - drawn @ effects) ** 2).sum(axis=0) / freedom
    errors = np.sqrt(np.outer(np.diag(gram), variances))
    for label, effect, error in zip(LABELS, effects, errors, strict=True):
        print(f"  {label:32} {'   '.join(f'{e:+.4f} ± {s:.4f}' for e, s in zip(effect, error, strict=True))}")


def _searched(part: Recording, seeds: int, evaluations: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A row for each search: which of the others it had, and the best so far as a fraction of the optimum."""
    chosen, curves = [], []
    for seed in range(seeds):
        rng = np.random.default_rng([zlib.crc32(part.name.encode()), seed])
        has: list[bool] = []
        for setting, value in zip(SETTINGS, USUAL, strict=True):
            others = len(setting.others)
            place = int(rng.integers(-others, others))  # below 0: as it is
            setattr(setting.module, setting.name, setting.others[place] if place >= 0 else value)
            has += [place == other for other in range(others)]
        numbers = run_trial(part, DEFAULT_STRATEGY, np.random.default_rng(seed), evaluations=evaluations).numbers
        chosen.append(has)
        curves.append(curve_of(part, numbers, evaluations))
    return np.array(chosen, dtype=np.float64), np.array(curves)


def _centred(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows - rows.mean(axis=0)


if __name__ == "__main__":
    main(sys.argv[1:])
