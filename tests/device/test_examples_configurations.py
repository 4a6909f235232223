"""The bundled kernels: templates that are their originals at the defaults, and right results from configurations all over each space."""

from __future__ import annotations

import numpy as np
import pytest
from shared_bench import on_shared_bench, own_names

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Candidate
from warpsmith.space import Space
from warpsmith.space.covering import covering_sample
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.load import load_kernel
from warpsmith.template import first_difference, template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.prepared import PreparedWorkload

_SAMPLED = 2


@pytest.fixture(params=bundled_names())
def builder(request: pytest.FixtureRequest, pool: CompilePool) -> Builder:
    kernel = load_kernel(request.param)
    return Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)


def test_template_has_the_tokens_of_its_original(builder: Builder, pool: CompilePool):
    kernel = builder.binder.kernel
    workload = kernel.workloads[0]
    original = pool.preprocess(builder.requests.original(workload))
    template = pool.preprocess(builder.requests.templated(kernel.default_configuration, workload))
    assert len(original) > 100
    assert first_difference(original, template) is None


def test_sampled_configurations_are_right_on_the_heldout_workloads(builder: Builder):
    kernel, limits = builder.binder.kernel, builder.binder.limits
    space = Space.build(kernel.parameters, kernel.constraints, kernel.launch, kernel.workloads, limits)
    default = kernel.default_configuration
    chosen = [default, *covering_sample(space, _SAMPLED, np.random.default_rng(0))]
    workloads = own_names(kernel.heldout_workloads)
    for configuration in chosen:
        builder.prefetch(configuration, workloads)
    prepared = [PreparedWorkload.prepare(kernel, w, 0, builder.binder.geometry(default, w)) for w in workloads]
    with on_shared_bench(prepared) as bench:
        for configuration in chosen:
            candidate = builder.build(configuration, workloads)
            assert isinstance(candidate, Candidate), (str(configuration), candidate)
            for workload in workloads:
                verdict = bench.verify(candidate, workload.name)
                assert isinstance(verdict, Verdict), (str(configuration), verdict)
                assert verdict.passed, (str(configuration), verdict.failure)
