"""`Draft`: a template in the making. It holds the forms of the kernel that passes have made so far, and how each came about.

A draft starts with one form, the untouched kernel, and grows pass by pass (`drafting.application`): every pass is applied to
each form on its own, and its structural alternatives become further forms. A draft is immutable: whoever tries a pass goes back
by keeping the draft before, as `tuning.templates.templating` does when what a pass made does not compile or gives wrong results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Rule, Tunable, Variant
from warpsmith.refactor.constants import with_constant
from warpsmith.refactor.drafting.conditions import Groups
from warpsmith.refactor.proposal import PROPOSALS
from warpsmith.refactor.untouched import untouched
from warpsmith.source.macro_calls import expanded
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.template.directives import with_includes

SUBMITTED = "submitted"  # the origin of the parameters of a template that a client wrote as a whole
FOREIGN = frozenset({PROPOSALS, SUBMITTED})


@dataclass(frozen=True, slots=True)
class Branch:
    """One form of the kernel, and the value of every structural parameter that selects it."""

    guard: Mapping[str, int]
    variant: Variant


@dataclass(frozen=True, slots=True)
class Choice:
    """A structural parameter. Values that always select the same form are a group, and stand in guards as the group's key."""

    tunable: Tunable
    groups: Mapping[int, tuple[int, ...]]

    @property
    def name(self) -> str:
        return self.tunable.name

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(sorted(value for values in self.groups.values() for value in values))


