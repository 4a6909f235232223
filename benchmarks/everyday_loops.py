"""Random kernels of everyday statements, as the CPU device runs them and plainly: results that differ.

    python -m benchmarks everyday_loops 500

Guards and early returns, block- and grid-stride loops with indices of many types, nested loops that some threads leave, branches,
switches, local arrays, tiles in shared memory, atomic additions, several rows a thread. Arithmetic is exact and nothing races, so
what the device makes fast must leave the same bits as what it runs one thread after another without any optimisation
(docs/concepts/cpu-device.md).
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.batches import run, tell
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, Device, ParameterType, Session
from warpsmith.devices.registry import load_device

ELEMENTS, BINS = 4096, 64
SIZES = ((200, 5), (1000, 17), (37, 1))
SHAPES = {
    1: (((2, 1, 1), (128, 1, 1)), ((3, 1, 1), (50, 1, 1)), ((1, 1, 1), (256, 1, 1))),
    2: (
        ((2, 4, 1), (32, 4, 1)),
        ((2, 2, 1), (16, 8, 1)),
        ((4, 2, 1), (8, 8, 1)),
        ((4, 8, 1), (16, 2, 1)),
        ((8, 8, 1), (8, 2, 1)),
    ),
}
ROWS = 8  # of each thread, in blocks of two dimensions
PLACES = (
    64 * 256
)  # of the rows' elements: as many columns as a grid has threads along x, as many rows as it has along y, times ROWS
HEAD = """\
struct Pair { unsigned x, y; };
__device__ Pair pair(const unsigned* p, int at) { return reinterpret_cast<const Pair*>(p)[at]; }
__device__ unsigned found(const unsigned* p, int at, int k, int m) {
  for (int z = 0; z < k; ++z) {
    if (p[(at + z) & 4095] == 3u * m) return z;
    if (z > m) return p[at];
  }
  return k;
}
extern "C" __global__ void kern(unsigned* out, const unsigned* a, const float* f, const unsigned* b, int n, int m) {
"""
NUMBERS = {
    1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;",
    2: "const int i = (blockIdx.y * blockDim.y + threadIdx.y) * 64 + blockIdx.x * blockDim.x + threadIdx.x;",
}
TILE = (
    "__shared__ unsigned tile[1024];",
    "const int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;",
    "tile[t] = 5u; __syncthreads();",
)
# Beginning, end and step of a loop.
STRIDES = (
    ("threadIdx.x", "n", "blockDim.x"),
    ("i", "n", "gridDim.x * blockDim.x"),
    ("0", "m", "1"),
    ("0", "m", "1"),
    ("threadIdx.x", "m", "blockDim.x"),
    ("1", "n", "n / 7 + 1"),
    ("threadIdx.x / 32", "m", "blockDim.x / 32 + 1"),
    ("threadIdx.y", "m", "blockDim.y"),
    ("threadIdx.y", f"{ROWS} * blockDim.y", "blockDim.y"),
)
DEEPEST = 3


class Maker:
    """Writes one kernel. Every index is masked, every value unsigned: nothing is left open by the language."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.dimensions: int = self._one(1, 2)
        self._indices = ["i", "(int)threadIdx.x", "(int)blockIdx.x", *["(int)threadIdx.y"] * (self.dimensions - 1)]
        self._names = 0
        self._depth = 0

    def kernel(self) -> str:
        guard = self._one("", "", "if (i >= n) return;", "if (i < n) {")
        tiled = self._one(0, 0, 1) and not guard.endswith("{")
        lines = [NUMBERS[self.dimensions], "unsigned x = a[i & 4095], y = i;", *(TILE if tiled else ()), guard]
        lines += self._statements(self._one(2, 3, 4))
        if tiled:
            lines += ["tile[t] = x + y; __syncthreads();", f"x += tile[(t + {self._one(1, 5, 32)}) % threads]; __syncthreads();"]
            lines += ["tile[t] = x; __syncthreads();", f"y ^= tile[(t ^ {self._one(1, 2, 16)}) % threads];"]
            lines += self._statements(self._one(1, 2))
        if guard.endswith("{"):
            lines += ["out[i & 4095] += x * 3u + y;", "}"]
        elif self.dimensions > 1:
            lines += self._rows(all_there=not guard)
        return HEAD + "\n".join([*lines, "out[8192 + (i & 4095)] = x ^ (y << 1);", "}\n"])

    def _rows(self, *, all_there: bool) -> list[str]:
        """Several rows a thread: in registers, through a tile that is turned (where no thread has left), or straight."""
        step, unroll = self._one("blockDim.y", "(int)blockDim.y"), self._one("", "", "#pragma unroll", "#pragma unroll 4")
        loop = f"for ({self._one('int', 'unsigned', 'size_t')} j = 0; j < {ROWS}; ++j)"
        kept = self._one("if (row < n) {", "if (row < n && col < m * 8) {", "{")
        head = [f"const int y0 = blockIdx.y * blockDim.y * {ROWS} + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;"]
        row, there = f"const int row = y0 + j * {step};", f"out[{3 * ELEMENTS + BINS} + row * 64 + col]"
        read = f"{self._one('f', 'a', 'b')}[(row * 64 + col) & 4095]"
        straight = [unroll, f"{loop} {{ {row} {kept} {there} = {read} + x * {self._value(2)}; }} }}"]
        registers = [f"unsigned r[{ROWS}];", unroll, f"{loop} {{ {row} r[j] = row < n ? (unsigned){read} : x; }}"]
        registers += [unroll, f"{loop} {{ {row} {kept} {there} = r[j] * 3u + r[{ROWS - 1} - j] + {self._value(2)}; }} }}"]
        at = f"(threadIdx.y + j * {step})"
        turned = [f"__shared__ unsigned rows[{8 * ROWS}][{self._one(33, 32, 34)}];", unroll]
        turned += [f"{loop} {{ {row} rows[{at}][threadIdx.x] = (unsigned){read} + x; }}"]
        turned += ["__syncthreads();", f"const int e = threadIdx.x * {ROWS} * blockDim.y;", unroll]
        place = f"(e + {at})"
        turned += [f"{loop} {{ {row} {kept} {there} = rows[{place} / blockDim.x][{place} % blockDim.x] ^ y; }} }}"]
        return [*head, *self._one(straight, registers, *((turned, turned) if all_there else ()))]

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _variable(self) -> str:
        return str(self._one("x", "y"))

    def _index(self) -> str:
        base, other = self._one(*self._indices), self._one(*self._indices)
        changed = (f"{base} + {self._one(1, 3, 7, 'm')}", f"{base} * {self._one(2, 3, 4, 'm')}", f"{base} / {self._one(2, 3, 8)}")
        further = (f"{base} % {self._one(2, 5, 16, 'm')}", f"{base} ^ {self._one(1, 2, 5)}", f"{base} * m + {other}")
        return f"({self._one(base, base, base, *changed, *further)})"

    def _place(self) -> str:
        return f"{self._index()} & 4095"

    def _value(self, depth: int = 0) -> str:
        leaves = (
            self._variable(),
            f"a[{self._place()}]",
            f"(unsigned)f[{self._place()}]",
            f"(unsigned){self._index()}",
            f"{self._one(0, 1, 3, 7, 31, 255)}u",
        )
        if depth > 2 or self._one(0, 0, 1) == 0:
            return str(self._one(*leaves))
        p, q = self._value(depth + 1), self._value(depth + 1)
        kind = self._one("short", "char", "unsigned short", "unsigned char")
        return str(
            self._one(
                f"({p} {self._one('+', '-', '*', '^')} {q})",
                f"({self._condition(depth + 1)} ? {p} : {q})",
                f"({p} >> ({q} & 31))",
                f"(unsigned)({kind})({p})",
                f"{self._one('min', 'max')}({p}, {q})",
                f"({p} {self._one('/', '%')} ({q} | 1u))",
                f"(unsigned)__popc({p})",
                f"pair(b, ({self._place()}) >> 1).y",
            )
        )

    def _condition(self, depth: int = 0) -> str:
        p, q = self._value(depth + 1), self._value(depth + 1)
        i, j = self._one(*self._indices), self._one(*self._indices)
        return str(
            self._one(
                f"({self._index()} < {self._one('n', 'm')})",
                f"({p} & 1)",
                f"({p} {self._one('<', '==')} {q})",
                f"({i} >= {self._one(0, 1, 5, 31)})",
                f"({i} {self._one('<', '<=', '>', '!=')} {j})",
                f"(threadIdx.x < {self._one(8, 16, 40, 'm')})",
            )
        )

    def _statements(self, count: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement()]

    def _statement(self) -> list[str]:
        deep = self._depth >= DEEPEST
        kinds = (self._assignment, self._assignment, self._output, self._small)
        larger = () if deep else (self._branch, self._strided, self._strided, self._counted, self._switch)
        written: list[str] = self._one(*kinds, *larger)()
        return written

    def _inner(self, count: int, index: str | None = None) -> list[str]:
        self._depth += 1
        self._indices += [index] if index else []
        lines = self._statements(count)
        del self._indices[len(self._indices) - bool(index) :]
        self._depth -= 1
        return lines

    def _assignment(self) -> list[str]:
        return [f"{self._variable()} {self._one('=', '+=', '^=')} {self._value()};"]

    def _output(self) -> list[str]:
        return [f"out[{self._one(0, 4096)} + (i & 4095)] {self._one('=', '+=')} {self._value()};"]

    def _small(self) -> list[str]:
        """What takes a line or two: wide loads and products, a function, an array of the thread's own, a sum in a bin."""
        v, to, size = self._name(), self._variable(), self._one(4, 8, 20)
        wide = f"const float4 q = reinterpret_cast<const float4*>(f)[({self._place()}) >> 2];"
        largest = f"{v} = fmaxf({v}, f[(z * {self._one('1', 'm', '64')} + {self._one(*self._indices)}) & 4095])"
        array = f"unsigned {v}[{size}]; for (int z = 0; z < {size}; ++z) {v}[z] = {self._value()} + z;"
        line = self._one(
            f"{wide} {to} += (unsigned)(q.{self._one(*'xyzw')} + 2.0f * q.{self._one(*'xy')});",
            f"const unsigned long long w = (unsigned long long){self._value()} * {self._value()}; x ^= (unsigned)(w >> 7);",
            f"y += found(a, {self._place()}, (int)({self._value()} & 15u), m);",
            f"float {v} = 0.0f; for (int z = 0; z < {self._one('m', '8')}; ++z) {largest} + (z & 1 ? 1.0f : 0.0f); {to} += {v};",
            f"{array} {v}[{self._one(*self._indices)} & 3] = {self._value()}; {to} += {v}[{self._index()} & 3];",
            f"atomicAdd(&out[12288 + ({self._value()} & 63u)], {self._value()});",
        )
        return [f"{{ {line} }}"]

    def _branch(self) -> list[str]:
        other = ["} else {", *self._inner(self._one(1, 2))] if self._one(0, 1) else []
        return [f"if ({self._condition()}) {{", *self._inner(self._one(1, 2, 3)), *other, "}"]

    def _strided(self) -> list[str]:
        v, kind = self._name(), self._one("int", "int", "unsigned", "long long", "short", "size_t")
        begin, end, step = self._one(*STRIDES, ("0", f"({self._value()} & 15)", "1"))
        leave = self._one("", "", f"if ({self._condition()}) break;", f"if ({self._condition()}) continue;")
        head = f"for ({kind} {v} = {begin}; {v} < ({kind})({end}); {v} += {step}) {{ {leave}"
        return [head, *self._inner(self._one(1, 2, 3), f"(int){v}"), "}"]

    def _counted(self) -> list[str]:
        """Down, while something holds, or at least once."""
        v = self._name()
        body = self._inner(self._one(1, 2), v)
        begin, step = self._one("m", "(int)threadIdx.x", "n / 3"), self._one(1, 3, "(int)blockDim.x")
        some = f"(int)({self._value()} & 31u)"
        return list(
            self._one(
                (f"for (int {v} = {begin}; {v} >= 0; {v} -= {step}) {{", *body, "}"),
                (f"{{ int {v} = {some}; while ({v} > 0 && {self._condition()}) {{ --{v};", *body, f"}} x += {v}; }}"),
                (f"{{ int {v} = 0; do {{ ++{v};", *body, f"}} while ({v} < ({self._value()} & 7u)); y += {v}; }}"),
            )
        )

    def _switch(self) -> list[str]:
        cases = [(f"case {case}: {{", *self._inner(1), f"}} {self._one('break;', '')}") for case in range(3)]
        return [f"switch ({self._value()} & 3) {{", *(line for case in cases for line in case), "}"]


def outputs(
    device: Device, session: Session, text: str, shape: tuple[Any, Any], given: list[np.ndarray], *, plain: bool
) -> list[np.ndarray]:
    """For each of the sizes."""
    kinds = (DType.I32, DType.I32, DType.F32, DType.I32)
    parameters = [ParameterType(f"p{index}", kind, is_pointer=True) for index, kind in enumerate(kinds)]
    parameters += [ParameterType(name, DType.I32, is_pointer=False) for name in "nm"]
    geometry = Geometry(*shape, 0)
    request = CompileRequest(text, Path("kernel"), Language.CUDA, "kern", tuple(parameters), geometry)
    program = session.load(device.compile(replace(request, plain=plain)))
    found = []
    for sizes in SIZES:
        out = np.full(3 * ELEMENTS + BINS + PLACES, 7, np.uint32)
        views = [memoryview(bytearray(array.tobytes())) for array in (out, *given)]
        program.launch((*views, *(size.to_bytes(4, "little") for size in sizes)), geometry)
        found.append(np.frombuffer(views[0], np.uint32))
    return found


def work(first: int, count: int) -> None:
    device = load_device("cpu")
    session = device.open()
    numbers = np.random.default_rng(1)
    small, floats = numbers.integers(0, 60, (2, ELEMENTS))
    given = [small.astype(np.uint32), floats.astype(np.float32), numbers.integers(0, 2**32, ELEMENTS, dtype=np.uint32)]
    for seed in range(first, first + count):
        maker = Maker(seed)
        text = maker.kernel()
        tell(seed, Language.CUDA.value, None)
        wrong = []
        for shape in SHAPES[maker.dimensions]:
            fast, plain = (outputs(device, session, text, shape, given, plain=plain) for plain in (False, True))
            pairs = zip(SIZES, fast, plain, strict=True)
            wrong += [f"blocks of {shape[1]} with n, m = {sizes}" for sizes, p, q in pairs if not np.array_equal(p, q)]
        tell(seed, Language.CUDA.value, wrong)


def main() -> None:
    run("benchmarks.everyday_loops", lambda seed: Maker(seed).kernel())
