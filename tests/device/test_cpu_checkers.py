"""Checkers on the CPU device: accesses outside of the arguments and uninitialised values are told, also where no output shows them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from cpu_support import found_by_checkers, request

from warpsmith.core.hardware import Language

THREADS = 64
OPENCL_HEAD = "__kernel void k(__global T* out, __global const T* in)"
CUDA_HEAD = "__global__ void k(T* out, const T* in)"
CUB = "#include <cub/cub.cuh>"


def found_in(
    body: str,
    *,
    before: str = "",
    head: str = "",
    language: Language = Language.CUDA,
    shared_bytes: int = 0,
    grid: int = 1,
    dtype: type = np.int32,
) -> dict[str, str]:
    """What is said, by checker, of a kernel with an output `out`, an input `in` (an element for each thread) and `t`, its thread's index."""
    is_opencl = language is Language.OPENCL
    head = head or (OPENCL_HEAD if is_opencl else CUDA_HEAD)
    kind = "int" if dtype is np.int32 else "float"
    index = "get_local_id(0)" if is_opencl else "threadIdx.x"
    source = f"{before}\n{re.sub(r'T(?=[*])', kind, head)} {{ const int t = {index};\n{body}\n}}"
    values = np.random.default_rng(0).permutation(grid * THREADS).astype(dtype) + 1
    arguments = [np.zeros_like(values), values]
    asked = request(source, arguments, language=language, shared_bytes=shared_bytes, grid=grid)
    out, given = asked.parameters
    parameters = (replace(out, is_initialised=False), replace(given, is_written=False))
    return found_by_checkers(replace(asked, watched=True, parameters=parameters), arguments)


OPENCL = {"language": Language.OPENCL}
STRAYS = {
    # No output shows it: the value is not used.
    "int v = in[t + 1]; out[t] = t;": "'a1': thread 63 reads bytes 256 to 259 at line 3, 4 bytes past its end",
    "int v = in[t - 1]; out[t] = t;": "'a1': thread 0 reads bytes -4 to -1 at line 3, 4 bytes before its beginning",
    "out[t] = in[in[t] * 1000];": "'a1': thread 0 reads bytes 68000 to 68003",  # far away, where nothing may be
    "int* room = (int*)in; const int v = in[t]; room[t] = 7; out[t] = room[t]; room[t] = v;": (
        "'a1', an input: thread 0 writes bytes 0 to 3 at line 3"
    ),
    "out[t + 1] = in[t];": "'a0': thread 63 writes bytes 256 to 259",
    "atomicAdd(&out[t == 3 ? 64 : 0], 1);": "'a0': thread 3 writes bytes 256 to 259",
    "struct P { const int* a; int* b; }; P p = {in, out}; p.b[t] = p.a[t]; int z = p.a[64];": "'a1': thread 0 reads",
    "const int4 v = reinterpret_cast<const int4*>(in + 4)[t / 4]; out[t] = t;": "'a1': thread 60 reads bytes 256 to 271",
    "__shared__ int a[64], b[64]; a[t] = in[t]; b[t] = 1; out[t] = a[t] + b[t]; int z = t < 63 ? 0 : a[t + 1] + b[t + 1];": (
        "shared memory 'a': thread 63 reads bytes 256 to 259"
    ),
    "extern __shared__ int d[]; d[t] = in[t]; out[t] = d[t]; int z = d[t + 1];": "shared memory 'extern': thread 63 reads",
    "int v[4] = {1, 2, 3, in[t]}; out[t] = v[in[t] & 7] > 0 ? t : t;": "an array of the thread's own: thread",
}


@pytest.mark.parametrize("body", STRAYS)
def test_what_reaches_outside_is_told(body: str) -> None:
    assert STRAYS[body] in found_in(body, shared_bytes=256)["memcheck"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("int v = in[t + 1]; out[t] = t;", "'a1': thread 63 reads bytes 256 to 259"),
        ("__local int s[64]; s[t] = in[t]; out[t] = s[t]; int z = s[t + 1];", "shared memory 's': thread 63 reads"),
    ],
)
def test_what_reaches_outside_in_opencl(body: str, told: str) -> None:
    assert told in found_in(body, **OPENCL)["memcheck"]
    head = OPENCL_HEAD.replace("__global const", "__constant")
    if "__local" not in body:
        assert told in found_in(body, head=head, **OPENCL)["memcheck"]


