"""fast_math.h, convert.h, bits.h, simd_video.h: intrinsics against exact integer and rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

RNG = np.random.default_rng(3)


def interesting_floats() -> np.ndarray:
    """Every size of number: random bits, halves between integers, the edges of the integer types, and the special ones."""
    bits = RNG.integers(0, 2**32, 150, dtype=np.uint64).astype(np.uint32).view(np.float32)
    bits = bits[~np.isnan(bits)]
    edges = [
        s * m for s in (1, -1) for m in (0.0, 0.5, 1.5, 2.5, 3.49, 2.0**31, 2.0**31 - 128, 2.0**32, 2.0**63, 2.0**64, 1e30, 1e-40)
    ]
    return np.concatenate([bits, np.array([*edges, math.nan, math.inf, -math.inf], np.float32)])


ROUND = {
    "rn": lambda v: (
        math.floor(v) + (v - math.floor(v) > Fraction(1, 2) or (v - math.floor(v) == Fraction(1, 2) and math.floor(v) % 2 == 1))
    ),
    "rz": math.trunc,
    "ru": math.ceil,
    "rd": math.floor,
}
INTEGERS = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}
CTYPES = {"int": "int", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}


def saturated(value: float, rounding: str, dtype: type) -> int:
    info = np.iinfo(dtype)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return int(info.max if value > 0 else info.min)
    return min(max(ROUND[rounding](Fraction(value)), int(info.min)), int(info.max))


# With warp operations the kernel is vectorised at 32 lanes, where the runtime has fewer library functions.
@pytest.mark.parametrize("warp", ["", "+ !__activemask()"], ids=["alone", "with-warps"])
@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("target", INTEGERS)
def test_float_to_integer_rounds_as_named_and_saturates(run, source, target, warp):
    x = interesting_floats().astype(np.float32 if source == "float" else np.float64)
    out = np.zeros((5, len(x)), INTEGERS[target])
    lines = "\n".join(f"out[{i} * n + j] = __{source}2{target}_{r}(x[j]);" for i, r in enumerate(ROUND))
    code = f"""__global__ void k(const {source}* x, {CTYPES[target]}* out, int n) {{
      int j = threadIdx.x; {lines} out[4 * n + j] = ({CTYPES[target]})x[j] {warp}; }}"""
    run(code, x, out, np.int32(len(x)), block=(len(x), 1, 1))
    for row, rounding in enumerate([*ROUND, "rz"]):
        assert out[row].tolist() == [saturated(float(v), rounding, INTEGERS[target]) for v in x], rounding


def rounded_float(exact: Fraction, rounding: str) -> float:
    """The float32 that an exact number rounds to in a direction (no overflow)."""
    near = np.float32(float(exact))
    low = near if Fraction(float(near)) <= exact else np.nextafter(near, np.float32(-np.inf))
    high = near if Fraction(float(near)) >= exact else np.nextafter(near, np.float32(np.inf))
    while Fraction(float(low)) > exact:
        low = np.nextafter(low, np.float32(-np.inf))
    while Fraction(float(high)) < exact:
        high = np.nextafter(high, np.float32(np.inf))
    if rounding == "rz":
        return float(low if exact > 0 else high)
    return float(low if rounding == "rd" else high)


def test_directed_float_arithmetic(run):
    n = 200
    x = (RNG.uniform(-2, 2, n) * 2.0 ** RNG.integers(-12, 12, n)).astype(np.float32)
    y = (RNG.uniform(-2, 2, n) * 2.0 ** RNG.integers(-40, 40, n)).astype(np.float32)
    y[:20] = RNG.choice([1.0, 0.5, -2.0, 3.0], 20)
    operations = {
        "__fadd": ("x[j], y[j]", lambda a, b: a + b),
        "__fsub": ("x[j], y[j]", lambda a, b: a - b),
        "__fmul": ("x[j], y[j]", lambda a, b: a * b),
        "__fdiv": ("x[j], y[j]", lambda a, b: a / b),
        "__frcp": ("y[j]", lambda _, b: 1 / b),
        "__fmaf": ("x[j], y[j], x[j]", lambda a, b: a * b + a),
        "__double2float": ("(double)x[j] * y[j]", lambda a, b: a * b),
    }
    modes = ["rd", "ru", "rz"]
    out = np.zeros((len(operations), 3, n), np.float32)
    lines = "\n".join(
        f"out[({i} * 3 + {m}) * n + j] = {name}_{mode}({arguments});"
        for i, (name, (arguments, _)) in enumerate(operations.items())
        for m, mode in enumerate(modes)
    )
    code = f"__global__ void k(const float* x, const float* y, float* out, int n) {{ int j = threadIdx.x; {lines} }}"
    run(code, x, y, out, np.int32(n), block=(n, 1, 1))
    for row, (name, (_, exact)) in enumerate(operations.items()):
        for m, mode in enumerate(modes):
            expected = [rounded_float(exact(Fraction(float(a)), Fraction(float(b))), mode) for a, b in zip(x, y, strict=True)]
            assert out[row, m].tolist() == expected, f"{name}_{mode}"


def test_nearest_arithmetic_is_never_contracted(run):
    n = 256
    x, y = RNG.uniform(0.5, 2, (2, n)).astype(np.float32)
    out = np.zeros((6, n), np.float32)
    code = """__global__ void k(const float* x, const float* y, float* out, int n) {
      int j = threadIdx.x; float a = x[j], b = y[j];
      out[j] = __fadd_rn(__fmul_rn(a, b), -1.0f);
      out[n + j] = __fsub_rn(__fmul_rn(a, b), b);
      out[2 * n + j] = fmaf(a, b, -1.0f);
      out[3 * n + j] = __fmul_rn(a, b) - 1.0f;
      out[4 * n + j] = __frsqrt_rn(a);
      out[5 * n + j] = __fsqrt_rn(a) + 0.0f * __frcp_rn(b);
    }"""
    run(code, x, y, out, np.int32(n), block=(n, 1, 1))
    one = np.float32(1)
    assert (out[0] == x * y - one).all()
    assert (out[1] == x * y - y).all()
    assert (out[2] == (x.astype(np.float64) * y - 1).astype(np.float32)).all()
    assert (out[3] == x * y - one).all()
    assert (out[4] == (1 / np.sqrt(x.astype(np.float64))).astype(np.float32)).all()
    assert (out[5] == np.sqrt(x)).all()


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float_rounds_as_named(run, source):
    info = np.iinfo(INTEGERS[source])
    x = np.concatenate(
        [
            RNG.integers(info.min, info.max, 100, dtype=INTEGERS[source], endpoint=True),
            np.array([info.min, info.max, info.max - 1, 0, 1, 2**24 + 1, 2**24 + 3, info.max // 2 + 1], INTEGERS[source]),
        ]
    )
    out = np.zeros((4, len(x)), np.float32)
    lines = "\n".join(f"out[{i} * n + j] = __{source}2float_{r}(x[j]);" for i, r in enumerate(ROUND))
    run(
        f"__global__ void k(const {CTYPES[source]}* x, float* out, int n) {{ int j = threadIdx.x; {lines} }}",
        x,
        out,
        np.int32(len(x)),
        block=(len(x), 1, 1),
    )
    assert (out[0] == x.astype(np.float32)).all()
    for row, mode in ((1, "rz"), (2, "ru"), (3, "rd")):
        assert out[row].tolist() == [rounded_float(Fraction(int(v)), mode) for v in x], mode


def test_reinterpretation(run):
    x = RNG.integers(0, 2**64, 64, dtype=np.uint64)
    out = np.zeros((5, 64), np.uint64)
    code = """__global__ void k(const unsigned long long* x, unsigned long long* out) {
      int j = threadIdx.x; const double d = __longlong_as_double(x[j]);
      out[j] = __double_as_longlong(d);
      out[64 + j] = (unsigned)__double2hiint(d);
      out[128 + j] = (unsigned)__double2loint(d);
      out[192 + j] = __double_as_longlong(__hiloint2double(__double2hiint(d), __double2loint(d)));
      out[256 + j] = __float_as_uint(__int_as_float((int)x[j])) ^ (unsigned)__float_as_int(__uint_as_float((unsigned)(x[j] >> 32)));
    }"""
    run(code, x, out, block=(64, 1, 1))
    low, high = x & np.uint64(0xFFFFFFFF), x >> np.uint64(32)
    assert (out == [x, high, low, x, low ^ high]).all()


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def byte_perm(x: int, y: int, s: int) -> int:
    data = (x | y << 32).to_bytes(8, "little")
    picked = [data[s >> 4 * i & 7] for i in range(4)]
    return sum((0xFF * (b >> 7) if s >> 4 * i & 8 else b) << 8 * i for i, b in enumerate(picked))


def nth_bit(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else -1
    positions = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [p for p in positions if mask >> p & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else -1


def dot(a: int, b: int, c: int, lanes: int, width_a: int, sign: bool) -> int:
    def part(v: int, i: int, w: int) -> int:
        return signed(v >> w * i, w) if sign else v >> w * i & (1 << w) - 1

    return c + sum(part(a, i, width_a) * part(b, i, 8) for i in range(lanes))


BITS = {
    "__popc(a)": lambda a, b, c: a.bit_count(),
    "__popcll(q)": lambda a, b, c: (a | b << 32).bit_count(),
    "__clz(a)": lambda a, b, c: 32 - a.bit_length(),
    "__clzll(q)": lambda a, b, c: 64 - (a | b << 32).bit_length(),
    "__ffs(a)": lambda a, b, c: (a & -a).bit_length(),
    "__ffsll(q)": lambda a, b, c: ((a | b << 32) & -(a | b << 32)).bit_length(),
    "__brev(a)": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "(unsigned)(__brevll(q) >> 32)": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "__byte_perm(a, b, c)": byte_perm,
    "__funnelshift_l(a, b, c)": lambda a, b, c: (a | b << 32) << (c & 31) >> 32,
    "__funnelshift_r(a, b, c)": lambda a, b, c: (a | b << 32) >> (c & 31),
    "__funnelshift_lc(a, b, c)": lambda a, b, c: (a | b << 32) << min(c, 32) >> 32,
    "__funnelshift_rc(a, b, c & 63)": lambda a, b, c: (a | b << 32) >> min(c & 63, 32),
    "__umulhi(a, b)": lambda a, b, c: a * b >> 32,
    "__mulhi((int)a, (int)b)": lambda a, b, c: signed(a, 32) * signed(b, 32) >> 32,
    "(unsigned)(__umul64hi(q, q) >> 7)": lambda a, b, c: ((a | b << 32) ** 2 >> 64) >> 7,
    "(unsigned)(__mul64hi(q, ~q) >> 7)": lambda a, b, c: (signed(a | b << 32, 64) * signed(~(a | b << 32), 64) >> 64) >> 7,
    "__mul24(a, b)": lambda a, b, c: signed(a, 24) * signed(b, 24),
    "__umul24(a, b)": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "__fns(a, c & 31, (int)(b % 9) - 4)": lambda a, b, c: nth_bit(a, c & 31, b % 9 - 4),
    "__usad(a, b, c)": lambda a, b, c: abs(a - b) + c,
    "__sad((int)a, (int)b, c)": lambda a, b, c: abs(signed(a, 32) - signed(b, 32)) + c,
    "__hadd((int)a, (int)b)": lambda a, b, c: signed(a, 32) + signed(b, 32) >> 1,
    "__urhadd(a, b)": lambda a, b, c: a + b + 1 >> 1,
    "__dp4a((int)a, (int)b, (int)c)": lambda a, b, c: dot(a, b, c, 4, 8, sign=True),
    "__dp4a(a, b, c)": lambda a, b, c: dot(a, b, c, 4, 8, sign=False),
    "__dp2a_lo((int)a, (int)b, (int)c)": lambda a, b, c: dot(a, b, c, 2, 16, sign=True),
    "__dp2a_hi(a, b, c)": lambda a, b, c: dot(a, b >> 16, c, 2, 16, sign=False),
}


def lanes(width: int, sign: bool, operation):
    def apply(a: int, b: int, _: int) -> int:
        result = 0
        for i in range(0, 32, width):
            x, y = (signed(v >> i, width) if sign else v >> i & (1 << width) - 1 for v in (a, b))
            result |= (operation(x, y) & (1 << width) - 1) << i
        return result

    return apply


def clamp(width: int, sign: bool, operation):
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if sign else (0, (1 << width) - 1)
    return lambda x, y: min(max(operation(x, y), low), high)


def simd_cases():
    for n, width in ((4, 8), (2, 16)):
        yield f"__vadd{n}(a, b)", lanes(width, False, lambda x, y: x + y)
        yield f"__vsub{n}(a, b)", lanes(width, False, lambda x, y: x - y)
        yield f"__vabsdiffu{n}(a, b)", lanes(width, False, lambda x, y: abs(x - y))
        yield f"__vavgu{n}(a, b)", lanes(width, False, lambda x, y: x + y + 1 >> 1)
        yield f"__vcmpgtu{n}(a, b)", lanes(width, False, lambda x, y: -(x > y))
        yield f"__vsetles{n}(a, b)", lanes(width, True, lambda x, y: x <= y)
        yield f"__vneg{n}(a)", lanes(width, True, lambda x, y: -x)
        yield f"__vabsss{n}(a)", lanes(width, True, clamp(width, True, lambda x, y: abs(x)))
        for letter, sign in (("s", True), ("u", False)):
            yield f"__vmax{letter}{n}(a, b)", lanes(width, sign, max)
            yield f"__vmin{letter}{n}(a, b)", lanes(width, sign, min)
            yield f"__vadd{letter}s{n}(a, b)", lanes(width, sign, clamp(width, sign, lambda x, y: x + y))
            yield f"__vsub{letter}s{n}(a, b)", lanes(width, sign, clamp(width, sign, lambda x, y: x - y))
        yield (
            f"__vsadu{n}(a, b)",
            lambda a, b, _, w=width: sum(abs((a >> i & (1 << w) - 1) - (b >> i & (1 << w) - 1)) for i in range(0, 32, w)),
        )


@pytest.mark.parametrize("table", [BITS, dict(simd_cases())], ids=["bits", "simd"])
def test_integer_intrinsics(run, table):
    n = 64
    a, b, c = RNG.integers(0, 2**32, (3, n), dtype=np.uint64).astype(np.uint32)
    a[:4], b[2:6], c[:8] = [0, 1, 0x80000000, 0xFFFFFFFF], [0, 0x80000000, 1, 0xFFFFFFFF], [0, 31, 32, 33, 40, 64, 1, 2]
    out = np.zeros((len(table), n), np.uint32)
    lines = "\n".join(f"out[{i} * {n} + j] = (unsigned)({e});" for i, e in enumerate(table))
    code = f"""__global__ void k(const unsigned* pa, const unsigned* pb, const unsigned* pc, unsigned* out) {{
      const int j = threadIdx.x; const unsigned a = pa[j], b = pb[j], c = pc[j];
      const unsigned long long q = (unsigned long long)b << 32 | a; {lines} }}"""
    run(code, a, b, c, out, block=(n, 1, 1))
    for row, (expression, reference) in enumerate(table.items()):
        expected = [reference(int(x), int(y), int(z)) & 0xFFFFFFFF for x, y, z in zip(a, b, c, strict=True)]
        assert out[row].tolist() == expected, expression


def test_fast_functions_keep_cudas_error_bounds(run):
    n = 512
    x = RNG.uniform(-20, 20, n).astype(np.float32)
    out = np.zeros((8, n), np.float32)
    code = """__global__ void k(const float* x, float* out, int n) {
      int j = threadIdx.x; float v = x[j], p = fabsf(v);
      out[j] = __expf(v); out[n + j] = __logf(p); out[2 * n + j] = __log2f(p); out[3 * n + j] = __sinf(v);
      out[4 * n + j] = __cosf(v); out[5 * n + j] = __powf(p, 1.5f); out[6 * n + j] = __fdividef(v, 3.0f); out[7 * n + j] = exp10f(v);
    }"""
    run(code, x, out, np.int32(n), block=(n, 1, 1))
    v = x.astype(np.float64)
    p = np.abs(v)
    expected = [np.exp(v), np.log(p), np.log2(p), np.sin(v), np.cos(v), p**1.5, v / 3, 10**v]
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-7)
