"""atomics.h: every operation on global and on shared memory, contended by a whole grid, with the old values it returns."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from warpsmith.core.hardware import Language

INTEGERS = {"int": np.int32, "unsigned": np.uint32, "unsigned long long": np.uint64, "long long": np.int64}
OPERATIONS = {
    "atomicAdd": (0, lambda v: v.sum()),
    "atomicSub": (100, lambda v: 100 - v.sum()),
    "atomicMin": (50, lambda v: min(50, v.min())),
    "atomicMax": (50, lambda v: max(50, v.max())),
    "atomicAnd": (0xFF, lambda v: 0xFF & np.bitwise_and.reduce(v)),
    "atomicOr": (0, np.bitwise_or.reduce),
    "atomicXor": (5, lambda v: 5 ^ np.bitwise_xor.reduce(v)),
}
GRID, BLOCK = 6, 96


@pytest.mark.parametrize("ctype", INTEGERS)
def test_integer_operations(run, ctype):
    dtype = INTEGERS[ctype]
    x = np.random.default_rng(0).integers(1, 128, GRID * BLOCK).astype(dtype)
    start = np.array([v for v, _ in OPERATIONS.values()], dtype)
    total, per_block = start.copy(), np.zeros((GRID, len(start)), dtype)
    on_global = " ".join(f"{name}(total + {i}, v);" for i, name in enumerate(OPERATIONS))
    on_shared = " ".join(f"{name}(&cell[{i}], v);" for i, name in enumerate(OPERATIONS))
    scoped = "atomicAdd_block(total, v); atomicAdd_system(total, (T)0 - v);".replace("T", ctype)
    code = f"""
    __global__ void k(const {ctype}* x, const {ctype}* start, {ctype}* total, {ctype}* per_block) {{
      __shared__ {ctype} cell[{len(start)}];
      const {ctype} v = x[blockIdx.x * blockDim.x + threadIdx.x];
      if (threadIdx.x < {len(start)}) cell[threadIdx.x] = start[threadIdx.x];
      __syncthreads();
      {on_global} {on_shared} {scoped}
      __syncthreads();
      if (threadIdx.x < {len(start)}) per_block[blockIdx.x * {len(start)} + threadIdx.x] = cell[threadIdx.x];
    }}"""
    run(code, x, start, total, per_block, grid=(GRID, 1, 1), block=(BLOCK, 1, 1))
    wrap = 2 ** (8 * x.itemsize) if np.iinfo(dtype).min == 0 else 0  # an unsigned result is modulo that

    def expected(reference, values):
        result = int(reference(values.astype(object)))
        return result % wrap if wrap else result

    for column, (name, (_, reference)) in enumerate(OPERATIONS.items()):
        assert int(total[column]) == expected(reference, x), name
        for block in range(GRID):
            assert int(per_block[block, column]) == expected(reference, x[block * BLOCK : (block + 1) * BLOCK]), name


@pytest.mark.parametrize(
    ("ctype", "dtype"),
    [("float", np.float32), ("double", np.float64), ("__half", np.float16), ("__nv_bfloat16", ml_dtypes.bfloat16)],
)
@pytest.mark.parametrize("memory", ["global", "shared"])
def test_float_addition(run, ctype, dtype, memory):
    # Small integers: exact in any order, up to the 256 that bfloat16 counts to.
    out = np.zeros(6, dtype)
    where = "out" if memory == "global" else "cell"
    code = f"""
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    __global__ void k({ctype}* out) {{
      __shared__ {ctype} cell[6];
      if (threadIdx.x < 6) cell[threadIdx.x] = {ctype}(0.0f);
      __syncthreads();
      for (int i = 0; i < 3; ++i) atomicAdd(&{where}[i + 1], {ctype}((float)i));
      __syncthreads();
      if (threadIdx.x < 6 && {int(memory == "shared")}) out[threadIdx.x] = cell[threadIdx.x];
    }}"""
    run(code, out, grid=(1, 1, 1), block=(100, 1, 1))
    assert out.astype(float).tolist() == [0, 0, 100, 200, 0, 0]


def test_pairs_and_vectors(run):
    halves, floats = np.zeros(4, np.float16), np.zeros(6, np.float32)
    code = """
    #include <cuda_fp16.h>
    __global__ void k(half2* h, float* f) {
      atomicAdd(&h[1], __floats2half2_rn(1.0f, 2.0f));
      atomicAdd((float2*)f, make_float2(1.0f, 2.0f));
      atomicAdd(f + 2, 3.0f);
    }"""
    run(code, halves, floats, grid=(2, 1, 1), block=(64, 1, 1))
    assert halves.tolist() == [0, 0, 128, 256]
    assert floats.tolist() == [128, 256, 384, 0, 0, 0]


def test_returned_values_number_the_threads(run):
    n = 1000
    ticket, wrapped = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    down, state = np.zeros(n, np.uint32), np.zeros(4, np.uint32)
    code = """
    __global__ void k(unsigned* ticket, unsigned* wrapped, unsigned* down, unsigned* state) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      ticket[i] = atomicAdd(&state[0], 1u);
      wrapped[i] = atomicInc(&state[1], 6u);
      down[i] = atomicDec(&state[2], 6u);
    }"""
    run(code, ticket, wrapped, down, state, grid=(10, 1, 1), block=(100, 1, 1))
    assert sorted(ticket.tolist()) == list(range(n))
    assert np.bincount(wrapped, minlength=7).tolist() == [143] * 6 + [142]
    assert np.bincount(down, minlength=7).tolist() == [143] + [142] + [143] * 5
    assert state.tolist() == [n, n % 7, 1, 0]


def test_exchange_and_compare_and_swap(run):
    n = 256
    old, claimed = np.zeros(n, np.int32), np.zeros(n, np.int32)
    cells, small, total = np.full(2, -1, np.int32), np.zeros(2, np.uint16), np.zeros(1, np.float64)
    code = """
    __global__ void k(int* old, int* claimed, int* cells, unsigned short* small, double* total) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      old[i] = atomicExch(&cells[0], i);
      claimed[i] = atomicCAS(&cells[1], -1, i) == -1;
      unsigned short seen = small[1], expected;
      do { expected = seen; seen = atomicCAS(&small[1], expected, (unsigned short)(expected + 1)); } while (seen != expected);
      unsigned long long* bits = (unsigned long long*)total;
      unsigned long long now = *bits, assumed;
      do {
        assumed = now;
        now = atomicCAS(bits, assumed, (unsigned long long)__double_as_longlong(__longlong_as_double(assumed) + 0.5));
      } while (now != assumed);
    }"""
    run(code, old, claimed, cells, small, total, grid=(4, 1, 1), block=(64, 1, 1))
    assert sorted([*old.tolist(), int(cells[0])]) == [-1, *range(n)]
    assert claimed.sum() == 1
    assert cells[1] == np.flatnonzero(claimed)[0]
    assert small.tolist() == [0, n]
    assert total[0] == n / 2


def test_a_lock_in_shared_memory_and_the_last_block(run):
    parts, result, counter = np.zeros(8, np.float32), np.zeros(1, np.float32), np.zeros(1, np.uint32)
    code = """
    __global__ void k(float* parts, float* result, unsigned* counter) {
      __shared__ bool last;
      if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x + 1;
        __threadfence();
        last = atomicInc(counter, gridDim.x) == gridDim.x - 1;
      }
      __syncthreads();
      if (last && threadIdx.x == 0) { float sum = 0; for (int i = 0; i < gridDim.x; ++i) sum += __ldcg(&parts[i]); *result = sum; }
    }"""
    run(code, parts, result, counter, grid=(8, 1, 1))
    assert result[0] == 36


def test_hip_has_extremes_of_floats(run):
    out = np.array([0, 5, 0], np.float32)
    code = "__global__ void k(float* o) { atomicMax(o, (float)threadIdx.x); atomicMin(o + 1, 2.0f - threadIdx.x); unsafeAtomicAdd(o + 2, 1.0f); }"
    run(code, out, language=Language.HIP)
    assert out.tolist() == [31, -29, 32]


def test_atomic_objects_and_references(run):
    counts, total, bits = np.zeros(4, np.int32), np.zeros(1, np.float32), np.zeros(1, np.uint32)
    code = """
    #include <cuda/atomic>
    __global__ void k(int* counts, float* total, unsigned* bits) {
      cuda::atomic_ref<int, cuda::thread_scope_device> count(counts[0]);
      count.fetch_add(2, cuda::memory_order_relaxed);
      count++;
      cuda::atomic_ref<int, cuda::thread_scope_block>(counts[1]).fetch_max((int)threadIdx.x);
      int expected = 0;
      if (cuda::atomic_ref<int>(counts[2]).compare_exchange_strong(expected, 7, cuda::std::memory_order_acq_rel)) atomicAdd(&counts[3], 1);
      cuda::atomic_ref<float>(*total).fetch_add(0.5f);
      __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> seen;
      if (threadIdx.x == 0) seen = 0;
      __syncthreads();
      seen.fetch_or(1u << (threadIdx.x % 20));
      __syncthreads();
      if (threadIdx.x == 0) *bits = seen.load(cuda::memory_order_acquire);
    }"""
    run(code, counts, total, bits, block=(96, 1, 1))
    assert counts.tolist() == [3 * 96, 95, 7, 1]
    assert (total[0], bits[0]) == (48, 2**20 - 1)


@pytest.mark.parametrize(("ctype", "dtype"), [("unsigned", np.uint32), ("long long", np.int64)])
def test_the_compilers_own_functions(run, ctype, dtype):
    """`__nv_atomic_*`, contended by a whole grid; the second half waits for nobody and sees what one thread alone does."""
    code = f"""
    __global__ void k(const {ctype}* x, {ctype}* total, {ctype}* alone) {{
      const {ctype} v = x[blockIdx.x * blockDim.x + threadIdx.x];
      __nv_atomic_fetch_add(total, v, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
      __nv_atomic_sub(total + 1, v, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
      __nv_atomic_max(total + 2, v, __NV_ATOMIC_SEQ_CST);
      __nv_atomic_fetch_xor(total + 3, v, __NV_ATOMIC_RELEASE);
      if (blockIdx.x == 0 && threadIdx.x == 0) {{
        {ctype} seen = 8, old;
        __nv_atomic_store_n(alone, 7, __NV_ATOMIC_RELEASE);
        alone[1] = __nv_atomic_compare_exchange_n(alone, &seen, 9, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED);
        alone[2] = seen;
        alone[3] = __nv_atomic_compare_exchange_n(alone, &seen, 9, true, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED);
        seen = 11;
        __nv_atomic_exchange(alone, &seen, &old, __NV_ATOMIC_ACQ_REL);
        __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);
        alone[4] = old;
        alone[5] = __nv_atomic_fetch_min(alone, 3, __NV_ATOMIC_RELAXED);
        alone[6] = __nv_atomic_load_n(alone, __NV_ATOMIC_ACQUIRE);
      }}
    }}"""
    x = np.random.default_rng(0).integers(1, 128, GRID * BLOCK).astype(dtype)
    total, alone = np.array([0, 100_000, 5, 5], dtype), np.zeros(7, dtype)
    run(code, x, total, alone, grid=(GRID, 1, 1), block=(BLOCK, 1, 1))
    assert total.tolist() == [x.sum(), 100_000 - x.sum(), x.max(), 5 ^ np.bitwise_xor.reduce(x)]
    assert alone.tolist() == [3, 0, 7, 1, 9, 11, 3]
