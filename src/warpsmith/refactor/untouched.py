"""The kernel as its author first wrote it: what a template of their own added to kernel.toml is put back to its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warpsmith.core.configuration import Value
from warpsmith.core.expression import Expression
from warpsmith.core.expression.folding import folded
from warpsmith.refactor.constants import with_words
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Argument, Kernel, Launch, Scalar
from warpsmith.template.directives import object_defines, with_includes
from warpsmith.template.model import c_text


def untouched(kernel: Kernel) -> Kernel:
    """The kernel without parameters, constraints and template; its entry, launch and scalars with the defaults in their place.

    A source that needs parameters from outside (no `#define` of its own) gets their defaults as defines.
    """
    values = dict(kernel.default_configuration)
    launch = Launch(
        grid=_extents(kernel.launch.grid, values),
        block=_extents(kernel.launch.block, values),
        shared_bytes=_with_values(kernel.launch.shared_bytes, values),
    )
    return replace(
        kernel,
        entry=with_words(kernel.entry, {name: c_text(value) for name, value in values.items()}),
        arguments=tuple(_argument(argument, values) for argument in kernel.arguments),
        launch=launch,
        parameters=(),
        constraints=(),
        likely=(),
        template_source=None,
        template_entry=None,
        template_foreign=False,
        defines={**kernel.defines, **_missing_defines(kernel, values)},
    )


def _extents(extents: tuple[Expression, ...], values: Mapping[str, Value]) -> tuple[Expression, ...]:
    found = [_with_values(extent, values) for extent in extents]
    while len(found) > 1 and found[-1].text == "1":
        found.pop()
    return tuple(found)


def _with_values(expression: Expression, values: Mapping[str, Value]) -> Expression:
    if not expression.names & values.keys():
        return expression
    text = folded(expression, values)
    return Expression.parse(int(text) if text.isdigit() else text, location=expression.location)


def _argument(argument: Argument, values: Mapping[str, Value]) -> Argument:
    return replace(argument, value=_with_values(argument.value, values)) if isinstance(argument, Scalar) else argument


def _missing_defines(kernel: Kernel, values: Mapping[str, Value]) -> dict[str, Value]:
    if not values or kernel.template_source is not None:
        return {}
    texts = with_includes(kernel.source, read_source(kernel.source), kernel.include_dirs)
    used = frozenset().union(*map(used_identifiers, texts))
    own = {define.name for text in texts for define in object_defines(text)}
    return {name: value for name, value in values.items() if name in used and name not in own}
