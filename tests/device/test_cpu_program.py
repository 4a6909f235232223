"""The device's promises beside right numbers: limits and resources that were read, traps, timing, memory, keys, tokens."""

from __future__ import annotations

import mmap
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cpu_support import compile_kernel, device, launch, page_aligned, request, session

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import LaunchError

OUT = np.zeros(64, np.float32)
RAMP = np.arange(64, dtype=np.float32)
COPY = """__global__ void k(float* o, const float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i];
}"""


def test_description() -> None:
    info = device().describe()
    assert info.name == "cpu"
    assert info.languages == frozenset(Language)
    assert info.limits.warp_size == 32
    assert info.limits.max_threads_per_block >= 1024
    assert info.limits.shared_bytes_per_block >= 32768
    assert info.limits.compute_units >= 1
    assert info.versions.keys() == {"ziglang", "runtime"}  # its number is not clang's


def test_resources_come_from_the_build() -> None:
    plain = compile_kernel(COPY, [OUT, RAMP, np.int32(64)]).resources
    assert plain.vector_width is not None
    assert plain.vector_width > 1
    assert plain.instructions is not None
    assert (plain.gathers, plain.scatters, plain.shared_bytes) == (0, 0, 0)
    assert plain.registers is None, "a CPU has no such figure"
    shared = "__global__ void k(float* o) { __shared__ float s[100]; s[threadIdx.x] = 1; __syncthreads(); o[0] = s[1]; }"
    used = compile_kernel(shared, [OUT]).resources.shared_bytes
    assert used is not None
    assert 400 <= used < 600
    warps = compile_kernel(
        "__global__ void k(float* o) { o[threadIdx.x] = __shfl_xor_sync(~0u, o[threadIdx.x], 1); }", [OUT]
    ).resources
    assert warps.vector_width == 32


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("\n\nassert(a[threadIdx.x] < 60);", "device assert failed at line 4"),
        ("\nif (threadIdx.x == 3) __trap();", "device trap at line 3"),
    ],
)
def test_a_failing_assert_fails_the_launch_and_only_that_launch(statement: str, message: str) -> None:
    source = (
        f"#include <cassert>\n__global__ void k(float* o, const float* a) {{{statement}\n o[threadIdx.x] = a[threadIdx.x]; }}"
    )
    asked = request(source, [OUT, RAMP])
    program = session().load(device().compile(asked))
    bad, good = page_aligned(RAMP), page_aligned(RAMP * 0)
    with pytest.raises(LaunchError, match=message):
        program.launch((page_aligned(OUT), bad), asked.geometry)
    if "assert" in statement:
        program.launch((page_aligned(OUT), good), asked.geometry)


def test_only_kernels_that_can_fail_pay_for_asking() -> None:
    def can_trap(statement: str) -> object:
        source = f"#include <cassert>\n__global__ void k(float* o) {{ {statement} o[0] = 1; }}"
        return compile_kernel(source, [OUT]).device_data["can_trap"]

    assert can_trap("") is False
    assert can_trap("assert(o);") is True


def test_launches_give_device_time_and_see_new_contents_of_the_same_memory() -> None:
    asked = request(COPY, [OUT, RAMP, np.int32(64)])
    program = session().load(device().compile(asked))
    out, values, count = page_aligned(OUT), page_aligned(RAMP), np.int32(64).tobytes()
    assert program.launch((out, values, count), asked.geometry) > 0
    np.frombuffer(values, np.float32)[:] = 7
    assert program.launch((out, values, count), asked.geometry) > 0
    np.testing.assert_array_equal(np.frombuffer(out, np.float32), 7)


def test_memory_can_be_unmapped_after_a_launch() -> None:
    asked = request(COPY, [OUT, RAMP, np.int32(64)])
    program = session().load(device().compile(asked))
    memory = mmap.mmap(-1, OUT.nbytes)
    with memoryview(memory) as out:
        program.launch((out, page_aligned(RAMP), np.int32(64).tobytes()), asked.geometry)
    memory.close()


def test_memory_that_is_not_aligned_is_copied() -> None:
    asked = request(COPY, [OUT, RAMP, np.int32(64)])
    program = session().load(device().compile(asked))
    memory = page_aligned(np.zeros(65, np.float32))
    program.launch((memory[4:260], page_aligned(RAMP), np.int32(64).tobytes()), asked.geometry)
    np.testing.assert_array_equal(np.frombuffer(memory, np.float32)[1:], RAMP)


def test_a_launch_beyond_the_limits_fails_with_its_numbers() -> None:
    threads = device().describe().limits.max_threads_per_block + 32
    with pytest.raises(LaunchError, match=f"work-group \\({threads}, 1, 1\\)"):
        launch(COPY, [OUT, RAMP, np.int32(64)], block=threads)


def test_a_binary_serves_other_launches_of_the_same_key() -> None:
    asked = request(COPY, [np.zeros(64, np.float32), RAMP, np.int32(64)], block=64)
    other = replace(asked, geometry=Geometry((4, 1, 1), (16, 1, 1)))
    assert device().compile_key(asked) == device().compile_key(other)
    program = session().load(device().compile(asked))
    out = page_aligned(OUT)
    program.launch((out, page_aligned(RAMP), np.int32(64).tobytes()), other.geometry)
    np.testing.assert_array_equal(np.frombuffer(out, np.float32), RAMP)


