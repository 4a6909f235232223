"""128-bit integers: every operation against Python's own integers, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

from warpsmith.core.errors import UnsupportedFeature

BITS = 128
LOW = (1 << 64) - 1


def signed(x: int) -> int:
    return x - (1 << BITS) if x >> (BITS - 1) else x


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


# The expression in the kernel (a, b unsigned, c, d the same signed) and its value.
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a // b,
    "a % b": lambda a, b: a % b,
    "c / d": lambda a, b: quotient(signed(a), signed(b)),
    "c % d": lambda a, b: signed(a) - quotient(signed(a), signed(b)) * signed(b),
    "a - b": lambda a, b: a - b,
    "a << (int)(b & 127)": lambda a, b: a << (b & 127),
    "c >> (int)(b & 127)": lambda a, b: signed(a) >> (b & 127),
    "(unsigned long long)a * (unsigned __int128)(unsigned long long)b % ((b >> 64) | 1)": lambda a, b: (
        (a & LOW) * (b & LOW) % ((b >> 64) | 1)
    ),
    "a < b": lambda a, b: a < b,
    "c <= d": lambda a, b: signed(a) <= signed(b),
    "c == -1 || c > -7": lambda a, b: signed(a) > -7,
    "(~a ^ b) - 5": lambda a, b: (~a ^ b) - 5,
    "a * ((__uint128_t)0x123456789abcdefull << 64 | 0xfedcba9876543210ull)": lambda a, b: a * 0x123456789ABCDEFFEDCBA9876543210,
}


def words(values: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join((value % (1 << BITS)).to_bytes(16, "little") for value in values), np.uint64).copy()


def test_operations_equal_pythons() -> None:
    rng = random.Random(1)
    samples = [rng.getrandbits(rng.choice([10, 64, 100, 127, 128])) or 1 for _ in range(62)]
    samples += [(1 << BITS) - 1, 1 << (BITS - 1)]
    others = samples[::-1]
    results = "\n".join(f"out[{index}] = {expression};" for index, expression in enumerate(OPERATIONS))
    source = f"""
    struct Padded {{ char c; __int128_t v; }};
    static_assert(alignof(__int128) == 16 && sizeof(Padded) == 32);
    __global__ void k(unsigned __int128* out, const unsigned __int128* x, const unsigned __int128* y) {{
      const unsigned __int128 a = x[threadIdx.x], b = y[threadIdx.x];
      const __int128 c = a, d = b;
      out += {len(OPERATIONS)} * threadIdx.x;
      {results}
    }}"""
    out = launch(source, [np.zeros(64 * 2 * len(OPERATIONS), np.uint64), words(samples), words(others)])
    expected = words([int(value(a, b)) for a, b in zip(samples, others, strict=True) for value in OPERATIONS.values()])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("statement", "feature"),
    [
        ("o[0] = (float)(__int128)n;", "conversion between 128-bit integers and floating point"),
        ("static __device__ const __int128 t[2] = {-1, 2}; o[0] = (int)t[n];", "constant data of 128-bit integers"),
        ("o[0] = (int)((n ? (__int128)n : -(__int128)1) >> 64);", None),
    ],
)
def test_what_the_runtime_cannot_do_is_refused(statement: str, feature: str | None) -> None:
    source = f"__global__ void k(float* o, int n) {{\n{statement}\n}}"
    if feature is None:
        np.testing.assert_array_equal(launch(source, [np.zeros(1, np.float32), np.int32(0)], block=1), -1)
        return
    with pytest.raises(UnsupportedFeature, match=feature):
        compile_kernel(source, [np.zeros(1, np.float32), np.int32(0)])
