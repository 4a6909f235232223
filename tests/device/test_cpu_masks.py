"""Loops whose trips are not the same for all threads of a row: each thread does what it did before they were taken apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from cpu_support import device, dim3, page_aligned, request, session

from warpsmith.core.hardware import Geometry

ROOM = 4096
BLOCKS = [1, 7, 32, 48, 100, (17, 3), (32, 4), (8, 2, 2)]
SIZES = [0, 1, 31, 32, 100, 257]

# Every thread records what it does in the order it does it: in a number of its own, and in the places that it visits.
SOURCE = """
#define VISIT(i) do {{ h = h * 31 + (unsigned)(i); o[{room} + row * n + (i)] = h; }} while (0)
#define COUNT(i) do {{ h = h * 31 + (unsigned)(i); o[thread] = h; }} while (0)
__global__ void k(unsigned* o, int n, int m) {{
  const int row = threadIdx.y + blockDim.y * threadIdx.z;
  const int thread = row * blockDim.x + threadIdx.x;
  unsigned h = 17;
  {loop}
  o[thread] = h + 1;
}}"""

Visits = Callable[[int, int, int], Iterator[int]]


def strided(start: Callable[[int, int], int] = lambda t, n: t, scale: int = 1) -> Visits:
    def visits(t: int, width: int, n: int) -> Iterator[int]:
        yield from range(start(t, n), n, width * scale)

    return visits


def descending(t: int, width: int, n: int) -> Iterator[int]:
    yield from range(n - 1 - t, -1, -width)


def repeated(t: int, width: int, n: int) -> Iterator[int]:
    for _ in range(3):
        yield from range(t, n, width)


def nested(t: int, width: int, n: int) -> Iterator[int]:
    for i in range(t, n, width):
        yield i
        yield from range(t, n // 2, width)


def stops_after_two(t: int, width: int, n: int) -> Iterator[int]:
    yield from list(range(t, n, width))[:2]


def stops_at_five_of_seven(t: int, width: int, n: int) -> Iterator[int]:
    for i in range(t, n, width):
        yield i
        if i % 7 == 5:
            return


def without_thirds(t: int, width: int, n: int) -> Iterator[int]:
    yield from (i for i in range(t, n, width) if i % 3)


def stumbling(t: int, width: int, n: int) -> Iterator[int]:
    i = t
    while i < n:
        yield i
        i += width * (2 if i % 5 == 0 else 1)


def only_below(limit: int) -> Visits:
    def visits(t: int, width: int, n: int) -> Iterator[int]:
        if t < limit:
            yield from range(t, n, width)

    return visits


LOOPS: dict[str, tuple[str, Visits]] = {
    "int": ("for (int i = threadIdx.x; i < n; i += blockDim.x) VISIT(i);", strided()),
    "unsigned": ("for (unsigned i = threadIdx.x; i < (unsigned)n; i += blockDim.x) VISIT(i);", strided()),
    "64 bits": ("for (long i = threadIdx.x; i < n; i += blockDim.x) VISIT(i);", strided()),
    "16 bits": ("for (short i = threadIdx.x; i < n; i += blockDim.x) VISIT(i);", strided()),
    "while": ("int i = threadIdx.x; while (n > i) { VISIT(i); i += blockDim.x; }", strided()),
    "counted in the condition": (
        "int i = (int)threadIdx.x - (int)blockDim.x; while ((i += (int)blockDim.x) < n) VISIT(i);",
        strided(),
    ),
    "at most": ("for (int i = threadIdx.x; i <= n - 1; i += blockDim.x) VISIT(i);", strided()),
    "not the end": ("for (int i = threadIdx.x; !(i >= n); i += blockDim.x) VISIT(i);", strided()),
    "two steps": ("for (int i = threadIdx.x; i < n; i += 2 * blockDim.x) VISIT(i);", strided(scale=2)),
    "from elsewhere": ("for (int i = n / 4 + threadIdx.x; i < n; i += blockDim.x) VISIT(i);", strided(lambda t, n: n // 4 + t)),
    "scaled": ("for (int i = threadIdx.x * 3; i * 2 < 2 * n; i += blockDim.x * 3) VISIT(i);", strided(lambda t, n: t * 3, 3)),
    "quotient": ("for (int i = threadIdx.x; (i + 4) / 4 <= (n + 3) / 4; i += blockDim.x) if (i < n) VISIT(i);", strided()),
    "shifted": ("for (unsigned i = threadIdx.x; i >> 2 < (n + 3u) >> 2; i += blockDim.x) if (i < n) VISIT(i);", strided()),
    "descending": ("for (int i = n - 1 - (int)threadIdx.x; i >= 0; i -= (int)blockDim.x) VISIT(i);", descending),
    "again": ("for (int r = 0; r < 3; ++r) for (int i = threadIdx.x; i < n; i += blockDim.x) VISIT(i);", repeated),
    "goes on from where it was": (
        """int i = threadIdx.x;
           for (int limit = n / 3; limit <= n; limit += n / 3 + 1) for (; i < limit; i += blockDim.x) VISIT(i);
           for (; i < n; i += blockDim.x) VISIT(i);""",
        strided(),
    ),
    "nested": (
        """for (int i = threadIdx.x; i < n; i += blockDim.x) {
             VISIT(i);
             for (int j = threadIdx.x; j < n / 2; j += blockDim.x) VISIT(j);
           }""",
        nested,
    ),
    "all break": (
        "int c = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) { if (c++ == 2) break; VISIT(i); }",
        stops_after_two,
    ),
    "some break": (
        "for (int i = threadIdx.x; i < n; i += blockDim.x) { VISIT(i); if (i % 7 == 5) break; }",
        stops_at_five_of_seven,
    ),
    "some go on": ("for (int i = threadIdx.x; i < n; i += blockDim.x) { if (i % 3 == 0) continue; VISIT(i); }", without_thirds),
    "some step further": (
        "for (int i = threadIdx.x; i < n; i += blockDim.x) { VISIT(i); if (i % 5 == 0) i += blockDim.x; }",
        stumbling,
    ),
    "some have left": (
        "if (threadIdx.x >= 5) { o[thread] = 18; return; } for (int i = threadIdx.x; i < n; i += blockDim.x) VISIT(i);",
        only_below(5),
    ),
    "some take part": ("if (threadIdx.x < 5) for (int i = threadIdx.x; i < n; i += blockDim.x) VISIT(i);", only_below(5)),
}


def recorded(visits: Visits, block: tuple[int, int, int], n: int) -> np.ndarray:
    out = np.zeros(2 * ROOM, np.uint32)
    for row, t in product(range(block[1] * block[2]), range(block[0])):
        h = 17
        for i in visits(t, block[0], n):
            h = (h * 31 + i) % (1 << 32)
            out[ROOM + row * n + i] = h
        out[row * block[0] + t] = h + 1
    return out


@pytest.mark.parametrize("name", LOOPS)
def test_every_thread_does_the_same_in_the_same_order(name: str):
    loop, visits = LOOPS[name]
    out = np.zeros(2 * ROOM, np.uint32)
    asked = request(SOURCE.format(room=ROOM, loop=loop), [out, np.int32(0), np.int32(0)])
    program = session().load(device().compile(asked))
    for block, n in product(map(dim3, BLOCKS), SIZES):
        memory = page_aligned(out)
        program.launch((memory, np.int32(n).tobytes(), np.int32(0).tobytes()), Geometry((1, 1, 1), block))
        assert np.array_equal(np.frombuffer(memory, np.uint32), recorded(visits, block, n)), (block, n)


WRAPPING = {
    "unsigned": ("for (unsigned i = (unsigned)m + threadIdx.x; i < (unsigned)n; i += blockDim.x) COUNT(i);", 0, 2**32),
    "signed": (
        "for (int i = (int)((unsigned)m + threadIdx.x); i < n; i = (int)((unsigned)i + blockDim.x)) COUNT(i);",
        -(2**31),
        2**31,
    ),
}


@pytest.mark.parametrize("name", WRAPPING)
@pytest.mark.parametrize("before_the_end", [0, 1, 20, 40, 64, 100])
def test_indices_that_wrap_around_within_a_row(name: str, before_the_end: int):
    """The last threads come out at the small end of the numbers and go on, the first ones do not."""
    loop, least, end = WRAPPING[name]
    width, n, start = 64, least + 150, end - before_the_end
    out = np.zeros(2 * ROOM, np.uint32)
    arguments = [out, np.array(n, np.int64).astype(np.int32)[()], np.array(start, np.int64).astype(np.int32)[()]]
    asked = request(SOURCE.format(room=ROOM, loop=loop), arguments, block=width)
    memory = page_aligned(out)
    program = session().load(device().compile(asked))
    program.launch((memory, *(argument.tobytes() for argument in arguments[1:])), asked.geometry)
    expected = []
    for t in range(width):
        i, h = start + t if t < before_the_end else least + t - before_the_end, 17
        while i < n:
            h = (h * 31 + i) % (1 << 32)
            i += width
        expected.append(h + 1)
    assert np.frombuffer(memory, np.uint32)[:width].tolist() == expected


def test_lanes_exchange_values_in_every_trip():
    source = """
    __global__ void k(int* o, int n) {
      int sum = 0;
      for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int other = __shfl_xor_sync(0xffffffff, i * i, 5);
        sum += other;
        o[i] = other;
      }
      for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
      if (threadIdx.x % 32 == 0) o[n + threadIdx.x / 32] = sum;
    }"""
    for n, block in [(32, 64), (64, 64), (256, 64), (96, 96), (160, 64)]:
        out = np.zeros(n + block // 32, np.int32)
        asked = request(source, [out, np.int32(n)], block=block)
        memory = page_aligned(out)
        session().load(device().compile(asked)).launch((memory, np.int32(n).tobytes()), asked.geometry)
        i = np.arange(n)
        sums = [sum(int(x) ** 2 for x in i if x % block // 32 == warp) for warp in range(block // 32)]
        assert np.frombuffer(memory, np.int32).tolist() == [*((i ^ 5) ** 2).tolist(), *sums]


def test_barriers_between_loops_see_all_that_was_written():
    source = """
    __global__ void k(float* o, const float* x, int n) {
      __shared__ float s[512];
      for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) o[i] = s[n - 1 - i] + 1.0f;
    }"""
    x = np.random.default_rng(0).standard_normal(512).astype(np.float32)
    for n, block in product([1, 33, 256, 511], [32, 48, 256]):
        out = np.zeros(n, np.float32)
        asked = request(source, [out, x[:n].copy(), np.int32(n)], block=block)
        memory = page_aligned(out)
        session().load(device().compile(asked)).launch(
            (memory, page_aligned(x[:n].copy()), np.int32(n).tobytes()), asked.geometry
        )
        assert np.array_equal(np.frombuffer(memory, np.float32), x[:n][::-1] + np.float32(1))


# Under each guard a thread does its work; what it leaves behind is told by the index alone.
GUARDS = {
    "unsigned": ("if ((unsigned)i < (unsigned)n) o[i] += 3;", lambda i, n: 3 * (i < n)),
    "size_t": ("size_t j = i; if (j < n) o[j] += 3;", lambda i, n: 3 * (i < n)),
    "signed, before other work": ("if (i < n) o[i] += 3; o[i] += 1;", lambda i, n: 3 * (i < n) + 1),
    "early return": ("if ((unsigned)i >= n) return; o[i] += 3; if (i % 2) o[i] += 4;", lambda i, n: (i < n) * (3 + i % 2 * 4)),
    "product": ("if (i * 3 + 2 < n) o[i] += 3; o[i] += 1;", lambda i, n: 3 * (i * 3 + 2 < n) + 1),
    "quotient": ("const int q = i / 5; if (q >= n / 5) return; o[i] += q;", lambda i, n: (i // 5) * (i // 5 < n // 5)),
    "two conditions": ("if (i >= 7 && i < n - 3) o[i] += 3; o[i] += 1;", lambda i, n: 3 * (7 <= i < n - 3) + 1),
    "two returns": ("if (i / 2 < 3) return; if (i / 2 >= n / 2) return; o[i] += 3;", lambda i, n: 3 * (3 <= i // 2 < n // 2)),
    "a value": ("const int x = i / 2 < n / 2 ? o[i] + 5 : 9; o[i] = x;", lambda i, n: 5 if i // 2 < n // 2 else 9),
    "both sides": ("if (i < n) o[i] += 3; else o[i] += 4; o[i] += 1;", lambda i, n: 4 if i < n else 5),
    "a loop in it": ("if (i / 2 >= n) return; for (int r = t; r < 3 * width; r += width) o[i] += r;", lambda i, n: None),
    "in a loop": (
        "for (int r = 0; r < 3; ++r) if (i + r < n) o[i] += r + 1;",
        lambda i, n: sum(r + 1 for r in range(3) if i + r < n),
    ),
    "under a mask": ("if (i % 3 == 1) if ((unsigned)i < (unsigned)n) o[i] += 3;", lambda i, n: 3 * (i % 3 == 1 and i < n)),
}


@pytest.mark.parametrize("name", GUARDS)
@pytest.mark.parametrize("block", [1, 7, 32, 48, (16, 3), (33, 2, 2)])
def test_guards_let_through_whom_they_did(name: str, block: int | tuple[int, ...]):
    text, expected = GUARDS[name]
    source = f"""
    __global__ void k(int* o, int n) {{
      const int t = threadIdx.x, width = blockDim.x;
      const int row = threadIdx.y + blockDim.y * (threadIdx.z + blockDim.z * blockIdx.y);
      o += row * gridDim.x * width;
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      {text}
    }}"""
    width, rows = dim3(block)[0], 2 * dim3(block)[1] * dim3(block)[2]
    out = np.zeros((rows, 5 * width), np.int32)
    asked = request(source, [out, np.int32(0)], grid=(5, 2), block=block)
    program = session().load(device().compile(asked))
    for n in {0, 1, width, width + 1, 3 * width - 1, 3 * width, 5 * width, 5 * width + 9}:
        memory = page_aligned(out)
        program.launch((memory, np.int32(n).tobytes()), asked.geometry)
        if name == "a loop in it":
            each = [sum(range(i % width, 3 * width, width)) * (i // 2 < n) for i in range(5 * width)]
        else:
            each = [int(expected(i, n)) for i in range(5 * width)]
        assert np.frombuffer(memory, np.int32).reshape(out.shape).tolist() == [each] * rows, n


def test_an_index_that_wraps_around_does_not_pass_a_guard():
    """The last thread's index is negative, so it passes; the first ones' are not, and they do not."""
    source = """
    __global__ void k(int* o, int start) {
      const int i = (int)((unsigned)start + blockIdx.x * blockDim.x + threadIdx.x);
      if (i < 100) o[threadIdx.x] += 1;
      o[threadIdx.x] += 2;
    }"""
    out = np.zeros(64, np.int32)
    for before_the_end in (0, 1, 20, 63, 64):
        arguments = [out, np.int32(2**31 - 1 - before_the_end)]
        asked = request(source, arguments, block=64)
        memory = page_aligned(out)
        session().load(device().compile(asked)).launch((memory, arguments[1].tobytes()), asked.geometry)
        assert np.frombuffer(memory, np.int32).tolist() == [2 if t <= before_the_end else 3 for t in range(64)]
