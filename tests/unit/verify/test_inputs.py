from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from handmade_kernels import buffer, kernel, scalar

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.spec.kernel import Init, Reference, Role, Scalar, Workload
from warpsmith.verify.inputs import generate, make_inputs, scalar_bytes, scalar_value


def made(*arguments, seed=0, **options):
    k = kernel(*arguments, **options)
    return make_inputs(k, k.workloads[0], seed)


def test_the_same_seed_gives_the_same_values_whatever_the_other_arguments():
    x, y = buffer("x", "f32", "n", 3), buffer("y", "f32", "n", 3)
    one, two = made(x, y, sizes={"n": 50}), made(y, scalar("n", "i32", "n"), x, sizes={"n": 50})
    assert np.array_equal(one["x"], two["x"])
    assert not np.array_equal(one["x"], one["y"])
    assert not np.array_equal(one["x"], made(x, sizes={"n": 50}, seed=1)["x"])
    assert one["x"].shape == (50, 3)
    assert two["n"].shape == ()
    assert two["n"] == 50


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("kind", ["normal", "uniform", "randint", "zeros", "ones", "arange", "permutation"])
def test_every_kind_fills_every_dtype(kind, dtype):
    values = generate(kind, dtype, (5, 7), np.random.default_rng(0))
    assert values.dtype == dtype.numpy
    assert values.shape == (5, 7)
    assert values.flags.c_contiguous


def test_ranges():
    rng = np.random.default_rng(0)
    uniform = generate("uniform", DType.F32, (1000,), rng, low=-3.0, high=-1.0)
    assert -3 <= uniform.min() < -2.9
    assert -1.1 < uniform.max() <= -1
    whole = generate("randint", DType.I32, (1000,), rng, low=5, high=9)
    assert set(whole.tolist()) == {5, 6, 7, 8}
    assert set(generate("normal", DType.U8, (20_000,), rng).tolist()) == set(range(256))
    assert generate("normal", DType.I64, (1000,), rng).min() >= 0
    assert sorted(generate("permutation", DType.I32, (4, 25), rng).ravel().tolist()) == list(range(100))
    with pytest.raises(InputError, match="the range is empty"):
        generate("randint", DType.I32, (3,), rng, low=5, high=5)


def test_null_has_no_value_and_outputs_are_empty():
    values = made(buffer("p", "f32", 4, null=True), buffer("o", "f32", 4, role="out"))
    assert "p" not in values
    assert not values["o"].any()


def test_values_from_a_function_of_the_user(tmp_path):
    (tmp_path / "fill.py").write_text(
        "import numpy as np\n"
        "def starts(shape, rows, rng, lengths):\n"
        "    assert lengths.dtype == np.float32 and rng.random() < 1\n"
        "    return np.arange(shape[0]) * rows\n"
        "def bad(): return np.zeros(3)\n"
        "def raises(dtype):\n"
        "    return 1 // 0\n"
    )
    lengths = buffer("lengths", "bf16", 2)
    sizes = {"rows": 10}
    values = made(lengths, buffer("s", "i32", 4, python="fill.py:starts"), sizes=sizes, folder=tmp_path)
    assert values["s"].tolist() == [0, 10, 20, 30]
    assert values["s"].dtype == np.int32
    constant = buffer("c", "f32", 4, python="fill.py:starts")
    assert made(lengths, constants=[constant], sizes=sizes, folder=tmp_path)["c"].tolist() == [0, 10, 20, 30]
    with pytest.raises(InputError, match=r"shape \(3,\).*shape \(4,\)"):
        made(buffer("s", "i32", 4, python="fill.py:bad"), folder=tmp_path)
    with pytest.raises(InputError, match=r"fill\.py:7: raises\(\) raised ZeroDivisionError"):
        made(buffer("s", "i32", 4, python="fill.py:raises"), folder=tmp_path)
    with pytest.raises(InputError, match="no function 'start'\nhint: it has: starts"):
        made(buffer("s", "i32", 4, python="fill.py:start"), folder=tmp_path)
    with pytest.raises(InputError, match=r"no file .*gone\.py"):
        made(buffer("s", "i32", 4, python="gone.py:start"), folder=tmp_path)


@pytest.mark.parametrize(
    ("dtype", "value", "raw"),
    [
        ("i32", -2, "feffffff"),
        ("u8", 255, "ff"),
        ("bool", True, "01"),
        ("f32", 1, "0000803f"),
        ("f16", 1.5, "003e"),
        ("bf16", 1.5, "c03f"),
        ("f8e4m3", 1.0, "38"),
        ("u64", 2**63, "0000000000000080"),
    ],
)
def test_scalar_bytes(dtype, value, raw):
    assert scalar_bytes(scalar("s", dtype, 0), value).hex() == raw


