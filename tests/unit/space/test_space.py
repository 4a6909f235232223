"""The space holds what a brute-force filter would, and every configuration outside it can say why."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space import Space
from warpsmith.space import automaton as automaton_module
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

LIMITS = Limits(1024, 1024, 512, 64, 49152, 32, 4)


def launch_of(grid=(1,), block=(1,), shared=0):
    return Launch(tuple(map(Expression.parse, grid)), tuple(map(Expression.parse, block)), Expression.parse(shared))


def constraint(text, reason=""):
    return Constraint(Expression.parse(text), reason)


def build(parameters, constraints=(), launch=None, workloads=None, limits=LIMITS):
    workloads = workloads or (Workload("w", {"n": 1024}),)
    return Space.build(tuple(parameters), tuple(map(constraint, constraints)), launch or launch_of(), workloads, limits)


BLOCKS = Parameter("BLOCK", (32, 48, 128, 1024, 2048), 128)
VECS = Parameter("VEC", (1, 2, 3, 4), 1)


def test_constraints_hold_on_every_workload_held_out_or_not():
    workloads = (Workload("a", {"n": 96}), Workload("b", {"n": 64}, heldout=True))
    space = build([VECS], ["n % VEC == 0"], workloads=workloads)
    assert [c["VEC"] for c in space] == [1, 2, 4]  # 3 divides 96 but not 64


def test_the_devices_limits_are_constraints():
    space = build([BLOCKS, VECS], launch=launch_of(grid=["n / BLOCK"], block=["BLOCK", "VEC"], shared="BLOCK * VEC * 64"))
    for configuration in space:
        assert configuration["BLOCK"] * configuration["VEC"] <= 768  # 49152 shared bytes
    assert Configuration.of({"BLOCK": 32, "VEC": 4}) in space
    assert Configuration.of({"BLOCK": 1024, "VEC": 1}) not in space  # by shared memory
    assert Configuration.of({"BLOCK": 2048, "VEC": 1}) not in space  # by threads, and by a grid of 0


def test_each_block_dimension_has_its_own_limit():
    space = build([Parameter("Z", (1, 64, 128), 1)], launch=launch_of(block=[1, 1, "Z"]))
    assert [c["Z"] for c in space] == [1, 64]
    (why,) = space.explain(Configuration.of({"Z": 128}))
    assert str(why) == "block.z 128 > max_block_z=64 with Z=128"


def test_explanations_have_the_constraint_the_reason_the_workload_and_the_numbers():
    space = build([BLOCKS, VECS], ["n % VEC == 0"], launch=launch_of(block=["BLOCK * VEC"]))
    found = [str(violation) for violation in space.explain(Configuration.of({"BLOCK": 1024, "VEC": 3}))]
    assert found == [
        "n % VEC == 0 does not hold with VEC=3, n=1024 (workload 'w')",
        "threads per block 3072 > max_threads_per_block=1024 with BLOCK=1024, VEC=3",
        "block.x 3072 > max_block_x=1024 with BLOCK=1024, VEC=3",
    ]
    assert space.explain(space.default) == []
    named = Space.build((VECS,), (constraint("VEC < 4", "no wide loads"),), launch_of(), (Workload("w", {}),), LIMITS)
    assert str(named.explain(Configuration.of({"VEC": 4}))[0]) == "VEC < 4 does not hold with VEC=4: no wide loads"


def test_strangers_are_explained_too():
    space = build([VECS])
    assert [str(v) for v in space.explain(Configuration.of({"VEC": 5}))] == ["VEC=5"]
    assert [str(v) for v in space.explain(Configuration.of({"W": 1}))] == ["W is not a parameter", "VEC has no value"]
    assert Configuration.of({"VEC": 5}) not in space
    assert space.index(Configuration.of({"W": 1})) is None
    with pytest.raises(InputError, match="VEC has no value"):
        space.encode(Configuration())


def test_what_cannot_be_computed_is_not_feasible_and_says_so():
    space = build([Parameter("VEC", (0, 1, 2), 1)], launch=launch_of(grid=["n / VEC"]))
    assert [c["VEC"] for c in space] == [1, 2]
    (why,) = space.explain(Configuration.of({"VEC": 0}))
    assert "division by zero in 'n / VEC' with VEC=0, n=1024" in str(why)
    fraction = build([Parameter("F", (0.5, 2.0, 1), 1)], launch=launch_of(block=["F * 3"]))
    assert [c["F"] for c in fraction] == [1]


def test_a_default_that_is_not_feasible_is_the_users_mistake():
    with pytest.raises(InputError, match="default configuration \\(VEC=1\\) is not allowed") as caught:
        build([VECS], ["VEC > 1"])
    assert "VEC > 1 does not hold with VEC=1" in caught.value.message


def test_no_parameters_give_one_empty_configuration():
    space = build([])
    assert list(space) == [Configuration()]
    assert space.index(Configuration()) == 0
    assert space.neighbours(Configuration()) == []
    assert space.cartesian_size == 1
    assert space.sample(5, np.random.default_rng(0)) == [0]


def test_removed_counts_each_constraint_alone():
    space = build([BLOCKS, VECS], ["BLOCK * VEC <= 1024", "VEC != 3", "BLOCK > 0"], launch=launch_of(block=["BLOCK"]))
    removed = {r.constraint: (r.count, r.estimate) for r in space.removed}
    assert removed == {
        "BLOCK * VEC <= 1024": (7, False),
        "VEC != 3": (5, False),
        "BLOCK > 0": (0, False),
        "threads per block <= max_threads_per_block": (4, False),
        "block.x <= max_block_x": (4, False),
    }
    assert space.cartesian_size == 20


def test_removed_is_sampled_and_said_to_be_when_the_product_is_too_large(monkeypatch):
    monkeypatch.setattr(automaton_module, "_ONE_BY_ONE", 0)
    monkeypatch.setattr(automaton_module, "_AT_MOST", 10)
    space = build([BLOCKS, VECS], ["BLOCK * VEC <= 1024"])
    (removal,) = space.removed
    assert removal.estimate
    assert abs(removal.count - 7) <= 1


def test_adjacent_values_skip_what_is_not_feasible():
    space = build([Parameter("V", (1, 2, 3, 4, 5), 4)], ["V != 3", "V != 2"])
    assert [c["V"] for c in space.adjacent(space.default)] == [1, 5]


def test_numbers_are_checked():
    space = build([VECS], ["VEC != 3"])
    assert space[-1] == Configuration.of({"VEC": 4})
    for number in (3, -4):
        with pytest.raises(IndexError, match=f"configuration {number} of a space of 3"):
            space.row(number)
    assert space.indices(np.array([[0], [2], [3], [4], [-1]])).tolist() == [0, -1, 2, -1, -1]


def test_a_large_product_is_never_enumerated():
    """10^12 combinations, of which a chain of constraints leaves few."""
    parameters = [Parameter(f"P{i}", tuple(range(10)), 0) for i in range(12)]
    space = build(parameters, [f"P{i} == P{i + 1}" for i in range(11)])
    assert space.cartesian_size == 10**12
    assert len(space) == 10
    assert sum(r.count for r in space.removed) == 11 * 9 * 10**11


def test_a_product_beyond_64_bits():
    parameters = [Parameter(f"P{i}", tuple(range(10)), 0) for i in range(21)]
    space = build(parameters, [f"P{i} == P{i + 1}" for i in range(19)])
    assert space.cartesian_size == 10**21
    assert len(space) == 100
    assert [space.index(configuration) for configuration in space] == list(range(100))
    assert len(space.neighbours(space.default)) == 9


def test_a_space_can_be_given_as_a_list():
    rows = np.array([[4, 1], [0, 0], [2, 1], [2, 3]])
    space = Space.listed((BLOCKS, VECS), rows, Configuration.of({"BLOCK": 128, "VEC": 2}))
    assert space.rows.tolist() == [[0, 0], [2, 1], [2, 3], [4, 1]]
    assert [str(c) for c in space] == ["BLOCK=32 VEC=1", "BLOCK=128 VEC=2", "BLOCK=128 VEC=4", "BLOCK=2048 VEC=2"]
    assert space.indices(np.array([[2, 3], [1, 1], [0, 0]])).tolist() == [2, -1, 0]
    assert [c["VEC"] for c in space.neighbours(space.default)] == [2, 4]
    assert space.cartesian_size == 20
    assert space.removed == ()
    (why,) = space.explain(Configuration.of({"BLOCK": 32, "VEC": 4}))
    assert str(why) == "BLOCK=32 VEC=4 is not among the 4 listed configurations"
    with pytest.raises(ValueError, match="read-only"):
        space.rows[0, 0] = 1


def test_the_default_of_a_list_is_in_it():
    with pytest.raises(InputError, match="is not among the 1 listed"):
        Space.listed((VECS,), np.array([[0]]), Configuration.of({"VEC": 2}))


def test_a_space_for_several_targets_names_the_one_that_objects():
    parameters = (Parameter("WARPS", (1, 16, 32, 64), 16), Parameter("ROWS", (1, 100), 1))
    constraints = (Constraint(Expression.parse("ROWS * 1024 <= shared_bytes_per_block"), "the rows are kept"),)
    grid = (Expression.parse("1"), Expression.parse("n / WARPS"))
    launch = Launch(grid, (Expression.parse("WARPS * 32"),), Expression.parse(0))
    wide = Limits(8192, 8192, 8192, 8192, 262_144, 32, 2)
    target = {"small": Limits(1024, 1024, 1024, 64, 65_536, 32, 100, max_grid_y=65_535)}
    workloads = (Workload("w", {"n": 500_000}),)
    alone = Space.build(parameters, constraints, launch, workloads, wide)
    both = Space.build(parameters, constraints, launch, workloads, wide, target)
    assert (alone.size, both.size) == (8, 2)
    assert all(configuration in alone for configuration in both)
    (violation,) = both.explain(Configuration.of({"WARPS": 16, "ROWS": 100}))
    assert "w on small" in str(violation)
    assert "shared_bytes_per_block=65536" in str(violation)
    threads, _ = both.explain(Configuration.of({"WARPS": 64, "ROWS": 1}))
    assert "threads per block on small 2048 > max_threads_per_block=1024" in str(threads)
    (blocks,) = both.explain(Configuration.of({"WARPS": 1, "ROWS": 1}))
    assert "grid.y on small 500000 > max_grid_y=65535" in str(blocks)
