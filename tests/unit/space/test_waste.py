"""What of a launch is for nothing: elements beyond the data, units without a block."""

import numpy as np
import pytest

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.search.gp.columns import Columns
from warpsmith.space.space import Space
from warpsmith.space.waste import waste_of
from warpsmith.spec.kernel import Launch, Parameter, Workload

CPU = Limits(8192, 8192, 8192, 8192, 262144, 32, compute_units=2, shared_banks=1)
GPU = Limits(1024, 1024, 1024, 64, 49152, 32, compute_units=8)
TILE, ROWS = Parameter("TILE", (32, 64, 128), 32), Parameter("ROWS", (1, 2), 1)


def space(*grid: str, workloads: tuple[Workload, ...] = (Workload("w", {"n": 96}),), limits: Limits = CPU) -> Space:
    launch = Launch(tuple(map(Expression.parse, grid)), (Expression.parse("32"),), Expression.parse("0"))
    return Space.build((TILE, ROWS), (), launch, workloads, limits)


def test_elements_beyond_the_data():
    """96 elements in tiles of 32, 64 and 128; there are blocks enough for every unit."""
    waste = space("ceildiv(n, TILE)", "4").waste
    assert waste.places == (0,)
    np.testing.assert_allclose(2**waste.values, [1, 128 / 96, 128 / 96])


def test_units_without_a_block():
    """Three blocks on two units take two turns. A GPU's unit runs several at once: there, units that have none count."""
    np.testing.assert_allclose(2 ** space("96 / TILE").waste.values, [4 / 3, 2, 2])
    np.testing.assert_allclose(2 ** space("96 / TILE", limits=GPU).waste.values, [8 / 3, 8, 8])
    np.testing.assert_allclose(2 ** space("9 * ROWS", limits=GPU).waste.values, [1, 1])


def test_held_out_workloads_do_not_count_and_weights_do():
    listed = (Workload("a", {"n": 128}, weight=3.0), Workload("b", {"n": 64}), Workload("c", {"n": 1}, heldout=True))
    waste = space("ceildiv(n, TILE)", "2", workloads=listed).waste
    np.testing.assert_allclose(waste.values, [0, 0, 0.25])


@pytest.mark.parametrize("grid", ["n", "ceildiv(n, 32)"])
def test_a_launch_that_is_always_the_same(grid):
    assert space(grid).waste is None


def test_a_launch_that_cannot_be_computed_tells_nothing():
    workloads = (Workload("w", {"n": 96}),)
    launch = Launch((Expression.parse("n / (TILE - 32)"),), (Expression.parse("32"),), Expression.parse("0"))
    assert waste_of((TILE, ROWS), launch, workloads, CPU) is None


def test_wasteful_launches_are_expected_to_be_slower():
    found = space("ceildiv(n, TILE)", "4")
    expected = Columns(found).expected(found.rows)
    by_tile = {found.decode(row)["TILE"]: slower for row, slower in zip(found.rows, expected, strict=True)}
    assert by_tile[32] < by_tile[64]
