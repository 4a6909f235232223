"""Converts a Kernel Tuner script into a `TuningProblem`: the chosen `tune_kernel` call, its source, and what is not kept."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.document import read_text
from warpsmith.spec.kernel_tuner.blocks import block_of
from warpsmith.spec.kernel_tuner.options import options_of
from warpsmith.spec.kernel_tuner.problem import TuningProblem, size_of
from warpsmith.spec.kernel_tuner.recording import RecordedCall, Recording
from warpsmith.spec.kernel_tuner.running import recorded
from warpsmith.spec.kernel_tuner.sources import found_source, language_named
from warpsmith.spec.problems import nearest


def problem_of_script(file: Path, kernel: str | None) -> TuningProblem:
    """Raises InputError if it is not Python, has no call of `tune_kernel`, or several and none is named."""
    text = read_text(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of the script's style is not asked here
            ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"invalid Python: {error.msg}", location=Location(file, error.lineno, error.offset)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"invalid Python: {error}", location=Location(file)) from None
    if "tune_kernel" not in text:
        raise _no_call(file, None)
    recording = recorded(file, text)
    call, others = _chosen(file, recording, kernel)
    return _problem(file, call, kernel, _notes(file, call, others, recording))


def _no_call(file: Path, problem: str | None) -> InputError:
    hint = "a Kernel Tuner script calls tune_kernel(…); for a kernel's own source give its .cu, .hip or .cl file"
    why = f"; running it failed: {on_one_line(problem)}" if problem is not None else ""
    return InputError(f"no call of tune_kernel found{why}", location=Location(file), hint=hint)


def _chosen(file: Path, recording: Recording, kernel: str | None) -> tuple[RecordedCall, list[RecordedCall]]:
    """The chosen call, and others of the same kernel."""
    calls = recording.calls
    if not calls:
        raise _no_call(file, recording.problem)
    names = {call.kernel_name or "?": call.line for call in reversed(calls)}
    listed = "\n".join(f"  {name} (line {line})" for name, line in sorted(names.items(), key=lambda pair: pair[1]))
    if kernel is None and len(names) > 1:
        found = f"tune_kernel is called for {len(names)} kernels:\n{listed}"
        raise InputError(found, location=Location(file), hint="choose one with --kernel NAME")
    matching = [c for c in calls if kernel is None or _is_called(c.kernel_name, kernel)]
    matching = matching or [c for c in calls if c.kernel_name is None]
    if not matching:
        found = f"tune_kernel is not called for {kernel!r}; there are:\n{listed}"
        raise InputError(found, location=Location(file), hint=nearest(kernel or "", names))
    return matching[0], matching[1:]


def _is_called(name: str | None, wanted: str) -> bool:
    return name is not None and wanted in {
        name,
        name.partition("<")[0].strip(),
        name.partition("<")[0].rpartition("::")[2].strip(),
    }


def _problem(file: Path, call: RecordedCall, wanted: str | None, notes: list[str]) -> TuningProblem:
    source, text = _source(file, call)
    language = Location(file, call.lines["lang"])
    options = options_of(call.compiler_options, file.parent)
    if call.source.more:
        notes.append(
            f"{file.name}:{call.source.line} names {call.source.more} more files: they are found where the first includes them"
        )
    if options.left:
        notes.append(f"{options.note} ({file.name}:{call.lines['compiler_options']})")
    return TuningProblem(
        file=file,
        place=f"{file.name}:{call.line}",
        written=": tune_kernel(…)",
        kernel_name=call.kernel_name or wanted,
        source=source,
        source_text=text,
        language=language_named(call.language, language) if call.language is not None else None,
        size=size_of(call.size),
        divisors=call.divisors,
        block=block_of(call.parameters, call.block_names),
        parameters=call.parameters,
        conditions=call.conditions,
        arguments=call.arguments,
        origins=dict(call.origins),
        shared=call.shared,
        constants=call.constants,
        compared=call.compared,
        atol=call.atol,
        defines={**options.defines, **call.defines},
        include_dirs=options.include_dirs,
        cache=call.cache,
        notes=(*notes, *call.notes),
    )


def _notes(file: Path, call: RecordedCall, others: list[RecordedCall], recording: Recording) -> list[str]:
    found = []
    if recording.is_read:
        found.append(f"the script was only read, not run: {recording.problem}")
    if others:
        lines = ", ".join(f"{file.name}:{other.line}" for other in others)
        found.append(f"FILL IN: this is the first of several calls for this kernel; others: {lines}")
    if call.not_kept:
        found.append(f"not kept from {file.name}:{call.line}: {', '.join(call.not_kept)}")
    return found


def _source(file: Path, call: RecordedCall) -> tuple[Path | None, str | None]:
    given = call.source
    if given.file is not None:
        return found_source(file, given.file, given.line), None
    if given.text is not None:
        return None, given.text
    if given.is_function:
        hint = "write out what it returns for one configuration, as a .cu or .cl file, and use `warpsmith init` on that"
        found = "kernel_source is a function that generates a source per configuration"
        raise InputError(found, location=Location(file, given.line), hint=hint)
    hint = "a file name, a string in the script, or open(…).read() can be followed; else use `warpsmith init` on the source"
    raise InputError("kernel_source could not be followed", location=Location(file, given.line), hint=hint)
