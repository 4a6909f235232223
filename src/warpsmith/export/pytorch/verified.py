"""Which sizes a package vouches for. The function it stands in for may check sizes, or take other kernels for some: those checks
are passed by, so that sizes of a kind that nothing was verified with are left to it.
"""

from __future__ import annotations

from math import gcd

from warpsmith.core.expression import Expression
from warpsmith.export.base import Build, Shipment
from warpsmith.spec.kernel import Constraint, Kernel


def vouched(shipment: Shipment, build: Build) -> tuple[Constraint, ...]:
    """For the configuration that is for all sizes: a size with one value is part of its meaning, others have a common divisor.

    Sizes that were never different are one. Rows may be more than were ever verified, since more of them are more of the same;
    of other sizes, buffers of a fixed length may be all that a kernel has.
    """
    limits, sizes = shipment.limits.names(), [workload.sizes for workload in shipment.kernel.workloads]
    sizes += [
        adversary.sizes
        for adversary in shipment.adversaries
        if all(condition.expression.evaluate({**limits, **adversary.sizes}) for condition in build.conditions)
    ]
    columns = {name: [each[name] for each in sizes] for name in sizes[0]}
    rows, asked = _rows(shipment.kernel), {}
    for name, values in columns.items():
        step, same = gcd(*values), next(other for other, others in columns.items() if others == values)
        if len(set(values)) == 1:
            asked[f"{name} == {step}"] = "it was verified only with this value"
            continue
        if same != name:
            asked[f"{name} == {same}"] = "it was verified only where they are equal"
            continue
        if step > 1:
            asked[f"{name} % {step} == 0"] = f"it was verified only with multiples of {step}"
        if name not in rows:
            asked[f"{name} <= {max(values)}"] = "it was verified with no larger value"
    return tuple(Constraint(Expression.parse(text), reason) for text, reason in asked.items())


def _rows(kernel: Kernel) -> set[str]:
    """Sizes that are only ever a first extent by themselves."""
    first = {str(buffer.shape[0]) for buffer in kernel.buffers if buffer.shape}
    inner = {name for buffer in kernel.buffers for extent in buffer.shape[1:] for name in extent.names}
    return first - inner
