"""Random loops that part threads, on the CPU device and on the host: results that differ. `python -m benchmarks loop_exits 500`.

Kernels in CUDA and OpenCL C that a vectoriser easily gets wrong (docs/concepts/cpu-device.md): threads leave loops in different
trips, or turn different ways in them, and use what all had in common. All arithmetic is exact, so the same text compiled for the
host, one thread after another, must give the same bits. Kernels run in processes of their own, which may crash.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.batches import run, tell
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.devices.registry import load_device

THREADS, ROOM, TRIPS = 256, 64, 24
BLOCKS = (1, 7, 32, 64, 256)
COMMON = """
typedef struct { int begin, unused, value, next; } Row;
typedef struct { short key; CHAR tag[6]; int m[4]; float w; LONG total; } Deep;
#define PARAMS G int* out, G const int* x, G const int* a, G const Row* rows, G const Deep* deep, G const float4* f4, int n
#define ARGS out, x, a, rows, deep, f4, n
"""
PLAIN = "#define G\n#define CHAR signed char\n#define LONG long long\n"
CUDA = f"""{PLAIN}#define DEVICE static __device__
#define KERNEL extern "C" __global__
#define THREAD ((int)(blockIdx.x * blockDim.x + threadIdx.x))
{COMMON}"""
OPENCL = f"""#define G __global
#define CHAR char
#define LONG long
#define DEVICE static
#define KERNEL __kernel
#define THREAD ((int)get_global_id(0))
{COMMON}"""
HOST = f"""{PLAIN}#define DEVICE static
struct alignas(16) float4 {{ float x, y, z, w; }};
struct int4 {{ int x, y, z, w; }};
{COMMON}"""
SCALARS = ("int", "int", "int", "unsigned", "LONG", "short", "CHAR", "float")
FIXED = ("k < 10", "(k & 1) == 0", "t & 1")


class Maker:
    """Writes one kernel: variables somewhere, a loop or two, results of what they left."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._declared: list[str] = []
        self._counters: list[str] = []
        self._values: list[str] = []
        self._serial = 0

    def kernel(self) -> str:
        """With the macros above; `k` is what threads look for."""
        self._values = [self._variable(self._one("0", "7", "k")) for _ in range(self._one(1, 2, 3))]
        lines = self._loop(0)
        if self._one(*range(5)) == 0:
            uniform = self._one("", "if (n > 3) ")
            lines = [f"{uniform}if ({self._one(*FIXED)}) {{", *lines, "} else {", *self._loop(0), "}"]
        result = self._result(self._counters[0])
        if self._one(0, 1, 2) == 0:
            text = "\n".join(
                ["DEVICE int find(PARAMS, int t, int k) {", *self._declared, *lines, f"done:;\nreturn {result};\n}}"]
            )
            return f"{text.replace('return;', 'return n;')}\nBEGIN\nout[4 * t] = find(ARGS, t, k);\n}}\n"
        return "\n".join(["BEGIN", *self._declared, *lines, f"done:;\nout[4 * t] = {result};\n}}\n"])

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _name(self) -> str:
        self._serial += 1
        return f"v{self._serial}"

    def _variable(self, start: str) -> str:
        """A scalar, a member, an element: as it is written to."""
        name, kind, other = self._name(), self._one(*SCALARS), self._one("0", "k", "t")
        match self._one(*range(8)):
            case 0:
                self._declared.append(f"struct {{ int p; {kind} v; }} {name}; {name}.p = {other}; {name}.v = {start};")
                return f"{name}.v"
            case 1:
                size, index = self._one(2, 4, 16, 20, 64), self._one("1", "(n & 1)", "(t & 1)")
                filled = f"for (int z = 0; z < {size}; ++z) {name}[z] = {self._one('0', '(k + z) & 15')};"
                self._declared.append(f"{kind} {name}[{size}]; {filled} {name}[{index}] = {start};")
                return f"{name}[{index}]"
            case 2:
                self._declared.append(f"int4 {name}; {name}.y = {other}; {name}.x = {start};")
                return f"{name}.x"
            case _:
                self._declared.append(f"{kind} {name} = {start};")
                return name

    def _access(self, i: str) -> str:
        j = self._one(0, 1, 2, 3)
        by_trip = (f"a[{i}]", f"rows[{i}].begin", f"rows[{i}].value", f"rows[rows[{i}].next].value", f"(int)f4[{i}].{'xyzw'[j]}")
        deeper = (f"deep[{i}].m[{j}]", f"deep[{i}].m[({i}) & 3]", f"deep[{i}].tag[{j}]", f"a[({i}) * 3 + {j}]")
        by_thread = (f"a[({i}) * 256 + t]", f"a[t * 64 + {i}]", f"*(a + t + {i})", f"rows[({i}) ^ (t & 1)].value")
        return self._one(*by_trip, *by_trip, *deeper, *by_thread)

    def _condition(self, i: str, depth: int = 0) -> str:
        read = self._access(i)
        forms = [f"k < {read}", f"{read} > k", f"({read} & 7) == (k & 7)", f"({i}) * 2 > k", f"{read} == k", self._one(*FIXED)]
        if depth < 2:
            forms.append(f"({self._condition(i, depth + 1)} {self._one('&&', '||')} {self._condition(i, depth + 1)})")
            forms.append(f"({self._one(*self._values)} = {read}) > k")
        return self._one(*forms)

    def _result(self, i: str) -> str:
        parts = (self._access(i), self._access(i), f"(int)({i})", *(f"(int){value}" for value in self._values))
        return " * 3 + ".join(self._random.sample(parts, self._one(1, 2, 3)))

    def _statement(self, i: str) -> str:
        value, read = self._one(*self._values), self._access(i)
        return self._one(
            "",
            f"{value} = {read};",
            f"{value} += {read} & 3;",
            f"{value} = {i};",
            f"if ({self._condition(i)}) {value} = {read};",
            f"{value} = {self._one(*FIXED)} ? {read} : {self._access(i)};",
        )

    def _leave(self, i: str) -> str:
        first = self._one("", self._statement(i), f"out[4 * t + {self._one(1, 2)}] = {self._result(i)};")
        return f"if ({self._condition(i)}) {{ {first} {self._one('break;', 'break;', 'return;', 'goto done;')} }}"

    def _loop(self, depth: int) -> list[str]:
        if self._one(*range(6)) == 0:
            walker = self._name()
            self._declared.append(f"G const Row* {walker} = rows;")
            reset, i, step, bound = f"{walker} = rows;", f"(int)({walker} - rows)", f"++{walker}", f"{walker} < rows + n"
        else:
            counter = self._variable("0")
            limit = self._one("n", "n", "(k & 15) + 1", "8")
            reset, i, step, bound = f"{counter} = 0;", f"(int){counter}", f"++{counter}", f"(int){counter} < {limit}"
        self._counters.append(i)
        body = [self._statement(i), self._leave(i), self._statement(i)]
        body += self._loop(1) if depth == 0 and self._one(*range(5)) == 0 else [self._one("", self._leave(i))]
        head = [reset] if depth else []
        match self._one(*range(4)):
            case 0:
                return [*head, f"while ({bound}) {{", *body, f"{step}; }}"]
            case 1:
                return [*head, "do {", *body, f"{step}; }} while ({bound});"]
            case 2:
                return [*head, f"while ({bound} && !({self._condition(i)})) {{", self._statement(i), f"{step}; }}"]
            case _:
                return [*head, f"for (; {bound}; {step}) {{", *body, "}"]


