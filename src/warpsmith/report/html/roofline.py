"""The distance of the original and the best from the roofline."""

from __future__ import annotations

from collections.abc import Iterator

from warpsmith.record.result import Claim, RunResult
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Section, figure, paragraphs, section
from warpsmith.report.inline import inline_svg
from warpsmith.report.roofline import RoofPoint, draw_roofline, is_by_intensity
from warpsmith.report.wording import fraction_text

_BY_INTENSITY = (
    "Operations per second by operations per byte. The line is what this machine reached in streaming and multiply-add probes,"
    " measured together with the claims; bars are each workload's own roof, which caches may raise."
)
_BY_BANDWIDTH = (
    "Required bytes of a launch per second. The bar is what a streaming probe of the same size reached, measured together with"
    " the claims. (With `flops` under [traffic] in kernel.toml this is a plot of operations by intensity.)"
)


def roofline(facts: RunFacts) -> Section | None:
    if (result := facts.claimed) is None:
        return None
    points = list(_points(facts, result))
    if not points:
        return None
    peak = result.roofline.gflops
    said = "; ".join(f"{p.workload} {fraction_text(p.roof_us / p.best_us)}" for p in points)
    drawn = inline_svg(draw_roofline(points, peak), "roofline-plot", f"Fraction of the roofline reached by the best: {said}")
    caption = _BY_INTENSITY if is_by_intensity(points, peak) else _BY_BANDWIDTH
    note = f"Fraction of the roof reached by the best: {said}."
    return section("roofline", "The roofline", figure(drawn, caption, class_="broad"), paragraphs([note], class_="note"))


def _points(facts: RunFacts, result: RunResult) -> Iterator[RoofPoint]:
    """Those workloads of which all is known."""
    best, originals = result.best, result.baseline.workloads
    for workload, claim in best.workloads.items():
        original = originals[workload].median_us if workload in originals else None
        yield from _point(facts, result, workload, workload, claim, original)
    heldout = result.uncertain.heldout if result.uncertain is not None else result.heldout
    for workload, claim in heldout.items():
        yield from _point(facts, result, workload, f"{workload} (held out)", claim, claim.baseline_us)


def _point(
    facts: RunFacts, result: RunResult, workload: str, name: str, claim: Claim, original_us: float | None
) -> Iterator[RoofPoint]:
    roof_us, needs = result.roofline.roof_us.get(workload), facts.needs.get(workload)
    if roof_us and needs is not None and needs.moved_bytes > 0 and original_us and claim.median_us:
        stream_us = (result.roofline.stream_us or {}).get(workload)
        yield RoofPoint(name, needs.moved_bytes, needs.flops, original_us, claim.median_us, roof_us, stream_us)
