"""The bundled templates where their shortcuts end: last blocks with fewer rows, tiles moved back, matrices smaller than a tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest
from shared_bench import on_shared_bench, own_names

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Candidate
from warpsmith.spec.kernel import Workload
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.inputs import make_inputs
from warpsmith.verify.oracle import expected_outputs
from warpsmith.verify.prepared import PreparedWorkload

Case: TypeAlias = tuple[Mapping[str, int], Mapping[str, int]]  # parameters, sizes

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


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _, _ in CASES.values()))
def test_shortcuts_end_right(name: str, pool: CompilePool):
    cases = {case: (chosen, sizes) for case, (kernel, chosen, sizes) in CASES.items() if kernel == name}
    failures = {case: verdict.failure for case, verdict in _verdicts(pool, name, cases).items() if not verdict.passed}
    assert not failures


def test_softmax_of_rows_far_from_zero(pool: CompilePool):
    """Maxima in the thousands, and elements so far below them that their exponential is 0."""
    (verdict,) = _verdicts(pool, "softmax", {"far": (SOFTMAX, SHORT_LAST_BLOCK)}, scale=700.0).values()
    assert verdict.passed, verdict.failure


def _verdicts(pool: CompilePool, name: str, cases: Mapping[str, Case], *, scale: float = 1.0) -> dict[str, Verdict]:
    """Each case has a configuration and a workload of its own."""
    named = own_names([Workload(case, dict(sizes)) for case, (_, sizes) in cases.items()])
    workloads = dict(zip(cases, named, strict=True))
    kernel = replace(load_kernel(name), workloads=tuple(workloads.values()))
    builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
    verdicts: dict[str, Verdict] = {}
    with on_shared_bench([_prepared(builder, workload, scale) for workload in workloads.values()]) as bench:
        for case, (chosen, _) in cases.items():
            configuration = Configuration.of({**kernel.default_configuration, **chosen})
            candidate = builder.build(configuration, (workloads[case],))
            assert isinstance(candidate, Candidate), (case, candidate)
            verdict = bench.verify(candidate, workloads[case].name)
            assert isinstance(verdict, Verdict), (case, verdict)
            verdicts[case] = verdict
    return verdicts


def _prepared(builder: Builder, workload: Workload, scale: float) -> PreparedWorkload:
    kernel = builder.binder.kernel
    geometry = builder.binder.geometry(kernel.default_configuration, workload)
    inputs = make_inputs(kernel, workload, 0)
    inputs["input"] = inputs["input"] * np.float32(scale)
    return PreparedWorkload(kernel, workload, inputs, expected_outputs(kernel, workload, inputs, geometry), geometry=geometry)
