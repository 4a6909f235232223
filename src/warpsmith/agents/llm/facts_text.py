"""`Facts` in words: what every role is told of the kernel, its device and the run so far. No path and no environment is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Measured
from warpsmith.refactor.proposal import PROPOSALS
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Buffer, Kernel, Scalar
from warpsmith.template.directives import with_includes
from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, ProposalReport

_MOST_SOURCE = 60_000  # characters; longer sources are cut in the middle, and said to be
_MOST_HEADERS = 20_000
_MOST_FAILURES = 8
_MOST_PROBLEM = 1_500
_MOST_REMARKS = 1_500
_CPU = """It is a CPU, so what is fast differs from a GPU. Blocks are dealt out to `compute_units` cores; the threads of a block
become lanes of vector instructions (`vector_width` at a time), one group after the other from barrier to barrier. Neighbouring
threads that touch neighbouring elements become wide loads and stores; anything else becomes gathers and scatters, which are slow,
as are branches in which lanes part. Shared memory is ordinary memory in the cache: it saves nothing over reading global memory
again, and every barrier costs. There is no latency to hide by occupancy: longer threads and larger blocks often win, as do
several independent accumulators.
"""


def kernel_text(facts: Facts) -> str:
    """What the user brought: source, arguments, launch, workloads, tolerance; and the device it runs on."""
    kernel = facts.kernel
    source, *headers = with_includes(kernel.source, read_source(kernel.source), kernel.include_dirs)
    parts = [
        f"Kernel `{kernel.name}`, {kernel.language}, entry `{kernel.entry}`.",
        f"```{kernel.language}\n{cut(source, _MOST_SOURCE).rstrip()}\n```",
    ]
    if headers:
        joined = cut("\n\n".join(text.rstrip() for text in headers), _MOST_HEADERS)
        parts.append(f"Headers of the user's that it includes:\n```{kernel.language}\n{joined}\n```")
    if kernel.defines:
        parts.append("Compiled with " + ", ".join(f"-D{name}={value}" for name, value in kernel.defines.items()) + ".")
    parts += [
        "Arguments, in the kernel's order:\n" + "\n".join(_arguments(kernel)),
        _launch(kernel),
        "Workloads (each is timed; held-out ones are only verified and reported):\n" + "\n".join(_workloads(kernel)),
        _tolerance(kernel),
        _device(facts),
    ]
    return "\n\n".join(parts)


def _extents(extents: Sequence[object]) -> str:
    return "(" + ", ".join(map(str, extents)) + ")"


def _device(facts: Facts) -> str:
    limits = ", ".join(f"{name} = {value}" for name, value in facts.limits.names().items())
    what = f"Device: {facts.device}. " if facts.device else ""
    kind = "" if facts.limits.is_gpu else _CPU
    return f"{what}{kind}Its limits, which launch expressions and constraints may name: {limits}."


def _launch(kernel: Kernel) -> str:
    grid, block = _extents(kernel.launch.grid), _extents(kernel.launch.block)
    return f"Launch: grid {grid}, block {block}, dynamic shared memory {kernel.launch.shared_bytes} bytes."


def _arguments(kernel: Kernel) -> Iterator[str]:
    for argument in (*kernel.arguments, *kernel.constants):
        match argument:
            case Buffer(null=True):
                yield f"- {argument.name}: a null pointer"
            case Buffer():
                init = f", filled with {argument.init.kind}" if argument.role != "out" and argument.init.python is None else ""
                constant = " (a __constant__ symbol)" if argument in kernel.constants else ""
                shape = _extents(argument.shape)
                yield f"- {argument.name}: {argument.role} buffer of {argument.dtype}, shape {shape}{init}{constant}"
            case Scalar():
                yield f"- {argument.name}: {argument.dtype} = {argument.value}"


def _workloads(kernel: Kernel) -> Iterator[str]:
    for workload in kernel.workloads:
        sizes = ", ".join(f"{name} = {value}" for name, value in workload.sizes.items())
        yield f"- {workload.name}: {sizes}; weight {workload.weight:g}" + ("; held out" if workload.heldout else "")


def _tolerance(kernel: Kernel) -> str:
    reference = kernel.reference
    oracle = "a float64 reference of the user's" if reference.function else "the original kernel's own output"
    outputs = [b for b in kernel.buffers if b.role != "in"]
    rtol, atol = max((b.dtype.tolerance for b in outputs), default=(0.0, 0.0))
    shown = [reference.rtol if reference.rtol is not None else rtol, reference.atol if reference.atol is not None else atol]
    tolerance = f"rtol {shown[0]:g}, atol {shown[1]:g}"
    return f"Outputs are compared with {oracle}: {tolerance}, on every workload, with other inputs each time."


# ── what was measured ──


def measured_text(facts: Facts) -> str:
    """Compiler output, times, roofline, importances, failures, rounds."""
    best = facts.best if facts.best != facts.baseline else None  # said once
    parts = [*_resources("original", facts.baseline), *_resources("best so far", best), *_times(facts)]
    parts += _counters(facts)
    if facts.best_configuration:
        listed = ", ".join(f"{name}={value}" for name, value in facts.best_configuration.items())
        parts.append(f"Best configuration so far: {listed}. (What a form or pass does not use stays at its default there.)")
    if facts.importance is not None:
        shares = "; ".join(
            f"{p.name} {p.share:.0%} (best {p.best.value}; {p.worst.value} is {p.worst.slowdown / p.best.slowdown:.2f}x slower)"
            for p in facts.importance.parameters[:8]
        )
        parts.append(f"Share of the variation in time that each parameter explains (R² {facts.importance.r2:.2f}): {shares}.")
    if facts.failures:
        parts.append("Configurations that failed: " + ", ".join(f"{n} {kind}" for kind, n in facts.failures.items()) + ".")
    for evaluation in facts.failed[-_MOST_FAILURES:]:
        if not isinstance(evaluation.outcome, Measured):
            reason = presentable(evaluation.outcome.reason, _MOST_PROBLEM)
            parts.append(f"- {type(evaluation.outcome).__name__} at {evaluation.configuration}: {reason}")
    return "\n".join(parts) if parts else "Nothing was measured yet."


def _resources(what: str, found: Resources | None) -> Iterator[str]:
    if found is None:
        return
    known = [
        f"{f.name} {getattr(found, f.name)}" for f in fields(found) if f.name != "remarks" and getattr(found, f.name) is not None
    ]
    yield f"Compiler on the {what}: {', '.join(known) or 'it tells nothing of resources'}."
    if found.remarks:
        yield presentable("\n".join(f"  {remark}" for remark in found.remarks), _MOST_REMARKS)


def _counters(facts: Facts) -> Iterator[str]:
    for workload, counted in facts.counters.items():
        known = [(f.name, getattr(counted, f.name)) for f in fields(counted) if f.name.endswith("_percent")]
        listed = [
            f"{name.removesuffix('_percent').replace('_', ' ')} {value:.0f} %" for name, value in known if value is not None
        ]
        yield f"The device's counters for the best so far on {workload}: {', '.join(listed)}."


def _times(facts: Facts) -> Iterator[str]:
    names = dict.fromkeys((*facts.baseline_times_us, *facts.best_times_us, *facts.roofline_fraction))
    for name in names:
        parts = []
        if name in facts.baseline_times_us:
            parts.append(f"original {facts.baseline_times_us[name]:.1f} µs")
        if name in facts.best_times_us:
            parts.append(f"best so far {facts.best_times_us[name]:.1f} µs")
        if name in facts.roofline_fraction:
            parts.append(f"which is {facts.roofline_fraction[name]:.0%} of the machine's measured roofline")
        yield f"Time on {name}: {', '.join(parts)}."


# ── what was done ──


def history_text(facts: Facts) -> str:
    lines = [
        f"Round {r.number}: passes {', '.join(p for p in r.passes if p != PROPOSALS) or 'none'}; {r.evaluations} evaluations;"
        f" best so far {r.speedup:.3f}x the original's speed. Reason given: {cut(r.reason, 400)}"
        for r in facts.rounds
    ]
    lines += [_proposal_line(report) for report in facts.proposals]
    lines += [f"Planned for this round, in vain: {presentable(why, _MOST_PROBLEM)}" for why in facts.in_vain]
    return "\n".join(lines) if lines else "Nothing was tried yet: this is the first round."


def budget_text(facts: Facts) -> str:
    """What is left of the run; empty outside of one."""
    left = facts.budget
    if left is None:
        return "Nobody set a limit."
    parts = [] if left.rounds is None else [f"{left.rounds} round(s), this one included"]
    parts += [] if left.evaluations is None else [f"{left.evaluations} evaluations"]
    parts += [] if left.seconds is None else [f"{left.seconds:.0f} s"]
    return f"Left of the run: {', '.join(parts)}." if parts else "The run has no limit."


def _proposal_line(report: ProposalReport) -> str:
    what = f"Form {report.proposal.number} ({report.proposal.hypothesis or 'no hypothesis'})"
    if report.problem is not None:
        return f"{what}: given up: {presentable(report.problem, _MOST_PROBLEM)}"
    speed = f"best configuration {report.speedup:.3f}x the original's speed" if report.speedup is not None else "not measured yet"
    return f"{what}: kept; {speed}"


def passes_text(passes: Sequence[PassReport]) -> str:
    """Those that can be asked for with what they do; of the others what there is to know."""
    to_ask = [p for p in passes if p.applied_in is None and p.declined is None]
    applied = [f"{p.name} (round {p.applied_in})" for p in passes if p.applied_in is not None]
    declined = [f"- {p.name}: {presentable(p.declined, 300)}" for p in passes if p.applied_in is None and p.declined is not None]
    parts = ["\n".join(f"- {p.name}: {p.summary} (for {', '.join(sorted(p.concerns)) or 'anything'})" for p in to_ask)]
    parts[0] = parts[0] or "None is left that could be asked for."
    parts += [f"Applied: {', '.join(applied)}."] if applied else []
    parts += ["Cannot be applied, because of this:\n" + "\n".join(declined)] if declined else []
    return "\n\n".join(parts)


def findings_text(findings: Sequence[Finding]) -> str:
    return "\n".join(f"- {f.concern} (weight {f.weight:.2f}): {f.text}" for f in findings) or "None."
