"""Figures that stand in a page: no ids in common, no colours of their own, words for those who do not see them."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
from stored_runs import searched

from warpsmith.core.outcome import Crashed, Evaluation
from warpsmith.report.by_value import draw_by_value
from warpsmith.report.course import best_so_far, draw_best, draw_evaluations
from warpsmith.report.inline import inline_svg
from warpsmith.report.style import STYLE


def ids(svg: str) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', svg))


def test_two_figures_share_no_id_and_refer_only_to_their_own():
    with mpl.rc_context(STYLE):
        one, other = (inline_svg(draw_best(searched(), against_time=True), name, "words <b>") for name in ("one", "other"))
    assert ids(one)
    assert not ids(one) & ids(other)
    assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', one)) == ids(one)
    assert 'aria-label="words &lt;b&gt;"' in one
    for gone in ("<?xml", "DOCTYPE", "http", "<style", "<metadata", "DejaVu", "#0072b2"):
        assert gone not in one
    assert "var(--series-0)" in one


def test_every_marker_says_what_it_is():
    known = searched()
    with mpl.rc_context(STYLE):
        drawn = draw_evaluations(known)
        svg = inline_svg(drawn.figure, "scatter", "all", drawn.tips)
    said = re.findall(r"<title>(.*?)</title>", svg)
    assert len(said) == len(known)
    assert "#1 measured 1.00x: BLOCK=32 ITEMS=1 FAST=0" in said
    assert any("crashed" in words for words in said)


def test_a_dollar_is_a_dollar():
    with mpl.rc_context(STYLE):
        svg = inline_svg(draw_by_value("$A_1$", {"$x^2$": [0.5, 1.0], "<b>": [2.0]}, "<b>"), "dollars", "")
    assert ">$A_1$<" in svg
    assert ">$x^2$<" in svg
    assert ">&lt;b&gt;<" in svg


def test_the_best_so_far_waits_for_the_first_time():
    known = searched()
    failed = Evaluation(known[0].configuration, Crashed("no"))
    assert np.isnan(best_so_far([failed])).all()
    course = best_so_far([failed, *known])
    assert np.isnan(course[0])
    assert course[1] == 1.0
    assert (np.diff(course[1:]) >= 0).all()