UNINITIALISED = {
    "int s; if (t > 3) s = 0; s += in[t]; out[t] = s;": "'a0': element 0 (of 4), which depends on the variable 's'",
    "int most; for (int i = 0; i < 4; ++i) most = max(most, in[i]); out[t] = most;": "the variable 'most'",
    "int least; for (int i = 0; i < 4; ++i) least = min(least, -in[i]); out[t] = least;": "the variable 'least'",
    "bool found; if (in[t] == 7) found = true; out[t] = found;": "the variable 'found'",
    "int found; if (in[t] == 7) found = 1; out[t] = found ? 1 : 2;": "the variable 'found'",
    "int s[4]; for (int i = 0; i < 64; ++i) s[i & 3] += in[i]; out[t] = s[t & 3];": "the variable 's'",
    "struct S { int a, b; }; S s; s.a = in[t]; out[t] = s.a + s.b;": "the variable 's'",
    "__shared__ int s[64]; if (t < 32) s[t] = in[t]; __syncthreads(); out[t] = s[t];": "element 32 (of 32), which depends on shared memory 's'",
    "extern __shared__ int d[]; atomicAdd(&d[0], in[t]); __syncthreads(); out[t] = d[0];": "shared memory 'extern'",
    "out[t] += in[t];": "the output 'a0' before it is written",
    # It decides where to read, and the launch survives it.
    "__shared__ int at[64]; if (t & 1) at[t] = t; __syncthreads(); out[t] = in[at[t]];": "shared memory 'at'",
}


@pytest.mark.parametrize("body", UNINITIALISED)
def test_what_depends_on_what_nobody_initialised_is_told(body: str) -> None:
    assert UNINITIALISED[body] in found_in(body, shared_bytes=256)["initcheck"]


def test_half_precision_and_opencl_too() -> None:
    half = "__half s; s = __hmax(s, __float2half(in[t])); out[t] = __half2float(s);"
    assert "initcheck" in found_in(half, before="#include <cuda_fp16.h>", dtype=np.float32)
    assert "variable 's'" in found_in("int s; s += in[t]; out[t] = s;", **OPENCL)["initcheck"]


RIGHT = [
    "out[t] = in[63 - t];",
    "if (t < 63) out[t] = in[t + 1]; else out[t] = 0;",
    "const int* end = in + 64; int s = 0; for (const int* p = in; p != end; ++p) s += *p; out[t] = s;",
    "int v[4][4]; for (int i = 0; i < 16; ++i) v[i / 4][i % 4] = in[t] + i; out[t] = v[0][t & 15];",  # beyond a row, not the array
    "int v[4]; for (int i = 0; i < 4; ++i) v[i] = in[t]; int s = 0; for (int* p = v; p < &v[4]; ++p) s += *p; out[t] = s;",
    "out[t] = table[t & 3] + weights[t & 3];",
    "if (t & 1) out[t] = in[t];",  # what nobody wrote is another check's
    "int v; if (in[t] > 30) v = in[t]; out[t] = in[t] > 30 ? v : 0;",
    # Copied whole and not used: a tile that is filled in part, a structure with one member.
    "__shared__ int s[64]; if (t < 50) s[t] = in[t]; __syncthreads(); const int v = s[63 - t]; out[t] = 63 - t < 50 ? v : 0;",
    "struct alignas(16) Q { int a[4]; }; __shared__ Q s[64]; s[t].a[0] = in[t]; __syncthreads(); Q q = s[63 - t]; out[t] = q.a[0];",
    "int x = in[t]; const int y = __shfl_down_sync(~0u, x, 1); out[t] = t % 32 < 31 ? y : x;",
    (
        "__shared__ int w[32]; int x = in[t]; for (int i = 16; i; i /= 2) x += __shfl_xor_sync(~0u, x, i);"
        "if (t % 32 == 0) w[t / 32] = x; __syncthreads(); if (t < 32) { x = t < 2 ? w[t] : 0;"
        "for (int i = 16; i; i /= 2) x += __shfl_xor_sync(~0u, x, i); if (t == 0) out[0] = x; }"
    ),
    "typedef cub::BlockReduce<int, 64> R; __shared__ typename R::TempStorage room; const int s = R(room).Sum(in[t]); if (t == 0) out[0] = s;",
    "typedef cub::BlockScan<int, 64> R; __shared__ typename R::TempStorage room; int s; R(room).ExclusiveSum(in[t], s); out[t] = s;",
    "out[t] = (int)clock64();",  # not the same twice, whatever it begins with
]


