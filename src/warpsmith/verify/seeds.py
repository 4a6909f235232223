"""Input seeds: secret until they are recorded, so that no kernel can be written for its inputs."""

from __future__ import annotations

import secrets

import numpy as np

from warpsmith.settings import input_seed

_BITS = 48  # short enough to be typed


def fresh_seed() -> int:
    return fresh_seeds(1)[0]


def fresh_seeds(number: int) -> tuple[int, ...]:
    """New random seeds; with WARPSMITH_INPUT_SEED the same in every process, starting with that seed."""
    wanted = input_seed()
    if wanted is None:
        return tuple(secrets.randbits(_BITS) for _ in range(number))
    further = np.random.default_rng(wanted).integers(1 << _BITS, size=number - 1)
    return (wanted, *map(int, further))
