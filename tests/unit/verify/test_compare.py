import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core.dtype import DType
from warpsmith.verify.arena import FLOAT_POISON
from warpsmith.verify.compare import agree, compare

ROOM = 100_003  # several chunks, the last one short


def check(got, expected, rtol=1e-3, atol=1e-6):
    return compare("out", "w", np.asarray(got), np.asarray(expected), rtol, atol)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_a_rounded_result_passes_and_one_wrong_element_anywhere_fails(dtype):
    expected = np.random.default_rng(1).standard_normal(ROOM)
    got = expected.astype(dtype)
    assert check(got, expected, rtol=0.26, atol=0.04).passed
    for index in (0, 40_000, ROOM - 1):
        wrong = got.copy()
        wrong[index] = 100
        result = check(wrong, expected, rtol=0.26, atol=0.04)
        assert not result.passed
        assert result.where == (index,)
        assert float(result.got) == float(wrong[index])
        assert result.problem.startswith(f"1 of {ROOM} elements differ")


def test_where_is_an_index_of_the_shape_and_names_the_worst_failure():
    expected = np.zeros((3, 4, 5))
    expected[0, 0, 0] = 1e6  # off by more than the others, but within its tolerance
    got = expected.astype(np.float32)
    got[0, 0, 0] += 100
    got[1, 2, 3] = 0.25
    got[2, 3, 4] = 0.5
    result = check(got, expected)
    assert (result.where, result.max_error, result.got, result.expected) == ((2, 3, 4), 0.5, "0.5", "0")
    assert "2 of 60" in result.problem


def test_the_largest_error_is_told_also_when_all_is_well():
    result = check(np.array([1.0, 2.0005, 3.0]), np.array([1.0, 2.0, 3.0]))
    assert result.passed
    assert result.where == (1,)
    assert result.max_error == pytest.approx(0.0005)


@pytest.mark.parametrize(
    ("got", "expected", "passes"),
    [
        (math.nan, math.nan, True),
        (math.inf, math.inf, True),
        (-math.inf, -math.inf, True),
        (math.nan, 1.0, False),
        (1.0, math.nan, False),
        (1.0, math.inf, False),
        (math.inf, 1.0, False),
        (math.inf, -math.inf, False),
        (math.nan, math.inf, False),
    ],
)
def test_nan_and_infinity(got, expected, passes):
    ones = np.ones(7)
    got_array, expected_array = ones.copy(), ones.copy()
    got_array[4], expected_array[4] = got, expected
    result = check(got_array, expected_array)
    assert result.passed is passes
    assert passes or (result.where == (4,) and result.max_error == math.inf)


def test_integers_are_exact():
    expected = np.arange(ROOM, dtype=np.int64) + 2**60
    assert check(expected.copy(), expected, rtol=1, atol=1).passed
    got = expected.copy()
    got[70_000] += 1  # less than float64 tells apart
    result = check(got, expected, rtol=1, atol=1)
    assert not result.passed
    assert result.where == (70_000,)
    assert result.max_error > 0


def test_a_byte_that_is_no_bool_is_not_true():
    assert not check(np.array([1, 0xA5], np.uint8).view(np.bool_), np.array([True, True])).passed


def test_nothing_to_compare_passes():
    assert check(np.empty((0, 4)), np.empty((0, 4))).passed


finite_or_not = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(finite_or_not, finite_or_not), min_size=1, max_size=20), st.floats(0, 0.1), st.floats(0, 0.1))
def test_agrees_with_the_definition(pairs, rtol, atol):
    got = np.array([g for g, _ in pairs], np.float32)
    expected = np.array([e for _, e in pairs])
    close = np.isclose(got.astype(np.float64), expected, rtol=rtol, atol=atol, equal_nan=True)
    result = check(got, expected, rtol, atol)
    assert result.passed == bool(close.all())
    assert result.passed or not close[result.where]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_what_was_not_written_is_no_nan_that_was_computed(dtype):
    kind = DType(dtype).numpy
    expected = np.array([1.0, np.nan, np.nan])
    computed = np.array([1.0, np.nan, -np.nan]).astype(kind)
    assert compare("out", "w", computed, expected, 1e-3, 1e-3, poisoned=True).passed
    untouched = computed.copy()
    untouched.view(np.uint8)[-kind.itemsize :] = FLOAT_POISON
    assert compare("out", "w", untouched, expected, 1e-3, 1e-3).passed
    found = compare("out", "w", untouched, expected, 1e-3, 1e-3, poisoned=True)
    assert not found.passed
    assert "1 of 3 elements differ, worst at [2]: got nothing (not written), expected nan" in found.problem


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.F16, DType.BF16, DType.F8E5M2])
def test_outputs_agree_as_they_compare(dtype):
    rng = np.random.default_rng(0)
    one = rng.standard_normal(100_000).astype(dtype.numpy)
    assert agree(one, one.copy(), 0.0, 0.0)
    near = (one.astype(np.float64) * (1 + 0.3 * dtype.tolerance[0])).astype(dtype.numpy)
    rtol, atol = (2 * allowed for allowed in dtype.tolerance)
    assert agree(near, one, rtol, atol)
    for value in (np.nan, np.inf, 100.0):
        far = one.copy()
        far[77_777] = value
        assert not agree(far, one, rtol, atol)
        assert not agree(one, far, rtol, atol)
        assert agree(far, far.copy(), 0.0, 0.0)


def test_integers_agree_when_they_are_equal():
    one = np.arange(1000, dtype=np.int32)
    assert agree(one, one.copy(), 1.0, 1.0)
    assert not agree(one, one + (one == 999), 1.0, 1.0)
