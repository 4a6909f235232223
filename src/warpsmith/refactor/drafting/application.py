"""Applies a pass to every form of a draft. One that declines, fails or breaks a promise leaves only its reason there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Declined, Pass, Rewrite, Stage, Subject, Tunable, Variant
from warpsmith.refactor.constants import with_constant
from warpsmith.refactor.drafting.carrying import carried_over
from warpsmith.refactor.drafting.checks import Faulty, check_choice, check_variant
from warpsmith.refactor.drafting.conditions import Guard, condition_for
from warpsmith.refactor.drafting.draft import Application, Branch, Choice, Draft, names_used
from warpsmith.source import parse_kernel
from warpsmith.source.own_fillings import with_own_fillings
from warpsmith.source.plain_loops import with_plain_loops

MOST_BRANCHES = 56  # forms of the kernel in one template: what people still read, and what compiles in a few seconds


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
        self._choice: Tunable | None = None
        self._notes: list[str] = []

    def result(self) -> Draft:
        draft = self._draft
        answers = [self._answer(branch) for branch in draft.branches]
        declined = [answer for answer in answers if isinstance(answer, Declined)]
        if len(declined) == len(answers):
            return draft.not_applied(self._pass.name, declined[0].reason, declined[0].line)
        self._note_where_not(answers)
        kept: list[Branch] = []
        forms: list[dict[int, Variant]] = []
        for branch, answer in zip(draft.branches, answers, strict=True):
            kept.append(replace(branch, variant=answer.variant) if isinstance(answer, Rewrite) else branch)
            forms.append(self._alternatives(branch, answer) if isinstance(answer, Rewrite) else {})
        return self._grown(kept, forms)

    def _note_where_not(self, answers: list[Answer]) -> None:
        where: dict[tuple[str, str], list[Guard]] = {}
        for branch, answer in zip(self._draft.branches, answers, strict=True):
            said = [("not where", answer.reason)] if isinstance(answer, Declined) else [("where", note) for note in answer.notes]
            for each in said:
                where.setdefault(each, []).append(branch.guard)
        for (how, reason), guards in where.items():
            rest = [branch.guard for branch in self._draft.branches if branch.guard not in guards]
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
            return draft.not_applied(name, "; ".join(["there is nothing to choose here", *self._notes]))
        done = Application(name, tuple(added), notes=tuple(dict.fromkeys(self._notes)))
        return replace(
            draft,
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
        # Branch by branch: the default's alternatives come first where there is not room for all.
        for index, branch in enumerate(kept):
            for key, variants in alternatives.items():
                variant = variants[index]
                if variant is None:
                    continue
                if len(branches) < MOST_BRANCHES:
                    branches.append(Branch({**branch.guard, choice.name: key}, variant))
                else:
                    left_out.append(f"{choice.name}={key} {_where(self._draft, branch)}".strip())
        if left_out:
            self._notes.append(f"left out, since a template has at most {MOST_BRANCHES} forms: {', '.join(left_out)}")
        present = {branch.guard[choice.name] for branch in branches}
        keyed = {choice.default: tuple(sorted(groups[default]))}
        keyed |= {key: tuple(groups[variants]) for key, variants in alternatives.items() if key in present}
        return branches, keyed

    def _answer(self, branch: Branch) -> Rewrite | Declined:
        draft = self._draft
        if draft.hidden is not None:
            return Declined(f"what the kernel does is hidden behind a macro that cannot be written out: {draft.hidden}")
        answer = self._attempt(branch.variant)
        if isinstance(answer, Declined):
            answer = self._second_look(branch.variant, answer)
        if isinstance(answer, Declined):
            return answer
        others = frozenset(draft.origins)
        try:
            check_variant(draft.kernel, branch.variant, answer.variant, (), others)
            if answer.choice is not None:
                check_choice(draft.kernel, branch.variant, answer.choice, others)
                self._agree_on(answer.choice)
        except Faulty as fault:
            return Declined(f"the pass failed: {fault}")
        return answer

    def _attempt(self, variant: Variant) -> Answer:
        draft = self._draft
        subject = Subject(draft.kernel, draft.limits, variant, frozenset(draft.origins))
        try:
            _ = subject.source
        except InputError as error:
            return Declined(error.message)
        try:
            return self._pass.apply(subject)
        except Exception as error:  # noqa: BLE001 - passes are plug-ins: one that fails is one that did not apply
            return Declined(f"the pass failed: {type(error).__name__}: {error}")

    def _second_look(self, variant: Variant, first: Declined) -> Answer:
        """What the pass makes of a plainer form, its counters declared in their loops and each tile filled by a loop of its own.

        Alternatives only, for the default stays; or names for its numbers, where these stand in the default too.
        """
        text = _plain(variant.text, self._draft.kernel.language, variant.entry)
        if self._pass.stage is Stage.DECORATE or text == variant.text:
            return first
        plain = replace(variant, text=text)
        answer = self._attempt(plain)
        if isinstance(answer, Declined):
            return replace(answer, line=first.line)  # of a line that the reader has
        if self._pass.stage is Stage.LIFT:
            named = carried_over(text, answer.variant.text, variant.text)
            return first if named is None else replace(answer, variant=replace(answer.variant, text=named))
        return replace(answer, variant=variant) if answer.choice is not None and answer.variant == plain else first

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


@lru_cache(maxsize=64)  # every pass that declines asks
def _plain(text: str, language: Language, entry: str) -> str:
    try:
        return with_own_fillings(parse_kernel(with_plain_loops(parse_kernel(text, language, entry)), language, entry))
    except InputError:
        return text


def _where(draft: Draft, branch: Branch) -> str:
    listed = " ".join(f"{name}={'/'.join(map(str, draft.groups[name][key]))}" for name, key in branch.guard.items())
    return f"with {listed}" if listed else "here"
