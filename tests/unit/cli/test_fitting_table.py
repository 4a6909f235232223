"""Figures stay whole, however narrow the terminal is."""

import io

import pytest
from rich.console import Console

from warpsmith.cli.fitting_table import FittingTable


def shown(width: int) -> str:
    text = io.StringIO()
    table = FittingTable(title="k on cpu", box=None, pad_edge=False)
    for name in ("", "time", "speedup", "95 % interval", "of roofline"):
        table.add_column(name, no_wrap=not name)
    table.add_row("baseline (the original)", "1234.567 ms", "1.00x", "-", "65%")
    table.add_row("general configuration", "123.456 ms", "10.00x", "9.95 - 10.05", "95%")
    Console(file=text, width=width).print(table)
    return text.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 72, 100])
def test_every_figure_is_whole(width):
    text = shown(width)
    assert "…" not in text
    for figure in ("1234.567 ms", "123.456 ms", "10.00x", "9.95 - 10.05", "95%"):
        assert figure in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())


def test_where_there_is_room_it_is_a_table():
    lines = shown(100).splitlines()
    assert lines[1].split() == ["time", "speedup", "95", "%", "interval", "of", "roofline"]
    assert len(lines) == 4


def test_what_a_row_begins_with_is_said_where_there_is_no_head():
    text = io.StringIO()
    table = FittingTable(box=None, pad_edge=False)
    for name in ("removes", "constraint"):
        table.add_column(name)
    table.add_row("486", "THREAD_N > 1 or SPREAD == 0")
    Console(file=text, width=30).print(table)
    assert [line.rstrip() for line in text.getvalue().splitlines()] == [
        "removes 486",
        "    constraint THREAD_N > 1 or",
        "    SPREAD == 0",
    ]
