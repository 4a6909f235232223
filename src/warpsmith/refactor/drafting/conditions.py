"""Which values of the structural parameters tell some forms of a kernel from the others, in as few words as possible.

A form is known by its *guard*: one value for every structural parameter. Guards that do not exist may fall on either side, so a
condition is often shorter than the guards it stands for: where STAGE is 1 only together with MAP 1, `STAGE == 1` says it all.
Where several values of a parameter select the same forms, the first of them stands for all (`Groups`): `ITEMS >= 2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import TypeAlias

Guard: TypeAlias = Mapping[str, int]
Groups: TypeAlias = Mapping[str, Mapping[int, tuple[int, ...]]]  # name → value in guards → the values it stands for
_NO_GROUPS: Groups = {}


@dataclass(frozen=True, slots=True)
class Test:
    """`name == value`, or `name != value`."""

    name: str
    value: int
    equal: bool = True

    def holds(self, guard: Guard) -> bool:
        return (guard[self.name] == self.value) == self.equal

    def written(self, groups: Groups, several: str) -> str:  # noqa: PLR0911 - one return for each way to say it
        """`several` is how one of many values is written."""
        group = groups.get(self.name)
        if group is None:
            return f"{self.name} {'==' if self.equal else '!='} {self.value}"
        inside = [v for first, values in group.items() for v in values if (first == self.value) == self.equal]
        outside = [v for values in group.values() for v in values if v not in inside]
        if len(inside) == 1:
            return f"{self.name} == {inside[0]}"
        if len(outside) == 1:
            return f"{self.name} != {outside[0]}"
        if min(inside) > max(outside):
            return f"{self.name} >= {min(inside)}"
        if max(inside) < min(outside):
            return f"{self.name} <= {max(inside)}"
        if several == "in":
            return f"{self.name} in ({', '.join(map(str, inside))})"
        return f"({several.join(f'{self.name} == {value}' for value in inside)})"


@dataclass(frozen=True, slots=True)
class Condition:
    """An `or` of `and`s. No cases: never; a case without tests: always."""

    cases: tuple[tuple[Test, ...], ...]

    def holds(self, guard: Guard) -> bool:
        return any(all(test.holds(guard) for test in case) for case in self.cases)

    @property
    def tests(self) -> int:
        return sum(map(len, self.cases))

    @property
    def always(self) -> bool:
        return any(not case for case in self.cases)

    def in_c(self, groups: Groups = _NO_GROUPS) -> str:
        text = self._joined(" && ", " || ", lambda test: test.written(groups, " || "))
        return text[1:-1] if self.tests == 1 and text.startswith("(") else text

    def in_words(self, groups: Groups = _NO_GROUPS) -> str:
        """As an expression of kernel.toml."""
        return self._joined(" and ", " or ", lambda test: test.written(groups, "in"))

    def spoken(self, groups: Groups = _NO_GROUPS) -> str:
        """For a reason: `MAP is 1 and ITEMS is at least 2`."""
        words = {" == ": " is ", " != ": " is not ", " >= ": " is at least ", " <= ": " is at most ", " in ": " is one of "}
        text = self._joined(" and ", ", or ", lambda test: test.written(groups, "in"))
        return reduce(lambda said, sign: said.replace(sign, words[sign]), words, text)

    def _joined(self, both: str, either: str, write: Callable[[Test], str]) -> str:
        if self.always or not self.cases:
            return "1" if self.always else "0"
        cases = [both.join(map(write, case)) for case in self.cases]
        bracketed = [f"({text})" if len(case) > 1 else text for text, case in zip(cases, self.cases, strict=True)]
        return either.join(bracketed if len(cases) > 1 else cases)


def condition_for(wanted: Sequence[Guard], others: Sequence[Guard]) -> Condition:
    """True for every wanted guard and false for every other one, over the fewest parameters that can tell them apart."""
    if not others:
        return Condition(((),))
    names = next(names for names in _subsets(tuple(wanted[0]) if wanted else ()) if _separates(names, wanted, others))
    cases: list[tuple[Test, ...]] = []
    left = list(wanted)
    possible = [case for case in _cases(names, [*wanted, *others]) if not any(_all(case, guard) for guard in others)]
    while left:
        best = max(possible, key=lambda case: (sum(_all(case, g) for g in left), -len(case), sum(t.equal for t in case)))
        cases.append(best)
        left = [guard for guard in left if not _all(best, guard)]
    return Condition(tuple(cases))


def deciding_names(guards: Sequence[Guard], classes: Sequence[int]) -> tuple[str, ...]:
    """The smallest set of parameters that decides each guard's class; earlier ones first."""

    def decides(names: tuple[str, ...]) -> bool:
        seen: dict[tuple[int, ...], int] = {}
        return all(
            seen.setdefault(tuple(guard[n] for n in names), number) == number
            for guard, number in zip(guards, classes, strict=True)
        )

    return next(names for names in _subsets(tuple(guards[0]) if guards else ()) if decides(names))


def _subsets(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (subset for size in range(len(names) + 1) for subset in combinations(names, size))


def _separates(names: tuple[str, ...], wanted: Sequence[Guard], others: Sequence[Guard]) -> bool:
    seen = {tuple(guard[n] for n in names) for guard in wanted}
    return not any(tuple(guard[n] for n in names) in seen for guard in others)


def _cases(names: tuple[str, ...], guards: Sequence[Guard]) -> Iterator[tuple[Test, ...]]:
    choices: list[list[tuple[Test, ...]]] = []
    for name in names:
        values = sorted({guard[name] for guard in guards})
        equal = [(Test(name, value),) for value in values]
        # Of two values, `!= a` is `== b`: the positive form says more.
        unequal = [(Test(name, value, equal=False),) for value in values] if len(values) > 2 else []
        choices.append([(), *equal, *unequal])
    return (tuple(test for part in parts for test in part) for parts in product(*choices))


def _all(case: tuple[Test, ...], guard: Guard) -> bool:
    return all(test.holds(guard) for test in case)
