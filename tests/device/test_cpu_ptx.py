"""Inline PTX that the CPU device writes out as C++ gives the numbers that the instruction's description says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cpu_support import launch

THREADS = 64
RNG = np.random.default_rng(3)
A = RNG.integers(-(2**31), 2**31, THREADS).astype(np.int32)
B = RNG.integers(-(2**31), 2**31, THREADS).astype(np.int32)
A[:4], B[:4] = (0, -1, 2**31 - 1, -(2**31)), (1, 40, 31, 32)
UA, UB = A.view(np.uint32), B.view(np.uint32)
X = RNG.normal(size=THREADS).astype(np.float32)
Y = RNG.uniform(0.5, 4, THREADS).astype(np.float32)


def run(body: str) -> np.ndarray:
    """`o` of a thread, with its `a`, `b` (32 bits) and `x`, `y` (floats) at hand; a float goes out as `f`."""
    source = f"""
    __global__ void k(unsigned* out, const unsigned* as, const unsigned* bs, const float* xs, const float* ys) {{
      const int t = threadIdx.x;
      unsigned a = as[t], b = bs[t], o = 0;
      float x = xs[t], y = ys[t], f = 0;
      {body}
      out[t] = f != 0 ? __float_as_uint(f) : o;
    }}"""
    return launch(source, [np.zeros(THREADS, np.uint32), UA, UB, X, Y], block=THREADS)


def shifted(values: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    return np.where(amounts < 32, values.astype(np.int64) >> np.minimum(amounts, 31), np.where(values < 0, -1, 0))


WHOLE: dict[str, Callable[[], np.ndarray]] = {
    "add.u32 %0, %1, %2;": lambda: UA + UB,
    "sub.s32 %0, %1, 5;": lambda: UA - np.uint32(5),
    "mul.lo.u32 %0, %1, %2;": lambda: UA * UB,
    "mul.hi.u32 %0, %1, %2;": lambda: UA.astype(np.uint64) * UB >> np.uint64(32),
    "mul.hi.s32 %0, %1, %2;": lambda: A.astype(np.int64) * B >> 32,
    "mad.lo.s32 %0, %1, %2, 7;": lambda: UA * UB + np.uint32(7),
    "min.s32 %0, %1, %2;": lambda: np.minimum(A, B),
    "max.u32 %0, %1, %2;": lambda: np.maximum(UA, UB),
    "and.b32 %0, %1, %2;": lambda: UA & UB,
    "not.b32 %0, %1;": lambda: ~UA,
    "shl.b32 %0, %1, %2;": lambda: np.where(UB < 32, UA.astype(np.uint64) << np.minimum(UB, 31).astype(np.uint64), 0),
    "shr.u32 %0, %1, %2;": lambda: np.where(UB < 32, UA >> np.minimum(UB, 31), 0),
    "shr.s32 %0, %1, %2;": lambda: shifted(A, UB),
    "lop3.b32 %0, %1, %2, 0x64006400, 0xea;": lambda: UA & UB | np.uint32(0x64006400),
    "lop3.b32 %0, %1, %2, %1, 0x96;": lambda: UB,
    "prmt.b32 %0, %1, %2, 0x5410;": lambda: UA & np.uint32(0xFFFF) | UB << np.uint32(16),
    "bfe.u32 %0, %1, 8, 5;": lambda: UA >> np.uint32(8) & np.uint32(31),
    "bfe.s32 %0, %1, 8, 5;": lambda: A << 19 >> 27,
    "bfe.s32 %0, %1, 28, 9;": lambda: A >> 28,
    "bfi.b32 %0, %1, %2, 4, 8;": lambda: UB & np.uint32(0xFFFFF00F) | (UA & np.uint32(255)) << np.uint32(4),
    "popc.b32 %0, %1;": lambda: np.array([int(v).bit_count() for v in UA]),
    "brev.b32 %0, %1;": lambda: np.array([int(f"{v:032b}"[::-1], 2) for v in UA]),
    "{ .reg .pred p; setp.gt.s32 p, %1, %2; selp.b32 %0, 1, -1, p; }": lambda: np.where(A > B, 1, -1),
    "{ .reg .pred p, q; setp.lo.u32 p, %1, %2; not.pred q, p; mov.u32 %0, 3;\n @p mov.u32 %0, 1;\n @!q add.u32 %0, %0, 1; }": lambda: (
        np.where(UA < UB, 2, 3)
    ),
    "{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }": lambda: UA << np.uint32(16) | UA >> np.uint32(16),
    "{ .reg .u64 w; mad.wide.u32 w, %1, %2, 1; shr.u64 w, w, 32; cvt.u32.u64 %0, w; }": lambda: (
        UA.astype(np.uint64) * UB + np.uint64(1) >> np.uint64(32)
    ),
    "cvt.sat.s8.s32 %0, %1;": lambda: np.clip(A, -128, 127),
    "cvt.sat.u8.s32 %0, %1;": lambda: np.clip(A, 0, 255),
    "cvt.sat.s32.u32 %0, %1;": lambda: np.minimum(UA, 2**31 - 1),
    "cvt.s32.s8 %0, %1;": lambda: UA.astype(np.int8).astype(np.int32),
    "mov.u32 %0, %%laneid;": lambda: np.arange(THREADS) % 32,
    "mov.s32 %0, %laneid;": lambda: np.arange(THREADS) % 32,
    "mov.u32 %0, %%tid.x;": lambda: np.arange(THREADS),
    "shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;": lambda: UA[np.arange(THREADS) ^ 1],
    "shfl.sync.idx.b32 %0, %1, 3, 31, -1;": lambda: UA[np.arange(THREADS) // 32 * 32 + 3],
    "// a word\n mov.b32 %0, %1; /* done */ griddepcontrol.wait; prefetch.global.L2 [%3]; membar.gl;": lambda: UA,
    "ld.global.nc.L1::no_allocate.u32 %0, [%3 + 4];": lambda: np.repeat(UA[1::2], 2),
    "ld.global.s8 %0, [%3];": lambda: np.repeat(UA[::2], 2).astype(np.int8).astype(np.int32),
    "{ .reg .b32 p; ld.global.cs.v2.b32 {p, %0}, [%3]; add.u32 %0, %0, p; }": lambda: np.repeat(UA[::2] + UA[1::2], 2),
}


@pytest.mark.parametrize("ptx", WHOLE)
def test_whole_numbers_and_memory(ptx: str) -> None:
    text = ptx.replace("\n", "\\n")
    body = f'asm volatile("{text}" : "=r"(o) : "r"(a), "r"(b), "l"(as + t / 2 * 2) : "memory");'
    np.testing.assert_array_equal(run(body), WHOLE[ptx]().astype(np.int64).astype(np.uint32))


FLOATING: dict[str, Callable[[], np.ndarray]] = {
    "add.rn.ftz.f32 %0, %1, %2;": lambda: X + Y,
    "sub.f32 %0, %1, 0f3F800000;": lambda: X - np.float32(1),
    "mul.f32 %0, %1, 0.5;": lambda: X * np.float32(0.5),
    "fma.rn.f32 %0, %1, %2, %2;": lambda: (X.astype(np.float64) * Y + Y).astype(np.float32),
    "max.f32 %0, %1, %2;": lambda: np.maximum(X, Y),
    "neg.f32 %0, %1;": lambda: -X,
    "rcp.approx.ftz.f32 %0, %2;": lambda: 1 / Y,
    "rsqrt.approx.f32 %0, %2;": lambda: 1 / np.sqrt(Y),
    "ex2.approx.ftz.f32 %0, %1;": lambda: np.exp2(X),
    "lg2.approx.f32 %0, %2;": lambda: np.log2(Y),
    "tanh.approx.f32 %0, %1;": lambda: np.tanh(X),
    "div.full.f32 %0, %1, %2;": lambda: X / Y,
    "add.sat.f32 %0, %1, %2;": lambda: np.clip(X + Y, 0, 1),
    "{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }": lambda: X.astype(np.float16).astype(np.float32),
    "{ .reg .f16x2 p; .reg .f16 a, b; cvt.rn.f16x2.f32 p, %1, %2; mov.b32 {a, b}, p; sub.f16 a, a, b; cvt.f32.f16 %0, a; }": lambda: (
        (Y.astype(np.float16) - X.astype(np.float16)).astype(np.float32)
    ),
    "{ .reg .b16 q; .reg .b32 p; .reg .f16 a, b; cvt.rn.satfinite.e4m3x2.f32 q, 1000.0, 0.75; cvt.rn.f16x2.e4m3x2 p, q;"
    " mov.b32 {a, b}, p; add.f16 a, a, b; cvt.f32.f16 %0, a; }": lambda: np.full(THREADS, np.float32(np.float16(448.75))),
    "{ .reg .s32 i; cvt.rni.sat.s8.f32 i, 300.0; cvt.rn.f32.s32 %0, i; }": lambda: np.full(THREADS, np.float32(127)),
}


@pytest.mark.parametrize("ptx", FLOATING)
def test_floating_point(ptx: str) -> None:
    found = run(f'asm("{ptx}" : "=f"(f) : "f"(x), "f"(y));').view(np.float32)
    np.testing.assert_allclose(found, FLOATING[ptx](), rtol=1e-6, atol=1e-7)


def test_pairs_of_halves() -> None:
    pairs = np.stack([X, Y], 1).astype(np.float16)
    body = """unsigned p = 0x3c003c00;
      asm("fma.rn.f16x2 %0, %1, %[two], %2;\\n" : "=r"(o) : "r"(as[t]), "r"(p), [two] "n"(0x40004000));"""
    found = launch(
        f"__global__ void k(unsigned* out, const unsigned* as) {{ const int t = threadIdx.x; unsigned o; {body} out[t] = o; }}",
        [np.zeros(THREADS, np.uint32), pairs.view(np.uint32).ravel()],
        block=THREADS,
    )
    expected = (2 * pairs.astype(np.float64) + 1).astype(np.float16)
    np.testing.assert_array_equal(found.view(np.float16).reshape(-1, 2), expected)


def test_a_wide_store_and_what_is_changed_in_place() -> None:
    source = """
    struct alignas(16) Four { unsigned v[4]; };
    template <int step> __global__ void k(Four* out, const Four* in) {
      Four f = in[threadIdx.x];
      asm volatile("add.u32 %0, %0, %1;"
                   : "+r"(f.v[0])
                   : "n"(step));
      if (threadIdx.x != 5)
        asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(out + threadIdx.x), "r"(f.v[3]), "r"(f.v[2]), "r"(f.v[1]), "r"(f.v[0]));
      else
        out[5] = Four{1, 2, 3, 4};
    }"""
    values = np.arange(4 * THREADS, dtype=np.uint32).reshape(-1, 4)
    found = launch(source, [np.zeros_like(values), values], block=THREADS, entry="k<9>")
    expected = (values + np.array([9, 0, 0, 0], np.uint32))[:, ::-1].copy()
    expected[5] = (1, 2, 3, 4)
    np.testing.assert_array_equal(found, expected)
