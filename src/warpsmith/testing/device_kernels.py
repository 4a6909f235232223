"""The kernels of the devices' conformance suite, as folders with a kernel.toml; in CUDA C++ and, by macros, in OpenCL C."""

from __future__ import annotations

from pathlib import Path
from string import Template

from warpsmith.core.hardware import Language, Limits

_WORDS = {
    Language.CUDA: """
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define TRAP __trap()
""",
    Language.OPENCL: """
#define KERNEL __kernel void
#define GLOBAL __global
#define INDEX get_global_id(0)
#define TRAP
""",
}
_SUFFIX = {Language.CUDA: "cu", Language.OPENCL: "cl"}

_TOML = Template("""
[kernel]
name = "$name"
source = "$name.$suffix"
entry = "$entry"
[arguments]
x = { dtype = "f32", shape = ["n"], role = "in", init = "normal" }
out = { dtype = "f32", shape = ["n"], role = "out" }
n = { dtype = "i32", value = "n" }
$more
""")

# What a candidate can do, by MODE; 0 is correct.
RIGHT, WRONG, BEYOND_THE_END, FAR_BEYOND, ENDLESS, CHANGES_INPUT, TRAPS = range(7)

_DEEDS = """
#ifndef BLOCK
#define BLOCK 64
#endif
#ifndef MODE
#define MODE 0
#endif
KERNEL deeds(GLOBAL float* x, GLOBAL float* out, int n) {
    int i = INDEX;
    if (i < n) out[i] = 2 * x[i];
#if MODE == 1
    if (i == n - 1) out[i] += 1;
#elif MODE == 2
    if (i == 0) out[n] = 1;
#elif MODE == 3
    out[i + (1LL << 40)] = 1;
#elif MODE == 4
    volatile GLOBAL float* v = out;
    while (v[0] != 12345.0f) {}
#elif MODE == 5
    if (i < n) x[i] = 0;
#elif MODE == 6
    TRAP;
#endif
}
"""

_SHARED = """
#ifndef BYTES
#define BYTES 1024
#endif
extern "C" __global__ void shared(const float* x, float* out, int n) {
    extern __shared__ float row[];
    const int size = BYTES / 4;
    for (int i = threadIdx.x; i < size; i += blockDim.x) row[i] = x[i % n];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = row[(size - 1 - i) % size];
}
"""

_WORK = """
KERNEL work(GLOBAL const float* x, GLOBAL float* out, int n, int steps) {
    int i = INDEX;
    if (i >= n) return;
    float v = 0;
    for (int s = 0; s < steps; s++) v = 0.5f * v + x[i];
    out[i] = v;
}
"""

_LANGUAGE = """
#include <type_traits>
__constant__ float scale[4];
template <typename T, int N>
__global__ void language(const T* x, T* out, int n) {
    static_assert(std::is_floating_point<T>::value);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    T v = i < n ? x[i] : T(0);
    for (int offset = N / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
    if (i < n && threadIdx.x % N == 0) atomicAdd(&out[0], v * scale[2]);
}
"""

_SUM = """
def reference(x, out, **_):
    found = out.copy()
    found[0] += x.sum()
    return {"out": found}
"""


def deeds(folder: Path, language: Language, limits: Limits) -> Path:
    """Correct or not, by MODE, in blocks of 64 threads, of the device's maximum, and of more."""
    more = f"""
[launch]
grid = ["ceildiv(n, BLOCK)"]
block = ["BLOCK"]
[workloads]
odd = {{ n = 10007 }}
small = {{ n = 1 }}
[parameters]
BLOCK = {{ values = [64, {limits.max_threads_per_block}, {2 * limits.max_threads_per_block}], default = 64 }}
MODE = {{ values = [0, 1, 2, 3, 4, 5, 6], default = 0 }}
"""
    return _written(folder, "deeds", language, _WORDS[language] + _DEEDS, more, "2 * x")


def shared(folder: Path, limits: Limits) -> Path:
    """All of a block's dynamic shared memory, including what a kernel has to opt in to, is written and read."""
    most = limits.shared_bytes_per_block
    more = f"""
[launch]
grid = [1]
block = [128]
shared = "BYTES"
[workloads]
w = {{ n = 256 }}
[parameters]
BYTES = {{ values = [1024, {most // 2048 * 1024}, {most // 1024 * 1024}], default = 1024 }}
"""
    # Sizes are multiples of 1024, so the last 256 floats of the row are x once more.
    return _written(folder, "shared", Language.CUDA, _SHARED, more, "x[::-1]")


def work(folder: Path, language: Language) -> Path:
    """Takes as long as `steps` says; the result does not depend on it: v tends to 2 x."""
    more = """
steps = { dtype = "i32", value = "steps" }
[launch]
grid = ["ceildiv(n, 64)"]
block = [64]
[workloads]
short = { n = 1024, steps = 1000 }
long = { n = 1024, steps = 64000 }
"""
    return _written(folder, "work", language, _WORDS[language] + _WORK, more, "2 * x")


def copies(folder: Path, language: Language, cache_bytes: int) -> Path:
    """Moves twice the bytes that it writes: within half the cache, and far beyond it."""
    more = f"""
[launch]
grid = ["ceildiv(n, 256)"]
block = [256]
[workloads]
within = {{ n = {cache_bytes // 16} }}
beyond = {{ n = {cache_bytes} }}
"""
    source = "KERNEL copies(GLOBAL const float* x, GLOBAL float* out, int n) { int i = INDEX; if (i < n) out[i] = x[i]; }"
    return _written(folder, "copies", language, _WORDS[language] + source, more, "x")


def language_features(folder: Path) -> Path:
    """A template instance, a device constant, lane shuffles, atomics."""
    more = """
[constants]
scale = { dtype = "f32", shape = [4], init = "ones" }
[launch]
grid = ["ceildiv(n, 128)"]
block = [128]
[workloads]
w = { n = 4096 }
"""
    folder = _written(folder, "language", Language.CUDA, _LANGUAGE, more, "0 * x", entry="language<float, 32>")
    toml = folder / "kernel.toml"
    toml.write_text(toml.read_text().replace('role = "out"', 'role = "inout", init = "zeros"').replace("1e-5", "1e-4"))
    (folder / "reference.py").write_text(_SUM)
    return folder


def _written(
    folder: Path, name: str, language: Language, source: str, more: str, expected: str, *, entry: str | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    suffix = _SUFFIX[language]
    (folder / f"{name}.{suffix}").write_text(source)
    (folder / "reference.py").write_text(f"def reference(x, **_):\n    return {{'out': {expected}}}\n")
    ending = '[reference]\npython = "reference.py:reference"\nrtol = 1e-5\natol = 1e-5\n'
    text = _TOML.substitute(name=name, suffix=suffix, entry=entry or name, more=more) + ending
    (folder / "kernel.toml").write_text(text)
    return folder
