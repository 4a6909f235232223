"""Our occupancy against NVIDIA's own calculator, which the wheel brings as a C header: 100,000 random kernels and launches."""

from __future__ import annotations

import ctypes
import os
import subprocess

import numpy as np
import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Geometry, Limiter, Resources
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices._wheels import wheel_file
from warpsmith.devices.cuda.architecture import ARCHITECTURES, architecture_of
from warpsmith.devices.cuda.occupancy import UNLIMITED, occupancy
from warpsmith.devices.cuda.target import parse_target

CASES = 100_000
HEADER = wheel_file("nvidia-cuda-runtime", "cuda_occupancy.h")
WRAPPER = """
#include "cuda_occupancy.h"
void occupancies(int count, const int* in, int* out) {
  for (int i = 0; i < count; ++i, in += 13, out += 6) {
    cudaOccDeviceProp device = {0};
    device.computeMajor = in[0];
    device.computeMinor = in[1];
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = in[2];
    device.regsPerBlock = device.regsPerMultiprocessor = in[3];
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = in[4];
    device.numSms = in[5];
    device.sharedMemPerBlockOptin = in[6];
    device.reservedSharedMemPerBlock = in[7];
    cudaOccFuncAttributes kernel = {0};
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = in[8];
    kernel.sharedSizeBytes = in[9];
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = in[10];
    kernel.numBlockBarriers = in[11];
    cudaOccDeviceState state = {CACHE_PREFER_NONE, SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult result = {0};
    cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, in[12], in[10]);
    out[0] = status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
    out[1] = result.blockLimitWarps;
    out[2] = result.blockLimitRegs;
    out[3] = result.blockLimitSharedMem;
    out[4] = result.blockLimitBarriers;
    out[5] = result.blockLimitBlocks;
  }
}
"""


@pytest.fixture(scope="module")
def nvidias(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    assert HEADER is not None, "the tests need the wheel nvidia-cuda-runtime"
    folder = tmp_path_factory.mktemp("occupancy")
    source, library = folder / "occupancy.c", folder / "occupancy.so"
    source.write_text(WRAPPER)
    flags = ["-O1", "-shared", "-fPIC", "-nostdlib", f"-I{HEADER.parent}", "-o", str(library), str(source)]
    environment = {**os.environ, "ZIG_LOCAL_CACHE_DIR": str(folder / "zig"), "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig")}
    subprocess.run([str(clang_binary()), "cc", *flags], check=True, env=environment)
    return ctypes.CDLL(str(library))


def test_every_limit_is_that_of_nvidias_calculator(nvidias: ctypes.CDLL) -> None:
    rng = np.random.default_rng(6)
    chosen = rng.integers(len(ARCHITECTURES), size=CASES)
    hardware = [
        (
            *capability,
            h.threads,
            h.registers,
            h.shared_bytes,
            h.multiprocessors,
            h.shared_bytes_per_block,
            h.reserved_shared_bytes_per_block,
        )
        for capability, h in ARCHITECTURES.items()
    ]
    launches = {
        "registers": rng.integers(1, 256, CASES),
        "static": rng.integers(1, 48 * 1024 + 1, CASES) * rng.integers(2, size=CASES),
        "dynamic": rng.choice([0, 4096, 240 * 1024], CASES) * rng.random(CASES),
        "barriers": rng.integers(0, 17, CASES),
        "threads": rng.integers(1, 1101, CASES),
    }
    inputs = np.ascontiguousarray(np.column_stack([np.array(hardware)[chosen], *launches.values()]).astype(np.int32))
    theirs = np.empty((CASES, 6), np.int32)
    pointer = ctypes.POINTER(ctypes.c_int)
    nvidias.occupancies(CASES, inputs.ctypes.data_as(pointer), theirs.ctypes.data_as(pointer))
    assert (theirs[:, 0] >= 0).all()
    assert len(np.unique(theirs[:, 0])) > 20, "the cases must differ"

    for row, expected in zip(inputs.tolist(), theirs.tolist(), strict=True):
        registers, static, dynamic, barriers, threads = row[8:]
        used = Resources(registers=registers, shared_bytes=static, barriers=barriers)
        ours = occupancy(ARCHITECTURES[row[0], row[1]], used, Geometry((1, 1, 1), (threads, 1, 1), dynamic))
        limits = [2**31 - 1 if count == UNLIMITED else count for _, count in ours.by]
        assert [ours.blocks, *limits] == expected, row


def test_the_limiter_and_the_fraction() -> None:
    hopper = architecture_of(parse_target("sm_90a"))
    full = occupancy(hopper, Resources(registers=32, shared_bytes=0), Geometry((1, 1, 1), (256, 1, 1)))
    assert (full.blocks, full.warps, full.fraction, full.limiter) == (8, 64, 1.0, Limiter.THREADS)
    tight = occupancy(hopper, Resources(registers=32, shared_bytes=1000), Geometry((1, 1, 1), (256, 1, 1), 100_000))
    assert (tight.blocks, tight.limiter, tight.shared_bytes, tight.fraction) == (2, Limiter.SHARED_MEMORY, 101_000, 0.25)
    assert tight.problem is None


@pytest.mark.parametrize(
    ("registers", "dynamic", "threads", "problem"),
    [
        (255, 0, 1024, "255 registers in 1024 threads do not fit into the 65536 of a multiprocessor"),
        (32, 233_000, 128, "233000 bytes of shared memory exceed the 232448 of a block"),
        (32, 0, 1056, "1056 threads exceed the 1024 of a block"),
    ],
)
def test_a_launch_that_does_not_fit_says_why(registers: int, dynamic: int, threads: int, problem: str) -> None:
    used = Resources(registers=registers, shared_bytes=0)
    found = occupancy(architecture_of(parse_target("sm_90")), used, Geometry((1, 1, 1), (threads, 1, 1), dynamic))
    assert (found.blocks, found.fraction, found.problem) == (0, 0.0, problem)


def test_an_unknown_capability_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"the limits of sm_42 are not known"):
        architecture_of(parse_target("sm_42"))
