"""Converts a Kernel Tuner script or a T1 file into a kernel.toml, and a source file if the script contains the source."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.declarations import Declarations, find_kernels, refused_handle
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel_tuner.problem import TuningProblem
from warpsmith.spec.kernel_tuner.script import problem_of_script
from warpsmith.spec.kernel_tuner.sizes import linked
from warpsmith.spec.kernel_tuner.sources import without_body
from warpsmith.spec.kernel_tuner.t1 import problem_of_t1
from warpsmith.spec.kernel_tuner.writing import Written
from warpsmith.spec.skeleton import choose, language_of, problem_of

SUFFIXES = frozenset({".py", ".json"})
_ENDINGS = {Language.CUDA: ".cu", Language.HIP: ".hip", Language.OPENCL: ".cl"}


@dataclass(frozen=True, slots=True)
class TomlDraft:
    """`source` is a file to write next to the kernel.toml, with its text; None if the source is a file already."""

    text: str
    source: tuple[Path, str] | None = None


def draft(file: Path, kernel: str | None = None) -> TomlDraft:
    """Raises InputError with the location and a hint. Writes nothing; runs a script confined."""
    try:
        return _draft(file, kernel)
    except UnicodeEncodeError as error:
        half = f"a text in it has \\u{ord(error.object[error.start]):04x}, half of a character that JSON and Python write as two"
        raise InputError(half, location=Location(file), hint="write the character itself, or both halves") from None


def _draft(file: Path, kernel: str | None) -> TomlDraft:
    read = problem_of_script if file.suffix.lower() == ".py" else problem_of_t1
    problem = linked(read(file, kernel))
    source_text = problem.source_text if problem.source is None else read_source(problem.source)
    assert source_text is not None
    language = problem.language or language_of(problem.source or Path("kernel"), source_text)
    declarations = Declarations(source_text, language)
    place = problem.source or file
    name = (problem.kernel_name or "").partition("<")[0].strip() or None
    kernels = find_kernels(declarations)
    if name is not None and not any(name in {k.name, k.plain_name} for k in kernels):
        kernels = find_kernels(Declarations(without_body(source_text, name.rpartition("::")[2]), language)) or kernels
    chosen = choose(place, kernels, name)
    if chosen.handle is not None:
        raise refused_handle(chosen, place)
    problem = replace(problem, kernel_name=problem.kernel_name or chosen.name)
    new = None if problem.source is not None else (file.parent / f"{chosen.plain_name}{_ENDINGS[language]}", source_text)
    source = problem.source if new is None else new[0]
    assert source is not None
    text = Written(problem, declarations, chosen, source, file.parent).text()
    checked = _with_problem(text, problem, new)
    return TomlDraft(checked.encode("utf-8", "replace").decode(), new)  # JSON may hold half a surrogate pair, a file may not


def _with_problem(text: str, problem: TuningProblem, new: tuple[Path, str] | None) -> str:
    """Puts what `warpsmith check` would refuse at the top, for the user to fix."""
    with tempfile.TemporaryDirectory(prefix="warpsmith-") as folder:
        beside = problem.file
        if new is not None:
            beside = Path(folder) / new[0].name
            beside.write_text(new[1], encoding="utf-8")
        found = problem_of(text, beside)
    if found is None:
        return text
    return f"# FILL IN: `warpsmith check` says: {on_one_line(found)}\n{text}"
