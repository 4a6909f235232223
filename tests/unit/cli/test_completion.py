"""The shell completes commands and options."""

from __future__ import annotations

import pytest

from warpsmith.cli import main


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("warpsmith tun", "tune"), ("warpsmith tune --evalu", "--evaluations"), ("warpsmith schema k", "kernel")],
)
def test_what_was_begun_is_completed(monkeypatch, capsys, typed: str, expected: str):
    monkeypatch.setenv("_WARPSMITH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    monkeypatch.setattr("sys.argv", ["warpsmith"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert expected in capsys.readouterr().out.split()
