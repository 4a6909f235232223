"""Reads `ptxas -v` output: the only source that distinguishes spills from other stack use."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PROPERTIES = re.compile(r"Function properties for (\S+)")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: (Used \d+ registers.*)")
_CHATTER = re.compile(r"^ptxas (?:info\s*:|\s+\.)")


@dataclass(frozen=True, slots=True)
class Spills:
    """Bytes per thread stored and loaded because registers ran out, counted statically (a loop's body once)."""

    store_bytes: int
    load_bytes: int


def read_spills(log: str, kernel: str) -> Spills:
    """Raises ValueError if the log does not mention the kernel."""
    lines = iter(log.splitlines())
    for line in lines:
        match = _PROPERTIES.search(line)
        if match is not None and match[1] == kernel and (spills := _SPILLS.search(next(lines, ""))):
            return Spills(int(spills[2]), int(spills[3]))
    raise ValueError(f"the log of ptxas has no properties of {kernel}")


def usage(log: str, kernel: str) -> str | None:
    """The line of ptxas about registers, barriers and memory."""
    name = None
    for line in log.splitlines():
        if match := _PROPERTIES.search(line):
            name = match[1]
        elif name == kernel and (match := _USED.match(line)):
            return match[1]
    return None


def without_chatter(log: str) -> str:
    """The log without ptxas' routine messages."""
    return "\n".join(line for line in log.splitlines() if not _CHATTER.match(line)).strip()
