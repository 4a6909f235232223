"""A Kernel Tuner script as a `Problem`: its calls of `tune_kernel`, the one that is asked for, its source, what is not kept."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from pathlib import Path

from warpsmith.core import configuration
from warpsmith.core.errors import InputError, Location
from warpsmith.spec.document import read_text
from warpsmith.spec.kernel_tuner.call_arguments import ArgumentReading
from warpsmith.spec.kernel_tuner.call_launch import LaunchReading
from warpsmith.spec.kernel_tuner.call_space import SpaceReading
from warpsmith.spec.kernel_tuner.calls import ReadCall, plain
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.options import define_value, options_of
from warpsmith.spec.kernel_tuner.problem import TuningProblem
from warpsmith.spec.kernel_tuner.python.follow import ScriptFollower, TuneCall
from warpsmith.spec.kernel_tuner.python.values import FilePath, Listed, ScriptFunction, ScriptNumber, ScriptTable, SourceText
from warpsmith.spec.kernel_tuner.sources import found_source, language_named, looks_like_a_file
from warpsmith.spec.kernel_tuner.toml_text import LARGEST_FLOAT
from warpsmith.spec.problems import nearest

_NOT_KEPT = (  # noqa: SIM905 - as words they can be read
    "verify compiler iterations strategy strategy_options metrics observers objective objective_higher_is_better objectives "
    "texmem_args simulation_mode"
).split()


def problem_of_script(file: Path, kernel: str | None) -> TuningProblem:
    """Raises InputError for what is no Python, has no call of `tune_kernel`, or several where none is named."""
    text = read_text(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of the script's style is not asked here
            tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"this is not Python: {error.msg}", location=Location(file, error.lineno, error.offset)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"this is not Python: {error}", location=Location(file)) from None
    follower = ScriptFollower(tree, str(file))
    call, others = _chosen(file, follower.calls, kernel)
    return _problem(ReadCall(file, follower, call), kernel, others)


def _chosen(file: Path, calls: list[TuneCall], kernel: str | None) -> tuple[TuneCall, list[TuneCall]]:
    """The call, and others of the same kernel."""
    if not calls:
        hint = "a Kernel Tuner script calls tune_kernel(…); for a kernel's own source give its .cu, .hip or .cl file"
        raise InputError("no call of tune_kernel found", location=Location(file), hint=hint)
    names = {str(_name(call) or "?"): call.line for call in reversed(calls)}
    listed = "\n".join(f"  {name} (line {line})" for name, line in sorted(names.items(), key=lambda pair: pair[1]))
    if kernel is None and len(names) > 1:
        found = f"tune_kernel is called for {len(names)} kernels:\n{listed}"
        raise InputError(found, location=Location(file), hint="choose one with --kernel NAME")
    matching = [c for c in calls if kernel is None or _is_called(_name(c), kernel)]
    matching = matching or [c for c in calls if _name(c) is None]
    if not matching:
        found = f"tune_kernel is not called for {kernel!r}; there are:\n{listed}"
        raise InputError(found, location=Location(file), hint=nearest(kernel or "", names))
    return matching[0], matching[1:]


def _name(call: TuneCall) -> str | None:
    found = call.values.get("kernel_name")
    return found if isinstance(found, str) else None


def _is_called(name: str | None, wanted: str) -> bool:
    return name is not None and wanted in {
        name,
        name.partition("<")[0].strip(),
        name.partition("<")[0].rpartition("::")[2].strip(),
    }


def _problem(call: ReadCall, wanted: str | None, others: list[TuneCall]) -> TuningProblem:
    space, arguments = SpaceReading(call), ArgumentReading(call)
    parameters = space.tunables()
    reader = ConditionReader([p.name for p in parameters], call.resolve)
    launch = LaunchReading(call, reader, parameters)
    source, text = _source(call)
    lang, atol, cache = (call.given(name) for name in ("lang", "atol", "cache"))
    options = call.given("compiler_options")
    written = [o for o in options.items if isinstance(o, str)] if isinstance(options, Listed) else []
    compiled = options_of(written, call.file.parent)
    found = TuningProblem(
        file=call.file,
        place=call.own_place,
        written=": tune_kernel(…)",
        kernel_name=_name(call.found) or wanted,
        source=source,
        source_text=text,
        language=language_named(lang, Location(call.file, call.line("lang"))) if isinstance(lang, str) else None,
        size=launch.size(),
        divisors=tuple(launch.divisors(f"grid_div_{axis}") for axis in "xyz"),
        block=launch.block(),
        parameters=tuple(parameters),
        conditions=tuple(space.conditions(reader)),
        arguments=arguments.passed(),
        origins=call.follower.origins,
        shared=launch.shared(),
        constants=arguments.constants(),
        compared=arguments.compared(),
        atol=float(atol.value) if isinstance(atol, ScriptNumber) and abs(atol.value) < LARGEST_FLOAT else None,
        defines={**compiled.defines, **_own_defines(call, frozenset(p.name for p in parameters))},
        include_dirs=compiled.include_dirs,
        cache=cache if isinstance(cache, str) else None,
    )
    if compiled.left:
        call.notes.append(f"{compiled.note} ({call.place(call.line('compiler_options'))})")
    return replace(found, notes=(*_head_notes(call, others), *call.notes))


def _head_notes(call: ReadCall, others: list[TuneCall]) -> list[str]:
    found = []
    if others:
        lines = ", ".join(call.place(other.line) for other in others)
        found.append(f"FILL IN: this is the first of several calls for this kernel; others: {lines}")
    if call.found.is_unpacked:
        found.append(f"FILL IN: {call.own_place} passes ** of something that could not be followed")
    if dropped := [name for name in _NOT_KEPT if call.given(name) is not None]:
        found.append(f"not kept from {call.own_place}: {', '.join(dropped)}")
    return found


def _source(call: ReadCall) -> tuple[Path | None, str | None]:
    value = call.found.values.get("kernel_source")
    line = call.line("kernel_source")
    if isinstance(value, Listed) and value.items:
        rest = len(value.items) - 1
        if rest:
            call.notes.append(f"{call.place(line)} names {rest} more files: they are found where the first includes them")
        value = value.items[0]
    match value:
        case SourceText(file=name) | FilePath(text=name):
            return found_source(call.file, name, line), None
        case str() if looks_like_a_file(value):
            return found_source(call.file, value, line), None
        case str() if value.strip():
            return None, value
        case ScriptFunction():
            hint = "write out what it returns for one configuration, as a .cu or .cl file, and use `warpsmith init` on that"
            raise InputError(
                "kernel_source is a function, which only a run could call", location=Location(call.file, line), hint=hint
            )
        case _:
            hint = "a file name, a string in the script, or open(…).read() can be read; else use `warpsmith init` on the source"
            raise InputError("kernel_source could not be followed", location=Location(call.file, line), hint=hint)


def _own_defines(call: ReadCall, parameters: frozenset[str]) -> dict[str, configuration.Value]:
    """What `defines` has besides the parameters, which are defined anyway."""
    table = call.given("defines")
    found: dict[str, configuration.Value] = {}
    for name, value in table.entries.items() if isinstance(table, ScriptTable) else ():
        known = plain(value)
        if name not in parameters and known is None:
            call.notes.append(f"FILL IN: the define {name} at {call.place(call.line('defines'))} could not be followed")
        elif name not in parameters and known is not None:
            found[name] = define_value(known) if isinstance(known, str) else known
    return found
