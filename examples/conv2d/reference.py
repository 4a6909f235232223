"""A 3 x 3 convolution in float64: the oracle for conv2d."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def conv2d(input: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float64]:  # noqa: A002 - the kernel's own name
    _, height, width = input.shape
    padded = np.pad(input.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    shifts = [padded[:, dy : dy + height, dx : dx + width] for dy in range(3) for dx in range(3)]
    taps = weight.astype(np.float64).reshape(weight.shape[0], weight.shape[1], 9)
    out = np.zeros((weight.shape[0], height, width))
    for t, shift in enumerate(shifts):
        out += np.tensordot(taps[:, :, t], shift, axes=1)
    return out
