"""Bracket matching, in characters or token texts. The caller says which brackets count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ROUND = {"(": 1, ")": -1}
ANY = {**ROUND, "[": 1, "]": -1, "{": 1, "}": -1}


def until_closed(texts: Iterable[str], depths: Mapping[str, int]) -> int | None:
    """How many texts it takes to close the bracket that is the first; None where it stays open.

    `depths` says how many levels deeper each text leads.
    """
    depth = 0
    for count, text in enumerate(texts, start=1):
        depth += depths.get(text, 0)
        if depth <= 0:
            return count
    return None
