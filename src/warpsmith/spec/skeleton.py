"""A first kernel.toml (`warpsmith init`): facts from the source, guesses for the rest, and a mark at every guess.

If the file has host code that launches the kernel, launch, shapes and sizes come from it (`spec.host`), with the line of each.
The skeleton loads without errors, so `warpsmith check` only reports what was filled in wrongly.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.spec.build import LANGUAGES
from warpsmith.spec.declarations import (
    Declarations,
    KernelDeclaration,
    TemplateParameter,
    find_kernels,
    refused_handle,
)
from warpsmith.spec.document import Document, read_source
from warpsmith.spec.host.facts import HostFacts, host_facts
from warpsmith.spec.load import kernel_of
from warpsmith.spec.problems import nearest
from warpsmith.spec.skeleton_arguments import arguments_of, constant_lines
from warpsmith.spec.skeleton_launch import launch_lines
from warpsmith.spec.skeleton_workloads import size_names, workload_lines
from warpsmith.spec.subscripts import is_subscript
from warpsmith.spec.toml_positions import Positions

_INTEGER = re.compile(r"(?:std::)?(?:auto|char|short|int|long|unsigned|signed|u?int\w*|size_t|ptrdiff_t|u?short|u?long)")
_INTEGER_NAME = re.compile(r"^int|ind(?:ex|ic|ptr)|idx|offset|^(?:size|count|i)_?t(?:ype)?$", re.IGNORECASE)
_NOT_PLAIN = "# FILL IN: the parameters could not all be read (a macro, an #if or a pack among them)"


def skeleton(source: Path, kernel: str | None = None, folder: Path | None = None) -> str:
    """The text of a kernel.toml for one kernel of the file, to be put in that folder (default: the source's own).

    Raises InputError if the file has no kernel, or several and none is named.
    """
    text = read_source(source)
    language = language_of(source, text)
    declarations = Declarations(text, language)
    chosen = choose(source, find_kernels(declarations), kernel)
    if chosen.handle is not None:
        raise refused_handle(chosen, source)
    facts = host_facts(declarations, chosen) if language is not Language.OPENCL and chosen.is_plain else None
    if facts is not None:
        told = _written(source, declarations, chosen, facts, folder)
        if problem_of(told, source) is None:
            return told
    plain = _written(source, declarations, chosen, None, folder)
    if facts is None:
        return plain
    # Host values that kernel.toml refuses (a grid of zero blocks, a name in use) are left to the user.
    return plain.replace("[launch]   #", f"# {source.name}:{facts.line}: {facts.text}\n[launch]   #", 1)


def _written(
    source: Path, declarations: Declarations, kernel: KernelDeclaration, facts: HostFacts | None, folder: Path | None
) -> str:
    file = source.name
    template = {p.name: instance_of(p, kernel, facts) for p in kernel.template}
    arguments = arguments_of(declarations, kernel, template)
    is_guessing = facts is None or facts.grid is None or not all(a.has_shape(facts) for a in arguments)
    sizes = size_names((a.name for a in arguments if a.is_size), facts, needs_one=is_guessing)
    width = max((len(a.name) for a in arguments), default=0)
    fill_in = "the shapes" if facts is None else "the order of axes"
    lines = [
        "[kernel]",
        f'name   = "{kernel.plain_name}"',
        f'source = "{Path(os.path.relpath(source, folder or source.parent)).as_posix()}"',
        _entry_line(kernel, template, facts, file),
        *([] if source.suffix.lower() in LANGUAGES else [f'language = "{declarations.language.value}"']),
        "",
        f"[arguments]   # in the kernel's order; FILL IN: {fill_in}, and how inputs are filled (init)",
        *([] if kernel.is_plain else [_NOT_PLAIN]),
        *(a.line(width, sizes, facts, file) for a in arguments),
        *constant_lines(declarations),
        "",
        *launch_lines(declarations, kernel, sizes, facts, file),
        "",
        "[workloads]   # FILL IN: the shapes that matter; held-out ones only judge the result",
        *workload_lines(sizes, facts, file),
        "",
        "# [reference]   # without it the original kernel is the oracle",
        f'# python = "reference.py:{kernel.plain_name}"',
        "",
    ]
    return "\n".join(lines)


def problem_of(text: str, source: Path) -> str | None:
    """What `warpsmith check` would report, with that source; None for nothing."""
    file = source.parent / "kernel.toml"
    try:
        kernel_of(Document(file, tomllib.loads(text), Positions(file, text)))
    except (InputError, tomllib.TOMLDecodeError) as error:
        return error.message if isinstance(error, InputError) else str(error)
    return None


def language_of(source: Path, text: str) -> Language:
    if source.suffix.lower() in LANGUAGES:
        return LANGUAGES[source.suffix.lower()]
    if "__global__" in text:
        return Language.HIP if "hip/hip_runtime" in text else Language.CUDA
    return Language.OPENCL


def choose(source: Path, kernels: list[KernelDeclaration], name: str | None) -> KernelDeclaration:
    listed = "\n".join(f"  {k.name} (line {k.line})" for k in kernels)
    if not kernels:
        hint = "a kernel is marked __global__ (CUDA, HIP) or __kernel (OpenCL)"
        raise InputError("no kernel found", location=Location(source), hint=hint)
    if name is None:
        if len(kernels) > 1:
            raise InputError(
                f"{len(kernels)} kernels:\n{listed}", location=Location(source), hint="choose one with --kernel NAME"
            )
        return kernels[0]
    for kernel in kernels:
        if name in {kernel.name, kernel.plain_name}:
            return kernel
    raise InputError(
        f"no kernel {name!r}; there are:\n{listed}", location=Location(source), hint=nearest(name, [k.name for k in kernels])
    )


def _entry_line(kernel: KernelDeclaration, template: dict[str, str], facts: HostFacts | None, file: str) -> str:
    if not kernel.template:
        return f'entry  = "{kernel.name}"'
    entry = f'entry  = "{kernel.name}<{", ".join(template.values())}>"'
    if facts is not None and all(p.name in facts.template or p.default is not None for p in kernel.template):
        return f"{entry}   # {file}:{facts.line}"
    return f"{entry}   # FILL IN: the instance to tune"


def instance_of(parameter: TemplateParameter, kernel: KernelDeclaration, facts: HostFacts | None = None) -> str:
    """The template argument in the host code, its default, or a guess from its name, kind and use."""
    if facts is not None and parameter.name in facts.template:
        return facts.template[parameter.name]
    if parameter.default is not None:
        return parameter.default
    if parameter.kind == "typename":
        return "int" if _INTEGER_NAME.search(parameter.name) or is_subscript(parameter.name, kernel) else "float"
    if parameter.kind == "bool":
        return "false"
    if re.fullmatch(r"[\w:]+", parameter.kind) and not _INTEGER.fullmatch(parameter.kind):
        return f"static_cast<{parameter.kind}>(0)"  # an enumeration, to which no number converts by itself
    return "256" if re.search(r"block|thread|size", parameter.name, re.IGNORECASE) else "1"
