"""How an array was filled is told from its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpsmith.spec.kernel_tuner.problem import ArrayFill
from warpsmith.spec.kernel_tuner.run.fills import fill_of

RNG = np.random.default_rng(7)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((3, 4)), ArrayFill("zeros")),
        (np.ones(5, np.int32), ArrayFill("ones")),
        (np.arange(100), ArrayFill("arange")),
        (RNG.permutation(50), ArrayFill("permutation")),
        (RNG.standard_normal(5000).astype(np.float32), ArrayFill("normal")),
        (RNG.random((40, 50)).astype(np.float16), ArrayFill("uniform", 0, 1)),
        (RNG.random(289) * 4 - 2, ArrayFill("uniform", -2, 2)),
        (RNG.uniform(0, 255, 9000), ArrayFill("uniform", 0, 255)),
        (RNG.integers(3, 10, 1000), ArrayFill("randint", 3, 10)),
        (RNG.integers(0, 256, (100, 100)).astype(np.uint8), ArrayFill("randint", 0, 256)),
        (RNG.integers(0, 2, 100).astype(bool), ArrayFill("randint", 0, 2)),
        (np.sin(np.arange(1000)), ArrayFill()),
        (np.full(9, 3.0), ArrayFill()),
        (np.array([1.0, 2.0, 3.0]), ArrayFill()),
        (RNG.normal(3, 1, 1000), ArrayFill()),
        (np.full(20, np.nan), ArrayFill()),
    ],
)
def test_the_word_that_fits(array: np.ndarray[Any, Any], expected: ArrayFill):
    assert fill_of(array) == expected


def test_sums_and_ramps_were_not_drawn():
    """The starts of a sparse matrix' rows are spread evenly; drawn anew they would lead anywhere."""
    assert fill_of(np.cumsum(RNG.integers(0, 9, 1000))) == ArrayFill()
    assert fill_of(np.linspace(0, 1, 500)) == ArrayFill()


def test_what_is_drawn_is_hardly_ever_missed():
    found = [fill_of(np.random.default_rng(seed).random(500).astype(np.float32)).kind for seed in range(400)]
    assert found.count("uniform") >= 395
