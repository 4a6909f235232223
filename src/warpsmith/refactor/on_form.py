"""A pass on one of the forms that an agent wrote, `unroll@2` on form 2; a plain name is the pass on the kernel itself.

What it adds belongs to that form: its parameters have names of their own there (`UNROLL_F2`), whatever the pass does elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warpsmith.refactor.base import Answer, Declined, Pass, Rewrite, Subject, Variant
from warpsmith.refactor.constants import renamed
from warpsmith.refactor.names import taken_names

_SIGN = "@"


def on_form(name: str, form: int) -> str:
    """How the pass is asked for."""
    return f"{name}{_SIGN}{form}" if form else name


def parted(request: str) -> tuple[str, int]:
    """A pass's name and the form that it is asked for on: 0, the kernel itself, where none is named."""
    name, _, form = request.partition(_SIGN)
    return name, int(form) if form.isdecimal() else 0


def everywhere(passes: Iterable[Pass], forms: Iterable[int]) -> list[Pass]:
    """The passes on the kernel itself and on each of the forms, but for those that are meant for one form already."""
    passes, forms = list(passes), list(forms)
    plain = [transform for transform in passes if not isinstance(transform, OnForm)]
    return [*passes, *(OnForm(transform, form) for form in forms for transform in plain)]


class OnForm:
    """Implements `refactor.base.Pass` over another one."""

    def __init__(self, inner: Pass, form: int) -> None:
        self.name = on_form(inner.name, form)
        self.summary = inner.summary
        self.stage = inner.stage
        self.priority = getattr(inner, "priority", 0)
        self.concerns = inner.concerns
        self.form = form
        self._inner = inner

    def apply(self, subject: Subject) -> Answer:
        variant = subject.variant
        answer = self._inner.apply(Subject(subject.kernel, subject.limits, variant))
        if isinstance(answer, Declined):
            return answer
        old = {tunable.name for tunable in variant.tunables}
        listed = [tunable.name for made in (answer.variant, *answer.alternatives.values()) for tunable in made.tunables]
        listed += [answer.choice.name] if answer.choice is not None else []
        taken = taken_names(subject.kernel, variant.text) | old | subject.parameters
        names: dict[str, str] = {}
        for plain in dict.fromkeys(listed):
            if plain not in old:
                names[plain] = f"{plain.rstrip('_')}_F{self.form}"
                while names[plain] in taken:
                    names[plain] += "_"
        return _renamed(answer, names)


def _renamed(answer: Rewrite, names: dict[str, str]) -> Rewrite:
    def of(variant: Variant) -> Variant:
        return renamed(variant, names)

    choice = answer.choice
    return replace(
        answer,
        variant=of(answer.variant),
        choice=replace(choice, name=names.get(choice.name, choice.name)) if choice is not None else None,
        alternatives={value: of(variant) for value, variant in answer.alternatives.items()},
    )
