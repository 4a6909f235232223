"""Workloads that wrong configurations stumble over: small sizes that nothing divides, and inputs a hundred times as large.

Which sizes a kernel can do at all only its author knows. So several are offered, the oddest first: those that the original gets
wrong itself are dropped by the run.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpsmith.spec.kernel import Kernel, Workload

_ODD = 37  # of blocks, rows and the like: no power of two divides it
_DIVISORS = (1, 8, 64)  # what a kernel may need its sizes to be multiples of
_LARGE = 100.0


def adversaries(kernel: Kernel) -> tuple[Workload, ...]:
    declared = kernel.workloads
    varying = {name for name in declared[0].sizes if len({w.sizes[name] for w in declared}) > 1}
    smallest = min(declared, key=lambda w: (sum(w.sizes.values()), w.name))
    found = [Workload(f"odd-{divisor}", _odd(smallest.sizes, varying, divisor), heldout=True) for divisor in _DIVISORS]
    return (Workload("large-values", dict(smallest.sizes), heldout=True, scale=_LARGE), *found)


def _odd(sizes: Mapping[str, int], varying: set[str], divisor: int) -> dict[str, int]:
    """Sizes that are the same on every workload belong to the kernel's meaning; each other one gets its own odd multiple."""
    changed = {}
    for place, (name, size) in enumerate(sizes.items()):
        multiple = divisor * (_ODD + 2 * place)
        changed[name] = multiple if name in varying else size
    return changed
