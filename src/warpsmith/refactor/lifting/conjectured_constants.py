"""Constants that nothing ties to the launch, by conjecture: their names say that they are about how the work is done.

`UNROLL`, `ROWS_PER_THREAD`, `BLOCK_KN_SIZE`: that results do not depend on them is not proved, so who takes the answer has to try
it (`Tunable.assumes`). The grid follows where its own numbers suggest how, and stays as it is elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Literal
from warpsmith.refactor.base import Subject, Tunable, Variant, assumption
from warpsmith.refactor.extents import names_of, spelled, tidy, value_at, with_part
from warpsmith.refactor.lifting import rules
from warpsmith.refactor.lifting.dynamic import dynamic_bytes
from warpsmith.refactor.lifting.linking import AXES, divisors
from warpsmith.refactor.lifting.symbolic import Symbolic, symbolic
from warpsmith.refactor.lifting.values import comment_beside, powers_of_two
from warpsmith.source.constants import Constant, ConstantKind, constants_of
from warpsmith.source.geometry import geometry_of

_CHOICE = re.compile(
    r"unroll|item|per_?(?:thread|block|warp|iter|cta)|each|tile|chunk|ilp|(?:^|_)steps?(?:_|$)|stage|pipeline|block_?(?:size|width|height|kn|m|n|k)"
    r"|batch_?size|(?:^|_)(?:bm|bn|bk|tm|tn|nt)(?:_|$)|coarse",
    re.IGNORECASE,
)
_MOST = 2  # constants of a kernel: each is compiled, run and watched
_LARGEST = 1024


def with_conjectures(subject: Subject, untied: Mapping[str, str]) -> Variant | None:
    """`untied` has, by constant, what keeps it from being proved. None where there is nothing to try."""
    made = subject
    for name in untied:
        constant = next((c for c in _candidates(made) if c.name == name), None)
        if constant is not None and (variant := _with(made, constant, untied[name])) is not None:
            made = Subject(subject.kernel, subject.limits, variant)
            if len(made.variant.tunables) - len(subject.variant.tunables) == _MOST:
                break
    return made.variant if made is not subject else None


def _candidates(subject: Subject) -> Iterator[Constant]:
    """Not what the block already has as its number: that is `conjectured_block`'s."""
    source, variant = subject.source, subject.variant
    extents = {value_at(tidy(extent), {}) for extent in variant.block}
    for constant in constants_of(source, variant.entry, subject.kernel.defines):
        is_named = constant.kind not in {ConstantKind.LITERAL, ConstantKind.ACCESS}
        if is_named and _CHOICE.search(constant.name) and 0 < constant.value <= _LARGEST and constant.value not in extents - {1}:
            yield constant


def _with(subject: Subject, constant: Constant, unproved: str) -> Variant | None:
    lifted = symbolic(subject, [constant])
    (parameter,) = lifted.constants
    grid = _grid(lifted, parameter, constant.value)
    values = [v for v in _values(constant.value) if all(_is_whole(text, parameter, v, constant.value) for text in grid)]
    shared = dynamic_bytes(lifted, subject.variant.block, subject.variant.shared)
    if len(values) < 2 or not isinstance(shared, str):
        return None
    tunable = Tunable(
        parameter,
        tuple(values),
        constant.value,
        comment_beside(lifted, constant) or f"{constant.name}, which the source fixes",
        constant.line,
        assumes=assumption(constant.name, unproved),
    )
    return replace(
        lifted.variant,
        grid=tuple(grid),
        shared=shared,
        tunables=(*lifted.variant.tunables, tunable),
        rules=(*lifted.variant.rules, *rules.private_arrays(lifted, subject.limits), *rules.shared_memory(lifted, shared)),
    )


def _values(default: int) -> list[int]:
    return sorted({default, *powers_of_two(max(1, default // 4), min(_LARGEST, 4 * default))})


def _grid(lifted: Symbolic, parameter: str, value: int) -> list[str]:
    """`ceildiv(rows, 32)` where blocks are 8 * HEIGHT = 256 elements apart: `ceildiv(rows, HEIGHT * 32 / 32)`."""
    variant = lifted.variant
    threads = value_at(" * ".join(f"({extent})" for extent in variant.block), {})
    shares = [s for s in geometry_of(lifted.names, lifted.defaults).shares if parameter in names_of(s.extent)]
    apart = {axis: [value_at(s.extent, lifted.defaults) for s in shares if s.axis == axis] for axis in AXES}
    made = [tidy(text) for text in variant.grid]
    for place, axis in enumerate(AXES[: len(made)]):
        known: Sequence[int | None] = apart[axis] or ([] if shares or threads is None else [threads * value])
        expression = Expression.parse(made[place])
        for part, _ in divisors(expression.tree):
            number = part.value if isinstance(part, Literal) else None
            if isinstance(number, int) and any(k and (k % number == 0 or number % k == 0) for k in known):
                followed = f"{number // value} * {parameter}" if number % value == 0 else f"{number} * {parameter} / {value}"
                made[place] = with_part(expression, part, followed)
                break
    return made


def _is_whole(text: str, parameter: str, value: int, default: int) -> bool:
    """Whether what the grid divides by stays a whole number above zero."""
    parts = [part for part, _ in divisors(Expression.parse(text).tree) if parameter in names_of(spelled(part))]
    return all(
        (value_at(spelled(part), {parameter: value}) or 0) * default
        == (value_at(spelled(part), {parameter: default}) or 0) * value
        for part in parts
    )
