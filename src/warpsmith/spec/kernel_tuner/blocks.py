"""A block's extents in Kernel Tuner: parameters with certain names, or its defaults."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.spec.kernel_tuner.problem import BLOCK_SIZES, ScriptTunable


def block_of(parameters: Sequence[ScriptTunable], names: Sequence[str]) -> tuple[str, ...]:
    """The block's extents: parameters of these names (by default Kernel Tuner's, in any case), else its default."""
    known = [parameter.name for parameter in parameters]
    own = [
        next((n for n in known if n == usual), None) or next((n for n in known if n.lower() == usual), usual)
        for usual in BLOCK_SIZES
    ]
    wanted = [*names, *own[len(names) :]][:3]
    found = [name if name in known else str(default) for name, default in zip(wanted, BLOCK_SIZES.values(), strict=True)]
    while len(found) > 1 and found[-1] == "1":
        found.pop()
    return tuple(found)
