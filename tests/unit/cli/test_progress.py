"""What a person sees while a run works: lines that wrap between words, and each space once."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from warpsmith.cli import preparation
from warpsmith.cli.progress import _Reporter
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import CompileFailed, Evaluation
from warpsmith.devices.base import DeviceInfo
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import EvaluationFinished, PreparationStarted, RoundStarted, RunStarted, Warned

LONG = "the first of many words that do not fit into one line of a narrow terminal"


def said(*events, terminal: bool) -> list[str]:
    text = io.StringIO()
    console = Console(file=text, width=40, force_terminal=terminal, color_system=None)
    reporter = _Reporter(console, Progress(console=console, disable=True))
    for event in events:
        reporter(event)
    return text.getvalue().splitlines()


def test_a_terminal_gets_whole_words_below_each_other():
    lines = said(Warned(LONG), terminal=True)
    assert len(lines) == 3
    assert all(line.startswith(" " * 10) for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == f"warning   {LONG}"


def test_a_log_gets_one_line():
    assert said(Warned(LONG), terminal=False) == [f"warning   {LONG}"]


def test_a_terminal_is_not_driven_by_what_is_quoted():
    assert said(Warned("a \x1b[31mred\x07 \u202eword"), terminal=False) == ["warning   a  [31mred   word"]


def test_the_wait_before_the_first_evaluation_is_explained_once(monkeypatch):
    clock = iter([10.0, 11.5, 13.0])
    monkeypatch.setattr(preparation.time, "perf_counter", lambda: next(clock))
    events = [PreparationStarted("device"), PreparationStarted("inputs"), RoundStarted(1, ("A",), 2, 4, None)]
    lines = said(*events, RoundStarted(2, ("A", "B"), 4, 8, None), terminal=False)
    explained = [line for line in lines if line.startswith("prepared")]
    assert explained == ["prepared  in 3.0 s: device 1.5 s, inputs 1.5 s"]


@pytest.mark.parametrize(("second", "lines"), [(("A",), 1), (("A", "B"), 2)])
def test_a_space_that_is_searched_again_is_told_once(second, lines):
    events = [RoundStarted(1, names, 2 * len(names), 4 * len(names), None) for names in (("A",), second)]
    assert len([line for line in said(*events, terminal=False) if line.startswith("space")]) == lines


def test_a_search_by_the_clock_counts_seconds():
    budget = Budget(None, 60.0)
    info = DeviceInfo("cpu", "a machine", Limits(1, 1, 1, 1, 1, 1, 1), frozenset())
    events = [RunStarted("r", "k", info, "none", "gp", budget, 0), RoundStarted(1, ("A",), 90, 90, None)]
    events += [EvaluationFinished(10, Evaluation(Configuration.of({"A": 1}), CompileFailed("no")), None, 18.0, 42.4, False)]
    assert said(*events, terminal=False)[-1] == "search    10  no valid configuration yet · 1 CompileFailed · 42 s left"
