"""Data about a watched binary that travels with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Watch:
    """Source positions of the accesses, and their objects."""

    granule: int  # bytes: no access is narrower
    is_ordering: bool  # blocks may hand each other results in order
    keeps_state: bool  # variables of the device outlive a launch
    lines: tuple[int, ...]  # of the sites, from 1; 0 where it is not known
    shared: tuple[str, ...]  # variables, in the order of their ranges
    variables: tuple[str, ...]  # of the threads' own, which are filled before they are used
    arguments: tuple[str, ...]
    sizes: tuple[int, ...]  # of an element of each, bytes
    written: tuple[int, ...]  # arguments that the kernel may write
    outputs: tuple[int, ...]  # those that nothing is in before
    assumptions: tuple[int, ...] = ()  # those of the sites that are no accesses: what the compiler may rely on
    shared_bytes: int = 0  # no variable in shared memory is larger

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> Watch:
        values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in json.loads(text).items()}
        return cls(**values)
