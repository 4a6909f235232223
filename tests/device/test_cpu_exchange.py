"""Lanes of a warp that hand values to each other through shared memory without a barrier: seen, whatever the address looks like."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

X = np.arange(100, 132, dtype=np.int32)
LANE = np.arange(32)
INTS = "__shared__ int s[64];"
PAIRS = "struct P { int a, b; }; __shared__ P q[32];"
KERNEL = "__global__ void k(int* out, const int* x) {{ {} const int t = threadIdx.x; {} }}"

EXCHANGES = {
    "the index changes in between": (INTS, "int i = t; s[i] = x[t]; i = 31 - i; out[t] = s[i];", X[::-1]),
    "the index changes through a reference": (INTS, "int i = t; int& r = i; s[i] = x[t]; r = 31 - t; out[t] = s[i];", X[::-1]),
    "the pointer changes": (INTS, "int* p = s + t; *p = x[t]; p = s + 31 - t; out[t] = *p;", X[::-1]),
    "the index is in an array": (
        INTS,
        "int i[2] = {t, 0}; s[i[0]] = x[t]; i[0] = 31 - t; out[t] = s[i[0]];",
        X[::-1],
    ),
    "pointers in shared memory": (
        "__shared__ int s[64]; __shared__ int *p, *q;",
        "if (t == 0) { p = s; q = s + 1; } __syncthreads(); s[32] = 7; p[t] = x[t]; out[t] = q[t];",
        np.append(X[1:], 7),
    ),
    "one lane writes for all": (INTS, "if (t == 31) s[0] = x[t]; out[t] = s[0];", np.full(32, X[31])),
    "one lane of each warp writes": (INTS, "if (t % 32 == 31) s[t / 32] = x[t]; out[t] = s[t / 32];", np.full(32, X[31])),
    "structures are copied": (PAIRS, "q[t] = P{x[t], 1}; P b = q[31 - t]; out[t] = b.a * b.b;", X[::-1]),
    "vectors are copied": (
        "__shared__ float4 q[32];",
        "q[t] = make_float4(x[t], 0, 0, 1); out[t] = (int)q[31 - t].x;",
        X[::-1],
    ),
    "a member of the next structure": (
        "__shared__ float4 q[33];",
        "q[t] = make_float4(0, x[t], 2, 3); out[t] = t < 31 ? (int)((float*)q)[4 * t + 5] : 7;",
        np.append(X[1:], 7),
    ),
    "atomics, then a plain read": (
        INTS,
        "if (t == 0) s[0] = 0; __syncthreads(); if (t & 1) atomicAdd(&s[0], 1); out[t] = s[0];",
        np.full(32, 16),
    ),
    "a plain write, then atomics": (INTS, "s[t] = x[t]; atomicAdd(&s[31 - t], 1); __syncthreads(); out[t] = s[t];", X + 1),
    "read and overwritten by the lane below": (
        INTS,
        "s[t] = t; __syncthreads(); if (t > 0) s[t] = s[t - 1] + 100; __syncthreads(); out[t] = s[t];",
        np.append(0, LANE[1:] + 99),
    ),
}


@pytest.mark.parametrize(("declaration", "body", "expected"), EXCHANGES.values(), ids=EXCHANGES.keys())
def test_lanes_see_each_others_values(declaration: str, body: str, expected: np.ndarray) -> None:
    out = launch(KERNEL.format(declaration, body), [np.zeros(32, np.int32), X], block=32)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    "body",
    [
        "s[t] = x[0]; s[t + 64] = x[1]; out[t] = s[t + 64] + s[t];",
        "const int step = x[0]; s[step * (2 * t + 1)] = 1; out[t] = s[step * (2 * t + 2)];",
        "for (int i = t; i < 64; i += 5) { s[i] = x[t]; out[t] += s[i]; }",
        "s[t] = x[t]; if (x[t] > 5) s[t] = 5; out[t] = s[t];",
        "s[0] = 0; out[t] = s[0];",
    ],
)
def test_what_stays_in_a_threads_own_places_needs_no_warp(body: str) -> None:
    kernel = KERNEL.format("__shared__ int s[256];", body)
    # Where warps matter, a block of this shape is launched as one row.
    assert compile_kernel(kernel, [np.zeros(32, np.int32), X], block=(5, 13)).device_data["flat"] is False
