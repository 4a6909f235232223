"""What people read of an importance: never more than the model knows."""

from __future__ import annotations

from typing import Any

import pytest

from warpsmith.cli.render_importance import render_importance
from warpsmith.search.importance import Importance, PairEffect, ParameterEffect, TooFewResults, ValueEffect
from warpsmith.tuning.afterwards.explain import importance_entry


def shown(capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    values = (ValueEffect(32, 1.8, 4), ValueEffect(256, 1.0, 30))
    parameters = (ParameterEffect("BLOCK", 0.6, values), ParameterEffect("VEC", 0.001, values))
    facts: dict[str, Any] = {"measured": 34, "failed": 3, "predicted": 120, "sampled": False, "r2": 0.9, "spread": 2.5}
    pairs = (PairEffect("BLOCK", "VEC", 0.2),)
    render_importance(importance_entry(Importance(**{**facts, "parameters": parameters, "pairs": pairs, **changes})))
    return " ".join(capsys.readouterr().out.split())


def test_the_table(capsys: pytest.CaptureFixture[str]):
    text = shown(capsys)
    assert "estimated by a model" in text
    assert "BLOCK 60% 256 32 1.80x" in text
    assert "VEC 0% - - -" in text, "without an effect there is no best value"
    assert "BLOCK × VEC 20%" in text
    assert "34 measured configurations (3 failed), predicted for all 120 feasible ones; R² 0.90" in text
    assert "hint" not in text


def test_doubts_are_said(capsys: pytest.CaptureFixture[str]):
    assert "unknown, the model explains too little of the 34 measured times (R² 0.30" in shown(capsys, r2=0.3)
    assert "a sample of 20,000 feasible ones" in shown(capsys, sampled=True, predicted=20_000)
    nothing = shown(capsys, r2=-0.2)
    assert "unknown" in nothing
    assert "BLOCK" not in nothing
    render_importance(importance_entry(TooFewResults(7)))
    assert "too few results (7 measured, 15 needed)" in capsys.readouterr().out
