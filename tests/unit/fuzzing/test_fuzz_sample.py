"""A few of the inputs that `python -m benchmarks fuzz` feeds to every parser: a value or an error that says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.fuzzing.parsers import Parser, all_parsers
from benchmarks.fuzzing.running import answer, one_input

SLOW = {"passes", "inspection", "extract", "MCP arguments", "require_allowed"}
QUICK = [parser for parser in all_parsers() if parser.name not in SLOW]


@pytest.mark.parametrize("parser", QUICK, ids=lambda parser: parser.name)
def test_a_value_or_a_word(parser: Parser, tmp_path: Path):
    parser.prepare(tmp_path)
    for number in range(40):
        name, data = one_input(parser, number, seed=11)
        kind, place, trace = answer(parser, name, data, tmp_path)
        assert kind in {"value", "refused"}, f"input {number}, at {place}\n{data[:2000]!r}\n{trace}"


def test_what_was_found_at_a_place_is_one_finding(tmp_path: Path):
    """The harness itself: what raises anything else is told with its place, and what answers in its own words is not."""

    def feed(data: bytes, _seed: str, _place: Path) -> object:
        return {b"a": lambda: 1, b"b": lambda: int("x"), b"c": lambda: data[9]}[data]()

    parser = Parser("one", {"a": b"a"}, feed, answers=(ValueError,))
    assert [answer(parser, "a", data, tmp_path)[0] for data in (b"a", b"b", b"c")] == ["value", "refused", "IndexError"]
    assert one_input(parser, 3, seed=1) == one_input(parser, 3, seed=1)
