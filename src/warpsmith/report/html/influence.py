"""Parameter importance, estimated by a model, and the measurements at each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warpsmith.core.configuration import Value
from warpsmith.report.by_value import draw_by_value
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import (
    NOTHING,
    Content,
    Html,
    Section,
    element,
    figure,
    folded,
    joined,
    paragraphs,
    section,
    table,
)
from warpsmith.report.importance import draw_interactions, draw_shares
from warpsmith.report.importance_notes import effect_cells, importance_notes, pairs_text, why_unknown
from warpsmith.report.inline import inline_svg
from warpsmith.report.parallel import draw_parallel
from warpsmith.spec.kernel import Parameter

_PLOTS = 12  # more of them are a wall that nobody reads
_TABLE = "Shares, and the best and worst values by the model"
_AXES = 10  # of the plot of whole configurations
_PARALLEL = (
    "Every measured configuration as a line through its values (those that mattered most first) to its time over the original's:"
    " the fastest tenth in orange, the best of all thick."
)
_BY_VALUE = (
    "Time over the original's (lower is faster) of every measured configuration by the parameter's value, and the best at each."
    " Bold: the value in the configuration above."
)


def influence(facts: RunFacts) -> Section | None:
    if facts.influence is None or facts.template is None or not facts.template.parameters:
        return None
    plots = list(_by_value(facts))
    measured = [element("h3", "Measurements at each value"), paragraphs([_BY_VALUE], class_="note")] if plots else []
    title = "Which parameters mattered"
    lines = _parallel(facts)
    return section("parameters", title, _model(facts), lines, *measured, element("div", *plots, class_="many"))


def _parallel(facts: RunFacts) -> Html:
    parameters = [p for p in _by_share(facts) if len(_times(facts, p)) > 1][:_AXES]
    known = {p.name: p for p in parameters}
    measured = [
        ({name: values.get(name, p.default) for name, p in known.items()}, e.score)
        for e in facts.evaluations
        if e.score is not None and (values := dict(e.configuration.pairs)) is not None
    ]
    measured = [pair for pair in measured if all(pair[0][name] in p.values for name, p in known.items())]
    if len(parameters) < 2 or len(measured) < 2:
        return NOTHING
    alt = f"{len(measured)} configurations as lines through the values of {', '.join(known)} to their times"
    drawn = draw_parallel([(p.name, p.values) for p in parameters], measured)
    return figure(inline_svg(drawn, "parallel", alt), _PARALLEL, class_="broad")


def _model(facts: RunFacts) -> Html:
    entry, importance = facts.influence, facts.importance
    assert entry is not None
    unknown = why_unknown(entry)
    if unknown is not None or importance is None:
        return paragraphs([f"Which parameters mattered: {unknown}."])
    shares = ", ".join(f"{effect.name} {effect.share:.0%}" for effect in importance.parameters)
    bars = inline_svg(draw_shares(importance), "shares", f"Share of each parameter: {shares}")
    figures = [figure(bars, "Share of the variance of time that each parameter explains alone (estimated).")]
    if len(importance.parameters) > 1:
        pairs = pairs_text(entry) or "none"
        drawn = inline_svg(draw_interactions(importance), "interactions", f"Interacting pairs: {pairs}")
        figures.append(figure(drawn, f"Additional share explained by pairs (estimated). The largest: {pairs}."))
    rows: list[Sequence[Content]] = [effect_cells(effect) for effect in entry["parameters"]]
    columns = ("parameter", "share", "best", "worst", "worst / best")
    return joined(
        [
            paragraphs(["Estimated by a model fitted to the measured times.", *importance_notes(entry)], class_="note"),
            element("div", *figures, class_="beside"),
            folded("As a table", table(_TABLE, columns, rows, numbers=range(1, 5))),
        ]
    )


def _by_value(facts: RunFacts) -> Iterator[Html]:
    """What was measured, without a model: a plot for each parameter of which several values were."""
    assert facts.template is not None
    best = facts.best.config if facts.best is not None else {}
    shown = 0
    for parameter in _by_share(facts):
        times = _times(facts, parameter)
        if len(times) < 2:
            continue
        shown += 1
        if shown > _PLOTS:
            break
        fastest = min(times, key=lambda value: min(times[value]))
        name = parameter.name
        alt = f"Time by {name}: fastest at {fastest}, {min(times[fastest]):.3g} of the original's"
        drawn = inline_svg(draw_by_value(name, times, best.get(name)), f"by-value-{shown}", alt)
        yield figure(drawn, NOTHING)


def _by_share(facts: RunFacts) -> list[Parameter]:
    """Those that mattered most first, where that is known."""
    assert facts.template is not None
    order = [effect.name for effect in facts.importance.parameters] if facts.importance is not None else []
    places = {name: place for place, name in enumerate(order)}
    return sorted(facts.template.parameters, key=lambda p: places.get(p.name, len(places)))


def _times(facts: RunFacts, parameter: Parameter) -> dict[Value, list[float]]:
    """Results of earlier rounds, whose templates did not have the parameter yet, are those of its default."""
    found: dict[Value, list[float]] = {value: [] for value in parameter.values}
    for evaluation in facts.evaluations:
        value = dict(evaluation.configuration.pairs).get(parameter.name, parameter.default)
        if evaluation.score is not None and value in found:
            found[value].append(evaluation.score)
    return {value: times for value, times in found.items() if times}