def test_compile_keys_tell_apart_what_compiles_differently() -> None:
    asked = request(COPY, [OUT, RAMP, np.int32(64)], block=(16, 4))
    warps = replace(asked, source="__global__ void k(float* o, const float* a, int n) { o[0] = __shfl_sync(~0u, a[0], n); }")
    key = device().compile_key
    taller = Geometry((1, 1, 1), (16, 8, 1))
    assert key(asked) == key(replace(asked, geometry=taller))
    assert key(warps) != key(replace(warps, geometry=taller))
    changes = ({"defines": {"N": 1}}, {"entry": "k2"}, {"source": COPY + " "}, {"language": Language.HIP}, {"plain": True})
    for change in changes:
        assert key(asked) != key(replace(asked, **change))


def test_dynamic_shared_memory_counts_where_it_is_used_and_is_much() -> None:
    key = device().compile_key
    plain = request(COPY, [OUT, RAMP, np.int32(64)])
    source = (
        "__global__ void k(float* o) { extern __shared__ float s[]; s[threadIdx.x] = 1; __syncthreads(); o[threadIdx.x] = s[0]; }"
    )
    dynamic = request(source, [OUT])

    def keys(asked, sizes: list[int]) -> int:
        return len({key(replace(asked, geometry=replace(asked.geometry, shared_bytes=size))) for size in sizes})

    assert keys(plain, [0, 256, 4096, 100_000]) == 1
    assert keys(dynamic, [1, 400, 65536]) == 1
    assert keys(dynamic, [0, 512, 100_000, 100_004]) == 4
    exact = replace(dynamic, geometry=replace(dynamic.geometry, shared_bytes=300))
    assert device().compile(exact).resources.shared_bytes == 300


def test_what_means_nothing_here_is_built_once() -> None:
    bounded = COPY.replace("__global__ void", "__global__ void __launch_bounds__(64, 2)")
    assert bounded != COPY
    plain, other = (device().compile(request(text, [OUT, RAMP, np.int32(64)])) for text in (COPY, bounded))
    assert other.code is plain.code


def test_tokens_after_preprocessing_are_the_users_own() -> None:
    template = (
        "#include <cuda_fp16.h>\n#include <torch/extension.h>\n#ifndef N\n#define N 3\n#endif\n// why\nint x[N], y = N /* */ + 1;"
    )
    plain = "int x[4], y = 4 + 1;"
    tokens = device().preprocess(request(template, [], defines={"N": 4}))
    assert tokens == device().preprocess(request(plain, []))
    assert tokens == ["int", "x", "[", "4", "]", ",", "y", "=", "4", "+", "1", ";"]


CORES_AT_WORK = """
import time
import numpy as np
from cpu_support import device, page_aligned, request

session = device().open(1)
body = "float s = 0; for (int j = 0; j < 4000; ++j) s += sinf(j * s + 1); o[blockIdx.x * 256 + threadIdx.x] = s;"
source = f"__global__ void k(float* o) {{ {body} }}"
asked = request(source, [np.zeros(1 << 16, np.float32)], grid=256, block=256)
program = session.load(device().compile(asked))
out = page_aligned(np.zeros(1 << 16, np.float32))
program.launch((out,), asked.geometry)
began, used = time.monotonic(), time.process_time()
program.launch((out,), asked.geometry)
print((time.process_time() - used) / (time.monotonic() - began))
"""


def test_compute_units_cannot_be_limited_afterwards() -> None:
    session()
    with pytest.raises(UnavailableError, match="in a process of its own"):
        device().open(1)


def test_compute_units_limit_the_threads_that_work() -> None:
    """Which thread a launch takes is the runtime's choice; that two work at once is not. Others' load only lowers the share."""
    here = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", CORES_AT_WORK], capture_output=True, text=True, check=True, cwd=here)
    assert float(done.stdout) < 1.5


def test_opencl_c_with_local_parameters() -> None:
    source = """__kernel void k(__global float* o, __global const float* a, __local float* s, int n) {
      int l = get_local_id(0), i = get_global_id(0);
      s[l] = a[i] * SCALE;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i < n) o[i] = s[get_local_size(0) - 1 - l];
    }"""
    out = launch(
        source, [OUT, RAMP, np.int32(64)], grid=4, block=16, shared_bytes=64, language=Language.OPENCL, defines={"SCALE": 2}
    )
    np.testing.assert_array_equal(out, 2 * RAMP.reshape(4, 16)[:, ::-1].ravel())


def test_tokens_do_not_tell_on_which_line_something_is_asserted() -> None:
    text = COPY.replace("{", "{ assert(blockDim.x > 0);", 1)
    first, second = (device().preprocess(request(f"#include <cassert>\n{lines}{text}", [])) for lines in ("", "\n\n"))
    assert first == second
