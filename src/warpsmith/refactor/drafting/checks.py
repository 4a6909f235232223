"""What must hold of a pass's answer before it enters a draft, as far as reading tells; `tuning.templates.templating` runs it."""

from __future__ import annotations

import re

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Tunable, Variant
from warpsmith.refactor.names import taken_names
from warpsmith.spec.kernel import Kernel
from warpsmith.template.directives import object_defines

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Faulty(Exception):  # noqa: N818 - reads as the fact it states
    """A pass's answer that breaks a promise of `refactor.base`."""


def check_variant(kernel: Kernel, before: Variant, after: Variant, choices: tuple[str, ...], strangers: frozenset[str]) -> None:
    """Parameters are well-formed and new names are free; every expression parses, over names that will be known."""
    old = {tunable.name: tunable for tunable in before.tunables}
    names = [tunable.name for tunable in after.tunables]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Faulty(f"{twice} is listed twice")
    # Naming a `#define` of the source after itself is what lifting it means: its old definition is then gone. One of the host's
    # gives way to a parameter by itself.
    defined, left = ({define.name for define in object_defines(variant.text)} for variant in (before, after))
    lifted = (defined | {name for name, value in kernel.defines.items() if type(value) is int}) - left
    for tunable in after.tunables:
        if tunable.name not in old:
            _check_tunable(kernel, before.text, tunable, strangers, lifted)
    sizes = frozenset().union(*(workload.sizes for workload in kernel.workloads))
    known = sizes | Limits.known_names() | set(names) | set(old) | set(choices) | strangers
    for text in (*after.grid, *after.block, after.shared, *(rule.expression for rule in after.rules)):
        _check_expression(text, known)


def check_choice(kernel: Kernel, before: Variant, choice: Tunable, strangers: frozenset[str]) -> None:
    _check_tunable(kernel, before.text, choice, strangers, set())


def _check_tunable(kernel: Kernel, text: str, tunable: Tunable, strangers: frozenset[str], lifted: set[str]) -> None:
    name = tunable.name
    if _IDENTIFIER.fullmatch(name) is None:
        raise Faulty(f"{name!r} cannot be the name of a parameter")
    if name in strangers:
        raise Faulty(f"another pass has a parameter {name}")
    if name in taken_names(kernel, text) - lifted:
        raise Faulty(f"the name {name} is already used in the source or in kernel.toml")
    if tunable.default not in tunable.values:
        raise Faulty(f"the default {tunable.default} of {name} is not among its values {list(tunable.values)}")
    if len(set(tunable.values)) < len(tunable.values):
        raise Faulty(f"{name} lists a value twice: {list(tunable.values)}")


def _check_expression(text: str, known: frozenset[str]) -> None:
    try:
        names = Expression.parse(text).names
    except InputError as error:
        raise Faulty(error.message) from None
    if names - known:
        raise Faulty(f"unknown name {min(names - known)!r} in {text!r}")
