"""The transpose: the oracle for transpose, exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def transpose(input: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: A002 - the kernel's own name for it
    return input.T
