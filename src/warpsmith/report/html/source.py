"""The original's source with annotations at its lines: findings, reasons of passes, and what the template changed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Html, Section, element, joined, paragraphs, section

_LINE = re.compile(r"\blines? (\d+)")
_AROUND = 6  # lines shown before and after one of which something is said
_WHOLE = 120  # lines of a source that is shown from end to end
_NOTE = "Findings of the rounds follow the line that they refer to; a bar marks lines that the template changed."


def source(facts: RunFacts) -> Section | None:
    if facts.source is None:
        return None
    lines = facts.source.text.split("\n")
    said = {number: notes for number, notes in _said(facts).items() if 1 <= number <= len(lines)}
    if not said:
        return None
    changed = _changed(facts.source.text, facts.source.template) if facts.source.template is not None else frozenset()
    shown = joined(_shown(lines, said, changed), "\n")
    code = element("pre", shown, class_="source", tabindex=0)
    note = joined([element("code", facts.source.name), f". {_NOTE}"])
    return section("source", "The source, with findings", paragraphs([note], class_="note"), code)


def _said(facts: RunFacts) -> dict[int, list[tuple[str, str]]]:
    """By line: who says it, and what. The same finding of a later round is the same finding."""
    found: dict[int, list[tuple[str, str]]] = {}
    for about in facts.rounds:
        texts = [(finding.get("concern", "finding"), finding["text"]) for finding in about.plan.get("findings", ())]
        texts += [(f"{name} does not apply", reason) for name, reason in about.report.get("declined", {}).items()]
        for who, text in texts:
            for number in dict.fromkeys(int(digits) for digits in _LINE.findall(text) if len(digits) < 8):
                notes = found.setdefault(number, [])
                if (who, text) not in notes:
                    notes.append((who, text))
    return found


def _changed(original: str, template: str) -> frozenset[int]:
    """Lines of the original that the template has otherwise, or not at all."""
    matcher = difflib.SequenceMatcher(None, original.split("\n"), template.split("\n"), autojunk=False)
    return frozenset(
        number + 1
        for tag, start, end, _, _ in matcher.get_opcodes()
        if tag in {"replace", "delete"}
        for number in range(start, end)
    )


def _shown(lines: list[str], said: Mapping[int, list[tuple[str, str]]], changed: frozenset[int]) -> Iterator[Html]:
    """A long source is shown around the lines that something is said of."""
    wanted = set(range(1, len(lines) + 1))
    if len(lines) > _WHOLE:
        wanted = {near for number in said for near in range(number - _AROUND, number + _AROUND + 1)} & wanted
    before = 0
    for number in sorted(wanted):
        if number > before + 1:
            yield element("span", f"… {number - before - 1} lines", class_="place")
        before = number
        class_ = " ".join(["line", *(["changed"] if number in changed else []), *(["said"] if number in said else [])])
        count = element("span", f"{number:>4} ", class_="count")
        yield element("span", count, lines[number - 1], class_=class_, id=f"line-{number}" if number in said else None)
        for who, text in said.get(number, ()):
            yield element("span", element("b", f"{who}: "), text, class_="finding")
    if before < len(lines):
        yield element("span", f"… {len(lines) - before} lines", class_="place")