@pytest.mark.parametrize(("dtype", "value"), [("u8", 256), ("u8", -1), ("i32", 1.5), ("i32", "text")])
def test_scalars_that_do_not_fit(dtype, value):
    with pytest.raises(InputError, match="scalar s"):
        scalar_bytes(scalar("s", dtype, 0), value)


def test_bounds_may_depend_on_the_workload():
    """Index buffers point into something as large as the workload says."""
    index = buffer("index", "i32", "n", kind="randint", low=Expression.parse("n / 2"), high=Expression.parse("n"))
    for n in (64, 1000):
        values = make_inputs(kernel(index), Workload("w", {"n": n}), 0)["index"]
        assert values.min() >= n // 2
        assert values.max() < n


def test_in_sparse_inputs_two_elements_of_each_row_stand_out_and_every_other_row_is_zero_elsewhere():
    x, y, w = buffer("x", "f32", 16, "n"), buffer("y", "f32", 16, "n"), buffer("w", "f32", "n")
    k = kernel(x, y, w, sizes={"n": 1000})
    seen = set()
    for seed in range(8):
        given = make_inputs(k, Workload("sparse", {"n": 1000}, is_sparse=True), seed)
        spike = given["x"].max()
        stands_out = given["x"] >= spike / 2
        assert (np.count_nonzero(stands_out, axis=1) == 2).all()
        assert np.array_equal(stands_out, given["y"] >= given["y"].max() / 2)
        assert (given["x"].max(axis=1) == spike).all()
        assert np.unique(given["x"][stands_out]).tolist() == [spike / 2, spike]
        assert spike / 2 >= 16 * np.abs(given["x"][~stands_out]).max()
        assert spike == 2.0 ** np.log2(spike).round()
        assert sorted(np.count_nonzero(given["x"], axis=1).tolist()) == [2] * 8 + [1000] * 8
        assert np.count_nonzero(given["w"]) == 1000  # what rows are multiplied by
        seen |= set(np.nonzero(stands_out)[1].tolist())
    assert {0, 499, 500, 999} <= seen
    assert len(seen) > 100


def test_spikes_show_in_a_sum_and_leave_the_rest_its_digits():
    x = replace(buffer("x", "f32", 4, "n"), init=Init("uniform"))
    given = make_inputs(kernel(x, sizes={"n": 100_000}), Workload("sparse", {"n": 100_000}, is_sparse=True), 0)["x"]
    for row in given:
        spikes = 1.5 * given.max()
        assert 0.2 <= spikes / row.sum(dtype=float) <= 1


def test_a_single_row_keeps_its_values_beside_the_spikes():
    given = make_inputs(kernel(buffer("x", "f32", "n"), sizes={"n": 1000}), Workload("sparse", {"n": 1000}, is_sparse=True), 0)[
        "x"
    ]
    assert np.count_nonzero(given) > 990
    assert np.count_nonzero(given >= given.max() / 2) == 2


def test_other_constants_are_other_than_kernel_toml_says():
    zeros, ones = (replace(buffer(kind, "f32", "n"), init=Init(kind)) for kind in ("zeros", "ones"))
    started = replace(zeros, name="started", role=Role.INOUT)
    places = replace(buffer("places", "i32", "n"), init=Init("arange"))
    k = kernel(zeros, ones, started, places, sizes={"n": 100})
    other = Workload("other", {"n": 100}, constants_factor=1.5)
    given = make_inputs(k, other, 0)
    assert np.isin(given["zeros"], (0, 1)).sum() == np.isin(given["ones"], (0, 1)).sum() == 0
    assert not given["started"].any()  # what is added to begins where it is said to
    assert np.array_equal(given["places"], np.arange(100))  # the original alone cannot say what others mean
    told = make_inputs(replace(k, reference=Reference(Path("r.py"), "f")), other, 0)["places"]
    assert (np.diff(told) >= 0).all()
    assert len(set(told.tolist())) == 50
    assert told.max() < 100


@pytest.mark.parametrize(("written", "value"), [("2.0", 3.0), ("0.0", 1.5), ("1.0 / n", 0.01)])
def test_other_constants_of_scalars(written: str, value: float):
    scalar = Scalar("a", DType.F32, Expression.parse(written))
    k = kernel(buffer("x", "f32", "n"), sizes={"n": 100})
    assert scalar_value(scalar, k, Workload("other", {"n": 100}, constants_factor=1.5)) == pytest.approx(value)


def test_what_may_not_be_zero_stays_as_it_is_on_sparse_inputs():
    x = replace(buffer("x", "f32", "n"), init=Init("uniform", low=1.0, high=2.0))
    given = make_inputs(kernel(x, sizes={"n": 100}), Workload("sparse", {"n": 100}, is_sparse=True), 0)
    assert given["x"].min() >= 1
