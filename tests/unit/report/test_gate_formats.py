"""What continuous integration reads of a gate."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from warpsmith.report.gate import junit, markdown


def _check(name: str, outcome: str, message: str) -> dict[str, Any]:
    return {"check": name, "outcome": outcome, "message": message, "seconds": 1.25}


RESULT: dict[str, Any] = {
    "device_description": "a CPU",
    "level": 0.05,
    "tolerance": 0.02,
    "winners": [
        {
            "winner": "a/one",
            "passed": True,
            "checks": [_check("verify", "passed", "12 checks"), _check("time", "new", "no figure")],
        },
        {"winner": "two", "passed": False, "checks": [_check("verify", "failed", "a < b | c\nsecond \x1b line")]},
    ],
}


def test_junit_has_a_case_for_each_check():
    root = ET.fromstring(junit(RESULT))
    suites = {suite.get("name"): suite for suite in root}
    assert {name: (s.get("tests"), s.get("failures"), s.get("skipped")) for name, s in suites.items()} == {
        "a/one": ("2", "0", "1"),
        "two": ("1", "1", "0"),
    }
    failure = suites["two"].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "a < b | c"
    assert "second" in (failure.text or "")


def test_markdown_is_one_table_whatever_a_message_has_in_it():
    text = markdown(RESULT)
    assert text.startswith("### Warpsmith: 1 of 2 stored winners fail on a CPU\n")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "check" not in line.split("|")[2]]
    assert len(rows) == 3
    assert "a &lt; b \\| c second" in rows[2]
    passing = markdown({**RESULT, "winners": RESULT["winners"][:1]})
    assert "1 stored winners pass" in passing
