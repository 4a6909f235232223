"""Applies a pass to the forms that it is meant for: those made of the kernel itself, or of one form that an agent wrote.

One that declines, fails or breaks a promise leaves only its reason there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warpsmith.refactor.base import Answer, Declined, Pass, Rewrite, Tunable, Variant
from warpsmith.refactor.confined.reader import looked_at
from warpsmith.refactor.constants import with_constant
from warpsmith.refactor.drafting.checks import Faulty, check_variant
from warpsmith.refactor.drafting.conditions import Guard, condition_for
from warpsmith.refactor.drafting.draft import Application, Branch, Choice, Draft, names_used
from warpsmith.refactor.drafting.look import look
from warpsmith.refactor.proposal import FORM, PROPOSALS
from warpsmith.spec.comments import used_identifiers

MOST_BRANCHES = 56  # forms of the kernel in one template: what people still read, and what compiles in a few seconds
_MOST_OF_A_FORM = 8  # as many again of every form that an agent wrote: none takes another's room


def apply_pass(draft: Draft, transform: Pass) -> Draft:
    """The draft with the pass applied wherever it can be, or with the reason why it could not."""
    return _Applying(draft, transform).result()


def apply_passes(draft: Draft, passes: Iterable[Pass]) -> Draft:
    for transform in passes:
        draft = apply_pass(draft, transform)
    return draft


class _Applying:
    """One pass over all branches."""

    def __init__(self, draft: Draft, transform: Pass) -> None:
        self._draft = draft
        self._pass = transform
        self._form: int = getattr(transform, "form", 0)
        self._is_apart: bool = getattr(transform, "apart", False)
        self._choice: Tunable | None = None
        self._notes: list[str] = []

    def result(self) -> Draft:
        draft = self._draft
        asked = [branch for branch in draft.branches if _form_of(branch) == self._form]
        asked = asked[:1] if self._is_apart else asked
        answers = [self._answer(branch) if any(branch is each for each in asked) else None for branch in draft.branches]
        declined = [answer for answer in answers if isinstance(answer, Declined)]
        if not any(answers):
            return draft.not_applied(self._pass.name, f"there is no form {self._form}")
        if len(declined) == sum(answer is not None for answer in answers):
            return draft.not_applied(self._pass.name, declined[0].reason, declined[0].line)
        self._note_where_not(answers)
        kept: list[Branch] = []
        forms: list[dict[int, Variant]] = []
        for branch, answer in zip(draft.branches, answers, strict=True):
            kept.append(replace(branch, variant=answer.variant) if isinstance(answer, Rewrite) else branch)
            forms.append(self._alternatives(branch, answer) if isinstance(answer, Rewrite) else {})
        return self._grown(kept, forms)

    def _note_where_not(self, answers: list[Answer | None]) -> None:
        where: dict[tuple[str, str], list[Guard]] = {}
        for branch, answer in zip(self._draft.branches, answers, strict=True):
            if answer is None:
                continue
            said = [("not where", answer.reason)] if isinstance(answer, Declined) else [("where", note) for note in answer.notes]
            for each in said:
                where.setdefault(each, []).append(branch.guard)
        for (how, reason), guards in where.items():
            asked = [branch.guard for branch in self._draft.branches if _form_of(branch) == self._form]
            rest = [guard for guard in asked if guard not in guards]
            place = f"{how} {condition_for(guards, rest).spoken(self._draft.groups)}: " if rest else ""
            self._notes.append(f"{place}{reason}")

    def _grown(self, kept: list[Branch], forms: list[dict[int, Variant]]) -> Draft:
        draft, name, choice = self._draft, self._pass.name, self._choice
        branches, choices = kept, draft.choices
        if choice is not None:
            branches, groups = self._branched(choice, kept, forms)
            if sum(map(len, groups.values())) > 1:
                choices = (*choices, Choice(choice, groups))
            else:  # none of its alternatives was good: the name goes again
                branches = [
                    replace(branch, variant=with_constant(branch.variant, choice.name, choice.default)) for branch in kept
                ]
        listed = [c.name for c in choices] + [tunable.name for branch in branches for tunable in branch.variant.tunables]
        added = [parameter for parameter in dict.fromkeys(listed) if parameter not in draft.origins]
        if not added:
            return draft.not_applied(name, "; ".join(["the choice has only one value here", *self._notes]))
        done = Application(name, tuple(added), notes=tuple(dict.fromkeys(self._notes)))
        foreign = [used_identifiers(form.text) for found in forms for form in found.values()] if name == PROPOSALS else []
        return replace(
            draft,
            foreign=draft.foreign.union(*foreign),
            branches=tuple(branches),
            choices=choices,
            origins={**draft.origins, **dict.fromkeys(added, name)},
            applications=(*draft.applications, done),
        )

    def _branched(
        self, choice: Tunable, kept: list[Branch], forms: list[dict[int, Variant]]
    ) -> tuple[list[Branch], dict[int, tuple[int, ...]]]:
        """A branch for each form that there is; values that select the same forms everywhere are one group."""
        groups: dict[tuple[Variant | None, ...], list[int]] = {}
        default = tuple(branch.variant for branch in kept)
        groups[default] = [choice.default]
        for value in sorted({value for found in forms for value in found}):
            # Where a branch has no such form, the value does not exist there.
            groups.setdefault(tuple(found.get(value) for found in forms), []).append(value)
        branches = [replace(branch, guard={**branch.guard, choice.name: choice.default}) for branch in kept]
        left_out = []
        alternatives = {min(values): variants for variants, values in groups.items() if variants != default}
        most = _MOST_OF_A_FORM if self._form else MOST_BRANCHES
        most += len(alternatives) if self._is_apart else 0  # so few that they need no room of others
        # Branch by branch: the default's alternatives come first where there is not room for all.
        for index, branch in enumerate(kept):
            for key, variants in alternatives.items():
                variant = variants[index]
                if variant is None:
                    continue
                if sum(_form_of(other) == _form_of(branch) for other in branches) < most:
                    branches.append(Branch({**branch.guard, choice.name: key}, variant))
                else:
                    left_out.append(f"{choice.name}={key} {_where(self._draft, branch)}".strip())
        if left_out:
            of_it = f" of form {self._form}" if self._form else ""
            self._notes.append(f"left out, since a template has at most {most} forms{of_it}: {', '.join(left_out)}")
        present = {branch.guard[choice.name] for branch in branches}
        keyed = {choice.default: tuple(sorted(groups[default]))}
        keyed |= {key: tuple(groups[variants]) for key, variants in alternatives.items() if key in present}
        return branches, keyed

    def _answer(self, branch: Branch) -> Answer:
        draft = self._draft
        if draft.hidden is not None:
            return Declined(f"the kernel uses a macro that cannot be expanded: {draft.hidden}")
        answer = (looked_at if _form_of(branch) else look)(draft, self._pass, branch.variant)
        if isinstance(answer, Rewrite) and answer.choice is not None:
            try:
                self._agree_on(answer.choice)
            except Faulty as fault:
                return Declined(f"the pass failed: {fault}")
        return answer

    def _agree_on(self, choice: Tunable) -> None:
        known = self._choice
        if known is not None and (known.name, known.default) != (choice.name, choice.default):
            raise Faulty(f"its choice is {known.name} (default {known.default}) and also {choice.name} ({choice.default})")
        self._choice = known or choice

    def _alternatives(self, branch: Branch, answer: Rewrite) -> dict[int, Variant]:
        found: dict[int, Variant] = {}
        if answer.choice is None:
            return found
        for value, variant in answer.alternatives.items():
            if variant == answer.variant and answer.choice.name not in names_used(variant):
                continue  # it changes nothing
            fault = self._fault(branch, answer, answer.choice, value)
            if fault is None:
                found[value] = variant
            else:
                self._notes.append(f"{answer.choice.name}={value} left out {_where(self._draft, branch)}: {fault}")
        return found

    def _fault(self, branch: Branch, answer: Rewrite, choice: Tunable, value: int) -> str | None:
        variant = answer.alternatives[value]
        if value not in choice.values or value == choice.default:
            return f"{value} is not an alternative of {choice.name}"
        if variant.entry != answer.variant.entry:
            return f"its entry is {variant.entry!r}, and that of the others {answer.variant.entry!r}"
        try:
            check_variant(self._draft.kernel, branch.variant, variant, (choice.name,), frozenset(self._draft.origins))
        except Faulty as fault:
            return str(fault)
        return None


def _form_of(branch: Branch) -> int:
    return branch.guard.get(FORM, 0)


def _where(draft: Draft, branch: Branch) -> str:
    listed = " ".join(f"{name}={'/'.join(map(str, draft.groups[name][key]))}" for name, key in branch.guard.items())
    return f"with {listed}" if listed else "here"
