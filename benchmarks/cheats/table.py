"""What was found, as a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.cheats import kept, known, launches
from benchmarks.cheats.candidate import Candidate
from benchmarks.cheats.judge import LEFT_OUT, Finding

HEAD = """\
# What a cheat would have to pass

`python -m benchmarks cheats` submits these candidates through the usual interfaces: as a form (`submit_form`, `make_template`,
`tune`; a model's forms take the same steps), as a complete template (`submit_template`) or as a complete rewrite
(`tune --mode direct`). Each continues until a check rejects it, or until it was tuned, exported and verified again. This page is
generated, on the CPU device, including what is not caught. The candidates and their kernels are in the project's `benchmarks/cheats`.

**Caught by** is the first check that rejects it: *reading* the source before anything is compiled; *compiling*; *verification* on
the smallest workloads, odd shapes, sparse inputs, other constants; *the checkers* (races, accesses out of bounds or misaligned,
uninitialised values); *the limits* of the device; *the search* (every tuning workload, and results of timed launches); *the
finalists* (held-out workloads, many launches); *shapes drawn last*, after everything was chosen; *the roof* (faster than the
machine); *the export* and *verify RUN* (inputs that the run did not use). A speedup is what a run would claim. A candidate that
can only fake speed (kept results, known inputs, counted launches) and is accepted *without a gain* found nothing to keep, to know
or to count by. One that is *left out* is equivalent to the original here, so it is not searched or shipped. **Not caught** is
everything else that was accepted.

"""
_GAIN = 1.05
_FAKE_SPEED = {kept.FAMILY, known.INPUTS, launches.COUNTING}
_ROWS = "| family | candidate | kernel | door | caught by |\n|---|---|---|---|---|"


def page(found: Sequence[tuple[Candidate, Finding]]) -> str:
    cheats = [(c, f) for c, f in found if not c.is_honest]
    honest = [(c, f) for c, f in found if c.is_honest]
    missed = sum(_is_missed(*pair) for pair in cheats)
    caught = sum(f.caught_by is not None for _, f in cheats)
    accepted = sum(f.caught_by is None for _, f in honest)
    count = (
        f"Of {len(cheats)}, {caught} are caught, {len(cheats) - caught - missed} are left out or accepted without a gain, {missed} are not caught."
        f" Of {len(honest)} honest candidates that look suspicious {accepted} are accepted."
    )
    lines = [_ROWS, *(row(c, f) for c, f in found)]
    return f"{HEAD}{count}\n\n" + "\n".join(lines) + "\n"


def row(candidate: Candidate, finding: Finding) -> str:
    cells = (candidate.family, candidate.name, f"`{candidate.victim}`", str(candidate.path), _verdict(candidate, finding))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _is_missed(candidate: Candidate, finding: Finding) -> bool:
    is_harmless = candidate.family in _FAKE_SPEED and (finding.speedup or 1.0) <= _GAIN and not finding.detail
    return finding.caught_by is None and not is_harmless and not _is_left_out(finding)


def _is_left_out(finding: Finding) -> bool:
    return finding.detail == LEFT_OUT


def _verdict(candidate: Candidate, finding: Finding) -> str:
    claimed = f", {finding.speedup:.1f}× claimed" if (finding.speedup or 1.0) > _GAIN else ", no gain claimed"
    told = f" ({_short(finding.detail)})" if finding.detail else ""
    if candidate.is_honest:
        return f"accepted{claimed}" if finding.caught_by is None else f"**refused** by {finding.caught_by}{told}"
    if _is_missed(candidate, finding):
        return f"**not caught**{told or claimed}{f': {candidate.why_not}' if candidate.why_not else ''}"
    if _is_left_out(finding):
        return f"left out{told}"
    if finding.caught_by is None:
        return "accepted without a gain"
    return f"{finding.caught_by}{told}"


def _short(detail: str) -> str:
    """One line that says why."""
    first = re.sub(r"/\S*/(?=[\w.]+:\d)", "", " ".join(detail.split()))  # folders of the run's own
    for before, after in (("FORM=1 ", ""), ("FORM=1 is out: ", ""), ("<", "&lt;"), ("*", "\\*"), ("_", "\\_")):
        first = first.replace(before, after)
    return first if len(first) <= 110 else f"{first[:110]}…"