def tables() -> list[np.ndarray]:
    numbers = np.random.default_rng(5)
    deep = np.zeros(ROOM, np.dtype([("key", "i2"), ("tag", "i1", 6), ("m", "i4", 4), ("w", "f4"), ("total", "i8")], align=True))
    for name in ("tag", "m", "total"):
        deep[name] = numbers.integers(0, 60, deep[name].shape)
    rows = [[2 * i + 1, 0, numbers.integers(0, 90), numbers.integers(0, TRIPS)] for i in range(ROOM)]
    return [
        numbers.integers(0, 48, THREADS).astype(np.int32),
        numbers.integers(0, 60, ROOM * THREADS).astype(np.int32),
        np.array(rows, np.int32),
        np.frombuffer(deep.tobytes(), np.int8),
        numbers.integers(0, 60, (ROOM, 4)).astype(np.float32),
    ]


def on_host(kernels: list[str], given: list[np.ndarray]) -> list[np.ndarray]:
    text = HOST
    for number, kernel in enumerate(kernels):
        body = kernel.replace("BEGIN\n", "static void one(PARAMS, int t) {\nconst int k = x[t];\n")
        text += f"namespace n{number} {{ {body}}}\n"
        text += f'extern "C" void all{number}(PARAMS) {{ for (int t = 0; t < {THREADS}; ++t) n{number}::one(ARGS, t); }}\n'
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "host.cpp"), Path(folder, "host.so")
        source.write_text(text, encoding="utf-8")
        flags = ("-O1", "-w", "-fwrapv", "-fno-strict-aliasing", "-fno-sanitize=all", "-ffp-contract=off", "-shared", "-fPIC")
        subprocess.run([sys.executable, "-m", "ziglang", "c++", *flags, "-o", str(library), str(source)], check=True)
        loaded = ctypes.CDLL(str(library))
    found = []
    for number in range(len(kernels)):
        found.append(np.full(4 * THREADS, -1, np.int32))
        buffers = [ctypes.c_void_p(array.ctypes.data) for array in (found[-1], *given)]
        getattr(loaded, f"all{number}")(*buffers, ctypes.c_int(TRIPS))
    return found


