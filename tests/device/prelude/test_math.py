"""math.h, math_special.h: the C math API in float and double, its overloads, special values, min and max."""

from __future__ import annotations

import math

import numpy as np
import pytest

# name: (reference in double, lowest input, highest input)
UNARY = {
    "acos": (math.acos, -1, 1),
    "acosh": (math.acosh, 1, 50),
    "asin": (math.asin, -1, 1),
    "asinh": (math.asinh, -20, 20),
    "atan": (math.atan, -20, 20),
    "atanh": (math.atanh, -0.99, 0.99),
    "cbrt": (math.cbrt, -30, 30),
    "ceil": (math.ceil, -9, 9),
    "cos": (math.cos, -9, 9),
    "cosh": (math.cosh, -9, 9),
    "cospi": (lambda x: math.cos(math.pi * math.fmod(x, 2)), 0, 0.45),
    "erf": (math.erf, -3, 3),
    "erfc": (math.erfc, -3, 5),
    "erfcinv": (None, 1e-6, 1.9),
    "erfcx": (lambda x: math.exp(x * x) * math.erfc(x), -2, 8),
    "erfinv": (None, -0.999, 0.999),
    "exp": (math.exp, -20, 20),
    "exp10": (lambda x: 10.0**x, -9, 9),
    "exp2": (math.exp2, -20, 20),
    "expm1": (math.expm1, -2, 5),
    "fabs": (math.fabs, -9, 9),
    "floor": (math.floor, -9, 9),
    "lgamma": (math.lgamma, 3, 30),
    "log": (math.log, 0.001, 100),
    "log10": (math.log10, 0.001, 100),
    "log1p": (math.log1p, -0.9, 100),
    "log2": (math.log2, 0.001, 100),
    "logb": (lambda x: math.frexp(x)[1] - 1, 0.001, 100),
    "nearbyint": (round, -9, 9),
    "normcdf": (lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), -5, 5),
    "normcdfinv": (None, 1e-5, 0.99),
    "rcbrt": (lambda x: 1 / math.cbrt(x), 0.1, 30),
    "rint": (round, -9, 9),
    "round": (lambda x: math.copysign(math.floor(abs(x) + 0.5), x), -9, 9),
    "rsqrt": (lambda x: 1 / math.sqrt(x), 0.001, 100),
    "sin": (math.sin, -9, 9),
    "sinh": (math.sinh, -9, 9),
    "sinpi": (lambda x: math.sin(math.pi * x), -0.5, 0.5),
    "sqrt": (math.sqrt, 0, 100),
    "tan": (math.tan, -1.5, 1.5),
    "tanh": (math.tanh, -5, 5),
    "tgamma": (math.gamma, 0.2, 20),
    "trunc": (math.trunc, -9, 9),
}
INVERSE = {"erfinv": math.erf, "erfcinv": math.erfc, "normcdfinv": lambda x: 0.5 * math.erfc(-x / math.sqrt(2))}
BINARY = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "fdim": lambda x, y: max(x - y, 0),
    "fmax": max,
    "fmin": min,
    "fmod": math.fmod,
    "hypot": math.hypot,
    "pow": lambda x, y: abs(x) ** y,
    "remainder": math.remainder,
}
N = 256