@dataclass(frozen=True, slots=True)
class Application:
    """What came of one pass: the parameters it added, or why it did not apply. `notes` tell of forms it left alone."""

    name: str
    parameters: tuple[str, ...] = ()
    reason: str | None = None
    line: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def applied(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Draft:
    """`branches` begins with the default. `origins` has every parameter, in the order they came, with the pass behind it.

    `exclusions` are combinations that no pass forbade but a device found wrong. `hidden` is a macro that does more than its name
    shows and could not be written out: then no pass can know what the kernel does. `foreign` are the words of the forms that
    somebody else wrote: a parameter, which is a macro, must be none of them.
    """

    kernel: Kernel  # as it was before any template of its author's
    limits: Limits
    branches: tuple[Branch, ...]
    choices: tuple[Choice, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    applications: tuple[Application, ...] = ()
    exclusions: tuple[Rule, ...] = ()
    hidden: str | None = None
    foreign: frozenset[str] = frozenset()

    @classmethod
    def of(cls, kernel: Kernel, limits: Limits) -> Draft:
        plain = untouched(kernel)
        launch = plain.launch
        text = read_source(plain.source)
        source = expanded(text, plain.entry, plain.defines, with_includes(plain.source, text, plain.include_dirs)[1:])
        variant = Variant(
            text=source.text,
            entry=plain.entry,
            grid=tuple(map(str, launch.grid)),
            block=tuple(map(str, launch.block)),
            shared=str(launch.shared_bytes),
        )
        return cls(plain, limits, (Branch({}, variant),), hidden=source.hidden)

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else wrote any of it: a model, or the client of a server."""
        return not FOREIGN.isdisjoint(self.origins.values())

    @property
    def groups(self) -> Groups:
        return {choice.name: choice.groups for choice in self.choices}

    def as_written(self) -> Draft:
        """The untouched kernel with its macros as they stand, for one that cannot do without them."""
        plain = self.with_text(read_source(self.kernel.source))
        return replace(plain, hidden=self.hidden or "expanding one of its macros would change its meaning")

    def with_text(self, text: str) -> Draft:
        """The kernel in other words, before any pass has seen it."""
        first = self.branches[0]
        return replace(self, branches=(replace(first, variant=replace(first.variant, text=text)),))

    def not_applied(self, name: str, reason: str, line: int | None = None) -> Draft:
        return replace(self, applications=(*self.applications, Application(name, reason=reason, line=line)))

    def noted(self, name: str, notes: Iterable[str]) -> Draft:
        """With more to say about a pass."""
        changed = (replace(a, notes=(*a.notes, *notes)) if a.name == name else a for a in self.applications)
        return replace(self, applications=tuple(changed))

    def tidied(self, reason: str) -> Draft:
        """Applications name the parameters that are left; a pass that has none left did not apply, for that reason."""
        changed = []
        for done in self.applications:
            left = tuple(name for name in done.parameters if name in self.origins)
            gone = done.applied and not left
            changed.append(
                Application(done.name, reason="; ".join((reason, *done.notes))) if gone else replace(done, parameters=left)
            )
        return replace(self, applications=tuple(changed))

    def without(self, name: str, value: int) -> Draft:
        """The draft in which a parameter does not take a value. When one value is left, it takes the parameter's place."""
        changed = self._without_value_of_choice(name, value)
        branches = tuple(replace(b, variant=_without_value(b.variant, name, value)) for b in changed.branches)
        left = {v for b in branches for t in b.variant.tunables if t.name == name for v in t.values}
        if len(left) == 1:
            branches = tuple(replace(b, variant=with_constant(b.variant, name, *left)) for b in branches)
        changed = replace(changed, branches=branches)
        if len(left) > 1 or any(choice.name == name for choice in changed.choices):
            return changed
        origins = {n: origin for n, origin in self.origins.items() if n != name}
        # What was excluded together with another value can no longer be; with the one that is left, the others still are.
        return replace(changed, origins=origins, exclusions=tuple(r for r in self.exclusions if not _mentions(r, name)))

    @property
    def conjectures(self) -> Mapping[str, str]:
        """Parameters with values that no pass proved, and what was assumed of them."""
        return {tunable.name: tunable.assumes for tunable in self._tunables if tunable.assumes}

    @property
    def _tunables(self) -> Iterator[Tunable]:
        yield from (replace(choice.tunable, values=choice.values) for choice in self.choices)
        yield from (tunable for branch in self.branches for tunable in branch.variant.tunables)

    def alternatives(self, name: str) -> frozenset[int]:
        """The values of a parameter that are not its default."""
        return frozenset(value for t in self._tunables if t.name == name for value in t.values if value != t.default)

    def without_parameter(self, name: str) -> Draft:
        """The draft in which it stays at its default."""
        draft = self
        for value in sorted(self.alternatives(name)):
            draft = draft.without(name, value)
        return draft

    def proved(self) -> Draft:
        """The draft without what was conjectured."""
        draft = self
        for name in self.conjectures:
            draft = draft.without_parameter(name)
        assumed = "; ".join(dict.fromkeys(self.conjectures.values()))
        return draft.tidied(f"not proved: correct only if {assumed}") if assumed else draft

    def without_form(self, guard: Mapping[str, int]) -> Draft:
        """The draft without one form, which is not the default's."""
        branches = tuple(branch for branch in self.branches if branch.guard != guard)
        draft = replace(self, branches=branches)
        for choice in self.choices:
            for key, values in choice.groups.items():
                if all(branch.guard[choice.name] != key for branch in branches):
                    for value in values:
                        draft = draft.without(choice.name, value)
        return draft

    def _without_value_of_choice(self, name: str, value: int) -> Draft:
        choice = next((c for c in self.choices if c.name == name), None)
        if choice is None:
            return self
        groups = {key: tuple(v for v in values if v != value) for key, values in choice.groups.items()}
        groups = {key: values for key, values in groups.items() if values}
        branches = tuple(b for b in self.branches if b.guard[name] in groups)
        if sum(map(len, groups.values())) > 1:
            others = tuple(replace(c, groups=groups) if c is choice else c for c in self.choices)
            return replace(self, branches=branches, choices=others)
        default = choice.tunable.default
        branches = tuple(
            Branch({n: v for n, v in b.guard.items() if n != name}, with_constant(b.variant, name, default)) for b in branches
        )
        return replace(self, branches=branches, choices=tuple(c for c in self.choices if c is not choice))


def names_used(variant: Variant) -> frozenset[str]:
    """What the form's text, entry and launch name: a parameter that is not among it has no effect."""
    launch = (*variant.grid, *variant.block, variant.shared)
    return frozenset().union(*map(used_identifiers, (variant.text, variant.entry)), *(Expression.parse(e).names for e in launch))


def _mentions(rule: Rule, name: str) -> bool:
    return name in Expression.parse(rule.expression).names


def _without_value(variant: Variant, name: str, value: int) -> Variant:
    changed = (replace(t, values=tuple(v for v in t.values if v != value)) if t.name == name else t for t in variant.tunables)
    return replace(variant, tunables=tuple(changed))
