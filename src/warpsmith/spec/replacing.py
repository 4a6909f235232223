"""`[replaces]` of a kernel.toml: the function that a tuned kernel replaces. It does not describe the kernel, so runs do not
depend on it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.spec.kernel import Argument, Buffer, Replaces
from warpsmith.spec.problems import Problems, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warpsmith.spec.schema import ReplacesTable
    from warpsmith.spec.toml_positions import Positions

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
# With the empty lines before it; those after it separated its neighbours.
_SECTION = re.compile(
    rb"(?:^[ \t]*\n)*^[ \t]*\[[ \t]*replaces\b[^\n]*\n?(?:(?:^[ \t]*\n)*^(?![ \t]*(?:\[|\n|\Z))[^\n]*\n?)*", re.MULTILINE
)


def replaces_of(table: ReplacesTable, arguments: Sequence[Argument], at: Positions, problems: Problems) -> Replaces:
    if not _FUNCTION.fullmatch(table.function):
        found = f"replaces.function = {table.function!r} is not a module's function"
        problems.add(found, at.value(("replaces", "function")), 'write its import path: "package.module.function"')
    names = [argument.name for argument in arguments]
    for name in table.arguments:
        if name not in names:
            found = f"the kernel has no argument {name!r}"
            hint = nearest(name, names) or "the kernel's name is on the left, the function's on the right"
            problems.add(found, at.key(("replaces", "arguments", name)), hint)
    written = [argument.name for argument in arguments if isinstance(argument, Buffer) and argument.role != "in"]
    for index, name in enumerate(table.returns or ()):
        if name not in written:
            found = f"{name!r} is not an output of the kernel"
            problems.add(found, at.value(("replaces", "returns", index)), nearest(name, written))
    buffers = [argument for argument in arguments if isinstance(argument, Buffer) and argument.name in written]
    for buffer in buffers if table.rows is not None else ():
        if not buffer.shape or str(buffer.shape[0]) != table.rows:
            found = f"{buffer.name!r} is an output without {table.rows!r} as its first extent"
            problems.add(found, at.value(("replaces", "rows")), "rows is the first extent of every output")
    returns = None if table.returns is None else tuple(table.returns)
    return Replaces(table.function, dict(table.arguments), dict(table.where), returns, table.rows)


def without_replaces(toml: bytes) -> bytes:
    """A kernel.toml without its `[replaces]` table."""
    return _SECTION.sub(b"", toml)
