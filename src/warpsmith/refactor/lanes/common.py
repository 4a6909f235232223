"""What the modules of this folder agree on."""

from __future__ import annotations

LANES = 32
