"""Notes on a result for terminal and report: the gain, its evidence, the course of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import attrgetter

from warpsmith.record.result import ChecksEntry, Claim, Evidence, RewriteEntry, RoundEntry, RunResult, RunState, UnfinishedRun
from warpsmith.record.run import NO_AGENT
from warpsmith.report.wording import configuration_text, counted, price_text, searched_text, short, speedup_text

_SIZE = re.compile(r" \([^)]* MB\)")
_MUCH = 0.2  # of the cores, taken by others while claims were measured


def result_notes(result: RunResult) -> list[str]:
    notes = gain_notes(result)
    evidence = result.evidence
    several = f"claims from {evidence.processes} fresh processes (they differ by {evidence.process_spread - 1:.0%})"
    measured = several if evidence.processes > 1 else "the original's times from one fresh process"
    notes.append(
        f"{counted(result.evaluations)} in {result.seconds:.0f} s; {measured}; every time verified against {evidence.oracle}."
    )
    notes += [f"The agent stopped early: {result.agent_stopped}."] if result.agent_stopped else []
    if (spent := result.model) is not None:
        price = price_text(spent.usd, unpriced=spent.unpriced)
        notes.append(f"The model took {spent.tokens:,} tokens, {price}: `warpsmith show {result.run} --transcript`.")
    notes += _near_ties(evidence)
    notes += doubt_notes(evidence)
    notes += _rounds(result)
    notes += warm_notes(result)
    if known := result.knowledge:
        listed = ", ".join(f"{entry.kernel} ({entry.run})" for entry in known)
        notes.append(f"The agent was given results of similar kernels: {listed}; --no-knowledge turns this off.")
    notes.append(_identity(result))
    notes.append(f"Run {result.run}, stored in {short(result.stored_in)}")
    return notes


def unfinished_notes(result: UnfinishedRun) -> list[str]:
    """Notes on a run without a result: its progress, and how to resume it."""
    if result.status == "failed":
        return _failure(result)
    notes = [f"run {result.run} is {result.status}: {counted(result.evaluations) or 'nothing evaluated yet'}"]
    if best := result.best_so_far:
        figures = f"{searched_text(best.speedup, best.ci95)}  {configuration_text(best.config)}"
        notes.append(f"best so far in the search (not a claim): {figures}")
    notes += warm_notes(result)
    if result.status == "searched":
        notes.append(
            "it belongs to a comparison, which measures the claims of all its runs together, or to a batch that will continue it"
        )
    elif result.status == "running":
        notes.append("a process is working on it; Ctrl-C there stops it and keeps everything measured so far")
    elif result.status != "finished":
        notes.append(f"continue with: warpsmith resume {result.run}")
    return notes


def _near_ties(evidence: Evidence) -> list[str]:
    if not (others := len(evidence.as_fast or ())):
        return []
    were = f"{others} other configuration{'s were' if others > 1 else ' was'} as fast"
    rule = "the one with the fewest changes from the original is chosen, then the first in text order: the same on every machine"
    return [f"A near tie: {were}, within measurement precision; {rule}."]


def gain_notes(result: RunResult) -> list[str]:
    """Notes on the speedup: its significance, and where the winner is slower or may be wrong."""
    found = result.evidence
    return [
        *_gain(result),
        *_assumed(result),
        *_lost(result.heldout),
        *_above_roof(result),
        *_wrong_elsewhere(found),
        *_loose(found),
    ]


def doubt_notes(evidence: Evidence) -> list[str]:
    """Doubts: load of other programs, throttling, and the checkers' findings."""
    return [*_disturbed(evidence), *_slowed(evidence), *_checked(evidence)]


