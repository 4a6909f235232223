"""`warpsmith doctor` where there is no GPU: the CPU device launches, and what is not there is no failure."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from warpsmith.cli import main


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["warpsmith", "doctor", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(monkeypatch, "--device", "cpu", "--device", "cuda:7", "--json") == 3  # the second is not here
    text = capsys.readouterr().out
    cpu, cuda = json.loads(text)["devices"]
    assert cpu["launch"]["median_us"] > 0
    assert cuda["launch"] is None
    assert all(finding["remedy"] or finding["state"] in {"ok", "absent"} for finding in cuda["findings"])
    assert str(Path.home()) not in text


def test_what_works_is_said_last(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(monkeypatch, "--device", "cpu") == 0
    assert capsys.readouterr().out.endswith("A kernel was launched and verified on cpu.\n")
