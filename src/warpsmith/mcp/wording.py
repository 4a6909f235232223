"""Rewords command-line hints in errors as tool calls for clients."""

from __future__ import annotations

import re

# In this order: the first that fits a place is taken.
_TOOLS = (
    (r"`warpsmith show (\S+) --evaluations`", r"`explain` with run='\1'"),
    (r"`warpsmith show`", "`list_jobs`"),
    (r"`warpsmith tune[^`]*`", "`start_tuning`"),
    (r"`warpsmith resume (\S+)`", r"`resume_tuning` with run='\1'"),
    (r"`warpsmith devices`", "`list_devices`"),
    (r"`warpsmith init[^`]*`", "`draft_kernel`"),
    (r"`warpsmith verify[^`]*`", "`check_kernel`"),
    (r"`warpsmith export[^`]*`", "`export_result`"),
    (r"--force\b", "`force`"),
)


def in_tools(text: str) -> str:
    for words, tool in _TOOLS:
        text = re.sub(words, tool, text)
    return text
