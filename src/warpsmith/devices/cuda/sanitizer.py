"""NVIDIA's compute-sanitizer: its location, command line and report format. `measure.checks` runs it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import CHECK_REPORT, CheckReport

WHEEL = "nvidia-cuda-sanitizer-api"
CHECKS = ("memcheck", "racecheck")

_PREFIX = "========="
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
_HEADINGS = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY")
# Its messages if it could not watch everything: neither a finding nor a pass.
_FAILURES = ("Internal Sanitizer", "Error: Target application", "Error: No attachable process", "Error: process didn't")
_WARNING = "Warning:"
_HOST_FRAMES = ("Host Frame", "Saved host backtrace")
_DETAILS = 4  # where, which thread, which address, how far from the nearest allocation

_OPTIONS = (
    f"--log-file={CHECK_REPORT}",
    "--target-processes=application-only",
    "--destroy-on-device-error=kernel",  # the launches after it are watched too
    "--show-backtrace=device",
    "--print-limit=20",
    "--launch-timeout=30",
    "--check-exit-code=no",
)
# The driver reports calls that it refuses to their caller.
_OPTIONS_OF = {"memcheck": ("--report-api-errors=no",), "racecheck": ("--racecheck-report=analysis",)}


def command(check: str) -> tuple[str, ...]:
    """Command line prefix of the program. Raises UnavailableError."""
    return (str(compute_sanitizer()), f"--tool={check}", *_OPTIONS, *_OPTIONS_OF[check])


def compute_sanitizer() -> Path:
    """From the wheel or a toolkit, else on the path."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError:
        found = None
    else:
        found = find_nvidia_binary_utility("compute-sanitizer")
    found = found or shutil.which("compute-sanitizer")
    if found is None:
        raise UnavailableError("compute-sanitizer is not installed", hint=f"pip install {WHEEL}, or install NVIDIA's toolkit")
    program = Path(found).resolve()
    behind = program.parents[1] / program.name / program.name  # toolkits have a script in `bin` that starts it
    return behind if behind.is_file() else program


def read_report(text: str) -> CheckReport:
    """Each problem once, in the tool's words: what happened, where, by which thread. Warnings do not count."""
    summary = _SUMMARY.search(text)
    problems: dict[str, None] = {}
    failure = None if summary else "compute-sanitizer left no summary"
    for heading, details in _entries(text):
        if heading.startswith(_FAILURES):
            failure = f"compute-sanitizer: {heading.removeprefix('Error: ')}"
        elif not heading.startswith((*_HEADINGS, _WARNING)):
            told = [detail for detail in details if not detail.startswith(_HOST_FRAMES)]
            problems["; ".join([heading.removeprefix("Error: "), *told[:_DETAILS]])] = None
    if summary and int(summary[1]) and not problems and failure is None:
        failure = f"compute-sanitizer counts {summary[1]} errors that its report does not describe"
    return CheckReport(tuple(problems), failure)


def _entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """A heading follows the prefix after one space; its details are indented further."""
    heading, details = "", list[str]()
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue  # what the program itself said
        said = line.removeprefix(_PREFIX).removeprefix(" ")
        if said.startswith(" "):
            details.append(said.strip())
        else:
            if heading:
                yield heading, details
            heading, details = said.strip(), []
    if heading:
        yield heading, details
