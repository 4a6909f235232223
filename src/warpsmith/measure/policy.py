"""How measurements are taken: every count, limit and threshold, with its reason. To change one, change it here.

In the order of a run. Times are launched in pairs or in turns, because single times vary by 8 to 17 % on a CPU while ratios of
neighbouring launches are steady (docs/concepts/measurement.md). How many fresh processes a claim rests on is a setting:
`settings.claim_processes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# ── how long a launch may take ──

LAUNCH_DEADLINE_S = 10.0
"""Before the original was timed: a kernel that takes longer is of no use to a search of a hundred configurations."""
HOPELESS_TIMES = 50
"""Afterwards: so many times as long as the original is as good as hanging. Not fewer, as a busy machine must not cause it."""
TURNS = 10
"""So many times what is done around a launch (inputs drawn, caches emptied), in which a kernel's own time may hardly show."""
SHORTEST_DEADLINE_S = 2.0
"""However short the original is: the system may keep a process waiting for that long."""
CHECKED_DEADLINE_S = 120.0
"""Under a checker, where a launch takes ten to some hundred times as long."""
REPORT_DEADLINE_S = 60.0
"""For a checker to write what it found."""
WATCHED_S = 30.0
"""For the watched launches of one candidate: after it no further workload is begun. Mistakes rarely need large ones."""


# ── the search: a candidate in pairs with the best so far ──


@dataclass(frozen=True, slots=True)
class PairPlan:
    """When to stop. Clear losers are dropped after `quick_pairs`; close calls go on until the interval is tight."""

    quick_pairs: int = 3
    step_pairs: int = 6
    max_pairs: int = 24
    beaten_above: float = 1.10  # every pair shows it at least so much slower
    hopeless_above: float = 3.0  # a launch or two that show this are enough
    tight_half_width: float = 0.02  # closer calls are left to the finalists
    max_seconds: float = 0.3


SEARCH = PairPlan()
ANCHOR = PairPlan(quick_pairs=5, beaten_above=math.inf, hopeless_above=math.inf, tight_half_width=0.05)
"""Who would be the best so far, against the original itself: every score is at most one link away from it, so errors do not add
up from incumbent to incumbent."""
TRIAL = PairPlan(quick_pairs=3, step_pairs=4, max_pairs=11, max_seconds=0.15)
"""Of a form that an agent tries out: it decides nothing."""
NEUTRAL = PairPlan(beaten_above=math.inf, hopeless_above=math.inf)
"""Of a template at its defaults, where it is proved by outputs and neutral time: it must not be given up early."""
NEUTRAL_WITHIN = 0.03
"""How much slower it may be: less cannot be told from a difference in where the code lies."""
NEUTRAL_ATTEMPTS = 3
"""Noise alone must not refuse a template."""
DISTURBANCE_NS = 10_000_000
"""A few slices of the scheduler: a launch that is over its limit by more was not disturbed, it is slow."""


# ── finalists and claims: all in turns, in fresh processes ──


@dataclass(frozen=True, slots=True)
class Pace:
    """What one workload may take in one process, and how many rounds it gets at least and at most."""

    seconds: float
    least: int = 6
    most: int = 30


FINALISTS = 8
"""By score; several, because the search saw only part of the cores."""
FINALISTS_PER_WORKLOAD = 3
SIMILAR = 0.04
"""In the search, which is less exact than the choice: so close to the best, the simplest are finalists too."""
EQUAL_WITHIN = 0.02
"""The most that is given up for simplicity, and only where measurements do not tell it from nothing …"""
EQUAL_DEVIATIONS = 2.5
"""… that is, within so many standard errors."""
CHOICE = Pace(seconds=2.5)
CLAIM = Pace(seconds=0.8)
"""In each of several processes, which differ by more than repetitions within one do."""
GATE = Pace(seconds=1.5, least=8)
COMPARISON = Pace(seconds=3.0, least=8)
"""It has the finalists of many runs in one table."""
COMPARISON_FINALISTS = 3
"""Of each run, for the same reason."""
ENDURANCE = 30
"""A candidate that counts its launches, or wears memory out, must still be right after so many: the most that a table has."""
DISTURBED_ABOVE = 0.20
"""The share of the cores that other programs took, above which figures are off by more than their intervals say."""
SHORTEST_SHARE_S = 0.1
"""The kernel counts time in ticks of 10 ms: below this the share would be noise."""


def is_to_be_repeated(others: float | None, repeats: int, processes: int) -> bool:
    """Whether a process in which others took this share of the cores is measured again; for at most half of them."""
    return others is not None and others > DISTURBED_ABOVE and repeats < processes // 2


# ── intervals ──

RESAMPLES = 1_000
"""Of the bootstrap, in the search: its interval decides only whether to go on."""
CLAIM_RESAMPLES = 2_000
"""The ends of a 95 % interval then vary by a few percent of its width."""
COMPARISON_RESAMPLES = 10_000
"""Over seeds, of which there are few: cheap, and exact to the digits that are shown."""
TIE = 0.01
"""Of a speedup: closer than any measurement tells apart."""
FALSE_ALARMS = 0.05
"""Of a gate, over all that it compares together."""
FOUND = 0.9
"""The chance with which a gate finds the smallest slowdown that it says it finds."""
GATE_TIMES_PROCESSES = 3
"""A gate measures at most so many times the usual number of processes where noise would hide what is to be found."""


# ── what no time can be below ──

ROOF_ROUNDS = 4
"""Of each probe, beside the claims: the roof is the best of several shapes, so few are enough."""
ABOVE_ROOF = 1.05
"""A claim so far above the roofline is looked into: less may be noise of the probes."""
STORE_COSTS = 2.0
"""Of a load: whether a store reads its line first is up to the code."""
IN_CACHE = 2.0
"""Times the speed of streaming, for what fits into the caches."""
INFLUENCE_SAMPLES = 32
"""Elements of an input that are changed: if all of them matter, at least 91 % of the elements do, with 95 % confidence."""
INFLUENCE_DOUBT = 0.05
SURE_SHARE = 0.85
"""Of an input's bytes: as many as so few samples can show."""
