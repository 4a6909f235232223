"""A template's configurations as standalone kernels: values substituted, branches resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.expression import Expression
from warpsmith.core.expression.folding import folded
from warpsmith.export.base import Standalone
from warpsmith.refactor.constants import with_words
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Argument, Constraint, Kernel, Launch, Scalar
from warpsmith.template import Template, template_of
from warpsmith.template.model import c_text
from warpsmith.template.settling import settled


@dataclass(frozen=True, slots=True)
class Templated:
    """The `Choices` of a run that searched a template."""

    kernel: Kernel
    template: Template

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        return cls(kernel, template_of(kernel))

    def standalone(self, configuration: Configuration, *, from_template: bool = False) -> Standalone:
        """The default is the original's own file, unless it is asked for as the template has it."""
        kernel, values = self.kernel, dict(configuration)
        is_default = configuration == kernel.default_configuration
        is_original = is_default and kernel.template_source is not None and not from_template
        entry = kernel.entry if is_original else kernel.template_entry or kernel.entry
        return Standalone(
            origin=kernel.source if is_original else self.template.path,
            text=read_source(kernel.source) if is_original else settled(self.template, configuration),
            entry=with_words(entry, {name: c_text(value) for name, value in values.items()}),
            launch=_folded_launch(kernel.launch, values),
            arguments=tuple(_folded_argument(argument, values) for argument in kernel.arguments),
            conditions=() if is_original else _conditions(self.template.constraints, values),
        )


def _conditions(constraints: tuple[Constraint, ...], values: Mapping[str, Value]) -> tuple[Constraint, ...]:
    """The constraints as far as the configuration leaves something to ask of sizes and devices."""
    asked = (replace(c, expression=_folded(c.expression, values)) for c in constraints)
    return tuple(constraint for constraint in asked if constraint.expression.names)


def _folded_launch(launch: Launch, values: Mapping[str, Value]) -> Launch:
    return Launch(
        tuple(_folded(extent, values) for extent in launch.grid),
        tuple(_folded(extent, values) for extent in launch.block),
        _folded(launch.shared_bytes, values),
    )


def _folded_argument(argument: Argument, values: Mapping[str, Value]) -> Argument:
    return replace(argument, value=_folded(argument.value, values)) if isinstance(argument, Scalar) else argument


def _folded(expression: Expression, values: Mapping[str, Value]) -> Expression:
    return Expression.parse(folded(expression, values)) if expression.names & values.keys() else expression
