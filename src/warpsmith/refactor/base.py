"""What a refactoring pass is: a pure function from one form of a kernel to that form with a choice made explicit.

A pass never writes `#if`: it sees and returns *branch-free* source, whose parameters are names in place of numbers. Where it has
a structural alternative to offer it returns the whole alternative text; `merge` turns the texts into one source with branches.
That keeps passes small, and it makes the default right by construction: the default branch is the original's own text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property, lru_cache
from typing import Protocol, TypeAlias

from warpsmith.core.hardware import Limits
from warpsmith.source import KernelSource, parse_kernel
from warpsmith.spec.kernel import Kernel


class Stage(IntEnum):
    """Pipeline stage: constants are lifted first, so that later passes can refer to them."""

    LIFT = 1
    RESTRUCTURE = 2
    DECORATE = 3  # the only stage that may insert directives (`#pragma unroll N` under its own `#if`): nothing parses after it


class Concern(StrEnum):
    """What could be keeping a kernel from the roof: the kinds of suggestion that analysis gives and passes answer."""

    PARALLELISM = "parallelism"  # occupancy, waiting at barriers, blocks too large or too small
    LOCALITY = "locality"  # reuse in registers and shared memory
    TRAFFIC = "traffic"  # more global memory is moved than must be
    DIVERGENCE = "divergence"  # threads of a warp do different things, or are masked
    COALESCING = "coalescing"  # neighbouring threads do not touch neighbouring elements
    BALANCE = "balance"  # arithmetic holds up memory


@dataclass(frozen=True, slots=True)
class Tunable:
    """A parameter in the making. `meaning` becomes the comment beside its `#define`; `line` is its place in the original.

    `likely` are values that gain on every kind of device, if there are such: a search begins there. `assumes` makes it a
    conjecture: what was not proved of its other values, a sentence. Then they are tried and watched before a search sees them.
    """

    name: str
    values: tuple[int, ...]
    default: int
    meaning: str
    line: int | None = None
    likely: tuple[int, ...] = ()
    assumes: str = ""


def assumption(name: str, unproved: str) -> str:
    """What is assumed of a size that nothing proves to be free. `unproved` is what keeps it from being proved."""
    return f"results do not depend on {name}, although {unproved}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A constraint in the making: an expression over parameters, workload sizes and device limits, and why it must hold."""

    expression: str
    reason: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One branch-free form of the kernel: the whole file's text, the entry, and the launch (expressions as in kernel.toml)."""

    text: str
    entry: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str = "0"
    tunables: tuple[Tunable, ...] = ()
    rules: tuple[Rule, ...] = ()
    likely: tuple[Rule, ...] = ()  # of combinations, as a tunable's `likely` is of its values


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a pass made of a variant.

    `variant` takes its place: the same tokens as before when all parameters are at their defaults. With a `choice`, each of its
    values but the default has an alternative form of the kernel. `notes` say what could not be offered, and why.
    """

    variant: Variant
    choice: Tunable | None = None
    alternatives: Mapping[int, Variant] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a pass did not apply: the precondition that could neither be shown nor tested, as a kernel engineer understands it."""

    reason: str
    line: int | None = None


class Subject:
    """What a pass looks at: a variant, parsed when first asked for, with the kernel it belongs to and the device's limits."""

    def __init__(self, kernel: Kernel, limits: Limits, variant: Variant, parameters: frozenset[str] = frozenset()) -> None:
        self.kernel = kernel  # as the user brought it, without parameters
        self.limits = limits
        self.variant = variant
        self.parameters = parameters  # of all forms, and other words of forms that somebody else wrote: no name for a new one

    @cached_property
    def source(self) -> KernelSource:
        return _parsed(self.variant.text, self.kernel.language, self.variant.entry)


# Most passes leave most forms as they are, and the next pass looks at the same text again.
_parsed = lru_cache(maxsize=64)(parse_kernel)


Answer: TypeAlias = Rewrite | Declined


class Pass(Protocol):
    """`name` is how people and plans call it; `summary` is one line for listings; `concerns` say what it may help against.

    A pass may have `priority`, an order within its stage, and be `apart`: then it is applied to the first form alone, for what it
    makes has little in common with what other passes do.
    """

    name: str
    summary: str
    stage: Stage
    concerns: frozenset[Concern]

    def apply(self, subject: Subject) -> Answer: ...
