"""Laws of every space: the set a brute-force filter leaves, numbered without gaps, however it is constructed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space import Space, automaton
from warpsmith.space.automaton import automaton_of
from warpsmith.space.construction import construct
from warpsmith.space.listing import Listing
from warpsmith.space.problem import SpaceProblem
from warpsmith.space.rules import ConstraintRule, rules_of
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

LIMITS = Limits(1024, 1024, 512, 64, 49152, 32, 4)

# How a rule is handled depends on its size; small limits send small rules down every way.
WAYS = {
    "one by one": {},
    "at once": {"_ONE_BY_ONE": 0},
    "parameter by parameter": {"_ONE_BY_ONE": 0, "_AT_ONCE": 1},
    "late": {"_ONE_BY_ONE": 0, "_AT_ONCE": 1, "_AT_MOST": 0},
    "some late": {"_ONE_BY_ONE": 2, "_AT_ONCE": 3, "_AT_MOST": 12},
}

_VALUES = st.one_of(
    st.lists(st.integers(-3, 70), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["row", "column", "tiled"]), min_size=1, max_size=3, unique=True),
    st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 3, 0]), min_size=1, max_size=3, unique=True),
)
_TEXTS = [
    "A <= n", "n % max(1, B) == 0", "A * B < 40 or C == A", "A in (1, 2, 4, B)", "A != B", "B == 'row' or C != 1",
    "n > 10", "A == 'row' or B == 'row'", "C >= 0 && !(A == C)", "A + B + C > n", "n / A >= 1",
    "A * C * B * D <= 4 * n", "D - A + B - C > 0", "min(D, A, C) < max(B, A, 3)", "ceildiv(n, A) * B % 3 != 1",
    "B == 0 or 10 / A > B", "(A if C > 2 else B) * D > n / 4", "not (A == B and C == D)", "A < B < C < D", "A and n % D == 0",
    "not A or B", "A", "1 / (A - B) + C < D", "A - B - C - D < n and A != 2", "gcd(A, B) == 1 or D in (1, 2, n)",
    "A ** 2 + B > C << 1",
]  # fmt: skip
_BLOCKS = [[32], ["A"], ["A", "B"], ["A", "B", 2], ["n / B", "A * B"]]


def _launch(block):
    return Launch((Expression.parse(1),), tuple(map(Expression.parse, block)), Expression.parse(0))


@st.composite
def problems(draw):
    names = draw(st.sampled_from(["", "A", "AB", "ABC", "ABCD", "DCAB", "BDAC"]))
    parameters = []
    for name in names:
        values = tuple(draw(_VALUES))
        parameters.append(Parameter(name, values, draw(st.sampled_from(values))))
    usable = [text for text in _TEXTS if Expression.parse(text).names <= {"n", *names}]
    texts = draw(st.lists(st.sampled_from(usable), max_size=4, unique=True)) if usable else []
    block = draw(st.sampled_from(_BLOCKS)) if len(names) > 1 else [32]
    sizes = draw(st.lists(st.integers(1, 64), min_size=1, max_size=3))
    workloads = {f"w{i}": {**LIMITS.names(), "n": n} for i, n in enumerate(sizes)}
    rules = rules_of(tuple(Constraint(Expression.parse(text)) for text in texts), _launch(block), LIMITS)
    return SpaceProblem(tuple(parameters), rules, workloads)


def by_hand(problem):
    """The rows that no rule objects to on any workload."""
    found = []
    for row in product(*(range(len(p.values)) for p in problem.parameters)):
        values = {p.name: p.values[at] for p, at in zip(problem.parameters, row, strict=True)}
        if all(rule.objection({**s, **values}) is None for rule in problem.rules for s in problem.settings.values()):
            found.append(row)
    return found


def table(problem, rows):
    rows = list(rows)
    return np.array(rows, dtype=np.int32).reshape(len(rows), len(problem.parameters))


def constructed(problem, way):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[way].items():
            patch.setattr(automaton, name, value)
        return construct(problem)


@settings(max_examples=300, deadline=None)
@given(problems(), st.sampled_from(list(WAYS)))
def test_construction_equals_brute_force(problem, way):
    expected = by_hand(problem)
    graph = constructed(problem, way)
    assert graph.size == len(expected)
    listed = list(map(tuple, graph.listed().tolist()))
    assert sorted(listed) == expected
    expected = listed
    assert list(map(tuple, graph.rows(np.arange(graph.size)).tolist())) == expected
    everything = table(problem, product(*map(range, problem.sizes)))
    places = {row: number for number, row in enumerate(expected)}
    assert graph.numbers(everything).tolist() == [places.get(tuple(row), -1) for row in everything.tolist()]


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(0, 2**32), st.booleans())
def test_a_space_is_walked_and_explained_alike_however_it_is_kept(problem, seed, as_list):
    rows = table(problem, by_hand(problem))
    members = Listing(problem.sizes, rows) if as_list else construct(problem)
    rows = members.listed()
    space = Space(problem, members, Configuration(tuple((p.name, p.default) for p in problem.parameters)))
    feasible = list(space)
    assert len(feasible) == len(space) == len(rows)
    for values in product(*(p.values for p in problem.parameters)):
        configuration = Configuration(tuple(zip((p.name for p in problem.parameters), values, strict=True)))
        assert (configuration in space) == (space.explain(configuration) == [])
    for index, configuration in enumerate(feasible):
        assert space.index(configuration) == index
        assert space[index] == configuration
        assert space.decode(space.encode(configuration)) == configuration
        _check_neighbours(space, rows, index)
    sample = space.sample(3, np.random.default_rng(seed))
    assert len(set(sample)) == len(sample) == min(3, len(space))
    assert all(0 <= number < len(space) for number in sample)


def _check_neighbours(space, rows, index):
    here = rows[index]
    near, wide = space.neighbour_numbers(here)
    changed = np.flatnonzero(np.count_nonzero(rows != here, axis=1) == 1)
    assert sorted(near + wide) == changed.tolist()
    expected = []
    for at in range(len(here)):
        steps = {int(rows[n, at] - here[at]): int(n) for n in changed if rows[n, at] != here[at]}
        expected += [steps[max(s for s in steps if s < 0)]] if any(s < 0 for s in steps) else []
        expected += [steps[min(s for s in steps if s > 0)]] if any(s > 0 for s in steps) else []
    assert near == expected


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from(["at once", "parameter by parameter"]))
def test_what_one_rule_removes_is_counted_exactly(problem, way):
    for rule in problem.rules:
        own = sorted(problem.scope(rule))
        alone = SpaceProblem(tuple(problem.parameters[i] for i in own), (rule,), problem.settings)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in WAYS[way].items():
                patch.setattr(automaton, name, value)
            found = automaton_of(problem, (rule,), own)
        assert found is not None
        assert found.allowed == len(by_hand(alone))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_parts_of_a_rule_allow_what_it_allows(problem):
    for rule in problem.rules:
        for row in product(*(p.values for p in problem.parameters)):
            for setting in problem.settings.values():
                names = {**setting, **dict(zip((p.name for p in problem.parameters), row, strict=True))}
                parts = [part.objection(names) is None for part in rule.parts()]
                assert all(parts) == (rule.objection(names) is None), (rule.text, names)


def test_the_default_must_be_feasible():
    parameter = Parameter("A", (1, 2), 1)
    constraint = Constraint(Expression.parse("A > 1"))
    with pytest.raises(InputError, match="default configuration"):
        Space.build((parameter,), (constraint,), _launch([1]), (Workload("w", {}),), LIMITS)


def test_no_configuration_at_all():
    problem = SpaceProblem(
        (Parameter("A", (1, 2), 1), Parameter("B", (1, 2), 1)),
        (ConstraintRule(Constraint(Expression.parse("A > B + 1"))),),
        {"w": {}},
    )
    space = Space(problem, construct(problem), Configuration.of({"A": 1, "B": 1}))
    assert len(space) == 0
    assert list(space) == []
    assert space.rows.shape == (0, 2)
    assert space.sample(3, np.random.default_rng(0)) == []
    assert space.indices(np.array([[0, 0], [1, 1]])).tolist() == [-1, -1]
