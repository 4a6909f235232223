"""`extract`: from a request to a standalone kernel, step by step."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.tokens import Kind
from warpsmith.source.extract.closure import Closure, closure_of, unknown_namespaces
from warpsmith.source.extract.declarations import Declaration
from warpsmith.source.extract.elsewhere import whole_of
from warpsmith.source.extract.emit import Heading, emit, lines_taken, pieces_of, shown
from warpsmith.source.extract.flatten import Unit, flatten
from warpsmith.source.extract.guards import switches
from warpsmith.source.extract.headers import (
    KNOWN_NAMESPACES,
    Include,
    host_types,
    host_words,
    is_tensor_library,
    kept_includes,
    missing_library,
)
from warpsmith.source.extract.instance import Instance, find_instance
from warpsmith.source.extract.launches import block_of, launch_of
from warpsmith.source.extract.model import Extraction, ExtractRequest
from warpsmith.source.extract.program import Program
from warpsmith.source.extract.skeleton import Subject, kernel_toml
from warpsmith.source.extract.tensor_types import TensorTypes
from warpsmith.source.extract.unpack import unpacked

_SUFFIXES = {".hip": Language.HIP, ".cl": Language.OPENCL}


def extract(request: ExtractRequest) -> Extraction:
    """The kernel with all it needs and nothing else. Raises InputError with file, line and what to do."""
    language = _language(request)
    unit, program = _read(request, language)
    request = replace(request, defines={**request.defines, **unit.assumed})
    instance = find_instance(request, unit, program)
    closure = closure_of(program, instance.declarations, instance.arguments)
    absent = _includes(program)
    named, opened = unknown_namespaces(program, closure, KNOWN_NAMESPACES)
    tensor_types = TensorTypes(closure.mentioned, program.namespace_names)
    if (missing := missing_library(absent, named - set(tensor_types.covered(named)))) is not None:
        raise InputError(
            f"the kernel needs {missing.spelling}, which is in none of the given folders",
            location=unit.location(missing.position),
            hint="name the folder that holds it with -I",
        )
    kept = [spelling for spelling in kept_includes(absent, closure.mentioned, language) if not is_tensor_library(spelling[1:-1])]
    includes = list(dict.fromkeys([*kept, *tensor_types.includes]))
    defines = {**_defines_used(request, closure), **host_words(use.name for use in closure.mentioned)}
    types = host_types(use.name for use in closure.mentioned if not program.declares(use.name))
    roots = [*_roots(request), *unit.found]
    title = _title(request, instance, shown(request.source.resolve(), roots))
    unpacked_texts = _unpacked(request, unit, instance, closure)
    rewritten = {**unpacked_texts, **dict.fromkeys(tensor_types.left_out(closure.declarations), "")}
    pieces = pieces_of(unit, program, closure, rewritten)
    stand_ins = [
        *tensor_types.marks(
            use.name for use in closure.mentioned if program.declares(use.name) or program.macros_named(use.name)
        ),
        *tensor_types.declarations(),
    ]
    text = emit(unit, closure, pieces, Heading(title, includes, defines, types, stand_ins), roots)
    written = rewritten.get(instance.kernel) or program.text_of(instance.kernel)
    name = re.sub(r"\W+", "_", instance.name)
    launch = launch_of(unit, program, instance.kernel, instance.name)
    block = block_of(launch, instance.name, program.numbers) if launch is not None else None
    suffix = ".hip" if language is Language.HIP else ".cu"
    return Extraction(
        name=name,
        entry=instance.entry,
        language=language,
        source_text=text,
        kernel_toml=kernel_toml(
            Subject(name, f"{name}{suffix}", instance.entry, written, instance.bindings, launch, block), closure
        ),
        files=lines_taken(unit, pieces),
        includes=tuple(includes),
        unknown=tuple(sorted(opened)),
        folders=unit.found,
        assumed=unit.assumed,
        had_nothing_to_unpack=request.unpack and not unpacked_texts,
    )


def _language(request: ExtractRequest) -> Language:
    if not request.source.is_file():
        raise InputError("no such file", location=Location(request.source))
    for folder in request.include_dirs:
        if not folder.is_dir():
            raise InputError("no such folder", location=Location(folder), hint="-I names a folder with headers")
    language = _SUFFIXES.get(request.source.suffix.lower(), Language.CUDA)
    if language is Language.OPENCL:
        hint = "OpenCL kernels are already whole: `warpsmith init` writes their kernel.toml"
        raise InputError("extraction reads CUDA and HIP", location=Location(request.source), hint=hint)
    return language


def _read(request: ExtractRequest, language: Language) -> tuple[Unit, Program]:
    """The file, or the one that it is a part of; as a build has it that switches the kernel on."""
    read = replace(request, source=whole_of(request.source.resolve()) or request.source)
    unit = flatten(read, language)
    program = Program(unit.text)
    name = request.kernel.rsplit("::", 1)[-1]
    if any(name in kernel.names for kernel in program.kernels()):
        return unit, program
    assumed = {macro: value for macro, value in switches(name, unit.texts).items() if macro not in request.defines}
    if not assumed:
        return unit, program
    unit = flatten(replace(read, defines={**request.defines, **assumed}), language)
    return replace(unit, assumed={**unit.assumed, **assumed}), Program(unit.text)


def _includes(program: Program) -> list[Include]:
    directives = [token for token in program.tokens if token.kind is Kind.DIRECTIVE]
    found = ((re.match(r'\s*#\s*include\s*([<"][^>"]+[>"])', token.text), token.start) for token in directives)
    return [Include(match[1], position) for match, position in found if match]


def _defines_used(request: ExtractRequest, closure: Closure) -> dict[str, str]:
    """Of the macros given, those the text itself mentions; the compiler's own are its business."""
    words = {use.name for use in closure.mentioned}
    return {name: value for name, value in request.defines.items() if name in words and not name.startswith("__")}


def _unpacked(request: ExtractRequest, unit: Unit, instance: Instance, closure: Closure) -> dict[Declaration, str]:
    if not request.unpack:
        return {}
    text = unpacked(unit, instance.kernel, closure.declarations)
    if text is None:
        return {}
    return {instance.kernel: text, **{d: "" for d in instance.declarations if not d.item.body}}


def _roots(request: ExtractRequest) -> list[Path]:
    return [request.source.resolve().parent, *(folder.resolve() for folder in request.include_dirs)]


def _title(request: ExtractRequest, instance: Instance, source: str) -> list[str]:
    given = "".join(f" -D {name}={value}" for name, value in request.defines.items())
    return [
        f"{instance.name}, taken out of {source} with all it needs by `warpsmith extract`{' with' + given if given else ''}.",
        f"Instance: {instance.entry}",
    ]