MISALIGNED = {
    "const float4 v = *reinterpret_cast<const float4*>(in + (t / 4 * 4 + 1) % 60); out[t] = v.x;": (
        "'a1': thread 0 accesses bytes 4 to 19 at line 3, misaligned: the type requires 16"
    ),
    "float2 v; v.x = v.y = in[t]; if (t == 2) *reinterpret_cast<float2*>(out + 3) = v;": "'a0': thread 2 accesses bytes 12 to 19",
    "__shared__ float s[64]; s[t] = in[t]; __syncthreads(); float* p = s + 1; out[t] = reinterpret_cast<float2*>(p)[t / 4].x;": (
        "shared memory 's': thread 0 accesses bytes 4 to 7 at line 3, misaligned: the type requires 8"
    ),
}
ASSUMED = {
    "__builtin_assume(t < 7); out[t] = in[t];": "thread 7 violates an assumption given to the compiler at line 3",
    "const float* p = (const float*)__builtin_assume_aligned(in + t, 16); out[t] = p[0];": "thread 1 violates an assumption",
    "if (t > 3) __builtin_unreachable(); out[t] = in[t];": "thread 4 violates an assumption",
}
HOLDS = [
    "__builtin_assume(t < 64); out[t] = in[t];",
    "const float* p = (const float*)__builtin_assume_aligned(in, 16); out[t] = p[t];",
    "if (t > 64) __builtin_unreachable(); out[t] = in[t];",
    "switch (t % 2) { case 0: out[t] = 1; break; case 1: out[t] = 2; break; default: __builtin_unreachable(); }",
]
ALIGNED = [
    "const float4 v = reinterpret_cast<const float4*>(in)[t / 4]; out[t] = t % 4 ? v.y : v.x;",
    "struct P { float a, b, c; }; const P p = reinterpret_cast<const P*>(in + 1)[t / 4]; out[t] = p.c;",
    "float v[4]; memcpy(v, in + 1, 16); out[t] = v[2];",
    "const int at = t / 4 * 4 + 1; out[t] = at % 4 == 0 ? reinterpret_cast<const float4*>(in + at)->x : in[t];",
]


@pytest.mark.parametrize("body", MISALIGNED)
def test_what_is_not_aligned_as_its_type_asks_is_told(body: str) -> None:
    assert MISALIGNED[body] in found_in(body, dtype=np.float32)["memcheck"]


@pytest.mark.parametrize("body", ASSUMED)
def test_what_was_assumed_and_does_not_hold_is_told(body: str) -> None:
    assert ASSUMED[body] in found_in(body, dtype=np.float32)["memcheck"]


@pytest.mark.parametrize("body", HOLDS)
def test_what_holds_may_be_assumed(body: str) -> None:
    assert found_in(body, dtype=np.float32) == {}


@pytest.mark.parametrize("body", ALIGNED)
def test_what_asks_for_no_more_alignment_than_it_has_is_let_be(body: str) -> None:
    assert "aligned" not in str(found_in(body, dtype=np.float32))


def test_what_is_right_is_let_be() -> None:
    tables = f"{CUB}\n__device__ int table[4] = {{1, 2, 3, 4}}; __constant__ int weights[4] = {{1, 2, 3, 4}};"
    assert found_in("\n__syncthreads();\n".join(f"{{ {body} }}" for body in RIGHT), before=tables) == {}


def test_variables_of_the_device_begin_anew_with_each_launch() -> None:
    assert found_in("kept[t] += in[t]; out[t] = kept[t];", before="__device__ int kept[64];") == {}


def test_the_last_block_is_watched() -> None:
    found = found_in("const int i = blockIdx.x * 64 + t; int z = in[i + 1]; out[i] = i;", grid=30)
    assert "thread 63 of block 29 reads bytes 7680 to 7683 at line 3" in found["memcheck"]
