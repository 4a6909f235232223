"""`Problem`: what is wrong with a reply, in words that the model can act on."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818 - reads as the fact it states
    """Goes back to the model, which may answer again a bounded number of times."""
