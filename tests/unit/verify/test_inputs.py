import numpy as np
import pytest
from handmade_kernels import buffer, kernel, scalar

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.spec.kernel import Workload
from warpsmith.verify.inputs import generate, make_inputs, scalar_bytes


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
    with pytest.raises(InputError, match="no value"):
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
