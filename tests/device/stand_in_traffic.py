"""Run by `test_stand_in.py` in a process that sees the stand-in: what timed launches copy over the bus, by the driver's own count.

The measuring worker is in this process, for that is where the driver is asked.
"""

from __future__ import annotations

import ctypes
import json
import os

import numpy as np
from bench_support import buffer, candidate, make_kernel, scalar

from warpsmith.compile.pool import CompilePool
from warpsmith.core.hardware import Geometry
from warpsmith.measure import bench as bench_module
from warpsmith.measure.bench import Bench
from warpsmith.measure.scrub import make_scrubber
from warpsmith.measure.worker import _Worker
from warpsmith.verify.prepared import PreparedWorkload

N = 70_003  # more than one piece, and no whole number of words
KERNEL = make_kernel(
    buffer("x", "f32"),
    buffer("h", "f16", kind="uniform"),
    buffer("b", "u8", kind="randint"),
    buffer("order", "i32", kind="permutation"),
    buffer("same", "f32", kind="ones"),
    buffer("y", "f32", role="inout"),
    buffer("out", "f32", role="out"),
    buffer("count", "i32", role="out"),
    scalar("n", "i32", "n"),
    sizes=(N,),
)
SOURCE = """
#include <cuda_fp16.h>
extern "C" __global__ void k(const float* x, const __half* h, const unsigned char* b, const int* order, const float* same, float* y,
                             float* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = x[i] + __half2float(h[i]) + same[i] * y[i];
  y[i] += b[i];
  count[order[i]] = i;
}
"""
NAME = f"n={N}"


class Here:
    """A worker that is no process."""

    alive, pid = True, os.getpid()

    def __init__(self, *_: object, **__: object) -> None:
        self._worker = _Worker()

    def call(self, job, blobs, fds, *, deadline_s):
        return getattr(self._worker, type(job).__name__.removesuffix("Job").lower())(
            job, tuple(blobs), tuple(os.dup(fd) for fd in fds)
        )

    def close(self) -> None:
        pass


def copied() -> np.ndarray:
    """Calls of the driver so far, bytes to the device, bytes from there."""
    counts = (ctypes.c_uint64 * 3).in_dll(ctypes.CDLL("libcuda.so.1"), "standin_counts")
    return np.array(counts[:], np.int64)


def is_right(workload: PreparedWorkload, draw: int) -> bool:
    """Inputs and guards bit by bit as the host says of the draw, outputs as they follow from it."""
    given, left = workload.inputs_of(draw), workload.outputs()
    out = given["x"] + given["h"].astype(np.float32) + given["y"]
    count = np.empty(N, np.int32)
    count[given["order"]] = np.arange(N)
    same = np.allclose(left["out"], out, atol=1e-5) and np.array_equal(left["y"], given["y"] + given["b"])
    return not workload.arena.inspect() and bool(same) and np.array_equal(left["count"], count)


if __name__ == "__main__":
    bench_module.WorkerProcess = Here
    geometry = Geometry((-(-N // 64), 1, 1), (64, 1, 1))
    workload = PreparedWorkload.prepare(KERNEL, KERNEL.workloads[0], 3, geometry)
    fresh = workload.pool.fresh_draw
    found: dict[str, object] = {}
    with CompilePool("standin", cache_dir=None) as pool:
        ours, scrubber = candidate(pool, KERNEL, SOURCE), make_scrubber(pool, pool.describe())
    assert scrubber is not None
    with Bench("standin", [workload], scrubber=scrubber) as bench:
        for turn in ("first", "later"):
            before = copied()
            assert isinstance(bench.time(NAME, [ours] * 4, [fresh(), fresh(), *[fresh()] * 2], looked_at=False), list)
            found[f"unseen, {turn}"] = (copied() - before).tolist()
        before, draw = copied(), fresh()
        assert isinstance(bench.time(NAME, [ours] * 2, [fresh(), draw]), list)
        found["seen"] = (copied() - before).tolist()
        right = [is_right(workload, draw)]
        for draw in (fresh(), 0):
            assert isinstance(bench.run_once(ours, NAME, fresh()), int)  # the host writes to the buffers
            assert isinstance(bench.time(NAME, [ours] * 3, [fresh(), draw, draw]), list)
            right.append(is_right(workload, draw))
    with Bench("standin", [workload]) as bench:  # without what fills buffers on the device
        assert isinstance(bench.time(NAME, [ours] * 3, [fresh(), draw, draw]), list)
        right.append(is_right(workload, draw))
    print(json.dumps({**found, "arena": workload.arena.nbytes, "right": right}))  # noqa: T201