def differing(kernel: str, language: Language, given: list[np.ndarray], expected: np.ndarray) -> list[int]:
    """The sizes of blocks with which the device comes to something else."""
    head = OPENCL if language is Language.OPENCL else CUDA
    text = head + kernel.replace("BEGIN\n", "KERNEL void kern(PARAMS) {\nconst int t = THREAD;\nconst int k = x[t];\n")
    kinds = (DType.I32, DType.I32, DType.I32, DType.I32, DType.I8, DType.F32)
    parameters = [ParameterType(f"p{index}", kind, is_pointer=True) for index, kind in enumerate(kinds)]
    parameters.append(ParameterType("n", DType.I32, is_pointer=False))
    device = load_device("cpu")
    request = CompileRequest(text, Path("kernel"), language, "kern", tuple(parameters), Geometry((4, 1, 1), (64, 1, 1), 0))
    program = device.open().load(device.compile(request))
    wrong = []
    for block in BLOCKS:
        out = np.full(4 * THREADS, -1, np.int32)
        views = [memoryview(bytearray(array.tobytes())) for array in (out, *given)]
        program.launch((*views, TRIPS.to_bytes(4, "little")), Geometry((THREADS // block, 1, 1), (block, 1, 1), 0))
        ran = 4 * (THREADS // block * block)
        if not np.array_equal(np.frombuffer(views[0], np.int32)[:ran], expected[:ran]):
            wrong.append(block)
    return wrong


def work(first: int, count: int) -> None:
    given = tables()
    kernels = [Maker(seed).kernel() for seed in range(first, first + count)]
    for seed, kernel, expected in zip(range(first, first + count), kernels, on_host(kernels, given), strict=True):
        for language in (Language.CUDA, Language.OPENCL):
            tell(seed, language.value, None)
            blocks = differing(kernel, language, given, expected)
            tell(seed, language.value, [f"blocks of {block}" for block in blocks])


def main() -> None:
    run("benchmarks.loop_exits", lambda seed: Maker(seed).kernel())
