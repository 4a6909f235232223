"""Renders results of earlier runs on similar kernels: bounded, the most similar kernel first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.record.lessons import FormLesson, Lesson, PassLesson
from warpsmith.record.result import Interval

_MOST = 5_000  # characters of all of it
_MOST_FORMS, _MOST_PASSES = 4, 4
_MOST_WORDS = 240


def lessons_text(known: Sequence[tuple[Lesson, float]]) -> str:
    """Empty where nothing is known."""
    if not known:
        return ""
    said = "From other runs, on kernels that resemble this one: what was measured there, which may be otherwise here."
    text = said
    for lesson, how in known:
        further = "\n\n" + "\n".join(_lines(lesson, how))
        if len(text) + len(further) <= _MOST:
            text += further
    sources = [(lesson, form) for lesson, _ in known for form in lesson.forms if form.source is not None]
    for lesson, form in sources:  # the most similar kernel's first, as far as there is room
        source = presentable(form.source or "", _MOST).rstrip()
        further = f"\n\nThe form that won on {lesson.kernel}, {form.settings or 'its launch is not known'}:\n```\n{source}\n```"
        if len(text) + len(further) <= _MOST:
            text += further
    return text if text != said else ""


def _lines(lesson: Lesson, how: float) -> Iterator[str]:
    total = f"{_speed(lesson.speedup, lesson.ci95)} the original's speed in the end" if lesson.speedup is not None else "no claim"
    yield f"`{lesson.kernel}` on {lesson.about} ({how:.0%} of its features are this kernel's): {total}."
    for form in lesson.forms[:_MOST_FORMS]:
        yield f"- A form ({cut(presentable(form.hypothesis, _MOST_WORDS), _MOST_WORDS)}) {_outcome(form)}"
    won = [known for known in lesson.passes if known.won][:_MOST_PASSES]
    vain = [known.name for known in lesson.passes if known.gain <= 1][:_MOST_PASSES]
    if won:
        yield f"- Passes that paid: {', '.join(f'{known.name} {_gain(known)}' for known in won)}."
    if vain:
        yield f"- Passes that brought nothing: {', '.join(vain)}."


def _outcome(form: FormLesson) -> str:
    speed = _speed(form.speedup, form.ci95) if form.speedup is not None else "never measured"
    return f"won: {speed}." if form.lost is None else f"lost: {speed}; {presentable(form.lost, _MOST_WORDS)}."


def _gain(known: PassLesson) -> str:
    return _speed(known.gain, known.ci95)


def _speed(value: float | None, ci95: Interval | None) -> str:
    interval = f" [{ci95[0]:.2f}, {ci95[1]:.2f}]" if ci95 is not None else ""
    return f"{value:.2f}x{interval}"
