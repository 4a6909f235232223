import textwrap

import numpy as np
import pytest
from handmade_kernels import buffer, kernel, scalar

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Geometry
from warpsmith.spec.kernel import Reference
from warpsmith.verify.inputs import make_inputs
from warpsmith.verify.oracle import expected_outputs

GEOMETRY = Geometry((4, 1, 1), (32, 2, 1))


@pytest.fixture
def oracle(tmp_path):
    """The expected outputs of a reference given as text."""

    def run(body, *arguments, **sizes):
        file = tmp_path / "reference.py"
        file.write_text("import numpy as np\n" + textwrap.dedent(body))
        k = kernel(*arguments, sizes=sizes, reference=Reference(file, "ref"))
        inputs = make_inputs(k, k.workloads[0], 0)
        return inputs, expected_outputs(k, k.workloads[0], inputs, GEOMETRY)

    return run


X = buffer("x", "f32", "n")
OUT = buffer("out", "f32", "n", role="out")


def test_without_a_reference_there_is_none():
    k = kernel(X, OUT, sizes={"n": 3})
    assert expected_outputs(k, k.workloads[0], {}, GEOMETRY) is None


def test_a_single_output_may_be_bare_and_is_float64(oracle):
    inputs, expected = oracle("def ref(x): return np.exp(x.astype(np.float64))", X, OUT, n=5)
    assert expected["out"].dtype == np.float64
    assert np.array_equal(expected["out"], np.exp(inputs["x"].astype(np.float64)))


def test_what_a_reference_may_ask_for(oracle):
    body = """
        def ref(in_, scale, flag, n, grid, block, nothing, table, **rest):
            assert in_.dtype == np.float32 and not in_.flags.writeable
            assert type(scale) is float and type(flag) is int and n == 6
            assert grid == (4, 1, 1) and block == (32, 2, 1) and nothing is None
            assert table.dtype == np.int32
            assert set(rest) == {"in", "acc", "out", "m"}
            rest["acc"] += 1
            return {"acc": rest["acc"], "out": in_ * scale}
    """
    arguments = (
        buffer("in", "bf16", "n"),
        scalar("scale", "f16", 0.5),
        scalar("flag", "bool", 1),
        buffer("nothing", "f32", 1, null=True),
        buffer("acc", "i32", "n", role="inout"),
        buffer("out", "f8e5m2", "n", role="out"),
        buffer("table", "i32", 2),
    )
    body = body.replace("type(flag) is int", "flag is True")
    inputs, expected = oracle(body, *arguments, n=6, m=1)
    assert np.array_equal(expected["acc"], inputs["acc"] + 1)
    assert expected["acc"].dtype == np.int32
    assert np.array_equal(expected["out"], inputs["in"].astype(np.float64) / 2)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_a_reference_computes_in_float64(oracle, dtype):
    body = """
        def ref(x):
            assert x.dtype == np.float64 and not x.flags.writeable
            return (1e5 * x * x).sum(keepdims=True)  # infinite in half precision
    """
    inputs, expected = oracle(body, buffer("x", dtype, "n"), buffer("out", "f32", 1, role="out"), n=9)
    assert expected["out"][0] == pytest.approx((1e5 * inputs["x"].astype(np.float64) ** 2).sum())


def test_shapes_that_differ_only_in_form_are_taken(oracle):
    wide = buffer("out", "f32", "n", 1, 2, role="out")
    _, expected = oracle("def ref(n): return np.arange(2 * n)", wide, n=3)
    assert expected["out"].shape == (3, 1, 2)
    _, expected = oracle("def ref(n): return np.arange(2 * n).reshape(n, 2)", wide, n=4)
    assert expected["out"].shape == (4, 1, 2)


def test_beyond_the_largest_number_infinity_is_expected(oracle):
    for dtype, largest, beyond in (("f16", 65504, np.inf), ("f8e4m3", 448, 448), ("f8e5m2", 57344, np.inf)):
        out = buffer("out", dtype, 4, role="out")
        _, expected = oracle(f"def ref(): return np.array([{largest}, {largest} * 2, -{largest} * 2, np.nan])", out)
        assert expected["out"][:3].tolist() == [largest, beyond, -beyond]
        assert np.isnan(expected["out"][3])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def ref(y): return 0", r"ref\(\) asks for 'y', which does not exist\nhint: it may ask for: .*x"),
        ("def ref(x): return x[:2]", r"ref\(\) on workload 'w': out has shape \(2,\); expected \(3,\)"),
        ("def ref(x): return {'oot': x}", r"ref\(\) returned \['oot'\]\nhint: the outputs are: out"),
        ("def ref(x): return None", r"ref\(\) returned a NoneType\nhint: return a dict with the keys 'out'"),
        ("def ref(x): return (x, x)", r"ref\(\) returned a tuple"),
        ("def ref(x): return x.astype(str)", r"out has dtype <U32; expected numbers for f32"),
        ("def ref(x):\n    y = x\n    return y.nothing", r"reference\.py:4: ref\(\) raised AttributeError"),
        ("def ref(x):\n    x[0] = 1", r"reference\.py:3: ref\(\) raised ValueError: assignment destination is read-only"),
        ("def other(x): return x", r"reference\.py: no function 'ref'\nhint: it has: other"),
        ("def ref(x) return x", r"reference\.py:2:\d+: loading it raised SyntaxError"),
        ("import nonsense_module", r"reference\.py:2: loading it raised ModuleNotFoundError"),
    ],
)
def test_mistakes_name_file_and_function(oracle, body, message):
    with pytest.raises(InputError, match=message):
        oracle(body, X, OUT, n=3)


@pytest.mark.parametrize(
    ("dtype", "value"), [("u8", "256"), ("u8", "-1"), ("i32", "0.5"), ("u64", "np.array(-1)"), ("i32", "np.nan")]
)
def test_integers_that_do_not_fit(oracle, dtype, value):
    with pytest.raises(InputError, match=f"at \\[0\\], which does not fit {dtype}"):
        oracle(f"def ref(): return np.full(2, {value})", buffer("out", dtype, 2, role="out"))
