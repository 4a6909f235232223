"""Takes a candidate through its door to the end, and says what caught it: the real path, nothing of it replaced."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import warpsmith
from benchmarks.cheats.candidate import Candidate, Path
from benchmarks.cheats.victims import VICTIMS
from warpsmith.api.shipping import export_run
from warpsmith.api.verification import verify_run
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.outcome import Measured
from warpsmith.mcp.labs import Labs
from warpsmith.mcp.tools.templates import Parameter, TemplateTools
from warpsmith.mcp.workspace import Workspace
from warpsmith.refactor.proposal import Proposal
from warpsmith.settings import read_settings
from warpsmith.tuning.events import EvaluationFinished, Event, MessageNoted, Warned

_EVALUATIONS = 4
LEFT_OUT = "here the same code as the original"
_SAYS = {
    "compiling": re.compile("does not compile: "),
    "verification": re.compile("does not run on |wrong result: "),
    "the checkers": re.compile("(?:right here, but )?(?:racecheck|memcheck|initcheck): "),
    "the limits": re.compile("no combination of its values is feasible"),
    "reading": re.compile(
        r"(?:line \d+: )?a form |the source |the file |clang |assembly |a macro hides|'##' hides|this is code for the host|it is nested"
        r"|.* (?:would outlive the launch|is mutable|is declared but not defined)"
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a candidate. `caught_by` is None for what was accepted and searched to the end: `speedup` is claimed."""

    caught_by: str | None
    detail: str = ""
    speedup: float | None = None


def judge(candidate: Candidate, folder: File) -> Finding:
    """In an empty folder, in which WARPSMITH_HOME should lie too."""
    kernel = VICTIMS[candidate.victim].lay_down(folder / "kernel")
    labs = Labs(read_settings().binary_cache)
    tools = TemplateTools(Workspace(folder / "workspace"), labs)
    try:
        if candidate.path is Path.REWRITE:
            return _searched(candidate, kernel, "rewrite", folder)
        found = submitted(candidate, tools, str(kernel))
        return found if isinstance(found, Finding) else _searched(candidate, File(found), "none", folder)
    except WarpsmithError as error:
        return Finding("reading", error.message)
    finally:
        labs.close()


def submitted(candidate: Candidate, tools: TemplateTools, kernel: str) -> Finding | str:
    """Why it was not taken; the kernel to tune if it was."""
    given = {"kernel": kernel, "grid": candidate.grid, "block": candidate.block, "shared": candidate.shared}
    if candidate.path is Path.TEMPLATE:
        fast = Parameter(name="FAST", values=(0, 1), default=0)
        original = VICTIMS[candidate.victim].source
        source = f"#ifndef FAST\n#define FAST 0\n#endif\n#if FAST == 0\n{original}#else\n{candidate.source}#endif\n"
        answer = tools.submit_template(**given, source=source, parameters=(fast,))
        left_out = answer.left_out.get("FAST=1") if answer.accepted else None
        if answer.accepted and left_out is None and answer.template is not None:
            return answer.template.kernel
        return Finding(_stage(left_out or answer.problem or ""), left_out or answer.problem or "")
    answer = tools.submit_form(**given, source=candidate.source)
    if not answer.accepted:
        return Finding(_stage(answer.problem or ""), answer.problem or "")
    made = tools.make_template(kernel, passes=[], forms=(answer.form or "",))
    if made.feasible >= 2:
        return made.kernel
    said = "; ".join((*made.notes, *made.not_applied.values()))
    return Finding(None, LEFT_OUT) if "has no effect" in said else Finding("verification", said)


def _stage(problem: str) -> str:
    """Who says so, by how it is said."""
    return next((stage for stage, said in _SAYS.items() if said.match(problem)), "nobody known")


def _searched(candidate: Candidate, kernel: File, agent: str, folder: File) -> Finding:
    said: list[Event] = []
    budget = warpsmith.Budget(evaluations=_EVALUATIONS)
    with _rewriting(candidate, folder) as name:
        way = {"agent": name, "mode": "direct"} if agent == "rewrite" else {"agent": agent}
        result = warpsmith.tune(warpsmith.load_kernel(str(kernel)), budget=budget, emit=said.append, **way)
    plain = result["baseline"]["config"]
    tried = [e.evaluation for e in said if isinstance(e, EvaluationFinished) and dict(e.evaluation.configuration.pairs) != plain]
    failed = [e.outcome for e in tried if not isinstance(e.outcome, Measured)]
    if failed:
        return Finding("the search", getattr(failed[0], "reason", "") or type(failed[0]).__name__)
    if not tried:
        notes = [e.message.text for e in said if isinstance(e, MessageNoted) and "refused" in e.message.text]
        return Finding("reading", next(iter(notes), result.get("agent_stopped") or "not evaluated"))
    if out := [e.message for e in said if isinstance(e, Warned) and " is out: " in e.message]:
        return Finding(_who_says(out[0]), out[0])
    found = result["uncertain"] or result["general"]
    if result["general"]["config"] == plain:
        return Finding(None if result["uncertain"] or _ties(tried) else "the finalists", _doubts(result), found["speedup"])
    return _shipped(result, folder)


def _who_says(out: str) -> str:
    """Of a finalist that lost its place."""
    if "of the roofline" in out:
        return "the roof"
    return "shapes drawn last" if "an undeclared shape" in out else "the checkers"


def _ties(tried: list[Any]) -> bool:
    """Whether it did not look faster in the search either: then nobody had a reason to look closer."""
    return min(e.score or 1.0 for e in tried) > 0.9


def _doubts(result: dict[str, Any]) -> str:
    zeros = result["evidence"].get("passed_by_zeros")
    return "told: all-zero outputs would pass" if zeros else ""


def _shipped(result: dict[str, Any], folder: File) -> Finding:
    speedup = result["general"]["speedup"]
    try:
        export_run(result["run"], folder / "shipped")
    except WarpsmithError as error:
        return Finding("the export", error.message, speedup)
    found = verify_run(result["run"], seeds=1)
    if not found["passed"]:
        failed = next(check for check in found["checks"] if check["outcome"] == "failed")
        return Finding("verify RUN", failed["reason"], speedup)
    return Finding(None, _doubts(result), speedup)


# ── an agent with one rewrite, found by entry point as anybody's ──


class Rewriter:
    """Has nothing to say but one whole kernel."""

    given: Candidate | None = None

    def __init__(self, name: str, _desk: object) -> None:
        self.name = name
        self._left = [Rewriter.given]

    def analyse(self, _facts: object) -> tuple[()]:
        return ()

    def plan(self, _facts: object, _findings: object) -> None:
        return None

    def propose(self, _facts: object, _plan: object) -> tuple[()]:
        return ()

    def repair(self, _facts: object, _proposal: object, _problem: str) -> None:
        return None

    def adversaries(self, _facts: object) -> tuple[()]:
        return ()

    def rewrite(self, _facts: object, _attempts: object) -> Proposal | None:
        given = self._left.pop() if self._left else None
        return given and Proposal(1, given.source, given.grid, given.block, given.shared, hypothesis=given.name)


@contextmanager
def _rewriting(candidate: Candidate, folder: File) -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        about = File(place) / "warpsmith_cheats-0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: warpsmith-cheats\nVersion: 0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(
            "[warpsmith.agents]\ncheat = benchmarks.cheats.judge:Rewriter\n", encoding="utf-8"
        )
        sys.path.insert(0, place)
        Rewriter.given = candidate
        try:
            yield "cheat,fallback=none"
        finally:
            sys.path.remove(place)
