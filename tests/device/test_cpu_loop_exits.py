"""Threads that leave a loop in different trips: what they take along is their own, though in every trip it was the same for all."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.hardware import Language

ROWS = 8
HEAD = """
struct Row { float begin, unused, value, more; };
__global__ void k(float* out, const float* x, const Row* rows, int n) {
  const int t = threadIdx.x;
  out[t] = -1;
"""
LEAVING = [
    "for (int i = 0; i < n; ++i) if (x[t] < rows[i].begin) { out[t] = rows[i].value; break; }",
    "for (int i = 0; i < n; ++i) if (x[t] < rows[i].begin) { out[t] = rows[i].value; return; }",
    "for (int k = 0; k < n; ++k) for (int i = 0; i < n; ++i) if (x[t] < rows[i].begin) { out[t] = rows[i].value; return; }",
    "int p = -1; for (int i = 0; i < n; ++i) if (x[t] < rows[i].begin) { p = i; break; } if (p >= 0) out[t] = rows[p].value;",
    "for (int i = 0; i < n; ++i) { const Row& row = rows[i]; if (x[t] < row.begin) { out[t] = row.value; break; } }",
    "const float4* e = (const float4*)rows; int i = 0; while (i < n && x[t] >= e[i].x) ++i; out[t] = i < n ? e[i].z : 0.f;",
    (
        "float sum = 0; for (int k = 0; k < n; ++k)\n"
        "for (int i = 0; i < n; ++i) if (x[t] < rows[i].begin) { sum += rows[i].value; break; } out[t] = sum / n;"
    ),
    (
        "__shared__ float s[8][4]; if (t < 8) for (int c = 0; c < 4; ++c) s[t][c] = ((const float*)(rows + t))[c]; __syncthreads();"
        "for (int i = 0; i < n; ++i) if (x[t] < s[i][0]) { out[t] = s[i][2]; break; }"
    ),
]

KINDS_OF_COUNTERS = [
    "struct { int unused, i; } s = {0, 0}; for (; s.i < n; ++s.i) if (x[t] < rows[s.i].begin) { out[t] = rows[s.i].value; break; }",
    "int2 s; for (s.x = 0; s.x < n; ++s.x) if (x[t] < rows[s.x].begin) { out[t] = rows[s.x].value; break; }",
    "int s[2]; for (s[1] = 0; s[1] < n; ++s[1]) if (x[t] < rows[s[1]].begin) { out[t] = rows[s[1]].value; break; }",
    "for (float f = 0; f < n; f += 1) if (x[t] < rows[(int)f].begin) { out[t] = rows[(int)f].value; break; }",
    "for (__int128 i = 0; i < n; ++i) if (x[t] < rows[(int)i].begin) { out[t] = rows[(int)i].value; break; }",
    "const Row* p[2] = {rows, rows + n}; for (; p[0] != p[1]; ++p[0]) if (x[t] < p[0]->begin) { out[t] = p[0]->value; break; }",
]
READ_BEFORE_LEAVING = [
    "float v = rows[i].value; if (x[t] < rows[i].begin) { out[t] = v; break; }",
    "float v = rows[i].value; float twice = 2 * v; if (x[t] < rows[i].begin) { out[t] = twice / 2; break; }",
    "float v = rows[i].value + x[t]; if (x[t] < rows[i].begin) { out[t] = rintf(v - x[t]); break; }",
    "float2 pair = make_float2(rows[i].begin, rows[i].value); if (x[t] < pair.x) { out[t] = pair.y; break; }",
    "float pair[2] = {rows[i].begin, rows[i].value}; if (x[t] < pair[0]) { out[t] = pair[1]; break; }",
    "Row row = rows[i]; if (x[t] < ((const float*)rows)[4 * i]) { out[t] = row.value; break; }",
]

FOUND = [
    "struct { float own; int i; } s = {x[t], 0}; for (; s.i < n; ++s.i) if (s.own < rows[s.i].begin) { v = rows[s.i].value; break; }",
    (
        "int a[20]; for (int j = 0; j < 20; ++j) a[j] = t; a[3] = 0;"
        "for (; a[3] < n; ++a[3]) if (x[t] < rows[a[3]].begin) { v = rows[a[3]].value; break; }"
    ),
    "int a[32]; a[t & 1] = 0; for (; a[t & 1] < n; ++a[t & 1]) if (x[t] < rows[a[t & 1]].begin) { v = rows[a[t & 1]].value; break; }",
    "int i = t; out[t] = i; for (i = 0; i < n; ++i) if (x[t] < rows[i].begin) { v = rows[i].value; break; }",
    "for (int i = 0; i < n; ++i) { v = x[t]; if (v < 0) break; v = rows[i].value; if (x[t] < rows[i].begin) break; v = i; }",
]
# What some sum up, and what others do: the same for all of a kind.
SUMS = [
    "for (int i = 0; i < n; ++i) if (x[t] < 4) v += rows[i].value; else v += rows[i].begin;",
    "for (int i = 0; i < n; ++i) v += x[t] < 4 ? rows[i].value : rows[i].begin;",
    "int i = 0; if (x[t] < 4) { do v += rows[i].value; while (++i < n); } else { do v += rows[i].begin; while (++i < n); }",
    (
        "int i = 0, side; if (x[t] < 4) { do v += rows[i].value; while (++i < n); side = 1; }"
        "else { do v += rows[i].begin; while (++i < n); side = 2; } v += 1000 * side; v -= 1000 * (1 + (int)(x[t] / 4));"
    ),
]


def table() -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([[i + 1, 0, 10 * i, 0] for i in range(ROWS)], np.float32)
    return rows, np.random.default_rng(0).uniform(0, ROWS, 64).astype(np.float32)


def looked_up(source: str, language: Language = Language.CUDA) -> tuple[np.ndarray, np.ndarray]:
    """(what the kernel found, what it had to find): the row in which each of 64 numbers lies."""
    rows, x = table()
    found = launch(source, [np.zeros(64, np.float32), x, rows, np.int32(ROWS)], block=64, language=language)
    return found, 10 * np.floor(x)


@pytest.mark.parametrize("loop", LEAVING)
def test_each_thread_reads_where_it_left(loop: str) -> None:
    np.testing.assert_array_equal(*looked_up(f"{HEAD}{loop}\n}}"))


def test_what_was_read_in_the_trip_before() -> None:
    trip = "before = v; v = rows[i].value; if (x[t] < rows[i].begin) { out[t] = before + (i > 0 ? 10 : 0); break; }"
    np.testing.assert_array_equal(*looked_up(f"{HEAD}float before, v = 0; for (int i = 0; i < n; ++i) {{ {trip} }}\n}}"))


@pytest.mark.parametrize("loop", KINDS_OF_COUNTERS)
def test_whatever_it_counts_with(loop: str) -> None:
    np.testing.assert_array_equal(*looked_up(f"{HEAD}{loop}\n}}"))


@pytest.mark.parametrize("body", READ_BEFORE_LEAVING)
def test_what_was_read_in_the_last_trip_stays_the_threads_own(body: str) -> None:
    np.testing.assert_array_equal(*looked_up(f"{HEAD}for (int i = 0; i < n; ++i) {{ {body} }}\n}}"))


@pytest.mark.parametrize("loop", FOUND)
def test_what_the_compiler_holds_for_the_same_in_all_threads(loop: str) -> None:
    np.testing.assert_array_equal(*looked_up(f"{HEAD}float v = 0; {loop} out[t] = v;\n}}"))


@pytest.mark.parametrize("loops", SUMS)
def test_threads_of_two_kinds(loops: str) -> None:
    rows, x = table()
    found = launch(f"{HEAD}float v = 0; {loops} out[t] = v;\n}}", [np.zeros(64, np.float32), x, rows, np.int32(ROWS)], block=64)
    np.testing.assert_array_equal(found, np.where(x < 4, rows[:, 2].sum(), rows[:, 0].sum()))


def test_in_opencl_too() -> None:
    source = """
    typedef struct { float begin, unused, value, more; } Row;
    __kernel void k(__global float* out, __global const float* x, __global const Row* rows, int n) {
      const int t = get_local_id(0);
      for (int i = 0; i < n; ++i) if (x[t] < rows[i].begin) { out[t] = rows[i].value; break; }
    }"""
    np.testing.assert_array_equal(*looked_up(source, Language.OPENCL))


def test_a_pointer_that_a_loop_has_set_is_taken_for_what_it_points_to() -> None:
    """And not for a part of what it pointed to before: it reads what is written there."""
    source = """
    __global__ void k(float* __restrict__ out, const float* __restrict__ x, float* __restrict__ a, float* __restrict__ b, int n) {
      const int t = threadIdx.x;
      const float* p = a;
      float sum = 0;
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < n; ++i) { p = (i & 1) ? b : a; if (x[t] < i) break; }
        sum += p[t]; b[t] += 1; sum += p[t];
      }
      out[t] = sum;
    }"""
    x = table()[1]
    zeros = np.zeros(64, np.float32)
    found = launch(source, [zeros, x, np.arange(64, dtype=np.float32), zeros.copy(), np.int32(ROWS)], block=64)
    left_at = np.minimum(np.floor(x) + 1, ROWS - 1)
    np.testing.assert_array_equal(found, np.where(left_at % 2, 9, 6 * np.arange(64)))
