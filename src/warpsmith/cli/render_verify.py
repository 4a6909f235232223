"""Output of `warpsmith verify`: a line per configuration and workload, and one per failing seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from warpsmith.report.wording import configuration_text

_KINDS = {"tuning": "", "heldout": " (held out)", "adversarial": " (adversarial)"}


def render_verification(found: Mapping[str, Any]) -> str:
    """The object of `verify --json`."""
    run = f"run {found['run']}" if found["run"] else "as it is"
    what = f"the files in {found['folder']}" if found["folder"] else run
    lines = [f"{found['kernel']}: {what} on {found['device']} ({found['device_description']}), against {found['oracle']}"]
    for configuration in found["configurations"]:
        values = configuration_text(configuration["config"])
        lines += ["", f"{configuration['name']}: {configuration.get('file', values)}"]
        own = [check for check in found["checks"] if check["configuration"] == configuration["name"]]
        for workload in dict.fromkeys(check["workload"] for check in own):
            lines += _of_workload([check for check in own if check["workload"] == workload])
        lines += _of_checkers([entry for entry in found["watched"] if entry["configuration"] == configuration["name"]])
    counts = found["counts"]
    failed = counts["failed"] + sum(entry["outcome"] == "failed" for entry in found["watched"])
    verdict = "all passed" if found["passed"] else f"{failed} failed"
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    seeds = ", ".join(map(str, found["seeds"]))
    return "\n".join([*lines, "", f"{verdict}: {counts['passed']} passed{skipped}, with inputs of the seeds {seeds}"])


def _of_workload(checks: list[dict[str, Any]]) -> Iterator[str]:
    where = f"{checks[0]['workload']}{_KINDS[checks[0]['kind']]}"
    for outcome, group in groupby(sorted(checks, key=lambda check: check["outcome"] != "passed"), key=lambda c: c["outcome"]):
        alike = list(group)
        seeds = ", ".join(str(check["seed"]) for check in alike)
        if outcome == "passed":
            largest = max(check["max_error"] for check in alike)
            yield f"  {where}: passed on seeds {seeds}; largest error {largest:.3g}"
            continue
        for reason, same in groupby(alike, key=lambda check: check["reason"]):
            numbers = ", ".join(str(check["seed"]) for check in same)
            yield f"  {where}: {_shown(outcome)} on seed {numbers}: {reason}"


def _of_checkers(entries: list[dict[str, str]]) -> Iterator[str]:
    """Those that say the same in one line."""
    for (outcome, reason), group in groupby(entries, key=lambda entry: (entry["outcome"], entry["reason"])):
        checks = ", ".join(entry["check"] for entry in group)
        yield f"  {checks}: nothing found" if outcome == "passed" else f"  {checks}: {_shown(outcome)}: {reason}"


def _shown(outcome: str) -> str:
    return outcome.upper() if outcome == "failed" else outcome
