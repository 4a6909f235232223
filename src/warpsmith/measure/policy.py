"""Measurement policy: every count, limit and threshold, with its reason. Change them here.

In the order of a run. Launches are timed in pairs or interleaved rounds, because single times vary by 8 to 17 % on a CPU while
ratios of neighbouring launches are steady (docs/concepts/measurement.md). The number of fresh processes per claim is a setting:
`settings.claim_processes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# ── how long a launch may take ──

LAUNCH_DEADLINE_S = 10.0
"""Before the original is timed: a slower kernel is impractical for a search of a hundred configurations."""
HOPELESS_TIMES = 50
"""Afterwards, as a multiple of the original's time: slower counts as hanging. Large enough for a busy machine."""
TURNS = 10
"""Multiple of a launch's overhead (drawing inputs, emptying caches), which may exceed the kernel's own time."""
SHORTEST_DEADLINE_S = 2.0
"""Minimum limit, however short the original is: the system may suspend a process for that long."""
CHECKED_DEADLINE_S = 120.0
"""Under a checker, where a launch takes ten to several hundred times as long."""
REPORT_DEADLINE_S = 60.0
"""For a checker to write what it found."""
WATCHED_S = 30.0
"""For the watched launches of one candidate: no further workload starts after it. Bugs rarely need large ones."""


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
"""New incumbents against the original itself: every score is then at most one link away from it, so errors do not add up from
incumbent to incumbent.
"""
TRIAL = PairPlan(quick_pairs=3, step_pairs=4, max_pairs=11, max_seconds=0.15)
"""For a template that an agent tries out: it decides nothing."""
NEUTRAL = PairPlan(beaten_above=math.inf, hopeless_above=math.inf)
"""For a template at its defaults, proved by outputs and unchanged time: it must not be rejected early."""
NEUTRAL_WITHIN = 0.03
"""Allowed slowdown: less is indistinguishable from the effect of code placement."""
NEUTRAL_ATTEMPTS = 3
"""Noise alone must not refuse a template."""
DISTURBANCE_NS = 10_000_000
"""A few scheduler slices: a launch that exceeds its limit by more was slow, not disturbed."""


# ── finalists and claims: interleaved, in fresh processes ──


@dataclass(frozen=True, slots=True)
class Pace:
    """Time limit for one workload in one process, and its minimum and maximum number of rounds."""

    seconds: float
    least: int = 6
    most: int = 30


FINALISTS = 8
"""By score; several, because the search used only part of the cores."""
FINALISTS_PER_WORKLOAD = 3
SIMILAR = 0.04
"""In the search, which is less exact than the final choice: the simplest within this margin of the best are finalists too."""
EQUAL_WITHIN = 0.02
"""Maximum slowdown accepted for a simpler configuration, and only where it is statistically insignificant …"""
EQUAL_DEVIATIONS = 2.5
"""… that is, within so many standard errors."""
CHOICE = Pace(seconds=2.5)
CLAIM = Pace(seconds=0.8)
"""In each of several processes, which differ by more than repetitions within one do."""
GATE = Pace(seconds=1.5, least=8)
COMPARISON = Pace(seconds=3.0, least=8)
"""The finalists of many runs in one table."""
COMPARISON_FINALISTS = 3
"""Of each run, for the same reason."""
ENDURANCE = 30
"""A candidate that counts its launches, or wears out memory, must still be correct after this many: the most in a table."""
DISTURBED_ABOVE = 0.20
"""Share of the cores used by other programs above which errors exceed the reported intervals."""
SHORTEST_SHARE_S = 0.1
"""The kernel counts time in ticks of 10 ms: below this the share is noise."""


def is_to_be_repeated(others: float | None, repeats: int, processes: int) -> bool:
    """Whether a process is measured again because others used this share of the cores; at most half of them are."""
    return others is not None and others > DISTURBED_ABOVE and repeats < processes // 2


# ── intervals ──

RESAMPLES = 1_000
"""For the search's bootstrap, whose interval only decides whether to go on."""
CLAIM_RESAMPLES = 2_000
"""The ends of a 95 % interval then vary by a few percent of its width."""
COMPARISON_RESAMPLES = 10_000
"""Over seeds, which are few: cheap, and exact to the digits shown."""
TIE = 0.01
"""Significant difference of a speedup: smaller than any measurement resolves."""
FALSE_ALARMS = 0.05
"""Of a gate, over all its comparisons together."""
FOUND = 0.9
"""Power of a gate: its chance of finding the smallest slowdown that it reports as detectable."""
GATE_TIMES_PROCESSES = 3
"""Maximum multiple of the usual number of processes that a gate measures where noise hides the slowdown."""


# ── lower bounds of times ──

ROOF_ROUNDS = 4
"""Of each probe, with the claims: the roof is the best of several shapes, so few are enough."""
ABOVE_ROOF = 1.05
"""A claim this far above the roofline is investigated: less may be noise of the probes."""
STORE_COSTS = 2.0
"""Relative to a load: whether a store reads its line first depends on the code."""
IN_CACHE = 2.0
"""Relative to the streaming speed, for data that fits into the caches."""
INFLUENCE_SAMPLES = 32
"""Elements of an input that are changed: if all of them matter, at least 91 % of the elements do, with 95 % confidence."""
INFLUENCE_DOUBT = 0.05
SURE_SHARE = 0.85
"""Share of an input's bytes: the most that so few samples can prove."""
