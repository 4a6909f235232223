"""What a watched binary's program has to know; it travels with the binary."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Watch:
    """Where the accesses are in the source, and what they go to."""

    granule: int  # bytes: no access is narrower
    fenced: bool  # blocks may hand each other results in order
    lines: tuple[int, ...]  # of the sites, from 1; 0 where it is not known
    shared: tuple[str, ...]  # variables, in the order of their ranges
    arguments: tuple[str, ...]
    shared_bytes: int = 0  # no variable in shared memory is larger

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> Watch:
        values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in json.loads(text).items()}
        return cls(**values)
