"""Run by `test_stand_in.py` in a process that sees the stand-in, whose memory stays: what timed launches find of those before them."""

from __future__ import annotations

import json

import numpy as np
from bench_support import UNARY, buffer, candidate, make_kernel, prepare
from test_examined import KEEPS, LEFT

from warpsmith.compile.pool import CompilePool
from warpsmith.measure.bench import Bench
from warpsmith.measure.scrub import make_scrubber
from warpsmith.verify.pool import FIRST

PLACES = {"shared": "s[threadIdx.x]", "stack": "stack[(threadIdx.x + n) & 15]"}
LAUNCHES = 6


def left(pool: CompilePool, where: str) -> dict[str, int]:
    """How many elements are what an earlier launch left, with and without what is launched between."""
    kernel = make_kernel(*UNARY, sizes=(64,))
    leaving = candidate(pool, kernel, LEFT.replace("WHERE", where))
    [workload] = prepare(kernel)
    found = {}
    for name, scrubber in {"scrubbed": make_scrubber(pool, pool.describe()), "as it is": None}.items():
        with workload.twin() as twin, Bench("standin", [twin], scrubber=scrubber) as bench:
            assert isinstance(bench.time("n=64", [leaving] * LAUNCHES, [FIRST] * LAUNCHES), list)
            found[name] = int((twin.arena.array("out") == 4711.0).sum())
    return found


def kept(pool: CompilePool) -> list[bool]:
    kernel = make_kernel(*UNARY, constants=(buffer("scale", "f32", "2", kind="ones"),), sizes=(64,))
    [workload] = prepare(kernel, lambda inputs: {"out": inputs["x"].astype(np.float64) + 3 + 4 + 0 + 0.25 + 5})
    keeping, right = candidate(pool, kernel, KEEPS), []
    with workload, Bench("standin", [workload], scrubber=make_scrubber(pool, pool.describe())) as bench:
        for _ in range(2):
            right.append(bench.verify(keeping, "n=64").passed)
            bench.time("n=64", [keeping] * LAUNCHES, [FIRST] * LAUNCHES)
            right.append(workload.verdict_after_launch().passed)
    return right


if __name__ == "__main__":
    with CompilePool("standin", cache_dir=None) as pool:
        print(json.dumps({**{name: left(pool, where) for name, where in PLACES.items()}, "kept": kept(pool)}))  # noqa: T201
