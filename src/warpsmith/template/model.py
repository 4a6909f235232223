"""`Template`: source, parameters, constraints and launch; made from a kernel with its own template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Constraint, Kernel, Launch, Parameter, Scalar
from warpsmith.spec.problems import Problems
from warpsmith.template.certificate import Certificate
from warpsmith.template.directives import object_defines, with_includes


@dataclass(frozen=True, slots=True)
class Template:
    """`used` are the parameters that the source names: the others only shape the launch, and need no compiling anew."""

    source: str
    path: Path
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]
    launch: Launch
    used: frozenset[str] = frozenset()
    certificate: Certificate | None = None
    likely: tuple[Constraint, ...] = ()

    def defines(self, configuration: Configuration) -> Mapping[str, Value]:
        """What the compiler is told: the values of the parameters that the source uses."""
        return {name: value for name, value in configuration.items() if name in self.used}

    @property
    def default(self) -> Configuration:
        return Configuration(tuple((p.name, p.default) for p in self.parameters))


def template_of(kernel: Kernel) -> Template:
    """The kernel's own template: `[template] source`, or its source itself.

    Raises InputError for a parameter that changes nothing, or whose default in the source is another one.
    """
    path = kernel.template_source or kernel.source
    source = read_source(path)
    texts = with_includes(path, source, kernel.include_dirs)
    entry = kernel.template_entry or kernel.entry
    names = frozenset().union(*(used_identifiers(text) for text in (entry, *texts)))
    template = Template(
        source=source,
        path=path,
        parameters=kernel.parameters,
        constraints=kernel.constraints,
        launch=kernel.launch,
        used=frozenset(p.name for p in kernel.parameters if p.name in names),
        likely=kernel.likely,
    )
    problems = Problems(path)
    _check_uses(template, [a.value for a in kernel.arguments if isinstance(a, Scalar)], problems)
    _check_defaults(template, problems)
    problems.raise_if_any()
    return template


def c_text(value: Value) -> str:
    """A value as the preprocessor sees it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _check_uses(template: Template, scalars: list[Expression], problems: Problems) -> None:
    launch = template.launch
    expressions = [*launch.grid, *launch.block, launch.shared_bytes, *(c.expression for c in template.constraints), *scalars]
    elsewhere = frozenset().union(*(e.names for e in expressions))
    for parameter in template.parameters:
        if parameter.name not in template.used | elsewhere:
            hint = f"use {parameter.name} in the source or in [launch], or remove it from [parameters]"
            found = f"parameter {parameter.name} is used neither in the source nor in kernel.toml"
            problems.add(found, Location(template.path), hint)


def _check_defaults(template: Template, problems: Problems) -> None:
    defaults = {p.name: p.default for p in template.parameters}
    for define in object_defines(template.source):
        if define.name not in defaults:
            continue
        place = Location(template.path, define.line)
        wanted = c_text(defaults[define.name])
        if not define.guarded:
            hint = f"write #ifndef {define.name} / #define {define.name} {wanted} / #endif"
            problems.add(f"#define {define.name} overrides the parameter of that name", place, hint)
        elif _differs(define.body, wanted):
            found = f"#define {define.name} {define.body.strip()}, but the default in kernel.toml is {wanted}"
            problems.add(found, place, "both must be the value that leaves the kernel unchanged")


def _differs(body: str, wanted: str) -> bool:
    """Whether a macro's body is certainly another value: numbers are compared, anything computed is left alone."""
    try:
        return float(body.strip().strip("()")) != float(wanted)
    except ValueError:
        return body.strip().isidentifier() and wanted.isidentifier() and body.strip() != wanted


def require_complete(template: Template, configuration: Configuration) -> None:
    missing = [p.name for p in template.parameters if p.name not in configuration]
    if missing:
        raise InputError(
            f"the configuration {configuration} has no value for {', '.join(missing)}", location=Location(template.path)
        )
