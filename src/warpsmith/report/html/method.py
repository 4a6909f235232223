"""How and where the run was measured, and the commands to repeat, resume or export it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from warpsmith.core.outcome import Measured
from warpsmith.record.result import RunResult
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import (
    NOTHING,
    Content,
    Html,
    Section,
    bullets,
    definitions,
    element,
    folded,
    joined,
    paragraphs,
    section,
    table,
)
from warpsmith.report.notes import doubt_notes, warm_notes
from warpsmith.report.wording import short


def method(facts: RunFacts) -> Section:
    result = facts.result
    notes = [*(doubt_notes(result.evidence) if isinstance(result, RunResult) else ()), *warm_notes(result)]
    if isinstance(result, RunResult) and result.agent_stopped:
        notes.append(f"The agent stopped early: {result.agent_stopped}.")
    return section(
        "method",
        "How it was measured",
        bullets(notes),
        definitions([*_measuring(facts), *_search(facts), *_environment(facts)]),
        _limits(facts),
        element("h3", "Reproduce, resume, export"),
        _commands(facts),
    )


def _measuring(facts: RunFacts) -> Iterator[tuple[Content, Content]]:
    result = facts.result
    if isinstance(result, RunResult):
        evidence = result.evidence
        yield "Claims", f"from {evidence.processes} fresh processes, launches interleaved with the original's"
        if evidence.processes > 1:
            yield "Noise", f"the processes differ by {evidence.process_spread - 1:.0%}" + _others(evidence.others_share)
        yield "Verified against", evidence.oracle
        if evidence.cache is not None:
            yield "Caches", evidence.cache
    measured = [e.outcome for e in facts.evaluations if isinstance(e.outcome, Measured)]
    launches = sum(t.launches for outcome in measured for t in outcome.times)
    if launches:
        yield "Samples", f"{launches:,} timed launches in the search, over {len(measured):,} configurations"
    if isinstance(result, RunResult) and result.roofline.how:
        yield "Roofline", result.roofline.how


def _others(share: float | None) -> str:
    return "" if share is None else f"; other programs took at most {share:.0%} of the cores"


def _search(facts: RunFacts) -> Iterator[tuple[Content, Content]]:
    header, settings = facts.record.header, facts.record.header.settings
    yield "Agent", header.agent if facts.result.mode == "template" else f"{header.agent}, rewriting whole kernels"
    if facts.result.mode == "template":
        yield "Strategy", header.strategy
    yield "Seed", str(header.seed)
    limits = [f"{settings['evaluations']} evaluations"] if settings.get("evaluations") is not None else []
    limits += [f"{settings['seconds']:g} s"] if settings.get("seconds") is not None else []
    yield "Budget", " or ".join(limits) or "all of the space"
    if settings.get("rounds") is not None and facts.rounds and facts.result.mode == "template":
        yield "Rounds", f"{len(facts.rounds)} of up to {settings['rounds']}"


def _environment(facts: RunFacts) -> Iterator[tuple[Content, Content]]:
    info = facts.record.header.device_info
    yield "Device", f"{facts.result.device}: {info.get('description', '')}"
    if more := facts.record.header.settings.get("more_devices"):
        yield "Searched on", f"{', '.join((facts.result.device, *more))}; claims were measured on the first"
    if info.get("versions"):
        yield "Versions", ", ".join(f"{name} {number}" for name, number in info["versions"].items())
    for reading in facts.result.evidence.readings[:1] if isinstance(facts.result, RunResult) else ():
        yield "Clock", f"{reading.clock_mhz} of {reading.highest_clock_mhz} MHz"
    yield "Kernel", element("code", short(facts.record.header.kernel_path))
    yield "Report", f"by warpsmith {version('warpsmith')}"


def _limits(facts: RunFacts) -> Html:
    limits = facts.record.header.device_info.get("limits")
    if not limits:
        return NOTHING
    rows: list[list[Content]] = [[name, f"{value:,}"] for name, value in limits.items() if isinstance(value, int)]
    return folded("Limits of the device", table("Limits", ("limit", "value"), rows, numbers=[1], shown_caption=False))


def _commands(facts: RunFacts) -> Html:
    run = facts.result.run
    lines = [("repeat the run", facts.repeat)]
    if facts.result.status not in {"finished", "searched", "running"}:
        lines.append(("resume it", f"warpsmith resume {run}"))
    if facts.has_gain:
        lines.append(("export the winner as standalone source, verified", f"warpsmith export {run} -o shipped/"))
    lines.append(("print this result as JSON, with every evaluation", f"warpsmith show {run} --evaluations --json"))
    text = "\n\n".join(f"# {words}\n{command}" for words, command in lines)
    note = "The same seed proposes the same configurations as long as the ranking of their times is the same; times vary."
    return joined([element("pre", text, class_="commands"), paragraphs([note], class_="note")])