def _failure(result: UnfinishedRun) -> list[str]:
    """Notes on a failed run: it would fail again, so resuming is not suggested."""
    error = result.error
    counts = counted(result.evaluations)
    after = f" after {counts}" if counts else " before anything was evaluated"
    if error is None:
        return [f"run {result.run} failed{after}; its record does not say why"]
    place = ":".join(str(part) for part in (error.file, error.line, error.column) if part is not None)
    notes = [f"run {result.run} failed{after}: {place + ': ' if place else ''}{error.message}"]
    notes += [f"hint: {error.hint}"] if error.hint else []
    return [*notes, "fix that, then start another run with `warpsmith tune`"]


def _gain(result: RunResult) -> list[str]:
    """Notes if there is no gain, or no significant one."""
    general, found = result.general, result.uncertain
    if not general.config:
        return [f"Nothing to search: {'the kernel has no parameters' if result.agent == NO_AGENT else _no_choice(result)}."]
    if found is not None:
        figures = f"{speedup_text(found.speedup)}, from {found.ci95[0]:.2f} to {found.ci95[1]:.2f}"
        return [f"No significant gain, so the original stays. The best found is {configuration_text(found.config)}: {figures}."]
    if general.config == result.baseline.config:
        tried: list[RoundEntry | RewriteEntry] = [*result.plan, *(result.rewrites or ())]
        seen = max((entry.speedup or 1.0 for entry in tried), default=1.0)
        looked = f"what looked like {speedup_text(seen)} in the search was not confirmed when measured again"
        return [f"No gain found: {looked if seen > 1.005 else 'the original configuration is the fastest measured'}."]
    # A run of an earlier version may claim such a one.
    return ["The interval includes 1: not distinguishable from the original."] if general.ci95[0] <= 1 else []


def _no_choice(result: RunResult) -> str:
    """What became of the passes of a run that ended without a parameter."""
    applied, declined, postponed = (
        list(dict.fromkeys(name for entry in result.plan for name in names(entry)))
        for names in (attrgetter("applied"), attrgetter("declined"), attrgetter("postponed"))
    )
    if applied:
        return f"of what {', '.join(applied)} offered, no alternative was left"
    if postponed:
        return f"no time was left for {', '.join(postponed)}"
    # A plan that names no pass was made when all of them had been asked.
    tried = f"none of the passes that were tried ({len(declined)})" if declined else "no pass"
    return f"{tried} offered a parameter; `warpsmith templatize` gives the reason for each pass"


def _assumed(result: RunResult) -> list[str]:
    """What the winner rests on that was tested and not proved."""
    parameters, config = result.template.parameters if result.template is not None else {}, result.general.config
    return [
        f"Tested, not proved: {name}={config[name]} is right if {entry.assumes}."
        for name, entry in parameters.items()
        if entry.assumes and config.get(name, entry.default) != entry.default
    ]


def _lost(heldout: Mapping[str, Claim]) -> list[str]:
    """Held-out shapes on which the general configuration is slower."""
    slower = [f"{workload} ({speedup_text(entry.speedup)})" for workload, entry in heldout.items() if entry.ci95[1] < 1]
    advice = "tune for such shapes too if they occur"
    return [f"Slower than the original on held-out workloads, {', '.join(slower)}: {advice}."] if slower else []


def _wrong_elsewhere(evidence: Evidence) -> list[str]:
    """Undeclared shapes on which the original is correct and the winner is wrong."""
    out = [
        f"Rejected although faster: {configuration_text(entry.config or {})}, wrong on an undeclared shape"
        f" ({configuration_text(entry.sizes)}): {entry.reason}."
        for entry in evidence.elsewhere
        if not entry.passed
    ]
    wrong = [entry for entry in evidence.odd_shapes or () if not entry.passed]
    if not wrong:
        return out
    first = wrong[0]
    listed = "; ".join(configuration_text(entry.sizes) for entry in wrong)
    advice = "If other shapes occur, state the requirement in [[constraints]], or declare such a workload (heldout = true)."
    where = f"at {listed} ({first.reason})"
    return [
        *out,
        f"The winner is valid for the declared shapes only: it is wrong where the original is correct, {where}. {advice}",
    ]


