"""From times to model targets: logarithms, with the slow end compressed.

Which of two slow configurations is slower does not matter, and a model that spends its flexibility there is worse where it does.
So distances from the best are compressed: nearly kept below the scale, logarithmically beyond it.
"""

from __future__ import annotations

import numpy as np

from warpsmith.core.arrays import Array

_SCALE_QUANTILE = 0.5
_SMALLEST_SCALE = 0.02


def modelled(above: Array, variances: Array) -> tuple[Array, Array, float]:
    """`above`: how far each log time lies above the best. Gives standardised targets, variances on their scale, and its slope.

    The slope at the best: how far on that scale a small step of log time from it goes.
    """
    scale = max(float(np.quantile(above, _SCALE_QUANTILE)), _SMALLEST_SCALE)
    compressed = np.log1p(above / scale)
    deviation = float(compressed.std()) or 1.0
    slope = 1 / ((above + scale) * deviation)
    targets: Array = (compressed - compressed.mean()) / deviation
    return targets, variances * slope**2, 1 / (scale * deviation)
