"""Checks a kernel.toml before tuning: errors, unfinished entries, and suspicious ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import InputError, Location, UnavailableError
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import CompileFailed
from warpsmith.settings import read_settings
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.launch_notes import argument_notes, launch_notes
from warpsmith.template import Template, template_of
from warpsmith.verify.oracle import reference_problem

_MARK = re.compile(r"#.*?\bFILL IN\b:?[ \t]*(.*)")
_AT_LINE = re.compile(r"(.+?):(\d+): (.*)", re.DOTALL)
# Compilers that need no hardware: the first that takes the source has the last word.
_COMPILERS = {Language.CUDA: ("cpu", "cuda:sm_80"), Language.HIP: ("cpu", "hip:gfx90a"), Language.OPENCL: ("cpu",)}


class FindingLevel(StrEnum):
    MISTAKE = "mistake"
    UNFINISHED = "unfinished"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    level: FindingLevel
    message: str
    location: Location | None = None
    hint: str | None = None

    @classmethod
    def of(cls, error: InputError, level: FindingLevel = FindingLevel.MISTAKE) -> CheckFinding:
        return cls(level, error.message, error.location, error.hint)

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return f"{self.level}: {where}{self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")

    @property
    def entry(self) -> dict[str, Any]:
        place = self.location
        return {
            "level": self.level.value,
            "message": self.message,
            "file": str(place.file) if place else None,
            "line": place.line if place else None,
            "hint": self.hint,
        }


def check_kernel(kernel: Kernel) -> list[CheckFinding]:
    """Mistakes first. Compiles the original and, where there is one, the template; launches nothing and needs no device."""
    found = [*_reference(kernel), *_compiling(kernel, template_of(kernel)), *_unfinished(kernel)]
    notes = (*launch_notes(kernel), *argument_notes(kernel))
    found += (CheckFinding(FindingLevel.WARNING, note, Location(kernel.path)) for note in notes)
    return sorted(found, key=lambda finding: list(FindingLevel).index(finding.level))


def _unfinished(kernel: Kernel) -> Iterator[CheckFinding]:
    for number, line in enumerate(read_source(kernel.path).split("\n"), 1):
        if mark := _MARK.search(line):
            message = f"FILL IN is still there: {mark[1].strip() or line.strip()}"
            yield CheckFinding(
                FindingLevel.UNFINISHED, message, Location(kernel.path, number), "complete the entry, then remove the mark"
            )


def _reference(kernel: Kernel) -> Iterator[CheckFinding]:
    if (problem := reference_problem(kernel)) is not None:
        yield CheckFinding.of(problem)


def _compiling(kernel: Kernel, template: Template) -> Iterator[CheckFinding]:
    failures: list[tuple[str, CompileFailed]] = []
    for name in _COMPILERS[kernel.language]:
        try:
            failed = _failure(kernel, template, name)
        except UnavailableError as error:
            yield CheckFinding(
                FindingLevel.WARNING, f"not compiled for {name}: {error.message}", Location(kernel.source), error.hint
            )
            continue
        if failed is None:
            yield from (_not_here(kernel, *each) for each in failures)
            return
        failures.append((name, failed))
    if failures:
        yield _does_not_compile(kernel, *failures[-1])


def _failure(kernel: Kernel, template: Template, device: str) -> CompileFailed | None:
    default, workload = kernel.default_configuration, kernel.tuning_workloads[0]
    sources = [Source(read_source(kernel.source), kernel.source)]
    if kernel.template_source is not None:
        sources.append(Source(template.source, template.path))
    with CompilePool(device, workers=1, cache_dir=read_settings().binary_cache, folders=kernel.folders) as pool:
        binder = Binder(kernel, pool.describe().limits)
        for source in sources:
            outcome = pool.compile(binder.request(source, default, workload, default))
            if isinstance(outcome, CompileFailed):
                return outcome
    return None


def _does_not_compile(kernel: Kernel, device: str, failed: CompileFailed) -> CheckFinding:
    said = _AT_LINE.fullmatch(failed.reason)
    place = Location(kernel.source, int(said[2])) if said and said[1] == kernel.source.name else Location(kernel.source)
    reason = said[3] if said and place.line else failed.reason
    return CheckFinding(FindingLevel.MISTAKE, f"it does not compile for {device}: {reason}", place)


def _not_here(kernel: Kernel, device: str, failed: CompileFailed) -> CheckFinding:
    message = f"it compiles for a GPU, but not for the device {device!r}: {failed.reason}"
    return CheckFinding(FindingLevel.WARNING, message, Location(kernel.source), "tune it on a machine with a GPU")