def units(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of the expected value."""
    return np.abs(got.astype(np.float64) - expected) / np.spacing(np.abs(expected).astype(got.dtype)).astype(np.float64)


# With warp operations the kernel is vectorised at 32 lanes, where the runtime's math library is another one.
@pytest.mark.parametrize("warp", ["", "if (!__activemask()) return;"], ids=["alone", "with-warps"])
@pytest.mark.parametrize(
    ("ctype", "dtype", "suffix", "tolerance"), [("float", np.float32, "f", 8), ("double", np.float64, "", 64)]
)
def test_functions_of_one_argument(run, ctype, dtype, suffix, tolerance, warp):
    rng = np.random.default_rng(1)
    x = np.stack([rng.uniform(low, high, N).astype(dtype) for _, low, high in UNARY.values()])
    out = np.zeros((2, *x.shape), dtype)
    lines = "\n".join(
        f"out[{i} * n + j] = {name}{suffix}(x[{i} * n + j]); out[({i} + {len(UNARY)}) * n + j] = {name}(x[{i} * n + j]);"
        for i, name in enumerate(UNARY)
    )
    code = f"__global__ void k(const {ctype}* x, {ctype}* out, int n) {{ const int j = blockIdx.x * blockDim.x + threadIdx.x; {warp}\n{lines} }}"
    run(code, x, out, np.int32(N), grid=(N // 64, 1, 1), block=(64, 1, 1))
    assert (out[0] == out[1]).all()
    for row, (name, (reference, _, _)) in enumerate(UNARY.items()):
        if reference is None:  # an inverse: what it gives must be taken back, to within the condition of the forward function
            back = np.array([INVERSE[name](float(v)) for v in out[0, row]])
            np.testing.assert_allclose(back, x[row].astype(np.float64), rtol=4e-6 if ctype == "float" else 1e-13, err_msg=name)
        else:
            expected = np.array([float(reference(float(v))) for v in x[row]])
            worst = units(out[0, row], expected).max()
            assert worst <= tolerance, f"{name}{suffix}: {worst:.1f} units at {x[row, units(out[0, row], expected).argmax()]}"


@pytest.mark.parametrize("warp", ["", "if (!__activemask()) return;"], ids=["alone", "with-warps"])
@pytest.mark.parametrize(("ctype", "dtype", "suffix"), [("float", np.float32, "f"), ("double", np.float64, "")])
def test_functions_of_two_arguments(run, ctype, dtype, suffix, warp):
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.1, 9, (2, N)).astype(dtype)
    out = np.zeros((len(BINARY), N), dtype)
    lines = "\n".join(f"out[{i} * n + j] = {name}{suffix}(x[j], y[j]);" for i, name in enumerate(BINARY))
    code = f"__global__ void k(const {ctype}* x, const {ctype}* y, {ctype}* out, int n) {{ int j = threadIdx.x; {warp} {lines} }}"
    run(code, x, y, out, np.int32(N), block=(N, 1, 1))
    for row, (name, reference) in enumerate(BINARY.items()):
        expected = np.array([reference(float(a), float(b)) for a, b in zip(x, y, strict=True)])
        # fdim, fmod and remainder cancel: what counts is the rounding of the arguments' scale.
        np.testing.assert_allclose(out[row], expected, rtol=16 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).eps, err_msg=name)


def test_results_beside_the_value(run):
    x = np.array([0.75, -3.5, 1000.25, 1e-30, -0.0, 5.0], np.float64)
    out = np.zeros((len(x), 10), np.float64)
    code = """
    __global__ void k(const double* x, double* out) {
      const double v = x[threadIdx.x];
      double* row = out + threadIdx.x * 10;
      int e, q; double whole, s, c; float sf, cf;
      row[0] = frexp(v, &e); row[1] = e;
      row[2] = modf(v, &whole); row[3] = whole;
      sincos(v, &s, &c); row[4] = s; row[5] = c;
      sincosf((float)v, &sf, &cf); row[6] = sf; row[7] = cf;
      row[8] = remquo(v, 3.0, &q); row[9] = q & 7;
    }"""
    run(code, x, out, block=(len(x), 1, 1))
    for value, row in zip(x, out, strict=True):
        assert (row[0], row[1]) == math.frexp(value)
        assert (row[2], row[3]) == math.modf(value)
        np.testing.assert_allclose(row[4:6], [math.sin(value), math.cos(value)], rtol=1e-14)
        np.testing.assert_allclose(row[6:8], [math.sin(value), math.cos(value)], rtol=1e-4)
        assert row[8] == math.remainder(value, 3.0)
        assert int(row[9]) == round((value - row[8]) / 3.0) & 7


def test_special_values(run):
    nan, inf = math.nan, math.inf
    cases = {
        "fmaxf(n, 2.0f)": 2,
        "fmaxf(2.0f, n)": 2,
        "fminf(n, -2.0f)": -2,
        "max(n, 3.0f)": 3,
        "min(3.0f, n)": 3,
        "isnan(n)": 1,
        "isnan(i)": 0,
        "isinf(-i)": 1,
        "isfinite(i)": 0,
        "isfinite(2.0f)": 1,
        "signbit(-z)": 1,
        "signbit(z)": 0,
        "expf(-i)": 0,
        "expf(i)": inf,
        "expf(100.0f)": inf,
        "logf(z)": -inf,
        "logf(-1.0f)": nan,
        "sqrtf(-1.0f)": nan,
        "rsqrtf(z)": inf,
        "1.0f / z": inf,
        "tanhf(i)": 1,
        "powf(z, z)": 1,
        "powf(-2.0f, 3.0f)": -8,
        "atan2f(z, -1.0f)": math.pi,
        "fmodf(5.0f, i)": 5,
        "hypotf(3e30f, 4e30f)": 5e30,
        "norm3df(1e30f, 2e30f, 2e30f)": 3e30,
        "norm4df(1.0f, 1.0f, 1.0f, 1.0f)": 2,
        "rnorm3df(1.0f, 2.0f, 2.0f)": 1 / 3,
        "rhypotf(3.0f, 4.0f)": 0.2,
        "d * 0.5f": 2.0**-127,
        "ldexpf(1.5f, 4)": 24,
        "scalbnf(1.0f, -3)": 0.125,
        "fmaf(1e20f, 1e20f, -i)": -inf,
        "copysignf(3.0f, -z)": -3,
        "nextafterf(1.0f, 2.0f)": 1 + 2.0**-23,
        "saturate(n)": 0,
        "saturate(7.0f)": 1,
        "saturate(-7.0f)": 0,
        "(float)ilogbf(10.0f)": 3,
        "(float)lrintf(2.5f)": 2,
        "(float)lroundf(2.5f)": 3,
        "(float)llrintf(-3.5f)": -4,
        'nanf("")': nan,
        "j0f(2.0f)": 0.22389077914123567,
        "j1f(30.0f)": -0.11875106261662294,
        "(float)jn(3, 5.0)": 0.36483123061366701,
        "cyl_bessel_i0f(3.0f)": 4.8807925858650245,
        "cyl_bessel_i1f(-2.0f)": -1.5906368546373291,
        "normf(2, pair)": 5,
        "rnormf(2, pair)": 0.2,
    }
    out = np.zeros(len(cases), np.float32)
    x = np.array([nan, inf, 0, 2.0**-126], np.float32)
    lines = "\n".join(f"out[{i}] = {expression};" for i, expression in enumerate(cases))
    code = f"""
    __device__ float saturate(float v) {{ return __saturatef(v); }}
    __global__ void k(const float* x, float* out) {{ const float n = x[0], i = x[1], z = x[2], d = x[3], pair[2] = {{3, -4}}; {lines} }}"""
    run(code, x, out, block=(1, 1, 1))
    for got, (expression, expected) in zip(out, cases.items(), strict=True):
        np.testing.assert_allclose(got, np.float32(expected), rtol=3e-7, err_msg=expression)


def test_overloads_choose_the_type_that_cuda_chooses(run):
    checks = {
        "sqrt(2.0f)": "float",
        "sqrt(2)": "double",
        "exp(2.0)": "double",
        "pow(2.0f, 2.0f)": "float",
        "pow(2.0f, 2.0)": "double",
        "fma(1.0f, 2.0f, 3.0f)": "float",
        "min(1, 2)": "int",
        "min(1, 2u)": "unsigned",
        "max(1ll, 2ll)": "long long",
        "max(1.0f, 2.0f)": "float",
        "max(1.0f, 2.0)": "double",
        "abs(-2.0f)": "float",
        "abs(-2)": "int",
        "abs(-2ll)": "long long",
        "std::abs(-2.0f)": "float",
        "std::sqrt(2.0f)": "float",
        "std::max(1.0f, 2.0f)": "const float&",
        "fmax(1.0f, 2.0f)": "float",
        "lrintf(2.0f)": "long",
        "floor(2.5f)": "float",
        "isnan(2.0f)": "bool",
    }
    asserts = "\n".join(f"static_assert(std::is_same_v<decltype({e}), {t}>);" for e, t in checks.items())
    out = np.zeros(3, np.float64)
    code = f"#include <cmath>\n#include <algorithm>\n{asserts}\n__global__ void k(double* o) {{ o[0] = max(-1, 1u); o[1] = std::pow(3, 2); o[2] = min(-1ll, 2ll); }}"
    run(code, out, block=(1, 1, 1))
    assert out.tolist() == [2**32 - 1, 9, -1]
