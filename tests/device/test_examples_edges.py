"""The bundled templates where their shortcuts end: last blocks with fewer rows, tiles moved back, matrices smaller than a tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.spec.kernel import Workload
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluate import Builder
from warpsmith.verify.inputs import make_inputs
from warpsmith.verify.oracle import expected_outputs
from warpsmith.verify.prepared import PreparedWorkload

SHORT_LAST_BLOCK = {"rows": 21, "cols": 1032}  # 21 = 2 * 8 + 5
SOFTMAX = {"BLOCK": 8, "VEC_BYTES": 4, "SWEEPS": 3, "REDUCE": 1, "ITEMS": 4, "ROWS": 8, "EXP": 2}
RMSNORM = {"BLOCK": 8, "VEC_BYTES": 4, "STAGE": 1, "REDUCE": 1, "ITEMS": 4, "ROWS": 8}
SQUARES = {"PATH": 3, "TILE": 64, "ROWS": 2, "DEPTH": 64, "STRIP": 16}
LINES = {**SQUARES, "PATH": 4}
SPLIT = {"BLOCK": 256, "VEC_BYTES": 4, "UNROLL": 2, "SPLIT_ROW": 1, "EXP": 2}

CASES = {
    "softmax, joined sweeps": ("softmax", SOFTMAX, SHORT_LAST_BLOCK),
    "softmax, joined sweeps of warps": ("softmax", {**SOFTMAX, "BLOCK": 64, "REDUCE": 0, "EXP": 0}, SHORT_LAST_BLOCK),
    "softmax, joined sweeps of packs": ("softmax", {**SOFTMAX, "BLOCK": 64, "VEC_BYTES": 16}, SHORT_LAST_BLOCK),
    "softmax, a row shorter than a step": ("softmax", SOFTMAX, {"rows": 9, "cols": 12}),
    "rmsnorm, next token added": ("fused_add_rmsnorm", RMSNORM, {"tokens": 21, "d": 1032}),
    "rmsnorm, next token added, warps": ("fused_add_rmsnorm", {**RMSNORM, "BLOCK": 64, "REDUCE": 0}, {"tokens": 21, "d": 1032}),
    "rmsnorm, next token added, packs": (
        "fused_add_rmsnorm",
        {**RMSNORM, "BLOCK": 64, "VEC_BYTES": 16},
        {"tokens": 9, "d": 1032},
    ),
    "rmsnorm, staged": ("fused_add_rmsnorm", {**RMSNORM, "STAGE": 0, "ROWS": 1}, {"tokens": 3, "d": 1032}),
    "transpose, tiles moved back": ("transpose", SQUARES, {"rows": 152, "cols": 200}),
    "transpose, narrow writes": ("transpose", SQUARES, {"rows": 146, "cols": 200}),
    "transpose, no alignment": ("transpose", SQUARES, {"rows": 151, "cols": 203}),
    "transpose, fewer rows than a strip": ("transpose", SQUARES, {"rows": 13, "cols": 200}),
    "transpose, fewer columns than a tile": ("transpose", SQUARES, {"rows": 100, "cols": 36}),
    "transpose, whole lines, tiles moved back": ("transpose", LINES, {"rows": 176, "cols": 203}),
    "transpose, no whole lines": ("transpose", LINES, {"rows": 151, "cols": 203}),
    "silu, last step moved back": ("silu_and_mul", SPLIT, {"tokens": 3, "d": 1100}),
    "silu, a row shorter than a block": ("silu_and_mul", SPLIT, {"tokens": 3, "d": 100}),
}


@pytest.mark.parametrize("case", CASES)
def test_shortcuts_end_right(case: str, pool: CompilePool):
    name, chosen, sizes = CASES[case]
    verdict = _verdict(pool, name, chosen, sizes)
    assert verdict.passed, verdict.failure


def test_softmax_of_rows_far_from_zero(pool: CompilePool):
    """Maxima in the thousands, and elements so far below them that their exponential is 0."""
    verdict = _verdict(pool, "softmax", SOFTMAX, SHORT_LAST_BLOCK, scale=700.0)
    assert verdict.passed, verdict.failure


def _verdict(pool: CompilePool, name: str, chosen: Mapping[str, int], sizes: Mapping[str, int], *, scale: float = 1.0) -> Verdict:
    workload = Workload("edge", dict(sizes))
    kernel = replace(load_kernel(name), workloads=(workload,))
    builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
    candidate = builder.build(Configuration.of({**kernel.default_configuration, **chosen}), (workload,))
    assert isinstance(candidate, Candidate), candidate
    geometry = builder.binder.geometry(kernel.default_configuration, workload)
    inputs = make_inputs(kernel, workload, 0)
    inputs["input"] = inputs["input"] * np.float32(scale)
    with (
        PreparedWorkload(kernel, workload, inputs, expected_outputs(kernel, workload, inputs, geometry)) as prepared,
        Bench("cpu", [prepared]) as bench,
    ):
        verdict = bench.verify(candidate, workload.name)
    assert isinstance(verdict, Verdict), verdict
    return verdict
