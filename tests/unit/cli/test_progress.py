"""What a person sees while a run works: lines that wrap between words, and each space once."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from warpsmith.cli.progress import _Reporter
from warpsmith.tuning.events import RoundStarted, Warned

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


@pytest.mark.parametrize(("second", "lines"), [(("A",), 1), (("A", "B"), 2)])
def test_a_space_that_is_searched_again_is_told_once(second, lines):
    events = [RoundStarted(1, names, 2 * len(names), 4 * len(names), None) for names in (("A",), second)]
    assert len([line for line in said(*events, terminal=False) if line.startswith("space")]) == lines
