"""What the CPU device cannot do is named with its line, and only where the kernel really uses it."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices.base import CompileError

OUT = np.zeros(64, np.float32)

REFUSED = {
    "inline PTX": ('asm volatile("cp.async.commit_group;");', r"the instruction cp\.async\.commit_group of inline PTX"),
    "inline PTX with an instruction that is known and one that is not": (
        'int x; asm("mov.u32 %0, 1; activemask.b32 %0;" : "=r"(x)); o[0] = x;',
        r"the instruction activemask\.b32 of inline PTX",
    ),
    "inline PTX with a modifier that is not known": (
        'float x; asm("add.rz.f32 %0, %1, %1;" : "=f"(x) : "f"(o[1])); o[0] = x;',
        r"the instruction add\.rz\.f32 of inline PTX",
    ),
    "inline PTX without operands": ('asm("cvt.rn.f32;");', r"the instruction cvt\.rn\.f32 of inline PTX"),
    "inline PTX without operands, on a predicate": ('asm("not.pred;");', r"the instruction not\.pred of inline PTX"),
    "inline PTX with a loop": ('asm("L: bra L;");', r"support inline PTX"),
    "inline PTX on addresses of shared memory": (
        'int x; asm("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(0)); o[0] = x;',
        "inline PTX",
    ),
    "inline PTX from a macro": ("o[0] = LANE();", "inline PTX"),
    "inline PTX from a macro with a PTX constraint": ("o[0] = ONE();", "inline PTX"),
    "tensor cores": ("nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, float> f;", "tensor cores"),
    "textures": ("o[0] = tex2D<float>(0, 1.f, 2.f);", "textures"),
    "AMD's instructions": ("o[0] = __builtin_amdgcn_ds_swizzle(1, 0x1f);", "built-in functions of AMD's GPUs"),
    "texture objects": ("cudaTextureObject_t t = 0; o[0] = tex1Dfetch<float>(t, 1);", "textures"),
    "dynamic parallelism": ("cudaDeviceSynchronize();", "dynamic parallelism"),
    "a launch from the device": ("k<<<1, 1>>>(o);", "dynamic parallelism"),
    "texture references": ("extern texture<float, 1, cudaReadModeElementType> t; o[0] = tex1Dfetch(t, 1);", "textures"),
    "malloc": ("float* p = (float*)malloc(16); o[0] = p[0];", "allocation inside a kernel"),
    "new": ("float* p = new float[(int)o[0]]; o[1] = p[0] = 1; delete[] p;", "allocation inside a kernel"),
    "asynchronous copies": ("__pipeline_memcpy_async(o, o, 4);", "asynchronous copies"),
    "function pointers": ("float (*f)(float) = o[0] > 0 ? one : two; o[0] = f(1);", "function pointers"),
    "virtual functions": ("Derived d; Base* b = &d; o[0] = b->get();", "virtual functions"),
    "functions of the process": ("o[0] = getppid();", "a call of getppid, which is declared and defined nowhere"),
    "functions of libraries": ("o[0] = lib::answer();", "a call of answer, which"),
    "recursion": ("o[0] = factorial((int)o[0]);", "recursion"),
}
DEVICE_CODE = """
#include <cuda_runtime.h>
__device__ float one(float x) { return x + 1; }
__device__ float two(float x) { return x + 2; }
struct Base { __device__ virtual float get() = 0; };
struct Derived : Base { __device__ float get() override { return 1; } };
__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __device__ int getppid();
namespace lib { __device__ int answer(); }
__device__ float unused() { float x; asm("mov.f32 %0, 0f3F800000;" : "=f"(x)); return x; }
#define LANE() ({ int x; asm("mov.u32 %0, %%laneid;" : "=r"(x)); x; })
#define ONE() ({ float x; asm("mov.f32 %0, 0f3F800000;" : "=f"(x)); x; })
__global__ void k(float* o) {
"""


@pytest.mark.parametrize(("body", "feature"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_feature_and_line(body: str, feature: str) -> None:
    with pytest.raises(UnsupportedFeature, match=feature) as refusal:
        compile_kernel(f"{DEVICE_CODE}{body}\n}}", [OUT])
    where = refusal.value.location
    assert where is not None
    assert where.file.name == "kernel.cu"
    line = 7 if feature == "recursion" else DEVICE_CODE.count("\n") + 1
    assert where.line in {line, line + (feature == "recursion") * 3}
    assert refusal.value.hint


@pytest.mark.parametrize(
    "body",
    [
        "o[threadIdx.x] = 1;",
        'asm volatile("" ::: "memory"); o[threadIdx.x] = 1;',
        "\n#if __CUDA_ARCH__ >= 900\n nvcuda::wmma::fragment<int> f;\n#endif\n o[threadIdx.x] = 1;",
        'if constexpr (sizeof(float) == 8) { asm("bad"); } o[threadIdx.x] = 1;',
    ],
)
def test_what_is_not_used_does_not_count(body: str) -> None:
    np.testing.assert_array_equal(launch(f"{DEVICE_CODE}{body}\n}}", [OUT]), 1)


def test_a_compile_error_has_the_users_line_and_no_generated_code() -> None:
    with pytest.raises(CompileError) as error:
        compile_kernel("\n\n__global__ void k(float* o) { o[0] = nothing; undefined_function(o); }", [OUT])
    assert error.value.reason == "kernel.cu:3: use of undeclared identifier 'nothing'"
    assert "undefined_function" in error.value.log
    assert "__warpsmith" not in error.value.log
