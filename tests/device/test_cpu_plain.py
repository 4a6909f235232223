"""Kernels that run plainly: the same results without vectoriser and without our passes for speed, and no warps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cpu_support import device, launch, request
from misvectorised import IN_CUDA, IN_OPENCL, expected, need_it_wrong, outputs

from warpsmith.core.hardware import Language
from warpsmith.devices.base import CompileError, runs_plainly

THREADS, GRID = 64, 4
FLOATS = np.random.default_rng(0).normal(size=GRID * THREADS).astype(np.float32)
ROWS = FLOATS.reshape(GRID, THREADS)
FACTORS = np.arange(1, 5, dtype=np.float32)
CUDA = "__global__ void k(float* out, const float* in, int n) { const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;"
OPENCL = (
    "__kernel void k(__global float* out, __global const float* in, int n) { const int t = get_local_id(0), i = get_global_id(0);"
)

TREE = "for (int m = 32; m > 0; m /= 2) { if (t < m) s[t] += s[t + m]; BARRIER; }"
BODIES = {
    "barrier": ("s[t] = in[i]; BARRIER; out[i] = s[63 - t];", ROWS[:, ::-1]),
    "early return": (
        "if (t >= 40) return; s[t] = in[i]; BARRIER; out[i] = s[39 - t];",
        np.pad(ROWS[:, 39::-1], ((0, 0), (0, 24))),
    ),
    "sum": (f"s[t] = in[i]; BARRIER; {TREE} out[i] = s[0];", np.repeat(ROWS.sum(1), THREADS)),
    "search": ("int j = 0; while (j < n && in[j] < in[i]) ++j; out[i] = j;", [np.argmax(x <= FLOATS) for x in FLOATS]),
    "exponential": ("if (i < n) out[i] = 1 / (1 + exp(-in[i]));", 1 / (1 + np.exp(-FLOATS))),
}
KERNELS = {
    Language.CUDA: (CUDA, "__shared__ float s[64];", "__syncthreads()"),
    Language.HIP: (CUDA, "__shared__ float s[64];", "__syncthreads()"),
    Language.OPENCL: (OPENCL, "__local float s[64];", "barrier(CLK_LOCAL_MEM_FENCE)"),
}


def both(source: str, arguments: list, **options) -> tuple[np.ndarray, np.ndarray]:
    found = [launch(source, arguments, grid=GRID, block=THREADS, plain=plain, **options) for plain in (False, True)]
    return found[0], found[1]


@pytest.mark.parametrize("language", KERNELS)
@pytest.mark.parametrize("body", BODIES)
def test_results_are_the_same(body: str, language: Language) -> None:
    head, shared, barrier = KERNELS[language]
    code, expected = BODIES[body]
    arguments = [np.zeros_like(FLOATS), FLOATS, np.int32(FLOATS.size)]
    fast, plain = both(f"{head} {shared} {code.replace('BARRIER', barrier)} }}", arguments, language=language)
    np.testing.assert_allclose(plain, fast, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(plain, np.ravel(expected), rtol=1e-5, atol=1e-6)


def test_constants_halves_vectors_and_dynamic_shared_memory() -> None:
    source = """
        #include <cuda_fp16.h>
        __constant__ float factors[4];
        __global__ void k(__half* out, const float4* in) {
          extern __shared__ float4 rows[];
          const int t = threadIdx.x;
          if (t < 16) rows[t] = in[blockIdx.x * 16 + t];
          __syncthreads();
          out[blockIdx.x * 64 + t] = __float2half(factors[t & 3] * reinterpret_cast<const float*>(rows)[t]);
        }"""
    fast, plain = both(source, [np.zeros(FLOATS.size, np.float16), FLOATS], constants={"factors": FACTORS}, shared_bytes=256)
    np.testing.assert_array_equal(plain, fast)
    np.testing.assert_array_equal(plain, (np.tile(FACTORS, FLOATS.size // 4) * FLOATS).astype(np.float16))


def test_it_is_another_binary_of_the_same_source() -> None:
    assert runs_plainly(device())
    asked = request(f"{CUDA} if (i < n) out[i] = in[i]; }}", [FLOATS, FLOATS, np.int32(FLOATS.size)])
    fast, plain = (device().compile(replace(asked, plain=plain)) for plain in (False, True))
    assert fast.resources.vector_width > 1
    assert plain.resources.vector_width == 1
    assert device().compile(asked).code == fast.code


WARPS = {
    "shuffles": (Language.CUDA, f"{CUDA} out[i] = __shfl_xor_sync(~0u, in[i], 1); }}"),
    "exchange without a word": (
        Language.CUDA,
        f"{CUDA} __shared__ volatile float s[64]; s[t] = in[i]; if (t < 32) s[t] += s[t + 1]; out[i] = s[t]; }}",
    ),
    "sub-groups": (Language.OPENCL, f"{OPENCL} out[i] = sub_group_reduce_add(in[i]); }}"),
}


@pytest.mark.parametrize("kind", WARPS)
def test_there_are_no_warps(kind: str) -> None:
    language, source = WARPS[kind]
    asked = request(source, [FLOATS, FLOATS, np.int32(FLOATS.size)], language=language)
    device().compile(asked)
    with pytest.raises(CompileError, match="no warps"):
        device().compile(replace(asked, plain=True))


@pytest.mark.parametrize("source", [IN_CUDA, IN_OPENCL], ids=["cuda", "opencl"])
def test_what_the_vectoriser_gets_wrong_is_right(source: str) -> None:
    np.testing.assert_array_equal(outputs(source, plain=True), expected())
    need_it_wrong(source)
