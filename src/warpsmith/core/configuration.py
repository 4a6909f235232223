"""Configurations: one assignment of every parameter. Owns their identity; what is feasible is the space's business."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True, eq=False)
class Configuration(Mapping[str, Value]):
    """An immutable, hashable mapping from parameter name to value, in the parameters' order."""

    pairs: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, mapping: Mapping[str, Value]) -> Configuration:
        return cls(tuple(mapping.items()))

    def __getitem__(self, name: str) -> Value:
        for key, value in self.pairs:
            if key == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __hash__(self) -> int:
        # Equality is the mapping's: the order of the parameters does not count.
        return hash(frozenset(self.pairs))

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.pairs) or "(no parameters)"

    @property
    def key(self) -> str:
        """Canonical text: the same assignment has the same key whatever the order of its parameters."""
        return json.dumps(dict(self.pairs), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_key(cls, key: str) -> Configuration:
        return cls.of(json.loads(key))
