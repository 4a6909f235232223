"""64 simulated devices search recorded GPU spaces with real delays, while machines of eight are killed at random.

Each evaluation takes its recorded time (or a part of it: `--scale`). Shown are how much faster that is than one after the other,
how much of a 64-fold speedup that comes to, what the kills cost, and whether every outcome is as in series.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.recorded import parsed
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Outcome
from warpsmith.measure.bench import Candidate
from warpsmith.record.foreign import Recording, load_recording
from warpsmith.replay.trial import RecordedEvaluator
from warpsmith.search.registry import start_strategy
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.evaluation.judge import Judgement, Trial
from warpsmith.tuning.evaluation.seats import SeatLost
from warpsmith.tuning.evaluation.side_by_side import SideBySide
from warpsmith.tuning.rounds.search import Evaluate, asked_ahead_of_machines, search

DEVICES, A_MACHINE = 64, 8
_AWAY_S = 10.0  # until a killed machine's devices are there again, before scaling


@dataclass
class Machine:
    """Some devices that are lost together. Nothing of them answers until they are back."""

    up: threading.Event = field(default_factory=threading.Event)
    killed: threading.Event = field(default_factory=threading.Event)  # of its present life

    def __post_init__(self) -> None:
        self.up.set()

    def kill(self, away_s: float) -> None:
        self.up.clear()
        died, self.killed = self.killed, threading.Event()
        died.set()
        threading.Timer(away_s, self.up.set).start()


class RecordedSeat:
    """Implements `tuning.evaluation.seats.Seat`: waits as long as the evaluation took when it was recorded."""

    def __init__(self, name: str, machine: Machine, recorded: RecordedDesk, scale: float) -> None:
        self.name = name
        self.busy_s = 0.0
        self._machine = machine
        self._recorded = recorded
        self._scale = scale

    def judge(self, trial: Trial) -> Judgement:
        evaluation, seconds = self._recorded.find(trial)
        killed = self._machine.killed
        if not self._machine.up.is_set():
            raise SeatLost("its machine is gone", begun=False)
        if killed.wait(self._scale * seconds):
            raise SeatLost("its machine was killed")
        self.busy_s += self._scale * seconds
        return Judgement(evaluation.outcome)

    def regain(self) -> bool:
        return self._machine.up.wait()

    def abandon(self) -> None:
        self._machine.kill(0.0)


class RecordedDesk:
    """Implements `tuning.evaluation.side_by_side.Questions` for what is recorded: nothing is compiled."""

    compilers = 1

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._asked: dict[str, int] = {}

    def find(self, trial: Trial) -> tuple[Evaluation, float]:
        number = self._asked[trial.candidate.name]
        return self._recording.evaluation(number), float(self._recording.seconds[number])

    def prefetch(self, configuration: Configuration) -> None: ...

    def observe(self, evaluation: Evaluation) -> None: ...

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]:
        return [None for _ in configurations]

    def built(self, configuration: Configuration) -> Candidate:
        number = self._recording.space.index(configuration)
        assert number is not None, "a strategy asks for what is in the space"
        self._asked[str(configuration)] = number
        return Candidate(str(configuration), {}, {}, {})

    def trial(self, configuration: Configuration, candidate: Candidate) -> Trial:
        return Trial(configuration, candidate, (), candidate)

    def settled(self, trial: Trial, judgement: Judgement) -> Outcome:  # noqa: ARG002
        return judgement.outcome


@dataclass(frozen=True)
class Simulated:
    """`work_s` is what its evaluations take one after the other, `strategy_s` what the driver thought."""

    evaluations: list[Evaluation]
    seconds: float
    work_s: float
    kills: int
    losses: int

    def is_as(self, series: Sequence[Evaluation]) -> bool:
        return [(e.configuration, e.outcome) for e in self.evaluations] == [(e.configuration, e.outcome) for e in series]


def simulate(
    recording: Recording, strategy: str, seed: int, evaluations: int, *, devices: int, scale: float, kills_every_s: float
) -> Simulated:
    desk = RecordedDesk(recording)
    machines = [Machine() for _ in range(-(-devices // A_MACHINE))]
    seats = [RecordedSeat(f"gpu {i}", machines[i // A_MACHINE], desk, scale) for i in range(devices)]
    over = threading.Event()
    counts: Counter[str] = Counter()
    lock = threading.Lock()

    def noticed(text: str) -> None:
        with lock:
            counts["losses"] += "given to another" in text

    def kill() -> None:
        rng = np.random.default_rng([seed, *b"kills"])
        while not over.wait(scale * float(rng.exponential(kills_every_s))):
            machines[int(rng.integers(len(machines)))].kill(scale * _AWAY_S)
            counts["kills"] += 1

    killer, ahead = threading.Thread(target=kill), asked_ahead_of_machines(devices)
    began = time.perf_counter()
    killer.start()
    try:
        with SideBySide(desk, seats, at_once=ahead, notice=noticed) as evaluate:
            found = searched(recording, strategy, seed, evaluations, evaluate, ahead)
    finally:
        over.set()
        killer.join()
    seconds = time.perf_counter() - began
    numbers = [recording.space.index(e.configuration) for e in found]
    work_s = scale * float(sum(recording.seconds[number] for number in numbers if number is not None))
    return Simulated(found, seconds, work_s, counts["kills"], counts["losses"])


def in_series(recording: Recording, strategy: str, seed: int, evaluations: int, *, ahead: int) -> list[Evaluation]:
    """One after the other, by one device, without delays; as many are asked for ahead."""
    return searched(recording, strategy, seed, evaluations, RecordedEvaluator(recording, lambda: False), ahead)


def searched(
    recording: Recording, strategy: str, seed: int, evaluations: int, evaluate: Evaluate, ahead: int
) -> list[Evaluation]:
    return search(
        start_strategy(strategy, recording.space, np.random.default_rng(seed), ()),
        evaluate,
        budget=Budget(evaluations),
        recorded={},
        record=lambda _: None,
        report=lambda *_: None,
        elapsed_s=lambda: 0.0,
        lookahead=ahead,
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster")
    parser.add_argument("spaces", nargs="*", default=os.environ.get("WARPSMITH_SPACES", "").split())
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--strategy", default="local")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--kills-every", type=float, default=10.0, help="seconds between kills of a machine, on average")
    options = parsed(parser, arguments)
    print(f"{DEVICES} devices on {DEVICES // A_MACHINE} machines, delays × {options.scale:g}, {options.strategy}")
    for space in options.spaces:
        recording = load_recording(Path(space))
        count = min(options.evaluations, len(recording.space))
        began = time.perf_counter()
        series = in_series(recording, options.strategy, 0, count, ahead=asked_ahead_of_machines(DEVICES))
        thinking = time.perf_counter() - began
        ran = simulate(
            recording, options.strategy, 0, count, devices=DEVICES, scale=options.scale, kills_every_s=options.kills_every
        )
        speedup = ran.work_s / ran.seconds
        print(
            f"{recording.name:24} {count} evaluations, {ran.work_s:.0f} s of work in {ran.seconds:.1f} s: {speedup:.1f} × "
            f"({speedup / DEVICES:.2f} of linear); {ran.kills} machines killed, {ran.losses} evaluations begun anew; "
            f"the strategy's own time {thinking:.1f} s; {'as in series' if ran.is_as(series) else 'NOT AS IN SERIES'}; "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
