"""Renders `Facts` as prompt text: the kernel, its device and the run so far, without paths or environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from warpsmith.agents.llm.form_text import forms_text
from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Measured
from warpsmith.measure.caches import core_caches
from warpsmith.refactor.on_form import parted
from warpsmith.refactor.proposal import PROPOSALS
from warpsmith.report.wording import searched_text
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Buffer, Kernel, Scalar
from warpsmith.template.directives import with_includes
from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, ProposalReport

_MOST_SOURCE = 60_000  # characters; longer sources are cut in the middle, and said to be
_MOST_HEADERS = 20_000
_MOST_FAILURES = 8
_MOST_PROBLEM = 1_500
_MOST_REMARKS = 1_500
_MOST_REFUSAL = 300


def kernel_text(facts: Facts) -> str:
    """What the user brought: source, arguments, launch, workloads, tolerance."""
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
    ]
    return "\n\n".join(parts)


def _extents(extents: Sequence[object]) -> str:
    return "(" + ", ".join(map(str, extents)) + ")"


def limits_text(facts: Facts) -> str:
    limits = ", ".join(f"{name} = {value}" for name, value in facts.limits.names().items())
    return f"Its limits, which launch expressions and constraints may name: {limits}."


def caches_text() -> str:
    """The host's, which are those of a CPU device; empty where the machine does not say."""
    parts = [
        f"L{cache.level} {_size(cache.nbytes)}" + (f" shared by {cache.cpus} hardware threads" if cache.cpus > 1 else " a core")
        for cache in core_caches()
    ]
    return f"- Caches: {', '.join(parts)}. What a block works on should stay in the first two." if parts else ""


def _size(nbytes: int) -> str:
    return f"{nbytes >> 20} MiB" if nbytes >= 1 << 20 else f"{nbytes >> 10} KiB"


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
    """Of every form what was measured; without forms (direct mode) compiler output and times; failures."""
    if facts.forms:
        parts = [forms_text(facts)]
    else:
        best = facts.best if facts.best != facts.baseline else None  # said once
        parts = [*_resources("original", facts.baseline), *_resources("best so far", best), *_times(facts)]
    parts += _counters(facts)
    if facts.best_configuration and not facts.forms:
        listed = ", ".join(f"{name}={value}" for name, value in facts.best_configuration.items())
        parts.append(f"Best configuration so far: {listed}.")
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
        if listed:
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
        if parts:
            yield f"Time on {name}: {', '.join(parts)}."


# ── what was done ──


def history_text(facts: Facts) -> str:
    lines = [
        f"Round {r.number}: passes {', '.join(p for p in r.passes if p != PROPOSALS) or 'none'}; {r.evaluations} evaluations;"
        f" best so far {searched_text(r.speedup, r.ci95)} the original's speed. Reason given: {cut(r.reason, 400)}"
        + "".join(f"\n  Asked for in vain: {name}: {presentable(why, _MOST_REFUSAL)}" for name, why in r.refused.items())
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
    return f"{what}: kept; {speed}" + (f"; it gets no further evaluations: {report.dropped}" if report.dropped else "")


def passes_text(passes: Sequence[PassReport], *, why: bool = True) -> str:
    """Those that can be asked for with what they do, on the kernel and on each form; of the others what there is to know.

    Without `why` those that decline have their names only: who can ask a pass need not be told.
    """
    own = [p for p in passes if not parted(p.name)[1]]
    to_ask = [p for p in own if _can_be_asked(p)]
    applied = [f"{p.name} (round {p.applied_in})" for p in passes if p.applied_in is not None]
    declined = [f"- {p.name}: {presentable(p.declined, 300)}" for p in own if p.applied_in is None and p.declined is not None]
    parts = ["\n".join(f"- {p.name}: {p.summary} (for {', '.join(sorted(p.concerns)) or 'anything'})" for p in to_ask)]
    parts[0] = parts[0] or "None is left that could be asked for on the kernel itself."
    parts += [*_passes_on_forms(passes, {p.name for p in to_ask})]
    parts += [f"Applied: {', '.join(applied)}."] if applied else []
    if declined and why:
        parts.append("Cannot be applied to the kernel itself, because of this:\n" + "\n".join(declined))
    elif declined:
        names = ", ".join(line[2:].partition(":")[0] for line in declined)
        parts.append(f"Cannot be applied to the kernel itself (`ask_pass` says why): {names}.")
    return "\n\n".join(parts)


def _passes_on_forms(passes: Sequence[PassReport], explained: set[str]) -> Iterator[str]:
    """A line a form; a pass that no line has explained yet says what it does."""
    numbers = sorted({form for p in passes if (form := parted(p.name)[1])})
    for number in numbers:
        listed = []
        for p in passes:
            name, form = parted(p.name)
            if form == number and _can_be_asked(p):
                listed.append(p.name if name in explained else f"{p.name} ({p.summary})")
                explained.add(name)
        yield f"On form {number}, whose parameters they leave alone: {', '.join(listed) or 'none is left'}."


def _can_be_asked(report: PassReport) -> bool:
    return report.applied_in is None and report.declined is None


def findings_text(findings: Sequence[Finding]) -> str:
    return "\n".join(f"- {f.concern} (weight {f.weight:.2f}): {f.text}" for f in findings) or "None."
