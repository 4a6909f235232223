"""A gate's result for CI systems: JUnit XML, and a table in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from warpsmith.core.plain_text import printable

_MARKS = {"passed": "✅", "failed": "❌", "new": "🆕", "skipped": "➖"}


def junit(result: Mapping[str, Any]) -> str:
    """A suite for each winner, a case for each check."""
    root = ET.Element("testsuites", name="warpsmith gate")
    for winner in result["winners"]:
        checks = winner["checks"]
        counts = {kind: sum(check["outcome"] == kind for check in checks) for kind in ("failed", "skipped", "new")}
        suite = ET.SubElement(
            root,
            "testsuite",
            name=winner["winner"],
            tests=str(len(checks)),
            failures=str(counts["failed"]),
            skipped=str(counts["skipped"] + counts["new"]),
            time=f"{sum(check['seconds'] for check in checks):.3f}",
        )
        for check in checks:
            name, message = check["check"], printable(check["message"], also="\n")
            seconds = f"{check['seconds']:.3f}"
            case = ET.SubElement(suite, "testcase", classname=winner["winner"], name=name, time=seconds)
            if check["outcome"] == "failed":
                ET.SubElement(case, "failure", message=message.partition("\n")[0]).text = message
            elif check["outcome"] in {"skipped", "new"}:
                ET.SubElement(case, "skipped", message=message)
            else:
                ET.SubElement(case, "system-out").text = message
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def markdown(result: Mapping[str, Any]) -> str:
    """What goes under a pull request."""
    failed = [winner for winner in result["winners"] if not winner["passed"]]
    count = len(result["winners"])
    said = f"{len(failed)} of {count} stored winners fail" if failed else f"{count} stored winners pass"
    device = f" on {result['device_description']}" if result["device_description"] else ""
    lines = [f"### Warpsmith: {said}{device}", "", "| winner | check | | |", "|---|---|---|---|"]
    for winner in result["winners"]:
        for check in winner["checks"]:
            cells = [winner["winner"], check["check"], _MARKS[check["outcome"]], check["message"]]
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
    lines += [
        "",
        f"The probability of any false alarm is below {result['level']:.0%}; slowdowns up to {result['tolerance']:.0%} pass.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return printable(" ".join(text.split())).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
