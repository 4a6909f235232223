"""The host side of the header: dispatch by size, and launch geometry as functions of the sizes. Plain C++11."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.export.base import Shipment
from warpsmith.export.expressions import spelled
from warpsmith.export.header.cpp_text import Cpp, cpp_name
from warpsmith.export.parts import Part
from warpsmith.spec.kernel import Scalar


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A configuration and its name in the header."""

    name: str
    part: Part


def geometry_text(shipment: Shipment, named: Sequence[NamedPart]) -> str:
    names, scalars = launch_arguments(shipment, named), chosen_scalars(named)
    sizes = [name for name in names if name in shipment.kernel.workloads[0].sizes]
    fields = "".join(f"  long long {cpp_name(name)};  // to be passed as this argument of the kernel\n" for name in scalars)
    cases = "".join(_case(entry, scalars) for entry in named)
    return f"""\
enum class Configuration {{ {", ".join(entry.name for entry in named)} }};

struct Launch {{
  Configuration configuration;
  bool allowed;  // whether the constraints that the configuration was tuned under hold for these sizes: if not, do not launch it
  long long grid[3];  // blocks
  long long block[3];  // threads
  long long shared_bytes;  // dynamic
{fields}}};

// {_limits_note(names, shipment.limits)}
inline Launch launch_of({", ".join(["Configuration configuration", *_declared(names)])}) {{
{_unused(names)}  Launch launch = Launch();
  launch.configuration = configuration;
  switch (configuration) {{
{cases}  }}
  return launch;
}}

// The configuration that was measured to be best for a workload with exactly these sizes; for any other sizes the general one,
// which was chosen over all workloads. No sizes in between are guessed at.
inline Configuration configuration_for({", ".join(_declared(sizes))}) {{
{_unused(sizes)}{_choices(shipment, named)}  return Configuration::{named[0].name};
}}

inline Launch launch_for({", ".join(_declared(names))}) {{
  return launch_of({", ".join([f"configuration_for({', '.join(map(cpp_name, sizes))})", *map(cpp_name, names)])});
}}
"""


def launch_arguments(shipment: Shipment, named: Sequence[NamedPart]) -> list[str]:
    """What `launch_for` takes: the workloads' sizes, and the device limits that a launch or a constraint asks for."""
    used = frozenset().union(*(e.names for entry in named for e in _expressions(entry)))
    sizes = list(shipment.kernel.workloads[0].sizes)
    return [*sizes, *(name for name in shipment.limits.names() if name in used and name not in sizes)]


def _expressions(entry: NamedPart) -> list[Expression]:
    launch = entry.part.alone.launch
    scalars = [argument.value for argument in entry.part.alone.arguments if isinstance(argument, Scalar)]
    return [*launch.grid, *launch.block, launch.shared_bytes, *_constraints(entry), *scalars]


def _constraints(entry: NamedPart) -> list[Expression]:
    return [constraint.expression for constraint in entry.part.alone.conditions]


def chosen_scalars(named: Sequence[NamedPart]) -> list[str]:
    """Whole-number arguments whose value is another one in another configuration: callers cannot know them otherwise."""
    found: dict[str, set[str]] = {}
    for entry in named:
        for argument in entry.part.alone.arguments:
            if isinstance(argument, Scalar) and argument.dtype.is_whole:
                found.setdefault(argument.name, set()).add(argument.value.text)
    return [name for name, texts in found.items() if len(texts) > 1]


def _case(entry: NamedPart, scalars: Sequence[str]) -> str:
    launch = entry.part.alone.launch
    lines = [f"launch.allowed = {' && '.join(_text(c) for c in _constraints(entry)) or 'true'};"]
    for field, extents in (("grid", launch.grid), ("block", launch.block)):
        texts = [*map(_text, extents), "1", "1"][:3]
        lines += [f"launch.{field}[{axis}] = {text};" for axis, text in enumerate(texts)]
    lines.append(f"launch.shared_bytes = {_text(launch.shared_bytes)};")
    values = {argument.name: argument.value for argument in entry.part.alone.arguments if isinstance(argument, Scalar)}
    lines += [f"launch.{cpp_name(name)} = {_text(values[name])};" for name in scalars]
    return "".join([f"    case Configuration::{entry.name}:\n", *(f"      {line}\n" for line in lines), "      break;\n"])


def _choices(shipment: Shipment, named: Sequence[NamedPart]) -> str:
    sizes = {workload.name: workload.sizes for workload in shipment.kernel.workloads}
    lines = []
    for entry in named[1:]:
        for workload in entry.part.workloads:
            same = " && ".join(f"{cpp_name(name)} == {value}LL" for name, value in sizes[workload].items())
            lines.append(f"  if ({same}) return Configuration::{entry.name};  // {workload}\n")
    return "".join(lines)


def _declared(names: Sequence[str]) -> list[str]:
    return [f"long long {cpp_name(name)}" for name in names]


def _unused(names: Sequence[str]) -> str:
    """Not every launch asks for every size, and some compilers mind."""
    return f"  {' '.join(f'(void){cpp_name(name)};' for name in names)}\n" if names else ""


def _limits_note(names: Sequence[str], limits: Limits) -> str:
    used = [f"{name} ({value} where it was tuned)" for name, value in limits.names().items() if name in names]
    return f"Ask your own device for {', '.join(used)}." if used else "The launch of one configuration, for any sizes."


def _text(expression: Expression) -> str:
    return spelled(expression, Cpp())
