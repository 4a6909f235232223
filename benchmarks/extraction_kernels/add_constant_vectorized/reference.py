"""Adds three."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def add_constant(src: NDArray[Any]) -> NDArray[Any]:
    return src + 3
