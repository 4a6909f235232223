"""What is said of a result: whether there is a gain, what that rests on, what the run did. On the terminal and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpsmith.record.run import NO_AGENT
from warpsmith.report.wording import configuration_text, counted, price_text, short, speedup_text

_MUCH = 0.2  # of the cores, taken by others while claims were measured


def result_notes(result: Mapping[str, Any]) -> list[str]:
    notes = gain_notes(result)
    evidence = result["evidence"]
    several = f"claims from {evidence['processes']} fresh processes (they differ by {evidence['process_spread'] - 1:.0%})"
    measured = several if evidence["processes"] > 1 else "the original's times from one fresh process"
    notes.append(
        f"{counted(result['evaluations'])} in {result['seconds']:.0f} s; {measured};"
        f" every time verified against {evidence['oracle']}."
    )
    notes += [f"The agent stopped early: {result['agent_stopped']}."] if result.get("agent_stopped") else []
    if result.get("model"):
        spent = result["model"]
        price = price_text(spent["usd"], unpriced=spent["unpriced"])
        notes.append(f"The model took {spent['tokens']:,} tokens, {price}: `warpsmith show {result['run']} --transcript`.")
    notes += doubt_notes(evidence)
    notes += _rounds(result)
    notes += warm_notes(result)
    notes.append(_identity(result))
    notes.append(f"Run {result['run']}, stored in {short(result['stored_in'])}")
    return notes


def unfinished_notes(result: Mapping[str, Any]) -> list[str]:
    """Of a run that has no result: how far it came, and how it goes on."""
    if result["status"] == "failed":
        return _failure(result)
    notes = [f"run {result['run']} is {result['status']}: {counted(result['evaluations']) or 'nothing evaluated yet'}"]
    if best := result.get("best_so_far"):
        figures = f"{speedup_text(best['speedup'])}  {configuration_text(best['config'])}"
        notes.append(f"best so far in the search (not a claim): {figures}")
    notes += warm_notes(result)
    if result["status"] == "searched":
        notes.append("it belongs to a comparison, which claims for all of its runs together")
    elif result["status"] == "running":
        notes.append("a process works on it; Ctrl-C there stops it, and everything measured so far is kept")
    elif result["status"] != "finished":
        notes.append(f"go on with: warpsmith resume {result['run']}")
    return notes


def gain_notes(result: Mapping[str, Any]) -> list[str]:
    """What must be known beside the speedup: that it is none or not certain, where the winner does harm, or may be wrong."""
    return [*_gain(result), *_lost(result["heldout"]), *_wrong_elsewhere(result["evidence"]), *_loose(result["evidence"])]


def doubt_notes(evidence: Mapping[str, Any]) -> list[str]:
    """Who else used the machine, what the device said against its times, and what its checkers said of the winners."""
    return [*_disturbed(evidence), *_slowed(evidence), *_checked(evidence)]


def _failure(result: Mapping[str, Any]) -> list[str]:
    """Of a run that failed: it would fail again, so nobody is told to resume it."""
    error = result.get("error")
    counts = counted(result["evaluations"])
    after = f" after {counts}" if counts else " before anything was evaluated"
    if error is None:
        return [f"run {result['run']} failed{after}; its record does not say why"]
    place = ":".join(str(error[key]) for key in ("file", "line", "column") if error[key] is not None)
    notes = [f"run {result['run']} failed{after}: {place + ': ' if place else ''}{error['message']}"]
    notes += [f"hint: {error['hint']}"] if error["hint"] else []
    return [*notes, "mend that, then start another run with `warpsmith tune`"]


def _gain(result: Mapping[str, Any]) -> list[str]:
    """Where there is none, or none that is certain."""
    general, found = result["general"], result["uncertain"]
    if not general["config"]:
        return [f"Nothing to search: {'the kernel has no parameters' if result['agent'] == NO_AGENT else _no_choice(result)}."]
    if found is not None:
        figures = f"{speedup_text(found['speedup'])}, from {found['ci95'][0]:.2f} to {found['ci95'][1]:.2f}"
        return [f"No certain gain, so the original stays. The best found is {configuration_text(found['config'])}: {figures}."]
    if general["config"] == result["baseline"]["config"]:
        tried = [*result["plan"], *result.get("rewrites", ())]
        seen = max((entry["speedup"] or 1.0 for entry in tried), default=1.0)
        looked = f"what looked like {speedup_text(seen)} in the search did not when it was measured again beside the original"
        return [f"No gain found: {looked if seen > 1.005 else 'the original configuration is the best that was measured'}."]
    # A run of an earlier version may claim such a one.
    return ["The interval includes 1: not distinguishable from the original."] if general["ci95"][0] <= 1 else []


def _no_choice(result: Mapping[str, Any]) -> str:
    """What became of the passes of a run that ended without a parameter."""
    applied, declined, postponed = (
        list(dict.fromkeys(name for entry in result["plan"] for name in entry.get(key, ())))
        for key in ("applied", "declined", "postponed")
    )
    if applied:
        return f"of what {', '.join(applied)} offered, nothing was left to choose from"
    if postponed:
        return f"no time was left for {', '.join(postponed)}"
    # A plan that names no pass was made when all of them had been asked.
    tried = f"none of the passes that were tried ({len(declined)})" if declined else "no pass"
    return f"{tried} had a choice to offer; `warpsmith templatize` says why, pass by pass"


def _lost(heldout: Mapping[str, Any]) -> list[str]:
    """Where the general configuration does harm: on shapes that nobody tuned for."""
    slower = [f"{workload} ({speedup_text(entry['speedup'])})" for workload, entry in heldout.items() if entry["ci95"][1] < 1]
    advice = "tune for such shapes, too, if they occur"
    return [f"Slower than the original on what was held out, {', '.join(slower)}: {advice}."] if slower else []


def _wrong_elsewhere(evidence: Mapping[str, Any]) -> list[str]:
    """Shapes that nobody declared, on which the original is right and the winner is not."""
    wrong = [entry for entry in evidence.get("odd_shapes") or () if not entry["passed"]]  # results of earlier versions lack it
    if not wrong:
        return []
    first = wrong[0]
    listed = "; ".join(configuration_text(entry["sizes"]) for entry in wrong)
    advice = "If others occur, say in [[constraints]] what it needs, or declare such a workload (heldout = true)."
    where = f"at {listed} ({first['reason']})"
    return [f"What was found is for the declared shapes only: it is wrong where the original is right, {where}. {advice}"]


def _identity(result: Mapping[str, Any]) -> str:
    """What the winner is in relation to the original."""
    if result["mode"] != "direct":
        return f"The template at its defaults is the original: {result['template']['certificate']['detail']}."
    number = result["general"]["config"]["REWRITE"]
    winner = next((entry for entry in result["rewrites"] if entry["rewrite"] == number), None)
    return f"Rewrite {number} ({winner['hypothesis']}): {short(winner['source'])}" if winner else "REWRITE=0 is the original."


def _loose(evidence: Mapping[str, Any]) -> list[str]:
    """Outputs for which `verified` means nothing."""
    found = evidence.get("passed_by_zeros") or {}  # results of earlier versions lack it
    if not found:
        return []
    listed = "; ".join(f"{', '.join(outputs)} on {workload}" for workload, outputs in found.items())
    advice = "Set a smaller atol in [reference], or give inputs that make them larger."
    return [f"Zeros would pass as well, so these outputs were not really verified: {listed}. {advice}"]


def _disturbed(evidence: Mapping[str, Any]) -> list[str]:
    share = evidence.get("others_share") or 0.0
    advice = "on a quiet machine the intervals are narrower"
    return [f"Other programs took up to {share:.0%} of the cores meanwhile: {advice}."] if share > _MUCH else []


def _slowed(evidence: Mapping[str, Any]) -> list[str]:
    """What the device itself says against its times."""
    reasons = dict.fromkeys(reason for reading in evidence.get("readings", ()) for reason in reading["slowed_by"])
    return [f"The device was slowed down while it was measured: {', '.join(reasons)}."] if reasons else []


def _checked(evidence: Mapping[str, Any]) -> list[str]:
    """What the device's checkers said of the configurations that were chosen."""
    checks = evidence.get("checks") or {"done": (), "out": {}, "not_done": ()}
    original = checks.get("original", {})  # results of earlier versions lack it
    clean = [check for check in checks["done"] if check not in original]
    passed = [f"Checked by {' and '.join(clean)}: what is claimed is clean."] if clean else []
    itself = [f"The original itself does not pass {check}, so nothing had to: {problem}." for check, problem in original.items()]
    out = [f"Out although it was faster: {name} ({problem})." for name, problem in checks["out"].items()]
    return [*passed, *itself, *out, *(f"Not checked: {reason}." for reason in checks["not_done"])]


def _rounds(result: Mapping[str, Any]) -> list[str]:
    return [
        f"In round {entry['round']}: {entry['reason']}{_postponed(entry)}; {entry['evaluations']} evaluations, "
        f"then {speedup_text(entry['speedup'])} as searched."
        for entry in result["plan"]
        if entry["speedup"] is not None
    ]


def _postponed(entry: Mapping[str, Any]) -> str:
    waiting = entry.get("postponed")  # results of earlier versions lack it
    return f" (no time was left for {', '.join(waiting)})" if waiting else ""


def warm_notes(result: Mapping[str, Any]) -> list[str]:
    return [
        f"Started warm from {entry['evaluations']} evaluations of {entry['kernel']} on {entry['device']}"
        f" ({short(entry['source'])})."
        for entry in result["warm"]
    ]
