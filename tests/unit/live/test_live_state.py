"""What the page shows of each event, and that a long run costs no more than its points."""

import threading

from live_events import a_run, configuration, evaluated, measured, started

from warpsmith.core.outcome import Evaluation
from warpsmith.live.state import LiveState
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.tuning.events import (
    EvaluationAdvanced,
    EvaluationQueued,
    MessageNoted,
    PreparationStarted,
    RoundFinished,
    RoundStarted,
    StageAdvanced,
    StageStarted,
    Step,
    Warned,
)


def told(*events) -> LiveState:
    state = LiveState()
    for event in events:
        state(event)
    return state


def test_it_has_what_the_report_will_have():
    _, shown = told(*a_run()).snapshot()
    assert shown["best"] == {"speedup": "2.50x", "interval": "2.27 - 2.78", "configuration": str(configuration(2))}
    assert shown["counts"] == {"measured": 2, "failed to compile": 1}
    assert [point[1:] for point in shown["points"]] == [("measured", 1.25), ("measured", 2.5), ("failed to compile", None)]
    assert shown["latest"][0]["figure"].startswith("error <img")
    assert "\n" not in shown["latest"][0]["figure"]
    assert shown["rounds"][0]["reason"].startswith("reason")
    assert shown["rounds"][0]["findings"][0].startswith("traffic: finding")
    assert shown["cost"] == {"tokens": 1200, "price": "$0.2500"}
    assert [(k["kernel"][0], k["best"], k["now"]) for k in shown["kernels"]] == [("k", "2.50x [2.27, 2.78]", True)]
    assert shown["stage"]["name"] == "search"
    assert (shown["stage"]["step"], shown["stage"]["of"], shown["limit"]) == (3, 20, 20)


def test_it_has_who_does_what_where():
    one, two, three = (configuration(number) for number in (1, 2, 3))
    state = told(started(), *(EvaluationQueued(c) for c in (one, two, three)))
    state(EvaluationAdvanced(one, Step.COMPILING, "cuda:0"))
    state(EvaluationAdvanced(two, Step.TIMING, "cuda:1"))
    _, shown = state.snapshot()
    assert [(w["where"], w["step"], w["configuration"]) for w in shown["working"]] == [
        ("cuda:0", "waiting for its compiler", str(one)),
        ("cuda:1", "timing", str(two)),
    ]
    assert shown["queued"] == [str(three)]
    state(evaluated(1, measured(1.5)))
    _, shown = state.snapshot()
    assert [w["where"] for w in shown["working"]] == ["cuda:1"]
    state(RoundFinished(1, 1, 1.5))
    assert not state.snapshot()[1]["working"]


def test_who_knows_the_first_points_gets_the_others():
    state = told(*a_run())
    cursor, first = state.snapshot()
    assert (first["since"], len(first["points"])) == (0, 3)
    state(evaluated(4, measured(1.5)))
    later, more = state.snapshot(cursor)
    assert (more["since"], more["points"]) == (3, [(4, "measured", 1.5)])
    state(started("k-2", "other"))  # another run, or the same one resumed: all of it is told anew
    _, anew = state.snapshot(later)
    assert (anew["since"], anew["points"], anew["kernel"]) == (0, [], "other")
    assert state.snapshot("nonsense")[1]["since"] == 0


def test_a_long_run_holds_its_points_and_little_else():
    state = told(started())
    for number in range(500):
        state(EvaluationQueued(configuration(number)))
        state(EvaluationAdvanced(configuration(number), Step.TIMING, "cpu"))
        state(evaluated(number, measured(1.5)))
        state(Warned(f"warning {number}"))
    cursor, shown = state.snapshot()
    assert len(shown["points"]) == 500
    assert (len(shown["latest"]), len(shown["notes"]), len(shown["queued"]), len(shown["working"])) == (12, 60, 0, 0)
    assert state.snapshot(cursor)[1]["points"] == []


def test_what_is_done_before_and_after_the_search_is_a_stage():
    state = told(PreparationStarted("device"))
    assert state.snapshot()[1]["stage"]["detail"] == "device"
    state(started())
    state(RoundStarted(1, ("A",), 2, 4, None))
    assert state.snapshot()[1]["rounds"][0]["space"] == "2 feasible of 4 configurations of A"
    state(StageStarted("claims", 5))
    state(StageAdvanced(2, "disturbed by others"))
    stage = state.snapshot()[1]["stage"]
    assert (stage["name"], stage["step"], stage["of"], stage["detail"]) == ("claims", 2, 5, "disturbed by others")


def test_what_the_run_decides_without_a_model_is_not_told_twice():
    state = told(started(), MessageNoted(Message(Role.PLANNER, Kind.DECISION, "the plan"), 0, 0.0, unpriced=False))
    assert state.snapshot()[1]["notes"] == []
    state(MessageNoted(Message(Role.PLANNER, Kind.DECISION, "the plan", model="m"), 10, 0.0, unpriced=False))
    assert [note["text"] for note in state.snapshot()[1]["notes"]] == ["the plan"]


def test_who_waits_is_woken_by_the_next_event():
    state = LiveState()
    seen = state.wait(-1, 1.0)
    woken = threading.Event()
    waiting = threading.Thread(target=lambda: (state.wait(seen, 60.0), woken.set()))
    waiting.start()
    state(Warned("now"))
    assert woken.wait(30.0)
    waiting.join()


def test_a_best_of_the_record_counts():
    known = Evaluation(configuration(9), measured(4.0))
    _, shown = told(started(), evaluated(1, measured(1.5), known)).snapshot()
    assert shown["best"]["speedup"] == "4.00x"
