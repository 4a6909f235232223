"""Workloads that wrong configurations stumble over: small sizes that nothing divides, and inputs a hundred times as large.

Whoever writes or plans, these are asked for: an author who tests his own code would find it right. Which sizes a kernel can do at
all only its author knows. So several are offered, the oddest first: those that the original gets wrong itself are dropped by the
run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warpsmith.spec.kernel import Kernel, Scalar, Workload
from warpsmith.verify.inputs import nbytes_of

_ODD = 37  # of blocks, rows and the like: no power of two divides it
_FEW = 3
_DIVISORS = (1, 8, 64)  # what a kernel may need its sizes to be multiples of
_LARGEST_DIVISOR = 1024  # a block, or a block's share of elements
_LARGE = 100.0


def odd_shapes(kernel: Kernel) -> tuple[Workload, ...]:
    declared = kernel.workloads
    smallest = min(declared, key=lambda w: (sum(w.sizes.values()), w.name))
    varying = {name for name in declared[0].sizes if len({w.sizes[name] for w in declared}) > 1}
    # Sizes that are the same on every workload belong to the kernel's meaning.
    offered = _of_varying(smallest, varying) if varying else _of_one(kernel, smallest)
    return (Workload("large-values", dict(smallest.sizes), heldout=True, scale=_LARGE), *offered)


def _of_varying(smallest: Workload, varying: set[str]) -> Iterator[Workload]:
    for divisor in _DIVISORS:
        yield _odd(f"odd-{divisor}", smallest.sizes, dict.fromkeys(varying, divisor), _ODD)


def _of_one(kernel: Kernel, smallest: Workload) -> Iterator[Workload]:
    """Where nothing tells sizes from meaning: those that the kernel is told, by an argument or by its grid.

    Without a reference nobody can say whether the original's results on them are any: they stay multiples of what the declared
    ones are multiples of. Multiples of much are few, and must not take more memory than was declared, nor a reference's time.
    """
    told = [e.value for e in kernel.arguments if isinstance(e, Scalar)] + list(kernel.launch.grid)
    names = [name for name in smallest.sizes if any(name in expression.names for expression in told)]
    own = {name: _power_of_two(smallest.sizes[name]) for name in names}
    divisors: list[dict[str, int]] = [] if kernel.reference.file is None else [dict.fromkeys(names, d) for d in _DIVISORS]
    divisors += [{name: min(own[name], most) for name in names} for most in (_DIVISORS[-1], _LARGEST_DIVISOR)]
    seen = [dict(smallest.sizes)]
    for place, each in enumerate(divisors):
        most = max(each.values(), default=1)
        offered = _odd(f"odd-{place + 1}", smallest.sizes, each, _ODD if most < _DIVISORS[-1] else _FEW)
        if offered.sizes in seen or (most > _DIVISORS[-1] and nbytes_of(kernel, offered) > nbytes_of(kernel, smallest)):
            continue
        seen.append(dict(offered.sizes))
        yield offered


def _odd(name: str, sizes: Mapping[str, int], divisors: Mapping[str, int], multiple: int) -> Workload:
    """Each size that has a divisor gets its own odd multiple of it."""
    changed = {
        size: divisors[size] * (multiple + 2 * place) if size in divisors else value
        for place, (size, value) in enumerate(sizes.items())
    }
    return Workload(name, changed, heldout=True)


def _power_of_two(size: int) -> int:
    return size & -size
