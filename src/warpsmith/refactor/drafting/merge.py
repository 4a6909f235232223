"""Many forms of one source → one source with `#if` branches; preprocessing it with a form's guard gives that form's lines back.

Lines that all forms share stand once, indented as the first of them has it. Between them a region differs: there the forms are
told apart by the fewest structural parameters that decide it, by a chain of conditions or, where forms share most of a region, by
one parameter first and the others inside its branches. The first form is the base that the others are aligned with, and its
branch comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import permutations

from warpsmith.refactor.drafting.conditions import Condition, Groups, Guard, condition_for, deciding_names
from warpsmith.refactor.drafting.units import Unit, text_of, units_of

_LONG_BRANCH = 12  # lines, from which on the `#endif` says what it ends
_DIRECTIVE = 2  # what an `#if` costs the reader, in lines
_ORDERS_OF = 4  # branches whose order is chosen
_TINY = 2  # landmarks between two differing regions that are not worth an `#endif` and an `#if`


@dataclass(frozen=True, slots=True)
class Form:
    """One branch-free text and the values of all structural parameters that select it."""

    guard: Guard
    text: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A form's share of a region."""

    guard: Guard
    units: list[Unit]


@dataclass(frozen=True, slots=True)
class _Branch:
    """Parts that have a region written the same way."""

    parts: list[_Part]
    lines: list[str]


def merge(forms: Sequence[Form], groups: Groups | None = None) -> str:
    """The first form is the default. Guards must be distinct and name the same parameters."""
    parts = [_Part(form.guard, units_of(form.text)) for form in forms]
    return "\n".join(_Merging(groups or {}).lines(parts))


class _Merging:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def lines(self, parts: Sequence[_Part]) -> list[str]:
        """Shared lines as they are, what differs in branches."""
        lines: list[str] = []
        for region in _regions(parts):
            classes = _classes(region)
            if len(classes) == 1:
                lines += [unit.text for unit in region[0].units]
            else:
                lines += self._branched(classes, region)
        return lines

    def _branched(self, classes: list[list[_Part]], region: Sequence[_Part]) -> list[str]:
        chain = self._chain([_Branch(group, [text_of(group[0].units)] if group[0].units else []) for group in classes])
        splits = list(_splits(classes, region)) if len(classes) > 2 else []
        if not splits:
            return chain
        best = min(splits, key=lambda split: sum(_distinct_lines(group) + _DIRECTIVE for group in split))
        nested = self._chain([_Branch(group, self.lines(group)) for group in best])
        return min(chain, nested, key=_cost)

    def _chain(self, branches: list[_Branch]) -> list[str]:
        """`#if … #elif … #else … #endif` in the order that takes the fewest words; of equal ones, the default first."""
        order = min(_orders(branches), key=lambda order: sum(condition.tests for condition in _conditions(order)))
        conditions = _conditions(order)
        lines: list[str] = []
        for word, condition, branch in zip(["#if", *["#elif"] * len(order)], conditions, order, strict=False):
            lines += [f"{word} {condition.in_c(self._groups)}", *branch.lines]
        if order[-1].lines:
            lines += ["#else", *order[-1].lines]
        names = dict.fromkeys(test.name for condition in conditions for case in condition.cases for test in case)
        is_long = sum(line.count("\n") + 1 for branch in order for line in branch.lines) > _LONG_BRANCH
        return [*lines, f"#endif  // {', '.join(names)}" if is_long else "#endif"]


def _splits(classes: list[list[_Part]], region: Sequence[_Part]) -> Iterator[list[list[_Part]]]:
    """Ways to tell the parts apart by one parameter first: by all its values, or one of them against the others."""
    numbers = [next(n for n, group in enumerate(classes) if part in group) for part in region]
    for name in deciding_names([part.guard for part in region], numbers):
        values = list(dict.fromkeys(part.guard[name] for part in region))
        by_value = [[part for part in region if part.guard[name] == value] for value in values]
        # Where every value has a class of its own, this is the chain itself.
        if len(values) > 1 and any(len(_classes(group)) > 1 for group in by_value):
            yield by_value
        if len(values) > 2:
            for alone in by_value:
                rest = [part for part in region if part not in alone]
                yield [alone, rest] if alone[0] is region[0] else [rest, alone]


def _distinct_lines(parts: Sequence[_Part]) -> int:
    """About how long these parts are when they are merged: lines that several have are counted once."""
    union: Counter[str] = Counter()
    for part in parts:
        union |= Counter(unit.key for unit in part.units)
    return union.total()


def _cost(lines: list[str]) -> int:
    """Lines to read; a directive costs more than a line."""
    return sum(line.count("\n") + 1 + (_DIRECTIVE if line.startswith("#") else 0) for line in lines)


def _classes(parts: Sequence[_Part]) -> list[list[_Part]]:
    groups: dict[tuple[str, ...], list[_Part]] = {}
    for part in parts:
        groups.setdefault(tuple(unit.key for unit in part.units), []).append(part)
    return list(groups.values())


def _orders(branches: list[_Branch]) -> Iterator[Sequence[_Branch]]:
    """An empty branch goes last: it becomes the `#else` that is left out."""
    full, empty = [b for b in branches if b.lines], [b for b in branches if not b.lines]
    orders = permutations(full) if len(full) <= _ORDERS_OF else [full]
    return ((*order, *empty) for order in orders)


