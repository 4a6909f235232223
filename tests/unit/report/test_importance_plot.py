"""The plot of what mattered: both files, the same bytes each time, every parameter named, one-parameter runs too."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.report.importance import draw_importance
from warpsmith.search.importance import Importance, PairEffect, ParameterEffect, ValueEffect


def importance(count: int) -> Importance:
    names = [f"P{n}" for n in range(count)]
    parameters = tuple(
        ParameterEffect(name, 0.6 / 2**n, (ValueEffect(1, 1.0, 9), ValueEffect(2, 1.5 + n, 3))) for n, name in enumerate(names)
    )
    pairs = tuple(PairEffect(b, a, 0.01 * (i + 1)) for i, a in enumerate(names) for b in names[:i])
    return Importance(40, 2, 500, False, 0.87, 3.0, parameters, pairs)


@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_both_files_with_the_strongest_named(count: int, tmp_path: Path):
    vector, bitmap = draw_importance(importance(count), "scale on cpu", tmp_path / "new" / "importance")
    assert bitmap.read_bytes().startswith(b"\x89PNG")
    text = vector.read_text()
    for name in [f"P{n}" for n in range(count)][:12]:
        assert f">{name}<" in text
    assert ">P12<" not in text
    assert "estimated by a model of 40 measured configurations" in text
    assert "R² 0.87" in text
    assert ("pairs" in text) == (count > 1)


def test_the_same_figures_give_the_same_file(tmp_path: Path):
    first, _ = draw_importance(importance(5), "t", tmp_path / "one")
    again, _ = draw_importance(importance(5), "t", tmp_path / "two")
    assert first.read_bytes() == again.read_bytes()
