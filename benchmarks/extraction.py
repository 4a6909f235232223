"""Extracts kernels from SGLang's and FlashInfer's wheels (downloaded once), compiles them for GPUs, compares their machine code
with that of the originals where those compile, and runs those with a reference on the CPU device.

About ten minutes on two cores; KERNELS names a few, CHECKS which of `extract compile sass cpu` (default: all).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.downloads import unpacked
from benchmarks.extraction_kernels.catalogue import CodeBase, Entry, catalogue
from benchmarks.extraction_kernels.originals import Originals
from benchmarks.extraction_kernels.running import placed, verdict
from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import WarpsmithError
from warpsmith.devices.base import CompileError
from warpsmith.devices.cuda import CompiledCubin, compile_cubin, sass
from warpsmith.devices.cuda.target import parse_target
from warpsmith.source.extract import extract


@dataclass
class Bench:
    """The packages, the copies of them that NVRTC can compile, and a scratch folder."""

    scratch: Path
    checks: frozenset[str]
    pool: CompilePool
    _originals: dict[str, Originals] = field(default_factory=dict)

    def original(self, base: CodeBase) -> Originals:
        if base.name not in self._originals:
            root = unpacked(base.requirement) / base.root
            self._originals[base.name] = Originals(root, base.include_dirs, self.scratch / "originals" / base.name)
        return self._originals[base.name]


def main() -> None:
    entries, targets = catalogue()
    wanted = os.environ.get("KERNELS", "").split()
    entries = [entry for entry in entries if not wanted or entry.name in wanted]
    checks = frozenset(os.environ.get("CHECKS", "extract compile sass cpu").split())
    counts: Counter[str] = Counter()
    print(f"| kernel | lines | seconds | {' | '.join(targets)} | cpu |")
    print(f"|---|---|---|{'---|' * (len(targets) + 1)}")
    with tempfile.TemporaryDirectory() as folder, CompilePool("cpu", cache_dir=None) as pool:
        bench = Bench(Path(folder), checks, pool)
        for entry in entries:
            print(row(bench, entry, targets, counts), flush=True)
    print()
    for what, count in sorted(counts.items()):
        print(f"{count:4d} {what}")


def row(bench: Bench, entry: Entry, targets: tuple[str, ...], counts: Counter[str]) -> str:
    base = entry.code_base.name
    answers = [on_target(bench, entry, target) for target in targets]
    counts[f"{base}: kernels"] += 1
    if all(answer.startswith("compiles") for answer, _, _ in answers):
        counts[f"{base}: extracted and compiled for {', '.join(targets)}"] += 1
    for answer, _, _ in answers:
        if "original" in answer:
            counts[f"{base}: original compiles too"] += 1
            counts[f"{base}: same machine code as the original's"] += "same" in answer
    cpu = "–"
    if entry.folder is not None and "cpu" in bench.checks:
        cpu = on_cpu(bench, entry)
        counts[f"{base}: run on the CPU device"] += 1
        counts[f"{base}: right on the CPU device"] += cpu == "right"
    lines, seconds = answers[0][1], sum(answer[2] for answer in answers) / len(answers)
    return f"| {entry.name} | {lines} | {seconds:.2f} | {' | '.join(answer for answer, _, _ in answers)} | {cpu} |"


def on_target(bench: Bench, entry: Entry, target: str) -> tuple[str, int, float]:
    """(what came of it, lines of the extract, seconds to extract)."""
    architecture = parse_target(target)
    arch = architecture.major * 100 + architecture.minor * 10
    request = entry.request(unpacked(entry.code_base.requirement), arch)
    begun = time.perf_counter()
    try:
        found = extract(request)
    except WarpsmithError as error:
        return f"not extracted: {error.message.splitlines()[0]}", 0, time.perf_counter() - begun
    seconds, lines = time.perf_counter() - begun, found.source_text.count("\n")
    if "compile" not in bench.checks:
        return "extracted", lines, seconds
    try:
        # Without asserts: they hold the line they stand in.
        ours = compile_cubin(found.source_text, name=found.source_name, target=target, entry=found.entry, defines={"NDEBUG": 1})
    except CompileError as error:
        return f"does not compile: {error.reason}", lines, seconds
    if "sass" not in bench.checks:
        return "compiles", lines, seconds
    source = f"{entry.code_base.sources}/{entry.source}"
    theirs = bench.original(entry.code_base).compile(source, found.entry, target, {**entry.defines(arch), "NDEBUG": "1"})
    return f"compiles, {compared(ours, theirs)}", lines, seconds


def compared(ours: CompiledCubin, theirs: CompiledCubin | str) -> str:
    if isinstance(theirs, str):
        return "nothing to compare with"
    is_same = sass(ours.cubin, ours.entry) == sass(theirs.cubin, theirs.entry)
    return "same as the original" if is_same else "differs from the original"


def on_cpu(bench: Bench, entry: Entry) -> str:
    try:
        return verdict(placed(entry, unpacked(entry.code_base.requirement), bench.scratch / "cpu" / entry.name), bench.pool)
    except WarpsmithError as error:
        return error.message.splitlines()[0]
