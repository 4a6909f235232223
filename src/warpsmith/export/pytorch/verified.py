"""Which sizes a package vouches for. The function it stands in for may check sizes, or take other kernels for some: those checks
are passed by, so that sizes of a kind that nothing was verified with are left to it.
"""

from __future__ import annotations

from math import gcd

from warpsmith.core.expression import Expression
from warpsmith.export.base import Build, Shipment
from warpsmith.spec.kernel import Constraint


def vouched(shipment: Shipment, build: Build) -> tuple[Constraint, ...]:
    """For the configuration that is for all sizes: a size with one value is part of its meaning, others have a common divisor."""
    limits, sizes = shipment.limits.names(), [workload.sizes for workload in shipment.kernel.workloads]
    sizes += [
        adversary.sizes
        for adversary in shipment.adversaries
        if all(condition.expression.evaluate({**limits, **adversary.sizes}) for condition in build.conditions)
    ]
    found = []
    for name in sizes[0]:
        values = {each[name] for each in sizes}
        step = gcd(*values)
        if len(values) == 1:
            found.append(Constraint(Expression.parse(f"{name} == {step}"), "it was verified with this value only"))
        elif step > 1:
            found.append(Constraint(Expression.parse(f"{name} % {step} == 0"), f"it was verified with multiples of {step} only"))
    return tuple(found)
