"""What the model sees of a configuration: its values, the quantities that rules speak of, and what is expected of it."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.search.gp.columns import Columns
from warpsmith.search.gp.design import spread_out
from warpsmith.search.gp.encoding import UNLIKELY, handicaps, handicaps_of_blocks, handicaps_of_rows
from warpsmith.space import Space
from warpsmith.spec.kernel import Parameter
from warpsmith.testing.strategies import plain_space

TILE = Parameter("TILE", (16, 32, 64, 128), 32)
EACH = Parameter("EACH", (1, 2, 4, 8), 1)


def test_a_quantity_of_two_sizes_is_a_column_of_its_own():
    space = plain_space(TILE, EACH, constraints=("TILE / EACH >= 8",))
    columns = Columns(space)
    rows = columns.of(space.rows)
    assert rows.shape == (len(space), 3)
    quotients = np.array([configuration["TILE"] // configuration["EACH"] for configuration in space])
    for a, b in [(0, 1), (0, -1), (3, 7)]:
        steps = abs(np.log2(quotients[a]) - np.log2(quotients[b]))
        assert columns.tables[2][rows[a, 2], rows[b, 2]] == pytest.approx((steps / 6) ** 2), "from 2 to 128 it is 6 doublings"
    assert columns.sizes == (4, 4, 7)


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ((TILE, Parameter("STAGE", (0, 1, 2), 0)), "TILE * STAGE <= 128"),  # 0 has no ratio to anything
        ((TILE, Parameter("LAYOUT", ("row", "tiled"), "row")), "TILE > 16 or LAYOUT != 'tiled'"),
    ],
)
def test_what_is_no_ratio_of_sizes_gets_no_column(parameters: tuple[Parameter, ...], rule: str):
    space = plain_space(*parameters, constraints=(rule,))
    assert len(Columns(space).tables) == 2


def test_blocks_of_unusual_size_are_expected_to_be_slower():
    slower = handicaps_of_blocks(np.array([32, 64, 128, 192, 256, 1024]))
    assert slower[0] > slower[1] > slower[2] == slower[3] == slower[4] == 0 < slower[5]
    assert slower[5] < slower[0], "too many is less of a fault than too few"


def test_few_threads_beside_each_other_are_expected_to_be_slower():
    assert handicaps_of_rows(np.array([1, 4, 8, 32])) == pytest.approx([1.5, 0.5, 0, 0])


def test_what_is_expected_of_a_configuration_adds_up():
    """A recording of a GPU: X * Y ends at 1,024 threads though 2,048 would be possible."""
    parameters = (Parameter("X", (16, 48, 128), 128), Parameter("Y", (1, 4, 16), 1), Parameter("C", (1, 3, 4), 1))
    every = np.array([(x, y, c) for x in range(3) for y in range(3) for c in range(3) if (x, y) != (2, 2)])
    sizes = np.array([parameters[0].values[x] * parameters[1].values[y] for x, y, _ in every])
    assert sizes.max() == 768, "no limit in sight: nothing is known of the threads"
    space = Space.listed(parameters, every, Configuration(tuple((p.name, p.default) for p in parameters)))
    alone = sum(handicaps(p.values)[space.rows[:, at]] for at, p in enumerate(parameters))
    assert Columns(space).expected(space.rows) == pytest.approx(alone)

    parameters = (parameters[0], Parameter("Y", (1, 4, 8, 16), 1), parameters[2])
    every = np.array([(x, y, c) for x in range(3) for y in range(4) for c in range(3) if (x, y) != (2, 3)])
    space = Space.listed(parameters, every, Configuration(tuple((p.name, p.default) for p in parameters)))
    threads = np.array([configuration["X"] * configuration["Y"] for configuration in space])
    alone = sum(handicaps(p.values)[space.rows[:, at]] for at, p in enumerate(parameters))
    assert Columns(space).expected(space.rows) == pytest.approx(alone + handicaps_of_blocks(threads))


# ── where a search begins ──


def test_the_extremes_of_every_parameter_are_among_the_first():
    sizes = tuple(2**power for power in range(8))
    space = plain_space(*(Parameter(name, sizes, 8) for name in "ABCD"), constraints=("A * B <= 4096",))
    for seed in range(5):
        first = [space[number] for number in spread_out(space, Columns(space), 8, np.random.default_rng(seed))]
        assert first[0] == space.default
        assert all({1, 128} <= {configuration[name] for configuration in first} for name in "ABCD")


# ── values that the author of a parameter finds likely to be fast ──


def test_what_is_likely_is_tried_first_as_far_as_it_is_allowed():
    stage = Parameter("STAGE", (0, 1, 2), 0, likely=(2, 1))
    space = plain_space(TILE, EACH, stage, constraints=("STAGE != 2 or TILE >= 64", "STAGE == 0 or EACH > 1 or TILE == 32"))
    first = [space[number] for number in spread_out(space, Columns(space), 8, np.random.default_rng(0))]
    assert first[0] == space.default
    assert first[1] == Configuration.of({"TILE": 32, "EACH": 1, "STAGE": 1}), "the original with what is likely; 2 is not allowed"
    assert len(set(first)) == len(first) == 8
    for configuration in first[1:]:
        better = [space.index(Configuration.of({**configuration, "STAGE": value})) for value in (2, 1)]
        assert configuration["STAGE"] != 0 or better == [None, None]


def test_combinations_that_are_not_likely_are_expected_to_be_slower_and_left_out_at_first():
    space = plain_space(TILE, EACH, likely=("TILE * EACH >= 128",))
    met = np.array([configuration["TILE"] * configuration["EACH"] >= 128 for configuration in space])
    expected = Columns(space).expected(space.rows)
    assert expected == pytest.approx(np.where(met, 0.0, UNLIKELY))
    first = spread_out(space, Columns(space), 4, np.random.default_rng(0))
    assert first[0] == space.index(space.default)
    assert met[first[1:]].all()


def test_what_is_not_likely_is_expected_to_be_slower():
    expected = handicaps((0, 1, 2), likely=(1, 2))
    assert expected[0] > expected[1] == expected[2] == 0
    assert not handicaps((0, 1, 2)).any()
