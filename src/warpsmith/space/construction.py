"""From parameters and rules to the graph of feasible configurations.

Each rule becomes an automaton by itself, or together with all that its parameters are tied to where these have few combinations.
Run side by side over the parameters the automata make the graph: a node is what each one that is under way knows. A rule too
large for that (no structure to use, and too many combinations) keeps the assignments it has seen instead, and is asked when its
last parameter is assigned: then only about what all others allow.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import TypeAlias

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.errors import InputError
from warpsmith.space.automaton import automaton_of
from warpsmith.space.codes import combined, numbered
from warpsmith.space.graph import Graph, Layer
from warpsmith.space.ordering import better_order, groups_of
from warpsmith.space.problem import SpaceProblem
from warpsmith.space.readers import Early, Late, Reader
from warpsmith.space.rules import Rule

Scope: TypeAlias = frozenset[int]
Bundle: TypeAlias = tuple[tuple[Rule, ...], Scope]

# Groups of parameters with no more combinations are evaluated whole: rule by rule, joining would cost more than it spares.
_FEW = 4096
_EDGES_AT_MOST = 50_000_000
# Built in a fraction of a second: what the first order may take when another one promises less.
_EDGES_TO_TRY = 500_000


def construct(problem: SpaceProblem) -> Graph:
    """Raises InputError when the rules tie the parameters together in a way that neither merges nor prunes."""
    scopes = [(rule, problem.scope(rule)) for rule in problem.rules]
    feasible = all(problem.always(rule) for rule, scope in scopes if not scope)
    parts = [part for rule, scope in scopes if feasible and scope for part in _parts(problem, rule, scope)]
    groups = groups_of(len(problem.sizes), [scope for _, scope in parts])
    order = tuple(chain.from_iterable(groups.values()))
    bundles = _bundles(problem, groups, parts)
    other = better_order(order, problem.sizes, [scope for _, scope in bundles])
    if other is not None:
        try:
            return _build(problem, bundles, order, _EDGES_TO_TRY, feasible=feasible)
        except InputError:
            order = other
    return _build(problem, bundles, order, _EDGES_AT_MOST, feasible=feasible)


def _parts(problem: SpaceProblem, rule: Rule, scope: Scope) -> list[tuple[Rule, Scope]]:
    if prod(problem.sizes[i] for i in scope) <= _FEW:
        return [(rule, scope)]
    return [(part, problem.scope(part)) for part in rule.parts()]


def _bundles(problem: SpaceProblem, groups: dict[int, list[int]], parts: list[tuple[Rule, Scope]]) -> list[Bundle]:
    """The rules, those of a small group together: what is evaluated over all of it at once needs no joining."""
    small = {index: first for first, group in groups.items() if prod(problem.sizes[i] for i in group) <= _FEW for index in group}
    together: dict[int, list[Rule]] = {}
    found: list[Bundle] = []
    for rule, scope in parts:
        first = small.get(min(scope))
        if first is None:
            found.append(((rule,), scope))
        else:
            together.setdefault(first, []).append(rule)
    return found + [(tuple(rules), frozenset(groups[first])) for first, rules in together.items()]


def _build(problem: SpaceProblem, bundles: list[Bundle], order: tuple[int, ...], most: int, *, feasible: bool) -> Graph:
    readers: list[Reader] = []
    for rules, scope in bundles:
        own = tuple(index for index in order if index in scope)
        automaton = automaton_of(problem, rules, own)
        if automaton is None:
            used = [(rule, problem.scope(rule)) for rule in rules]
            readers += [Late(problem, rule, tuple(index for index in own if index in needed)) for rule, needed in used]
        elif not automaton.feasible:
            feasible = False
        elif not automaton.trivial:
            readers.append(Early(automaton))
    layers = _run(problem, order, readers if feasible else [], most)
    return Graph(layers, feasible=feasible, bound=prod(problem.sizes))


def _run(problem: SpaceProblem, order: tuple[int, ...], readers: list[Reader], most: int) -> list[Layer]:
    layers: list[Layer] = []
    using: dict[int, list[Reader]] = {}
    for reader in readers:
        for index in reader.scope:
            using.setdefault(index, []).append(reader)
    active: list[Reader] = []  # those that have begun and not ended
    width = 1
    for index in order:
        size = problem.sizes[index]
        if width * size > most:
            raise _too_large(problem, order, len(layers), width, active)
        reading = using.get(index, [])
        under_way = [reader for reader in active if reader not in reading]
        if not reading:
            targets = (
                np.zeros((1, size), np.int32) if width == 1 else np.arange(width, dtype=np.int32)[:, None].repeat(size, axis=1)
            )
        elif len(reading) == 1 and not under_way and isinstance(reading[0], Early) and reading[0].classes == width:
            # With one automaton at work, nodes are its classes.
            targets, width = reading[0].follow()
        else:
            targets, width = _join(reading, under_way, width, size)
        if reading:
            active = [reader for reader in (*under_way, *reading) if reader.read < len(reader.scope)]
        layers.append(Layer(index, targets))
    return layers


def _join(reading: list[Reader], under_way: list[Reader], width: int, size: int) -> tuple[Array, int]:
    """The edges of one layer, and the number of nodes after it."""
    edges: Array | None = None  # those that no rule forbids; None while these are all
    known: list[tuple[Reader, Array]] = []
    # Automata first: they are quick, and what they forbid the others need not look at.
    for reader in sorted(reading, key=lambda reader: isinstance(reader, Late)):
        if not reader.read:
            reader.codes = reader.codes.repeat(width)
        codes = reader.advance(edges, size)
        alive = codes >= 0
        if not alive.all():
            edges = alive.nonzero()[0] if edges is None else edges[alive]
            known = [(earlier, before[alive]) for earlier, before in known]
            codes = codes[alive]
        known.append((reader, codes))
    for reader in under_way:
        codes = reader.codes.repeat(size)
        known.append((reader, codes if edges is None else codes[edges]))
    known = [(reader, codes) for reader, codes in known if reader.read < len(reader.scope)]
    count = width * size if edges is None else len(edges)
    first, nodes = numbered(*combined([(codes, reader.span) for reader, codes in known], count))
    for reader, codes in known:
        reader.codes = codes[first]
    if edges is None:
        return nodes.astype(np.int32).reshape(width, size), len(first)
    targets: Array = np.full(width * size, -1, dtype=np.int32)
    targets[edges] = nodes
    return targets.reshape(width, size), len(first)


def _too_large(problem: SpaceProblem, order: tuple[int, ...], at: int, width: int, readers: list[Reader]) -> InputError:
    waiting = [reader.rule.text for reader in readers if isinstance(reader, Late) and reader.read]
    name = problem.parameters[order[at]].name
    blame = f" for {waiting[0]!r}" if waiting else ""
    return InputError(
        f"the space is too large to construct: {width:,} partial configurations must be distinguished before {name}{blame}",
        hint="split the constraint into ones over fewer parameters, or give the parameters fewer values",
    )
