"""A 9 x 9 filter in float64: the oracle for convolution_opencl."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def convolution(
    input: NDArray[np.float32],  # noqa: A002 - the kernel's own name for it
    filter: NDArray[np.float32],  # noqa: A002
    height: int,
    width: int,
) -> NDArray[np.float64]:
    image, taps = input.astype(np.float64), filter.astype(np.float64)
    out = np.zeros((height, width))
    for i, row in enumerate(taps):
        for j, tap in enumerate(row):
            out += tap * image[i : i + height, j : j + width]
    return out
