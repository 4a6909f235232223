"""Compilers on borrowed cores: they take what there is while the cores are lent, and are through when these are wanted back."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from warpsmith.compile.assistants import Assistants

LONG_S = 30


class IdleSlot:
    """A place without a worker process: tasks of these tests do not use it."""

    was_shut = False

    def shut(self) -> None:
        self.was_shut = True

    def close(self) -> None: ...


class Work:
    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Callable[[Any], None]] = queue.SimpleQueue()
        self.done: list[int] = []
        self.slots = [IdleSlot(), IdleSlot()]
        self.assistants = Assistants(self.slots, self.tasks.get_nowait)  # type: ignore[arg-type]

    def add(self, task: Callable[[Any], None]) -> None:
        self.tasks.put(task)
        self.assistants.there_is_more()


@pytest.fixture
def work() -> Iterator[Work]:
    found = Work()
    yield found
    found.assistants.close()
    assert all(slot.was_shut for slot in found.slots)


def test_nothing_is_taken_before_the_cores_are_lent(work: Work):
    begun = threading.Event()
    work.add(lambda _: begun.set())
    assert not begun.wait(0.05)
    with work.assistants.lent():
        assert begun.wait(LONG_S)


def test_what_comes_while_they_are_lent_is_taken(work: Work):
    with work.assistants.lent():
        for number in range(20):
            ready = threading.Event()
            work.add(lambda _, number=number, ready=ready: (work.done.append(number), ready.set()))  # type: ignore[misc]
            assert ready.wait(LONG_S)
    assert work.done == list(range(20))


def test_who_wants_the_cores_back_waits_for_what_is_under_way_and_no_more(work: Work):
    begun, may_end = threading.Event(), threading.Event()

    def slow(_: Any) -> None:
        begun.set()
        may_end.wait(LONG_S)
        work.done.append(1)

    def borrowed() -> None:
        with work.assistants.lent():
            begun.wait(LONG_S)
        work.done.append(2)

    work.add(slow)
    owner = threading.Thread(target=borrowed)
    owner.start()
    assert begun.wait(LONG_S)
    late = threading.Event()
    while work.assistants._lent:  # until the owner is at the end of its block
        time.sleep(0.001)
    assert owner.is_alive(), "it waits"
    work.add(lambda _: late.set())
    may_end.set()
    owner.join(LONG_S)
    assert work.done == [1, 2]
    assert not late.is_set(), "nothing is begun on cores that were given back"


def test_a_failing_task_does_not_keep_the_cores(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def fails(_: Any) -> None:
        begun.set()
        raise RuntimeError

    begun = threading.Event()
    work.add(fails)
    with work.assistants.lent():
        assert begun.wait(LONG_S)


def test_who_is_stopped_waits_for_nothing(work: Work):
    begun, may_end = threading.Event(), threading.Event()

    def slow(_: Any) -> None:
        begun.set()
        may_end.wait(LONG_S)

    def stopped() -> None:
        with work.assistants.lent():
            assert begun.wait(LONG_S)
            raise KeyboardInterrupt

    work.add(slow)
    with pytest.raises(KeyboardInterrupt):
        stopped()
    may_end.set()