def _conditions(order: Sequence[_Branch]) -> list[Condition]:
    """Of all branches but the last: each against those that come after it."""
    guards = [[part.guard for part in branch.parts] for branch in order]
    return [condition_for(own, [g for later in guards[index + 1 :] for g in later]) for index, own in enumerate(guards[:-1])]


# ── alignment ──


def _regions(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Alternately what all parts share and what lies between; each part's units in order, none left out."""
    base = parts[0].units
    maps = [_alignment(base, part.units) for part in parts]
    anchors = _without_cut_groups([part.units for part in parts], maps)
    texts = [part.units for part in parts]
    runs = _closed(_worthwhile(_runs(anchors, maps), texts, maps), texts, maps)
    position = [0] * len(parts)
    for run in runs:
        begin = [m[run[0]] for m in maps]
        end = [m[run[-1]] + 1 for m in maps]
        yield [_Part(p.guard, p.units[a:b]) for p, a, b in zip(parts, position, begin, strict=True)]
        yield [_Part(p.guard, p.units[a:b]) for p, a, b in zip(parts, begin, end, strict=True)]
        position = end
    yield [_Part(p.guard, p.units[a:]) for p, a in zip(parts, position, strict=True)]


def _alignment(base: list[Unit], other: list[Unit]) -> dict[int, int]:
    matcher = SequenceMatcher(None, [u.key for u in base], [u.key for u in other], autojunk=False)
    found = {a + k: b + k for a, b, size in matcher.get_matching_blocks() for k in range(size)}
    back = _slid({b: a for a, b in _slid(found, base, other).items()}, other, base)
    return {a: b for b, a in back.items()}


def _slid(found: dict[int, int], base: list[Unit], other: list[Unit]) -> dict[int, int]:
    """Of several lines that could be the same one, the one that is indented alike: the `}` of an added loop is the added one."""
    slid = dict(found)
    for index in sorted(slid, reverse=True):
        last = slid.get(index + 1, len(other) if index + 1 == len(base) else 0) - 1
        if last > slid[index] and base[index].text == other[last].text != other[slid[index]].text:
            slid[index] = last
    return slid


def _without_cut_groups(texts: Sequence[list[Unit]], maps: Sequence[dict[int, int]]) -> list[int]:
    """The landmarks that all share, less those that would let a branch cut through an `#if … #endif` of the source's own."""
    anchors = set.intersection(*(set(m) for m in maps))
    groups = [_groups(units) for units in texts]
    while True:
        # All directives around a landmark, and of its own group if it is one itself, must be landmarks at the same places.
        kept = {
            a
            for a in anchors
            if groups[0][a] <= anchors
            and all(group[m[a]] == {m[i] for i in groups[0][a]} for group, m in zip(groups, maps, strict=True))
        }
        if kept == anchors:
            return sorted(kept)
        anchors = kept


def _groups(units: list[Unit]) -> list[frozenset[int]]:
    """For each unit the indices of the directives of every group that it lies in or belongs to."""
    around: list[set[int]] = [set() for _ in units]
    open_groups: list[tuple[int, list[int]]] = []
    for index, unit in enumerate(units):
        match unit.directive:
            case "if":
                open_groups.append((index, [index]))
            case "else" if open_groups:
                open_groups[-1][1].append(index)
            case "endif" if open_groups:
                begin, members = open_groups.pop()
                for inside in range(begin, index + 1):
                    around[inside].update((*members, index))
            case _:
                pass
    return [frozenset(found) for found in around]


def _runs(anchors: list[int], maps: Sequence[dict[int, int]]) -> list[list[int]]:
    """Landmarks that follow each other without a gap in any text."""
    runs: list[list[int]] = []
    for anchor in anchors:
        last = runs[-1][-1] if runs else None
        if last is not None and all(m[anchor] == m[last] + 1 for m in maps):
            runs[-1].append(anchor)
        else:
            runs.append([anchor])
    return runs


def _worthwhile(runs: list[list[int]], texts: Sequence[list[Unit]], maps: Sequence[dict[int, int]]) -> list[list[int]]:
    """Without runs of a few brackets or blanks between two differing regions: two `#if`s around a brace are hard to read."""
    base = texts[0]
    kept: list[list[int]] = []
    for run in runs:
        begins = all(m[run[0]] == 0 for m in maps)
        ends = all(m[run[-1]] == len(units) - 1 for m, units in zip(maps, texts, strict=True))
        tiny = len(run) <= _TINY and all(base[i].trivial for i in run)
        if begins or ends or not tiny or any(base[i].directive for i in run):
            kept.append(run)
    return kept


def _closed(runs: list[list[int]], texts: Sequence[list[Unit]], maps: Sequence[dict[int, int]]) -> list[list[int]]:
    """Braces that every branch leaves open, and that the shared lines behind close at once, are closed in the branches."""
    kept: list[list[int]] = []
    before = [0] * len(texts)
    for run in runs:
        begin = [m[run[0]] for m in maps]
        depths = [sum(unit.depth for unit in units[a:b]) for units, a, b in zip(texts, before, begin, strict=True)]
        closing = 0
        while closing < min(*depths, len(run)) and texts[0][run[closing]].closes:
            closing += 1
        if run[closing:]:
            kept.append(run[closing:])
            before = [m[run[-1]] + 1 for m in maps]
    return kept
