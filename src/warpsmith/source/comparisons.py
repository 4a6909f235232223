"""C's comparisons of order: the same with its sides exchanged, and the opposite."""

from __future__ import annotations

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
