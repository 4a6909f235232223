from __future__ import annotations

import pytest

from warpsmith.core.errors import InputError
from warpsmith.tuning.budget import Budget, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5h", 5400), ("1h30m", 5400), ("1m 30s", 90), (" .5 h ", 1800)]
)
def test_durations(text: str, seconds: float):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 minutes", "-3s", "1h-3", "1.5.2", "10 20", "1h30", "5m1h", "1s2s"])
def test_bad_durations_are_refused(text: str):
    with pytest.raises(InputError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("wrong", [{"evaluations": 0}, {"seconds": 0.0}, {"evaluations": -3}])
def test_empty_budgets_are_refused(wrong: dict[str, float]):
    with pytest.raises(InputError, match="must be"):
        Budget(**wrong)  # type: ignore[arg-type]


def test_the_first_limit_met_ends_it():
    budget = Budget(10, 60.0)
    assert not budget.spent(9, 59.0)
    assert budget.spent(10, 1.0)
    assert budget.spent(1, 60.0)
    assert budget.seconds_left(5, 10.0) == 10.0
    assert budget.seconds_left(0, 0.0) == 60.0
    assert Budget(10).seconds_left(0, 5.0) is None