def _identity(result: RunResult) -> str:
    """What the winner is in relation to the original."""
    if not result.is_direct:
        known = result.template.certificate if result.template is not None else None
        return f"With default values the template is the original: {known.detail if known is not None else 'not shown'}."
    number = result.general.config["REWRITE"]
    winner = next((entry for entry in result.rewrites or () if entry.rewrite == number), None)
    return f"Rewrite {number} ({winner.hypothesis}): {short(winner.source)}" if winner else "REWRITE=0 is the original."


def _loose(evidence: Evidence) -> list[str]:
    """Outputs for which `verified` means nothing."""
    found = evidence.passed_by_zeros
    if not found:
        return []
    listed = "; ".join(f"{', '.join(outputs)} on {workload}" for workload, outputs in found.items())
    advice = "Set a smaller atol in [reference], or give inputs that make them larger."
    return [f"All-zero outputs would pass too, so these outputs are not really verified: {listed}. {advice}"]


def _disturbed(evidence: Evidence) -> list[str]:
    share = evidence.others_share or 0.0
    if share <= _MUCH:
        return []
    apart = evidence.process_spread - 1
    doubt = f"fresh processes disagree by {apart:.0%}, and the figures may be off by as much"
    return [f"Other programs took up to {share:.0%} of the cores meanwhile: {doubt}. Measure on a quiet machine."]


def _slowed(evidence: Evidence) -> list[str]:
    """What the device itself says against its times."""
    reasons = dict.fromkeys(reason for reading in evidence.readings for reason in reading.slowed_by)
    return [f"The device was throttled during measurement: {', '.join(reasons)}."] if reasons else []


def _checked(evidence: Evidence) -> list[str]:
    """What the device's checkers said of the configurations that were chosen."""
    checks = evidence.checks or ChecksEntry()
    original = checks.original
    clean = [check for check in checks.done if check not in original]
    passed = [f"{', '.join(clean)} found nothing in the winners."] if clean else []
    itself = [f"The original does not pass {check}, so it was not required: {problem}." for check, problem in original.items()]
    out = [f"Rejected although faster: {name} ({problem})." for name, problem in checks.out.items()]
    return [*passed, *itself, *out, *(f"Not checked: {reason}." for reason in checks.not_done)]


def _above_roof(result: RunResult) -> list[str]:
    """Claims above the roofline: refused, or explained by a roof that is too low."""
    entries = result.roofline.above
    refused = [entry for entry in entries if entry.refused]
    doubted: dict[str, dict[str, str]] = {}  # workloads, and what is said of each, by what is said of all
    for entry in entries:
        if not entry.refused:
            doubted.setdefault(_SIZE.sub("", entry.reason), {})[entry.workload] = entry.reason
    return [
        *(
            f"Rejected although it seemed faster: {configuration_text(entry.config)}, {entry.roofline_fraction:.0%}"
            f" of the roofline on {entry.workload}, measured twice: {entry.reason}."
            for entry in refused
        ),
        *(
            f"Above the roofline on {', '.join(found)}: {reason if len(found) > 1 else next(iter(found.values()))}."
            for reason, found in doubted.items()
        ),
    ]


def _rounds(result: RunResult) -> list[str]:
    return [
        f"In round {entry.round}: {entry.reason}{_postponed(entry)}; {entry.evaluations} evaluations, "
        f"then {speedup_text(entry.speedup)} as searched."
        for entry in result.plan
        if entry.speedup is not None
    ]


def _postponed(entry: RoundEntry) -> str:
    return f" (no time was left for {', '.join(entry.postponed)})" if entry.postponed else ""


def warm_notes(result: RunState) -> list[str]:
    return [
        f"Started warm from {entry.evaluations} evaluations of {entry.kernel} on {entry.device} ({short(entry.source)})."
        for entry in result.warm
    ]
