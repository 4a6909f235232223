"""The devices that judge trials, local or remote. Each is free, busy, or temporarily lost."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from warpsmith.core.errors import UnavailableError
from warpsmith.tuning.evaluation.judge import Judgement, Trial


class SeatLost(Exception):  # noqa: N818 - reads as the fact it states
    """Its machine or process is gone, and with it the trial that was under way; `begun` tells whether that was begun at all."""

    def __init__(self, reason: str, *, begun: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.begun = begun


class Seat(Protocol):
    @property
    def name(self) -> str: ...

    def judge(self, trial: Trial) -> Judgement:
        """Raises SeatLost."""
        ...

    def regain(self) -> bool:
        """After a loss: waits until it can judge again. False where it never will."""
        ...

    def abandon(self) -> None:
        """End what is under way, from any thread."""
        ...


class Seats:
    """Hands out what is free, to the earliest question first: nothing is told before that one is answered."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        self._free: deque[Seat] = deque(seats)
        self._left = len(self._free)
        self._waiting: list[tuple[int, Future[Seat]]] = []
        self._lock = threading.Lock()
        self._is_abandoned = False

    def take(self, number: int) -> Seat:
        """For the question of that number; waits. Raises UnavailableError where nobody is left."""
        turn: Future[Seat] = Future()
        with self._lock:
            heapq.heappush(self._waiting, (number, turn))
            self._hand_out()
        return turn.result()

    def give_back(self, seat: Seat) -> None:
        with self._lock:
            self._free.append(seat)
            self._hand_out()

    def lose(self, seat: Seat, regained: Callable[[Seat], None]) -> None:
        """It is free again as soon as it can judge, and that is told; or never."""
        threading.Thread(target=self._regain, args=(seat, regained), daemon=True).start()

    def abandon(self) -> None:
        """Nobody gets one any more."""
        with self._lock:
            self._is_abandoned = True
            self._hand_out()

    def _hand_out(self) -> None:
        """One wakes for each that is free, not all that wait."""
        if self._is_abandoned or not self._left:
            error = UnavailableError("no device is left to measure on", hint="`warpsmith resume last` goes on with the run")
            for _, turn in self._waiting:
                turn.set_exception(error)
            self._waiting.clear()
        while self._waiting and self._free:
            heapq.heappop(self._waiting)[1].set_result(self._free.popleft())

    def _regain(self, seat: Seat, regained: Callable[[Seat], None]) -> None:
        if seat.regain():
            regained(seat)
            self.give_back(seat)
            return
        with self._lock:
            self._left -= 1
            self._hand_out()
