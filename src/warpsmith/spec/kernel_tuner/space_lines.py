"""`[parameters]` and `[[constraints]]` of the output: values, defaults, and the conditions that could be converted."""

from __future__ import annotations

from warpsmith.core.configuration import Value
from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.kernel_tuner.defaults import always_holds
from warpsmith.spec.kernel_tuner.problem import Restriction, ScriptTunable, TuningProblem
from warpsmith.spec.kernel_tuner.toml_text import is_writable
from warpsmith.spec.toml_writing import toml_value


def parameter_lines(parameters: list[ScriptTunable], default: dict[str, Value] | None) -> list[str]:
    if not parameters:
        return []
    width = max(len(p.name) for p in parameters)
    lines = ["", "[parameters]   # macros of the source; the defaults are the baseline, which everything is compared with"]
    for parameter in parameters:
        values = [v for v in parameter.values if is_writable(v)] or [1]
        chosen = default[parameter.name] if default is not None else values[0]
        listed = ", ".join(toml_value(v) for v in values)
        notes = [parameter.note] if parameter.note else []
        if parameter.default is not None and chosen != parameter.default:
            notes.append(f"FILL IN: {parameter.default} would be the default, but no configuration with it is allowed")
        note = f"   # {on_one_line('; '.join(notes))}" if notes else ""
        lines.append(f"{parameter.name:<{width}} = {{ values = [{listed}], default = {toml_value(chosen)} }}{note}")
    return lines


def constraint_lines(problem: TuningProblem, *, is_met: bool) -> list[str]:
    """Commented out if no configuration meets them all."""
    found: list[str] = []
    kept = kept_conditions(problem)
    idle = [c.text for c in problem.conditions if c not in kept]
    if idle:
        found += ["", "# conditions that all values meet:", *(f"#   {text}" for text in idle)]
    for condition in kept:
        if condition.text is None:
            found += [
                "",
                f"# FILL IN: a restriction that could not be read ({condition.place}): {on_one_line(condition.written)}",
            ]
            continue
        mark = "" if is_met else "# "
        found += [
            "",
            f"{mark}[[constraints]]",
            f"{mark}expr = {toml_value(condition.text)}",
            f"{mark}reason = {toml_value(condition.reason)}",
        ]
    if not is_met and found:
        found = ["", "# FILL IN: no configuration was found that meets all of these", *found[1:]]
    return found


def kept_conditions(problem: TuningProblem) -> list[Restriction]:
    """The conditions of a T1 file that exclude something: exporters write every device limit as one condition per size."""
    if problem.file.suffix != ".json":
        return list(problem.conditions)
    values = {p.name: p.values for p in problem.parameters}
    return [c for c in problem.conditions if c.text is None or not always_holds(c.text, values)]
