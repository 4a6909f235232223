"""Assembly in plain words, and functions that only give it another name."""

from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource, parse_kernel
from warpsmith.source.plain_assembly import with_plain_assembly
from warpsmith.source.wrappers import with_wrappers_written_out


def _source(body: str, before: str = "") -> KernelSource:
    return parse_kernel(
        f"{before}__global__ void k(float* out, const int* p, int2* q, int n) {{\n{body}\n}}\n", Language.CUDA, "k"
    )


def _plain(body: str, axes: int = 1, block: tuple[str, ...] = ("256",)) -> str:
    text = with_plain_assembly(_source(body), axes, block)
    return text.partition("{\n")[2].removesuffix("\n}\n")


_EXCHANGED = 'asm volatile("shfl.sync.{} %0, %1, %2, {}, {};" : "=f"(y) : "f"(x), "r"(n));'


@pytest.mark.parametrize(
    ("way", "clamp", "written"),
    [
        ("bfly.b32", "0x1f", "y = __shfl_xor_sync(0xffffffff, x, n);"),
        ("down.b32", "31", "y = __shfl_down_sync(0xffffffff, x, n);"),
        ("idx.b32", "0x1f", "y = __shfl_sync(0xffffffff, x, n);"),
        ("up.b32", "0", "y = __shfl_up_sync(0xffffffff, x, n);"),
        ("bfly.b32", "0x181f", "y = __shfl_xor_sync(0xffffffff, x, n, 8);"),
    ],
)
def test_shuffles(way: str, clamp: str, written: str):
    assert _plain(_EXCHANGED.format(way, clamp, "0xffffffff")) == written


@pytest.mark.parametrize(
    "assembly",
    [
        _EXCHANGED.format("up.b32", "0x1f", "-1"),  # which takes nothing from anybody
        _EXCHANGED.format("bfly.b32", "0x0f", "-1"),
        _EXCHANGED.format("bfly.b32", "0x1f", "%2"),
        'asm("{ .reg .pred p; shfl.sync.up.b32 %0|p, %1, %2, 0, -1; @p add.f32 %0, %0, %1; }" : "=f"(y) : "f"(x), "r"(n));',
        'asm("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, -1;" : "=r"(y) : "f"(x), "r"(n));',
        'asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(n) : "l"(p));',
        'asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(n) : "l"(p));',
        'asm volatile("ld.shared.s32 %0, [%1];" : "=r"(n) : "r"(n));',
        'asm volatile("ld.global.nc.v4.b64 {%0, %1, %2, %3}, [%4];" : "=l"(a), "=l"(b), "=l"(c), "=l"(d) : "l"(p));',
        'asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(q), "r"(n));',
        'asm volatile("st.global.s32 [%0], %1;" :: "l"(q), "f"(y));',
        '__threadfence(); asm volatile("ld.global.s32 %0, [%1];" : "=r"(n) : "l"(p));',  # somebody may write it meanwhile
        'const int* r = p; asm volatile("st.global.s32 [%0], %1;" :: "l"(r), "r"(n));',
    ],
)
def test_what_cplusplus_has_no_plain_words_for_stays(assembly: str):
    assert _plain(assembly) == assembly


@pytest.mark.parametrize(
    ("assembly", "written"),
    [
        ('asm volatile("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(n) : "l"(p));', "n = *p;"),
        ('asm("ld.global.s32 %0, [%1];" : "=r"(n) : "l"(p + n));', "n = *(const int*)(p + n);"),
        ('asm("ld.global.f32 %0, [%1+8];" : "=f"(y) : "l"(p));', "y = *(const float*)((const char*)(p) + 8);"),
        (
            'int4 v; asm("ld.global.nc.v4.s32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));',
            "int4 v; v = *(const int4*)(p);",
        ),
        (
            'asm("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "l"(p));',
            "a = (*(const float2*)(p)).x, b = (*(const float2*)(p)).y;",
        ),
        ('asm volatile("st.global.cs.s32 [%0], %1;" :: "l"(out), "r"(n) : "memory");', "*(int*)(out) = n;"),
        ('asm("st.global.v2.u32 [%0], {%1, %2};" :: "l"(q), "r"(a), "r"(b));', "*(uint2*)(q) = make_uint2(a, b);"),
        ('asm("st.global.v2.s32 [%0], {%1, %2};" :: "l"(q), "r"(v.x), "r"(v.x));', "*q = make_int2(v.x, v.x);"),
        ('asm volatile("prefetch.global.L2 [%0];" :: "l"(p));', "(void)0;"),
    ],
)
def test_loads_and_stores(assembly: str, written: str):
    assert _plain(assembly) == written


