"""A draft's forms → one template: merged source, the parameters with their origins, the launch, and the constraints.

Owns what only the forms together tell: which values belong to which form, and what each parameter is where it has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Rule, Tunable, Variant
from warpsmith.refactor.drafting.conditions import Condition, Guard, condition_for
from warpsmith.refactor.drafting.draft import Draft, names_used
from warpsmith.refactor.drafting.merge import Form, merge
from warpsmith.spec.kernel import Constraint, Launch, Parameter


@dataclass(frozen=True)
class Refactored:
    """What a template consists of, before it is written anywhere."""

    draft: Draft
    entry: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    parameters: tuple[Tunable, ...]
    rules: tuple[Rule, ...]
    expectations: tuple[Rule, ...] = ()

    @cached_property
    def body(self) -> str:
        """The merged source, not yet with the parameters' header."""
        return merge([Form(branch.guard, branch.variant.text) for branch in self.draft.branches], self.draft.groups)

    @property
    def launch(self) -> Launch:
        grid, block = (tuple(map(Expression.parse, extents)) for extents in (self.grid, self.block))
        return Launch(grid, block, Expression.parse(self.shared))

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return _parsed(self.rules)

    @property
    def likely(self) -> tuple[Constraint, ...]:
        return _parsed(self.expectations)

    @property
    def spec_parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(p.name, p.values, p.default, p.likely, p.assumes) for p in self.parameters)


def combined(draft: Draft) -> Refactored:
    return _Combining(draft).result()


