"""The last stage of a run: finalists and claims of what was searched, and what these rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.record.result import AdversaryEntry, Claims, ShapeEntry
from warpsmith.tuning.claims.claimant import Claimant
from warpsmith.tuning.claims.undeclared_shapes import on_odd_shapes
from warpsmith.tuning.context import Inputs, RunContext
from warpsmith.tuning.evaluation.round import Round


def claim(context: RunContext, inputs: Inputs, searched: Round, evaluations: Sequence[Evaluation]) -> Claims:
    """`evaluations` are those of the whole run, as results of the round that was searched last."""

    def on_undeclared(configuration: Configuration) -> list[ShapeEntry]:
        """How a configuration does on shapes that were not drawn before."""
        rng = np.random.default_rng([inputs.seed, *b"shapes elsewhere"])
        return on_odd_shapes(searched, configuration, device=context.order.device, seed=inputs.seed, rng=rng)

    claims = Claimant(
        searched.builder,
        context.pool,
        context.info,
        inputs.prepared,
        device=context.order.device,
        rng=context.rng,
        emit=context.emit,
        elsewhere=on_undeclared if context.has_foreign_alternatives else None,
    ).claims(evaluations)
    # What an agent makes was held to such shapes before anything was claimed; a user's own winner is only told of.
    best = Configuration.of(claims.best.config)
    own = best != context.kernel.default_configuration and not context.has_foreign_alternatives
    evidence = replace(
        claims.evidence,
        input_seeds=tuple(context.store.input_seeds(context.run)),
        odd_shapes=tuple(on_undeclared(best)) if own else None,
        also_verified=tuple(
            AdversaryEntry(workload=w.name, sizes=w.sizes, scale=w.scale) for w in context.store.adversaries(context.run)
        ),
    )
    return replace(claims, evidence=evidence)
