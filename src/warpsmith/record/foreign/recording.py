"""`Recording`: a whole space with the outcome of every configuration. Owns the assembly of entries of any format.

Readers (`kernel_tuner`, `t4`) say what the file holds as `Entry` values; nothing here knows a file format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError, Location
from warpsmith.core.outcome import (
    ArgumentCheck,
    CompileFailed,
    Evaluation,
    LaunchFailed,
    Measured,
    Outcome,
    TimedOut,
    Verdict,
    WrongResult,
)
from warpsmith.space import Space
from warpsmith.spec.kernel import Parameter

Floats: TypeAlias = NDArray[np.float64]
Failure: TypeAlias = CompileFailed | LaunchFailed | WrongResult | TimedOut

# The tuner that made the record did the verifying; it keeps no errors to show here.
VERIFIED_ELSEWHERE = Verdict((ArgumentCheck("recorded", "outputs", passed=True, max_error=0.0),))
WRONG_ELSEWHERE = WrongResult(
    Verdict((ArgumentCheck("recorded", "outputs", passed=False, max_error=float("inf"), problem="recorded as wrong"),))
)

_HIGHER = ("flop", "b/s", "/w", "/j", "fitness", "score", "throughput")
_LOWER = ("time", "energy", "power", "cost", "loss", "latency")


@dataclass(frozen=True, slots=True)
class Objective:
    name: str
    higher_is_better: bool

    @classmethod
    def named(cls, name: str, higher_is_better: object, file: Path) -> Objective:
        """The direction as the file says it, else as the name does. Raises InputError where neither tells."""
        if isinstance(higher_is_better, bool):
            return cls(name, higher_is_better)
        lowered = name.lower()
        if any(word in lowered for word in _LOWER):
            return cls(name, higher_is_better=False)
        if any(word in lowered for word in _HIGHER):
            return cls(name, higher_is_better=True)
        hint = 'put "objective_higher_is_better": true or false beside "objective"'
        raise InputError(f"is a higher {name!r} better or worse? The file does not say", location=Location(file), hint=hint)


@dataclass(frozen=True, slots=True)
class Entry:
    """The outcome of one configuration: the objective or the failure reason, and its cost in time."""

    result: float | Failure
    seconds: float


@dataclass(frozen=True, slots=True)
class Recording:
    """`outcomes`, `scores` (infinite for failures) and `seconds` are by number in the space.

    Scores are relative to the first configuration that was measured, whose objective is `reference`; lower is better whatever
    the objective. `left_out` counts entries that the tuner itself marked as outside the space.
    """

    name: str
    file: Path
    kernel: str
    device: str
    objective: Objective
    space: Space
    outcomes: tuple[Outcome, ...]
    scores: Floats
    seconds: Floats
    reference: float
    left_out: int
    notes: tuple[str, ...]

    def evaluation(self, number: int) -> Evaluation:
        return Evaluation(self.space[number], self.outcomes[number], float(self.seconds[number]))

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        return tuple(self.evaluation(number) for number in range(len(self.space)))

    @property
    def failures(self) -> int:
        return int(np.count_nonzero(np.isinf(self.scores)))

    @property
    def best_score(self) -> float:
        return float(self.scores.min())

    @property
    def optimum(self) -> float:
        """The best objective in the recording, in the file's own unit."""
        return self.reference / self.best_score if self.objective.higher_is_better else self.reference * self.best_score


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """Facts about the whole file. `parameters` has each one's values in order."""

    name: str
    file: Path
    kernel: str
    device: str
    objective: Objective
    parameters: Mapping[str, Sequence[Value]]
    left_out: int = 0
    notes: tuple[str, ...] = ()


def assemble(facts: RecordingFacts, rows: NDArray[np.int32], entries: Sequence[Entry]) -> Recording:
    """The recording of these entries, whose configurations are `rows` of positions; of one that occurs twice, the first."""
    measured = [entry.result for entry in entries if isinstance(entry.result, float)]
    if not measured:
        found = f"{len(entries)} configurations, none of them measured" if entries else "no configurations"
        raise InputError(f"nothing to search: {found}", location=Location(facts.file), hint="was the tuner stopped too early?")
    stand_in = rows[_middle(rows, [len(values) for values in facts.parameters.values()])]
    parameters = tuple(
        Parameter(name, tuple(values), values[stand_in[column]]) for column, (name, values) in enumerate(facts.parameters.items())
    )
    space = Space.listed(parameters, rows, Configuration(tuple((p.name, p.default) for p in parameters)))
    _, first = np.unique(space.indices(rows), return_index=True)
    chosen = [entries[at] for at in first.tolist()]
    outcomes = tuple(_outcome(entry.result, measured[0], facts.objective) for entry in chosen)
    return Recording(
        name=facts.name,
        file=facts.file,
        kernel=facts.kernel,
        device=facts.device,
        objective=facts.objective,
        space=space,
        outcomes=outcomes,
        scores=np.array([outcome.score if isinstance(outcome, Measured) else np.inf for outcome in outcomes]),
        seconds=np.array([entry.seconds for entry in chosen]),
        reference=measured[0],
        left_out=facts.left_out,
        notes=facts.notes,
    )


def _middle(rows: NDArray[np.int32], sizes: Sequence[int]) -> int:
    """No file says how the kernel was written at first: the configuration nearest to the middle of all lists stands for it."""
    last = np.array(sizes) - 1
    return int(np.argmin((np.abs(rows - last / 2) / np.maximum(last, 1)).sum(axis=1)))


def _outcome(result: float | Failure, reference: float, objective: Objective) -> Outcome:
    if not isinstance(result, float):
        return result
    return Measured(VERIFIED_ELSEWHERE, (), reference / result if objective.higher_is_better else result / reference)