class _Combining:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._branches = draft.branches
        self._guards = [branch.guard for branch in draft.branches]
        self._groups = draft.groups
        self._parameters = self._all_parameters()

    def result(self) -> Refactored:
        variants = [branch.variant for branch in self._branches]
        grid, block = (max(len(v.grid) for v in variants), max(len(v.block) for v in variants))
        bound = self._conditional([v.rules for v in variants])
        rules = [*self._existing_forms(), *self._effective_values(), *bound, *self._draft.exclusions]
        return Refactored(
            draft=self._draft,
            entry=variants[0].entry,
            grid=tuple(self._chosen([_at(v.grid, axis) for v in variants]) for axis in range(grid)),
            block=tuple(self._chosen([_at(v.block, axis) for v in variants]) for axis in range(block)),
            shared=self._chosen([v.shared for v in variants]),
            parameters=self._parameters,
            rules=tuple({rule.expression: rule for rule in reversed(rules)}.values())[::-1],
            expectations=tuple(self._conditional([v.likely for v in variants])),
        )

    def _all_parameters(self) -> tuple[Tunable, ...]:
        """Every parameter once, in the order they came: the first form's view of it, with the values of all forms."""
        found = {choice.name: replace(choice.tunable, values=choice.values) for choice in self._draft.choices}
        for branch in self._branches:
            for tunable in branch.variant.tunables:
                known = found.get(tunable.name)
                values = {*tunable.values, *(known.values if known else ())}
                likely = {*tunable.likely, *(known.likely if known else ())}
                fuller = tunable if known is None or set(tunable.values) > set(known.values) else known  # it says what all mean
                seen = replace(fuller, line=known.line, assumes=known.assumes or tunable.assumes) if known else fuller
                found[tunable.name] = replace(seen, values=tuple(sorted(values)), likely=tuple(sorted(likely)))
        return tuple(found[name] for name in self._draft.origins if name in found)

    def _chosen(self, texts: Sequence[str]) -> str:
        """`A if MAP == 1 else B`, with the default form's expression at the end."""
        groups: dict[str, list[Guard]] = {}
        for text, guard in zip(texts, self._guards, strict=True):
            groups.setdefault(" ".join(text.split()), []).append(guard)
        (default, _), *others = groups.items()
        left = list(self._guards)
        before = ""
        for text, guards in others:
            left = [guard for guard in left if guard not in guards]
            shown = f"({text})" if " if " in text else text
            before += f"{shown} if {condition_for(guards, left).in_words(self._groups)} else "
        return before + default

    # ── constraints ──

    def _existing_forms(self) -> list[Rule]:
        """Structural values that do not go together. Each parameter against those before it: a form is reached one by one."""
        rules = []
        choices = self._draft.choices
        for index, choice in enumerate(choices):
            earlier = [c.name for c in choices[:index]]
            reached = {tuple(g[n] for n in earlier): {n: g[n] for n in earlier} for g in self._guards}
            where = {
                key: frozenset(tuple(g[n] for n in earlier) for g in self._guards if g[choice.name] == key)
                for key in choice.groups
            }
            for places in dict.fromkeys(where.values()):
                values = tuple(v for key in choice.groups if where[key] == places for v in choice.groups[key])
                if len(places) < len(reached):
                    inside = [guard for key, guard in reached.items() if key in places]
                    outside = [guard for key, guard in reached.items() if key not in places]
                    rules.append(self._only_when(self._named(choice.name), values, condition_for(inside, outside)))
        return rules

    def _effective_values(self) -> list[Rule]:
        """A parameter that changes nothing in a form stays at its default there: else the space has one kernel many times."""
        rules = []
        structural = {choice.name for choice in self._draft.choices}
        for parameter in self._parameters:
            if parameter.name in structural:
                continue
            allowed = [_values_in(branch.variant, parameter) for branch in self._branches]
            where = {value: frozenset(i for i, found in enumerate(allowed) if value in found) for value in parameter.values}
            for places in dict.fromkeys(where.values()):
                values = tuple(value for value in parameter.values if where[value] == places)
                if 0 < len(places) < len(self._guards):
                    inside = [guard for i, guard in enumerate(self._guards) if i in places]
                    outside = [guard for i, guard in enumerate(self._guards) if i not in places]
                    rules.append(self._only_when(parameter, values, condition_for(inside, outside)))
        return rules

    def _named(self, name: str) -> Tunable:
        return next(parameter for parameter in self._parameters if parameter.name == name)

    def _only_when(self, parameter: Tunable, values: tuple[int, ...], condition: Condition) -> Rule:
        name = parameter.name
        others = tuple(v for v in parameter.values if v not in values)
        if len(others) == 1:
            otherwise = f"{name} == {others[0]}"
        elif len(values) == 1:
            otherwise = f"{name} != {values[0]}"
        else:
            otherwise = f"{name} not in ({', '.join(map(str, values))})"
        said = f"{name} counts" if others == (parameter.default,) else f"{name} is {' or '.join(map(str, values))}"
        words = condition.in_words(self._groups)
        words = f"({words})" if len(condition.cases) == 1 and condition.tests > 1 else words
        return Rule(f"{otherwise} or {words}", f"{said} only when {condition.spoken(self._groups)}")

    def _conditional(self, of_forms: Sequence[tuple[Rule, ...]]) -> list[Rule]:
        """A form's rules bind that form only."""
        where: dict[Rule, list[Guard]] = {}
        for guard, rules_of_form in zip(self._guards, of_forms, strict=True):
            for rule in dict.fromkeys(rules_of_form):
                where.setdefault(rule, []).append(guard)
        rules = []
        for rule, guards in where.items():
            others = [guard for guard in self._guards if guard not in guards]
            elsewhere = condition_for(others, guards).in_words(self._groups) if others else ""
            rules.append(replace(rule, expression=f"{elsewhere} or ({rule.expression})") if others else rule)
        return rules


def _parsed(rules: tuple[Rule, ...]) -> tuple[Constraint, ...]:
    return tuple(Constraint(Expression.parse(rule.expression), rule.reason) for rule in rules)


def _at(extents: tuple[str, ...], axis: int) -> str:
    return extents[axis] if axis < len(extents) else "1"


def _values_in(variant: Variant, parameter: Tunable) -> tuple[int, ...]:
    own = next((tunable for tunable in variant.tunables if tunable.name == parameter.name), None)
    return own.values if own is not None and parameter.name in names_used(variant) else (parameter.default,)