def test_the_lane_is_the_threads_place_where_warps_lie_along_x():
    lane = 'asm("mov.u32 %0, %%laneid;" : "=r"(n));'
    assert _plain(lane) == "n = threadIdx.x % 32u;"
    assert _plain(lane, 1, ()) == "n = threadIdx.x % 32u;"
    assert _plain(lane, 2, ("32", "4")) == "n = threadIdx.x % 32u;"
    assert _plain(lane, 2, ("16", "4")) == lane
    assert _plain(lane, 2, ()) == lane


_XOR = """__device__ float xor_sync(float x, int m) {
  float y;
  y = __shfl_xor_sync(0xffffffff, x, m);
  return y;
}
__device__ half2 xor_sync(half2 x, int m) { return __shfl_xor_sync(0xffffffff, x, m); }
"""
_LANE = "__device__ int lane() { int l; l = threadIdx.x % 32u; return l; }\n"
_LOAD = "__device__ int2 load(const int2* p) { int2 r; r = *p; return r; }\n"
_STORE = "__device__ void store(int* p, int v) { *(int*)(p) = v; }\n"


def _written(body: str, before: str) -> str:
    text = with_wrappers_written_out(_source(body, before))
    return text.rpartition("int n) {\n")[2].removesuffix("\n}\n")


@pytest.mark.parametrize(
    ("before", "body", "written"),
    [
        (_XOR, "float s = 0; s += a::xor_sync(s, n);", "float s = 0; s += __shfl_xor_sync(0xffffffff, s, n);"),
        (_XOR, "float s = 0; s += xor_sync(s * 2, n);", "float s = 0; s += xor_sync(s * 2, n);"),
        (_XOR, "double s = 0; s += xor_sync(s, n);", "double s = 0; s += xor_sync(s, n);"),
        (
            _XOR.partition("__device__ half2")[0],
            "double s = 0; s += xor_sync(s, n);",
            "double s = 0; s += __shfl_xor_sync(0xffffffff, static_cast<float>(s), n);",
        ),
        (_LANE, "int l = lane();", "int l = static_cast<int>(threadIdx.x % 32u);"),
        (_LOAD, "int2 v = load(q + 1);", "int2 v = *(q + 1);"),
        (_LOAD, "n = load(q).x;", "n = (*q).x;"),
        (_STORE, "int* r; store(r, n + 1);", "int* r; *r = (n + 1);"),
        (_STORE.replace("void store", "auto store"), "int* r; store(r, n);", "int* r; store(r, n);"),
        ("__device__ float twice(float x) { return x + x; }\n", "out[0] = twice(out[1]);", "out[0] = twice(out[1]);"),
        (
            "__device__ float both(float x) { return __shfl_sync(~0u, x, 0) + x; }\n",
            "float a; a = both(a++);",
            "float a; a = both(a++);",
        ),
    ],
)
def test_a_wrapper_is_what_it_wraps(before: str, body: str, written: str):
    assert _written(body, before) == written


def test_a_store_behind_a_promise_takes_the_promise_back():
    store = '__device__ void put(const int* p, int v) { asm volatile("st.global.s32 [%0], %1;" :: "l"(p), "r"(v)); }\n'
    assert "void put(int* p, int v) { *p = v; }" in with_plain_assembly(_source("put((int*)q, n);", store), 1, ())
