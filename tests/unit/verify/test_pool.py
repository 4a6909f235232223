"""Fresh inputs: what a draw stands for, to the tuner and to the worker, and what it keeps of what `init` asks for."""

import os

import numpy as np
import pytest
from handmade_kernels import kernel
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core.dtype import DType
from warpsmith.core.expression import Expression
from warpsmith.spec.kernel import Buffer, Init, Role, Workload
from warpsmith.verify.inputs import flippable, generate, make_inputs, make_material
from warpsmith.verify.pool import FIRST, SPAN_BYTES, InputPool, Material, fill, mapped

KINDS = [
    ("f32", "normal", None, None),
    ("f64", "normal", None, None),
    ("f16", "normal", None, None),
    ("bf16", "normal", None, None),
    ("f32", "uniform", None, None),
    ("f32", "uniform", 0.0, 8.0),
    ("f32", "uniform", -3.0, 5.0),
    ("f16", "uniform", 0.0, 1.0),
    ("i32", "randint", None, None),
    ("i32", "randint", 5.0, 12.0),
    ("i64", "randint", 0.0, 1024.0),
    ("i8", "randint", None, None),
    ("u8", "randint", None, None),
    ("bool", "randint", None, None),
    ("i32", "permutation", None, None),
]


def pool_of(dtype, kind, low=None, high=None, n=5000, name="x"):
    x = Buffer(name, DType(dtype), (Expression.parse("n"),), Role.IN, Init(kind, low, high))
    k = kernel(x, sizes={"n": n})
    inputs, materials = make_material(k, k.workloads[0], 3)
    return inputs[name], InputPool.of(materials, np.random.default_rng(1))


def drawn(pool, like, draw, name="x"):
    got = np.empty_like(like)
    pool.fill(name, draw, got.view(np.uint8))
    return got


@pytest.mark.parametrize(("dtype", "kind", "low", "high"), KINDS)
def test_a_draw_is_as_init_asks_and_unlike_every_other(dtype, kind, low, high):
    first, pool = pool_of(dtype, kind, low, high)
    assert np.array_equal(drawn(pool, first, FIRST).view(np.uint8), first.view(np.uint8))
    one, other = (drawn(pool, first, pool.fresh_draw()) for _ in range(2))
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, first)
    wide = one.astype(np.float64)
    if kind == "permutation":
        assert sorted(one.tolist()) == list(range(5000))
    elif kind == "normal":
        assert np.isfinite(wide).all()
        assert abs(wide.mean()) < 0.1
        assert 0.95 < wide.std() < 1.05
    elif kind == "uniform":
        begins, ends = low or 0.0, high or 1.0
        assert begins <= wide.min()
        assert wide.max() <= ends
        assert abs(wide.mean() - (begins + ends) / 2) < 0.05 * (ends - begins)
    else:
        begins, end = generate("randint", DType(dtype), (100_000,), np.random.default_rng(0), low=low, high=high).min(), high
        assert begins <= one.min()
        assert end is None or one.max() < end


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_hardly_a_value_stays_as_it_was(kind):
    first, pool = pool_of("f32", kind)
    one = drawn(pool, first, pool.fresh_draw())
    # Whatever windows two draws may have: no shift of one is the other.
    assert max(np.mean(np.roll(one, shift) == first) for shift in range(0, 5000, 16)) < 0.01


def test_sums_differ_from_draw_to_draw():
    first, pool = pool_of("f32", "normal", n=100_000)
    sums = {round(float(drawn(pool, first, pool.fresh_draw()).sum()), 1) for _ in range(50)}
    assert len(sums) > 45


@pytest.mark.parametrize("kind", ["zeros", "ones", "arange"])
def test_what_init_fixes_stays(kind):
    first, pool = pool_of("f32", kind)
    assert not pool.recipes["x"].varies
    assert np.array_equal(drawn(pool, first, pool.fresh_draw()), first)


def test_the_first_draw_is_what_the_inputs_are():
    x = Buffer("x", DType.F32, (Expression.parse("n"),), Role.IN, Init("normal"))
    k = kernel(x, sizes={"n": 77})
    inputs, _ = make_material(k, k.workloads[0], 9)
    assert np.array_equal(inputs["x"], make_inputs(k, k.workloads[0], 9)["x"])


def test_what_a_function_makes_and_looks_at_is_drawn_together(tmp_path):
    (tmp_path / "f.py").write_text("def order(x, shape):\n    return x.argsort()\n")
    n = (Expression.parse("n"),)
    x = Buffer("x", DType.F32, n, Role.IN, Init("normal"))
    alone = Buffer("alone", DType.F32, n, Role.IN, Init("normal"))
    places = Buffer("places", DType.I32, n, Role.IN, Init("python", python="f.py:order"))
    k = kernel(x, alone, places, sizes={"n": 300})
    object.__setattr__(k, "path", tmp_path / "kernel.toml")
    inputs, materials = make_material(k, k.workloads[0], 0)
    pool = InputPool.of(materials, np.random.default_rng(0))
    seen = set()
    for _ in range(30):
        draw = pool.fresh_draw()
        values, order = drawn(pool, inputs["x"], draw), drawn(pool, inputs["places"], draw, "places")
        assert np.array_equal(values.argsort(), order)
        seen.add(order.tobytes())
    assert len(seen) == 3
    assert pool.recipes["alone"].mask >= 0


@given(draw=st.integers(0, 1 << 62), n=st.integers(1, 70_000), begin=st.integers(0, 1 << 20))
def test_tuner_and_worker_make_the_same_of_a_draw(draw, n, begin):
    rng = np.random.default_rng(n)
    values = rng.bytes(4 * n + SPAN_BYTES)
    material = Material(np.frombuffer(values, np.float32), 4 * n, span=SPAN_BYTES, flips=0x807FFFFF)
    pool = InputPool.of({"x": material}, rng)
    try:
        ours, theirs = np.zeros(4 * n, np.uint8), np.zeros(4 * n, np.uint8)
        pool.fill("x", draw, ours)
        fill(theirs, mapped(pool.fd), pool.recipes["x"].contents(draw))
        assert np.array_equal(ours, theirs)
        assert pool.first_difference("x", draw, ours) is None
        place = begin % (4 * n)
        ours[place] ^= 1
        assert pool.first_difference("x", draw, ours) == place
    finally:
        pool.close()


def test_nobody_can_write_the_pool():
    _, pool = pool_of("f32", "normal")
    with pytest.raises(PermissionError):
        os.pwrite(pool.fd, b"x", 0)
    with pytest.raises(PermissionError):
        os.ftruncate(pool.fd, 0)


def test_large_values_are_not_flipped_to_what_is_no_number():
    x = Buffer("x", DType.F8E4M3, (Expression.parse("n"),), Role.IN, Init("normal"))
    k = kernel(x, sizes={"n": 4000})
    large = Workload("large", {"n": 4000}, scale=100.0)
    inputs, materials = make_material(k, large, 0)
    pool = InputPool.of(materials, np.random.default_rng(0))
    nans = np.isnan(inputs["x"].astype(np.float32)).sum()
    assert np.isnan(drawn(pool, inputs["x"], pool.fresh_draw()).astype(np.float32)).sum() <= nans + 40


@pytest.mark.parametrize(("low", "high", "bits"), [(0, 8, 7), (8, 16, 7), (4, 12, 0), (0, 7, 0), (-8, 0, 7)])
def test_integers_keep_their_range(low, high, bits):
    assert flippable("randint", DType.I32, low, high) == bits
