"""Run by `test_stand_in.py` in a process that sees the stand-in: the same sources on the CPU device and on the stand-in, compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.devices.registry import load_device

THREADS = 128
GEOMETRY = Geometry((2, 1, 1), (THREADS, 1, 1))
PARAMETERS = (
    ParameterType("out", DType.F32, is_pointer=True),
    ParameterType("in", DType.F32, is_pointer=True),
    ParameterType("n", DType.I32, is_pointer=False),
)
SOURCE = """
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__constant__ float table[5] = {1, 2, 3, 4, 5};
__device__ unsigned tickets;
__device__ __noinline__ float chosen(float x, int k) { return k % 3 == 0 ? x * 2 : k % 3 == 1 ? x - 1 : -x; }
extern "C" __global__ void probe(float* out, const float* in, int n) {
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const float x = in[i];
  float y = 0;
  BODY
  out[i] = y;
}
"""
BODIES = {
    "integers": """
        int k = (int)(x * 1000);
        unsigned u = k * 2654435761u;
        y = (k / 7 + k % 5) + (u >> 9) % 101 + __popc(u) + __clz(k | 1) + __ffs(u) + __brev(u) % 13 + __byte_perm(u, k, 0x5140) % 17
          + (k << (t & 7)) % 1009 + (k >> (t & 3)) + min(k, t) + max(k, -t) + abs(k) + __mulhi(k, 123456789) % 11
          + (float)((long long)k * k % 77) + (float)((unsigned long long)u * u / 1000003ull % 1001) + __umul24(u, 77) % 19
          + (float)(short)k + (signed char)k + (unsigned char)u;""",
    "floats": "y = fmaf(x, x, 1.5f) / (fabsf(x) + 1) + sqrtf(fabsf(x)) + floorf(x) + ceilf(x) + rintf(x) + truncf(x) + fminf(x, 0.3f) + copysignf(2, x);",
    "doubles": "double d = x; y = d * d / (fabs(d) + 3.0) + sqrt(fabs(d)) + floor(d * 10) + fma(d, d, 0.25) + (long long)(d * 1e6) % 1000;",
    "halves": """
        __half h = __float2half(x); __half2 p = __halves2half2(h, __float2half(x * 3));
        p = __hfma2(p, p, __hadd2(p, p));
        __nv_bfloat16 b = __float2bfloat16(x); __nv_bfloat162 q = __halves2bfloat162(b, __float2bfloat16(x + 1));
        q = __hmul2(q, q);
        y = __half2float(__hadd(h, h)) + __low2float(p) + __high2float(p) + __bfloat162float(b) + __low2float(q) + __high2float(q);""",
    "eighths": """
        __nv_fp8_e4m3 e(x * 90); __nv_fp8_e5m2 f(x * 0.001f); __nv_fp8x2_e4m3 p(make_float2(x * 1000, -x * 0.002f));
        const float2 q = (float2)p; y = (float)e + (float)f * 100 + q.x + q.y * 64;""",
    "divergence": """
        if (t & 1) { if (t & 2) y = x; else y = -x; } else for (int k = 0; k < t % 11; k++) { if (k == 7) continue; y += k * x; }
        switch (t % 6) { case 0: y += 1; break; case 1: y *= 2; case 2: y -= 3; break; case 4: y = chosen(y, t); }
        y += chosen(x, t / 3);
        if (t > 100) { out[i] = y; return; }""",
    "shuffles": """
        for (int o = 16; o; o /= 2) y += __shfl_xor_sync(~0u, x * o, o);
        y += __shfl_up_sync(~0u, x, 3) + __shfl_down_sync(~0u, x, 5, 16) + __shfl_sync(~0u, x, t * 7, 8)
           + __popc(__ballot_sync(~0u, x > 0)) + __any_sync(~0u, x > 2) * 10 + __all_sync(~0u, x > -9) * 20;
        if (t & 4) y += __shfl_sync(__activemask(), x, 4);""",
    "shared": """
        __shared__ float tile[THREADS]; extern __shared__ float more[];
        tile[t] = x; more[THREADS - 1 - t] = 2 * x;
        __syncthreads();
        for (int o = THREADS / 2; o; o /= 2) { if (t < o) tile[t] += tile[t + o]; __syncthreads(); }
        y = tile[0] + more[t] + (__syncthreads_count(x > 0) == 3) + __syncthreads_or(t == 9);""",
    "local": "float a[9]; for (int k = 0; k < 9; k++) a[k] = x * k; a[n % 9] = 5; y = a[(t + n) % 9] + table[t % 5];",
    "atomics": """
        __shared__ int sum, most; __shared__ unsigned long long wide; __shared__ float real;
        if (t == 0) sum = most = 0, wide = 1, real = 0;
        __syncthreads();
        atomicAdd(&sum, t); atomicMax(&most, (int)(x * 100)); atomicAdd(&wide, 3ull * t); atomicAdd(&real, 0.5f);
        atomicCAS(&sum, -1, 2); atomicXor(&sum, 5); atomicInc(&tickets, 1000);
        __syncthreads();
        y = sum + most + (float)wide + real;""",
    "vectors": "float4 v = reinterpret_cast<const float4*>(in)[t / 4]; y = v.x + 2 * v.y + 3 * v.z + 4 * v.w; __syncthreads();",
}


def run(device: str, name: str, values: np.ndarray) -> np.ndarray:
    source = SOURCE.replace("BODY", BODIES[name]).replace("THREADS", str(THREADS))
    geometry = Geometry(GEOMETRY.grid, GEOMETRY.block, 4 * THREADS)
    request = CompileRequest(source, Path(f"/{name}.cu"), Language.CUDA, "probe", PARAMETERS, geometry)
    opened = load_device(device)
    program = opened.open().load(opened.compile(request))
    out, given = np.zeros_like(values), values.copy()
    program.launch((memoryview(out).cast("B"), memoryview(given).cast("B"), (4).to_bytes(4, "little")), geometry)
    return out


if __name__ == "__main__":
    values = (np.random.default_rng(1).standard_normal(2 * THREADS) * 3).astype(np.float32)
    for name in BODIES:
        here, there = run("standin", name, values), run("cpu", name, values)
        same = np.allclose(here, there, rtol=1e-5, atol=1e-5)
        at = int(np.argmax(np.abs(here - there)))
        told = "equal" if same else f"at {at} {here[at]} on the stand-in, {there[at]} on the CPU"
        print(f"{name}: {told}", flush=True)  # noqa: T201
