"""`Problem`: an error in a reply, worded so that the model can fix it."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818 - reads as the fact it states
    """Goes back to the model, which may answer again a bounded number of times."""
