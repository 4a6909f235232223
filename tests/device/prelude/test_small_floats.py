"""half.h, bfloat16.h, float8.h: conversions for every bit pattern, arithmetic to the last bit, comparisons, against ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

INCLUDES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
HALF = ("__half", "__half2", np.float16, "__float2half", "__half2float")
BFLOAT16 = ("__nv_bfloat16", "__nv_bfloat162", ml_dtypes.bfloat16, "__float2bfloat16", "__bfloat162float")
KINDS = pytest.mark.parametrize("kind", [HALF, BFLOAT16], ids=["half", "bfloat16"])
EVERY_16 = np.arange(2**16, dtype=np.uint16)


def same(got: np.ndarray, expected: np.ndarray) -> bool:
    """Bitwise equal, any NaN standing for any other."""
    got, expected = np.asarray(got), np.asarray(expected)
    nan = np.isnan(expected.astype(np.float32))
    size = f"u{got.dtype.itemsize}"
    return bool((np.isnan(got.astype(np.float32)) == nan).all() and (got.view(size)[~nan] == expected.view(size)[~nan]).all())


@KINDS
def test_every_value_converts_to_float_and_back(run, kind):
    h, _, dtype, to, back = kind
    x = EVERY_16.view(dtype)
    wide = np.zeros(len(x), np.float32)
    narrow = np.zeros_like(x)
    code = f"""{INCLUDES}__global__ void k(const {h}* x, float* wide, {h}* narrow) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x; wide[i] = {back}(x[i]); narrow[i] = {to}(wide[i]); }}"""
    run(code, x, wide, narrow, grid=(256, 1, 1), block=(256, 1, 1))
    assert same(wide, x.astype(np.float32))
    assert same(narrow, x)


def awkward_doubles(dtype: type) -> np.ndarray:
    """Exactly between two neighbours, and a hair to either side; overflow; tiny."""
    with np.errstate(invalid="ignore"):
        x = EVERY_16[:-1:37].view(dtype).astype(np.float64)
        y = (EVERY_16[:-1:37] + 1).view(dtype).astype(np.float64)
        middle = np.where(np.isfinite(x) & np.isfinite(y), (x + y) / 2, x)
        return np.concatenate([middle * (1 + hair) for hair in (0, 1e-7, -1e-7, 1e-15, -1e-15)])


@KINDS
def test_rounding_to_nearest_even_once(run, kind):
    h, _, dtype, to, _ = kind
    x = awkward_doubles(dtype)
    out = np.zeros((2, len(x)), dtype)
    prefix = "__double2half" if h == "__half" else "__double2bfloat16"
    code = f"""{INCLUDES}__global__ void k(const double* x, {h}* out, int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ out[i] = {to}((float)x[i]); out[n + i] = {prefix}(x[i]); }} }}"""
    run(code, x, out, np.int32(len(x)), grid=(-(-len(x) // 256), 1, 1), block=(256, 1, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        single = x.astype(np.float32)
    assert same(out[0], single.astype(dtype))
    # Correct by distance, for ml_dtypes itself rounds a double twice.
    finite = np.isfinite(single.astype(dtype).astype(np.float64)) & np.isfinite(x)
    value = out[1].astype(np.float64)[finite]
    for step in (-1, 1):
        neighbour = (out[1].view(np.int16)[finite] + step).astype(np.int16).view(dtype).astype(np.float64)
        usable = np.isfinite(neighbour)
        closer = np.abs(neighbour - x[finite]) < np.abs(value - x[finite])
        assert not (closer & usable).any()


ARITHMETIC = {
    "__hadd(a, b)": lambda a, b, c: a + b,
    "a - b": lambda a, b, c: a - b,
    "__hmul(a, b)": lambda a, b, c: a * b,
    "a / b": lambda a, b, c: a / b,
    "__hfma(a, b, c)": lambda a, b, c: a * b + c,
    "__hmax(a, b)": lambda a, b, c: np.fmax(a, b),
    "__hmin(a, b)": lambda a, b, c: np.fmin(a, b),
    "-a": lambda a, b, c: -a,
    "__habs(a)": lambda a, b, c: np.abs(a),
    "hsqrt(__habs(a))": lambda a, b, c: np.sqrt(np.abs(a)),
    "hrcp(b)": lambda a, b, c: 1 / b,
    "hfloor(a)": lambda a, b, c: np.floor(a),
    "hrint(a)": lambda a, b, c: np.rint(a),
}


@KINDS
def test_arithmetic_is_correctly_rounded(run, kind):
    h, h2, dtype, _, _ = kind
    rng = np.random.default_rng(5)
    n = 4096
    a, b, c = ((rng.normal(size=n) * 2.0 ** rng.integers(-6, 6, n)).astype(dtype) for _ in range(3))
    a[:6] = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    out = np.zeros((len(ARITHMETIC), n), dtype)
    pairs = np.zeros((len(ARITHMETIC), n), dtype)
    lines = "\n".join(f"out[{row} * n + i] = {expression};" for row, expression in enumerate(ARITHMETIC))
    names = {"__hadd(": "__hadd2(", "__hmul(": "__hmul2(", "__hfma(": "__hfma2(", "__hmax(": "__hmax2(", "__hmin(": "__hmin2("}
    twice = {"__habs(": "__habs2(", "hsqrt(": "h2sqrt(", "hrcp(": "h2rcp(", "hfloor(": "h2floor(", "hrint(": "h2rint("}

    def pairwise(expression: str) -> str:
        for old, new in (names | twice).items():
            expression = expression.replace(old, new)
        return expression

    lines2 = "\n".join(f"out[{row} * n + i] = {pairwise(expression)};" for row, expression in enumerate(ARITHMETIC))
    template = """__global__ void NAME(const T* pa, const T* pb, const T* pc, T* out, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x; const T a = pa[i], b = pb[i], c = pc[i]; LINES }"""
    scalar_code = INCLUDES + template.replace("T", h).replace("NAME", "k").replace("LINES", lines)
    pair_code = INCLUDES + template.replace("T", h2).replace("NAME", "k").replace("LINES", lines2)
    run(scalar_code, a, b, c, out, np.int32(n), grid=(n // 256, 1, 1), block=(256, 1, 1))
    run(pair_code, a, b, c, pairs, np.int32(n // 2), grid=(n // 512, 1, 1), block=(256, 1, 1))
    wide = [v.astype(np.float64) for v in (a, b, c)]
    with np.errstate(all="ignore"):
        for row, (expression, reference) in enumerate(ARITHMETIC.items()):
            exact = reference(*wide)
            got = out[row].astype(np.float64)
            for step in (-1, 1):
                other = (out[row].view(np.int16) + step).astype(np.int16).view(dtype).astype(np.float64)
                closer = np.isfinite(other) & np.isfinite(got) & (np.abs(other - exact) < np.abs(got - exact))
                assert not closer.any(), (expression, [v[closer][:3] for v in (*wide, got)])
            assert (np.isnan(got) == np.isnan(exact)).all(), expression
            assert same(pairs[row], out[row]), f"{expression} by pairs"


@KINDS
def test_comparisons_of_numbers_and_nan(run, kind):
    h, h2, dtype, _, _ = kind
    values = np.array([-np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan], dtype)
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    tests = {
        "__heq(a, b)": "==", "__hne(a, b)": "<>", "__hlt(a, b)": "<", "__hle(a, b)": "<=", "__hgt(a, b)": ">", "__hge(a, b)": ">=",
        "a == b": "==", "a != b": "!=", "a < b": "<", "a <= b": "<=", "a > b": ">", "a >= b": ">=", "__hltu(a, b)": "u<",
        "__hneu(a, b)": "!=", "__hisnan(a)": "nan", f"__hbeq2({h2}(a, a), {h2}(b, b))": "==", f"__hlt2_mask({h2}(a, a), {h2}(b, b)) == ~0u": "<",
        f"(float)__hge2({h2}(a, b), {h2}(b, a)).x == 1.0f": ">=",
    }  # fmt: skip
    out = np.zeros((len(tests), len(a)), np.int32)
    lines = "\n".join(f"out[{row} * n + i] = {expression};" for row, expression in enumerate(tests))
    code = f"{INCLUDES}__global__ void k(const {h}* pa, const {h}* pb, int* out, int n) {{ int i = threadIdx.x; {h} a = pa[i], b = pb[i]; {lines} }}"
    run(code, a, b, out, np.int32(len(a)), block=(len(a), 1, 1))
    x, y = a.astype(np.float64), b.astype(np.float64)
    expected = {
        "==": x == y, "!=": x != y, "<>": (x < y) | (x > y), "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y,
        "u<": ~(x >= y), "nan": np.isnan(x),
    }  # fmt: skip
    for row, (expression, meaning) in enumerate(tests.items()):
        assert (out[row] == expected[meaning]).all(), expression


@KINDS
def test_directed_rounding_brackets_the_value(run, kind):
    h, _, dtype, to, _ = kind
    x = np.concatenate([np.random.default_rng(8).normal(size=500) * 100, [1e-9, -1e-9, 0.0, 65520.0, -1e6, 3.0]]).astype(
        np.float32
    )
    out = np.zeros((3, len(x)), dtype)
    lines = " ".join(f"out[{i} * n + j] = {to}_{mode}(x[j]);" for i, mode in enumerate(("rd", "ru", "rz")))
    run(
        f"{INCLUDES}__global__ void k(const float* x, {h}* out, int n) {{ int j = threadIdx.x; {lines} }}",
        x,
        out,
        np.int32(len(x)),
        block=(len(x), 1, 1),
    )
    down, up, zero = (v.astype(np.float64) for v in out)
    assert (down <= x).all()
    assert (up >= x).all()
    with np.errstate(over="ignore"):
        exact = x.astype(dtype).astype(np.float64) == x
    assert (down[exact] == up[exact]).all()
    steps = out[1].view(np.int16).astype(int) - out[0].view(np.int16)
    crosses_zero = (down < 0) & (up >= 0)
    assert (np.abs(steps)[~exact & ~crosses_zero] == 1).all()
    assert (zero == np.where(x > 0, down, up)).all()


@KINDS
def test_conversions_between_pairs_and_integers(run, kind):
    h, h2, dtype, _, _ = kind
    tag = "half" if h == "__half" else "bfloat16"
    pair = "half2" if tag == "half" else "bfloat162"
    out = np.zeros(24, np.float32)
    lows = "__lows2half2" if tag == "half" else "__lows2bfloat162"
    code = f"""{INCLUDES}__global__ void k(float* o) {{
      const {h2} p = __floats2{pair}_rn(1.5f, -2.0f), q = __float2{pair}_rn(3.0f), r = __float22{pair}_rn(make_float2(4.0f, 5.0f));
      const float2 f = __{pair if tag == "half" else "bfloat162"}2float2(r);
      o[0] = __low2float(p); o[1] = __high2float(p); o[2] = __low2float(q); o[3] = __high2float(q); o[4] = f.x; o[5] = f.y;
      o[6] = (float)__low2{tag}(p); o[7] = (float)__high2{tag}(p);
      o[8] = __high2float({lows}(p, q)); o[9] = __low2float(__lowhigh2highlow(p));
      o[10] = __{tag}2int_rn({h}(2.5f)); o[11] = __{tag}2int_rz({h}(-2.5f)); o[12] = __{tag}2int_ru({h}(2.25f)); o[13] = __{tag}2int_rd({h}(-2.25f));
      o[14] = (float)__int2{tag}_rn(77); o[15] = (float)__uint2{tag}_rn(100u); o[16] = (float){h}(3) + (float){h}(2.5);
      {h} c = 1.0f; c += {h}(2.0f); ++c; c *= {h}(0.5f); o[17] = c; o[18] = (int)c; o[19] = c > {h}(1.0f) ? 1 : 0;
      o[20] = __{tag}_as_ushort({h}(1.0f)); o[21] = (float)__ushort_as_{tag}(__{tag}_as_ushort({h}(-7.0f)));
      {h2} s = p + q; s *= q; o[22] = __low2float(s); o[23] = __high2float(s);
    }}"""
    run(code, out, block=(1, 1, 1))
    one = int(np.ones(1, dtype).view(np.uint16)[0])
    assert out.tolist() == [1.5, -2, 3, 3, 4, 5, 1.5, -2, 3, -2, 2, -2, 3, -3, 77, 100, 5.5, 2, 2, 1, one, -7, 13.5, 3]


FP8 = [
    ("__nv_fp8_e4m3", "__NV_E4M3", ml_dtypes.float8_e4m3fn, 448.0),
    ("__nv_fp8_e5m2", "__NV_E5M2", ml_dtypes.float8_e5m2, 57344.0),
]


@pytest.mark.parametrize(("ctype", "tag", "dtype", "largest"), FP8, ids=["e4m3", "e5m2"])
def test_fp8_converts_like_ml_dtypes(run, ctype, tag, dtype, largest):
    codes = np.arange(256, dtype=np.uint8)
    values = codes.view(dtype).astype(np.float32)
    rng = np.random.default_rng(4)
    finite = np.sort(values[np.isfinite(values)])
    between = (finite[1:] + finite[:-1]) / 2
    x = np.concatenate([
        values, between, np.nextafter(between, np.float32(np.inf)), np.nextafter(between, np.float32(-np.inf)),
        rng.normal(size=1000) * 2.0 ** rng.integers(-12, 12, 1000), [1e9, -1e9, largest * 1.03, largest * 1.07, 1e-9, np.nan],
    ]).astype(np.float32)  # fmt: skip
    n = len(x)
    wide = np.zeros(256, np.float32)
    out = np.zeros((4, n), np.uint8)
    code = f"""{INCLUDES}__global__ void k(const unsigned char* codes, const float* x, float* wide, unsigned char* out, int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < 256) {{ {ctype} v; v.__x = codes[i]; wide[i] = (float)v; }}
      if (i < n) {{
        out[i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, {tag});
        out[n + i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, {tag});
        out[2 * n + i] = {ctype}(x[i]).__x;
        out[3 * n + i] = __nv_cvt_double_to_fp8((double)x[i], __NV_NOSAT, {tag});
      }} }}"""
    run(code, codes, x, wide, out, np.int32(n), grid=(-(-n // 256), 1, 1), block=(256, 1, 1))
    assert same(wide, values)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(dtype)
    assert same(out[0].view(dtype), expected)
    assert same(out[3].view(dtype), expected)
    assert same(out[1].view(dtype), np.clip(x, -largest, largest).astype(dtype))
    assert (out[2] == out[1]).all()


def test_fp8_vectors_and_halves(run):
    x = np.array([0.5, -1.25, 300, 7], np.float32)
    out = np.zeros(16, np.float32)
    code = (
        INCLUDES
        + """
    __global__ void k(const float* x, float* out) {
      const float4 v = make_float4(x[0], x[1], x[2], x[3]);
      const float4 a = float4(__nv_fp8x4_e4m3(v)), b = float4(__nv_fp8x4_e5m2(v));
      const float2 c = float2(__nv_fp8x2_e4m3(make_float2(x[0], x[1])));
      const __half2 d = __half2(__nv_cvt_fp8x2_to_halfraw2(__nv_cvt_float2_to_fp8x2(make_float2(x[2], x[3]), __NV_SATFINITE, __NV_E4M3), __NV_E4M3));
      const float all[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, __low2float(d), __high2float(d)};
      for (int i = 0; i < 12; ++i) out[i] = all[i];
      out[12] = (float)__nv_fp8_e4m3(__float2half(3.0f)); out[13] = (float)__nv_fp8_e5m2(__float2bfloat16(3.0f));
      out[14] = (float)__half(__nv_fp8_e4m3(5)); out[15] = (int)__nv_fp8_e4m3(6.0);
    }"""
    )
    run(code, x, out, block=(1, 1, 1))
    e4, e5 = x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32), x.astype(ml_dtypes.float8_e5m2).astype(np.float32)
    assert out.tolist() == [*e4, *e5, *e4[:2], *e4[2:], 3, 3, 5, 6]


@pytest.mark.parametrize(
    ("header", "make", "wide"),
    [("fp16", "__floats2half2_rn", "__half22float2"), ("bf16", "__floats2bfloat162_rn", "__bfloat1622float2")],
)
def test_complex_products_of_pairs(run, header, make, wide):
    code = f"""
    #include <cuda_{header}.h>
    __global__ void k(float2* out, const float2* x) {{
      const auto pair = [&](int i) {{ return {make}(x[i].x, x[i].y); }};
      out[0] = {wide}(__hcmadd(pair(0), pair(1), pair(2)));
    }}"""
    out, x = np.zeros(2, np.float32), np.array([1, 2, 3, -4, 5, 6], np.float32)
    run(code, out, x, grid=(1, 1, 1), block=(1, 1, 1))
    product = complex(1, 2) * complex(3, -4) + complex(5, 6)
    assert out.tolist() == [product.real, product.imag]
