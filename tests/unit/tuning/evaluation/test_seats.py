"""Many machines that are lost at random: nothing of a run is lost with them, and it goes as in series."""

import json
import threading
import time

import pytest
from benchmarks.cluster import Machine, RecordedDesk, RecordedSeat, in_series, searched

from warpsmith.core.errors import UnavailableError
from warpsmith.core.outcome import Crashed
from warpsmith.record.foreign import Recording, load_recording
from warpsmith.tuning.evaluation.judge import Judgement, Trial
from warpsmith.tuning.evaluation.seats import SeatLost, Seats
from warpsmith.tuning.evaluation.side_by_side import SideBySide


class Deadly:
    """Whoever judges is lost."""

    def __init__(self, name, *, comes_back=True):
        self.name = name
        self.comes_back = comes_back

    def judge(self, trial) -> Judgement:
        raise SeatLost("gone")

    def regain(self) -> bool:
        return self.comes_back

    def abandon(self) -> None: ...


@pytest.fixture
def recording(tmp_path) -> Recording:
    cache = {
        f"{a},{b}": {"A": a, "B": b, "time": float(1 + (a * 7 + b * 13) % 29), "benchmark_time": 1000.0 + 500 * (a % 3)}
        for a in range(12)
        for b in range(12)
    }
    header = {"device_name": "d", "kernel_name": "k", "problem_size": "n", "tune_params_keys": ["A", "B"]}
    file = tmp_path / "space.json"
    file.write_text(json.dumps({**header, "tune_params": {"A": list(range(12)), "B": list(range(12))}, "cache": cache}))
    return load_recording(file)


class Unsteady:
    """Loses every third of the trials that it has not seen before, and is back at once."""

    def __init__(self, desk: RecordedDesk, seen: set[str], lock: threading.Lock):
        self.name = "unsteady"
        self._desk, self._seen, self._lock = desk, seen, lock

    def judge(self, trial: Trial) -> Judgement:
        with self._lock:
            is_new = trial.candidate.name not in self._seen
            self._seen.add(trial.candidate.name)
            if is_new and len(self._seen) % 3 == 0:
                raise SeatLost("gone")
        return Judgement(self._desk.find(trial)[0].outcome)

    def regain(self) -> bool:
        return True

    def abandon(self) -> None: ...


@pytest.mark.parametrize("strategy", ["local", "random"])
def test_a_run_on_machines_that_are_lost_goes_as_in_series(recording, strategy):
    desk, seen, lock, said = RecordedDesk(recording), set(), threading.Lock(), []
    seats = [Unsteady(desk, seen, lock) for _ in range(16)]
    with SideBySide(desk, seats, at_once=40, notice=said.append) as together:
        found = searched(recording, strategy, 0, 100, together, 40)
    series = in_series(recording, strategy, 0, 100, ahead=40)
    assert [(e.configuration, e.outcome) for e in found] == [(e.configuration, e.outcome) for e in series]
    assert sum("is rescheduled" in text for text in said) == 33


def test_what_takes_machine_after_machine_with_it_is_an_outcome(recording):
    desk, said = RecordedDesk(recording), []
    with SideBySide(desk, [Deadly("one"), Deadly("two")], notice=said.append, at_once=8) as both:
        outcome = both(recording.space.default).outcome
    assert outcome == Crashed("3 machines failed during this evaluation, the last: gone")
    assert sum("is lost" in text for text in said) == 3


def test_a_device_that_was_gone_before_costs_nothing(recording):
    desk, machine = RecordedDesk(recording), Machine()
    machine.kill(3600)
    seats = [*(RecordedSeat(f"gone {i}", machine, desk, 0.0) for i in range(5)), RecordedSeat("there", Machine(), desk, 0.0)]
    with SideBySide(desk, seats, at_once=8) as together:
        found = together(recording.space.default)
    machine.up.set()
    assert found.outcome == recording.evaluation(recording.space.index(recording.space.default)).outcome


def test_without_any_device_left_the_run_says_so(recording):
    alone = SideBySide(RecordedDesk(recording), [Deadly("only", comes_back=False)], at_once=1)
    with pytest.raises(UnavailableError, match="no device is left"), alone:
        alone(recording.space.default)


def test_the_earliest_question_is_first():
    seats, order = Seats([Deadly("one")]), []
    taken = seats.take(0)

    def take(number):
        seat = seats.take(number)
        order.append(number)
        seats.give_back(seat)

    threads = [threading.Thread(target=take, args=(number,)) for number in (3, 1, 2)]
    for thread in threads:
        thread.start()
    while len(seats._waiting) < 3:
        time.sleep(0.001)
    seats.give_back(taken)
    for thread in threads:
        thread.join()
    assert order[0] == 1
