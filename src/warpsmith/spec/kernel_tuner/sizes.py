"""Chooses which of a script's variables become workload sizes, their names, and which stay numbers.

Sizes are the variables that make up the problem's size, a scalar argument or an array's length. A variable named like a
parameter stays a number, and so do small ones that are not passed to the kernel: a filter's width, a pixel's channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from warpsmith.core.hardware import Limits
from warpsmith.spec.host.terms import Root, SizeTerm, product, replaced, roots
from warpsmith.spec.host.wording import written
from warpsmith.spec.kernel_tuner.problem import Extent, Passed, ScriptNumber, ScriptOrigin, TuningProblem

_SMALL = 64
_RESERVED = frozenset({"not", "and", "or", "in", "if", "else", "true", "false", "True", "False", "weight", "heldout"})


@dataclass(frozen=True, slots=True)
class Sizes:
    names: Mapping[Root, str]
    numbers: Mapping[Root, int]
    origins: Mapping[Root, ScriptOrigin]

    @property
    def values(self) -> dict[str, int]:
        return {name: self.origins[root].value for root, name in self.names.items()}

    def text(self, extent: Extent) -> str:
        """As a kernel.toml expression; a plain number if nothing else is known."""
        if isinstance(extent, str):
            return extent
        term = replaced(extent.term, self.numbers) if extent.term is not None else None
        return written(term, self.names) if term is not None else str(extent.value)


def sizes_of(problem: TuningProblem, defines: Iterable[str]) -> Sizes:
    arguments = problem.arguments or ()
    scalars = [a.value for a in arguments if isinstance(a.value, ScriptNumber)]
    in_scalars, in_size = set(_roots(scalars)), set(_roots(problem.size or ()))
    lengths = [extent for a in (*arguments, *problem.constants.values()) for extent in a.shape or ()]
    shared = [problem.shared] if problem.shared is not None else []
    every = dict.fromkeys(_roots([*(problem.size or ()), *lengths, *scalars, *shared]))
    numbers = {
        root: problem.origins[root].value
        for root in every
        if root.name in problem.parameter_names
        or problem.origins[root].value <= 1
        or (problem.origins[root].value < _SMALL and root not in in_scalars and root not in in_size)
    }
    taken = {*problem.parameter_names, *defines, *Limits.known_names(), *_RESERVED}
    names: dict[Root, str] = {}
    for root in (r for r in every if r not in numbers):
        choices = (root.name, f"script_{root.name}", f"script_{root.name}_{root.place}", f"script_{root.name}_{len(names)}")
        names[root] = next(name for name in choices if name not in taken)
        taken.add(names[root])
    return Sizes(names, numbers, problem.origins)


def linked(problem: TuningProblem) -> TuningProblem:
    """Names the literal numbers of a problem's size, also in the arguments where they stand alone."""
    size = problem.size or ()
    plain = [e for e in size if isinstance(e, ScriptNumber) and isinstance(e.term, int) and e.value >= _SMALL]
    if not plain:
        return problem
    axes = ("",) if len(size) == 1 else ("_x", "_y", "_z")
    origins = dict(problem.origins)
    found: dict[int, SizeTerm] = {}
    named: list[Extent] = []
    for axis, extent in zip(axes, size, strict=False):
        if not (isinstance(extent, ScriptNumber) and extent in plain):
            named.append(extent)
            continue
        root = Root(f"problem_size{axis}", 0)
        origins[root] = ScriptOrigin(int(extent.value), 0)
        named.append(replace(extent, term=root))
        found[int(extent.value)] = root
    if len(found) < len(plain):
        found = {}  # two axes of one length: which of them a number means, only people know
    if len(plain) == len(size) > 1:
        whole = math.prod(int(e.value) for e in plain)
        terms = [e.term for e in reversed(named) if isinstance(e, ScriptNumber) and e.term is not None]
        found.setdefault(whole, product(*terms))
    arguments = tuple(_linked(a, found) for a in problem.arguments) if problem.arguments is not None else None
    return replace(problem, size=tuple(named), origins=origins, arguments=arguments)


def _linked(argument: Passed, found: Mapping[int, SizeTerm]) -> Passed:
    def name(number: ScriptNumber) -> ScriptNumber:
        term = found.get(int(number.value)) if isinstance(number.term, int) else None
        return replace(number, term=term) if term is not None else number

    shape = tuple(map(name, argument.shape)) if argument.shape is not None else None
    value = name(argument.value) if isinstance(argument.value, ScriptNumber) and argument.value.is_whole else argument.value
    return replace(argument, shape=shape, value=value)


def _roots(extents: Iterable[Extent]) -> Iterator[Root]:
    for extent in extents:
        if isinstance(extent, ScriptNumber) and extent.term is not None and isinstance(extent.value, int):
            yield from roots(extent.term)
