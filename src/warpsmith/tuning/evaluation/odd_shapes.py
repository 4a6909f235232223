"""Workloads that expose wrong configurations: awkward sizes, inputs a hundred times as large, or with odd values.

Whoever writes or plans, these are asked for: an author who tests his own code would find it right. The sizes are drawn anew for
each process, so that nobody can write what is right on them alone. Which sizes a kernel can do at all only its author knows. So
several are offered, the oddest first: those that the original gets wrong itself are dropped by the run.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from warpsmith.core.errors import WarpsmithError
from warpsmith.spec.kernel import Kernel, Scalar, Workload
from warpsmith.verify.inputs import is_constant, nbytes_of, sparse_buffers

_DIVISORS = (1, 8, 64)  # what a kernel may need its sizes to be multiples of
_LARGEST_DIVISOR = 1024  # a block, or a block's share of elements
_LARGE = 100.0

# Sizes are odd multiples of the divisor: of primes, where there is room for them.
_LARGEST_MULTIPLE = 8191
_PRIMES = tuple(n for n in range(3, _LARGEST_MULTIPLE + 1) if all(n % d for d in range(2, math.isqrt(n) + 1)))
_ROOMY, _AWKWARD = 17, 7  # what multiples begin with where there is room, and what too large a shape shrinks them to

MOST_LARGER = 4
_MOST_BYTES = 64 << 20
_FEW_BYTES, _FEW_STEPS = 4 << 20, 1 << 22  # each launch of such a shape costs every evaluation some time


def odd_shapes(kernel: Kernel, rng: np.random.Generator) -> tuple[Workload, ...]:
    declared = kernel.workloads
    smallest = min(declared, key=lambda w: (sum(w.sizes.values()), w.name))
    varying = {name for name in declared[0].sizes if len({w.sizes[name] for w in declared}) > 1}
    # Sizes that are the same on every workload belong to the kernel's meaning.
    drawing = _Drawing(kernel, smallest, most_bytes(kernel), rng)
    offered = _of_varying(drawing, varying) if varying else _of_one(drawing)
    return (Workload("large-values", dict(smallest.sizes), heldout=True, scale=_LARGE), *offered)


def odd_values(kernel: Kernel, rng: np.random.Generator) -> tuple[Workload, ...]:
    """Tuning workloads, in random order, with inputs of which a part does not tell the whole (`verify.spikes`); and one with
    other values of what kernel.toml fixes, although the kernel takes it as an argument: who takes the kernel passes his own.
    """
    smallest = min(kernel.tuning_workloads, key=lambda w: nbytes_of(kernel, w))
    fitting = [w for w in kernel.tuning_workloads if nbytes_of(kernel, w) <= most_bytes(kernel)] or [smallest]
    drawn = [fitting[place] for place in rng.permutation(len(fitting))]
    offered = [
        Workload(f"sparse-{place}" if place else "sparse", workload.sizes, heldout=True, is_sparse=True)
        for place, workload in enumerate(drawn)
    ]
    sparse = tuple(workload for workload in offered if sparse_buffers(kernel, workload))
    if not any(is_constant(item, kernel) for item in (*kernel.arguments, *kernel.constants)):
        return sparse
    factor = float(rng.uniform(1.1, 1.9)) ** int(rng.choice((-1, 1)))
    return (Workload("other-constants", dict(smallest.sizes), heldout=True, constants_factor=factor), *sparse)


def larger_shapes(kernel: Kernel, rng: np.random.Generator) -> tuple[Workload, ...]:
    """Each size beyond what was declared, drawn at random, the others small: primes first, then multiples of 8 and of 64.

    For what is to run on more than was declared.
    """
    smallest = min(kernel.workloads, key=lambda w: (sum(w.sizes.values()), w.name))
    declared = {size: {w.sizes[size] for w in kernel.workloads} for size in kernel.workloads[0].sizes}
    varying = [size for size, values in declared.items() if len(values) > 1]
    some = [varying[place] for place in rng.permutation(len(varying))[:MOST_LARGER]]
    offered = []
    for divisor in _DIVISORS:
        for size in some:
            most = max(declared[size]) // divisor
            sizes = {**smallest.sizes, size: divisor * _prime_from(most + 1 + int(rng.integers(0, most + 1)))}
            offered.append(Workload(f"larger-{size}-{divisor}", sizes, heldout=True))
    return tuple(workload for workload in offered if _fits(kernel, workload))


def _fits(kernel: Kernel, workload: Workload) -> bool:
    with contextlib.suppress(WarpsmithError):
        return nbytes_of(kernel, workload) <= _MOST_BYTES
    return False


def _prime_from(number: int) -> int:
    number += 1 - number % 2
    while any(number % d == 0 for d in range(3, math.isqrt(number) + 1, 2)):
        number += 2
    return number


def most_bytes(kernel: Kernel) -> int:
    """What a workload that nobody declared may take: no more than the declared ones do, where those are large."""
    return max(_MOST_BYTES, min(nbytes_of(kernel, w) for w in kernel.workloads))


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Shapes of a kernel: sizes without a divisor are those of the smallest declared workload."""

    kernel: Kernel
    smallest: Workload
    limit_bytes: int
    rng: np.random.Generator

    def shape(self, name: str, divisors: Mapping[str, int]) -> Workload:
        """Each size that has a divisor gets its own odd multiple of it; all of them together fit into the memory."""
        multiples: dict[str, int] = {}
        for size, divisor in divisors.items():
            multiples[size] = self._multiple(self._largest(size) // divisor, set(multiples.values()))
        least = self._nbytes(self._workload(name, divisors, dict.fromkeys(divisors, _PRIMES[0])))
        few_bytes = min(max(_FEW_BYTES, 4 * least), self.limit_bytes)
        for floor, most_bytes, most_steps in ((_AWKWARD, few_bytes, _FEW_STEPS), (1, self.limit_bytes, math.inf)):
            drawn = self._workload(name, divisors, multiples)
            while max(multiples.values(), default=1) > floor and (
                self._nbytes(drawn) > most_bytes or math.prod(drawn.sizes[size] for size in divisors) > most_steps
            ):
                self._shrink(multiples)
                drawn = self._workload(name, divisors, multiples)
        return drawn

    def _largest(self, size: str) -> int:
        return max(workload.sizes[size] for workload in self.kernel.workloads)

    def _multiple(self, most: int, taken: AbstractSet[int]) -> int:
        """Sizes that differ show what is mistaken for what. Kernels that can do less than was declared are rare."""
        roomy = [prime for prime in _PRIMES if _ROOMY <= prime <= most]
        some = roomy or [1, *(prime for prime in _PRIMES if prime <= max(most, 1))]
        free = [multiple for multiple in some if multiple not in taken] or some
        # As many small ones as large ones: within a block, and over several.
        weights = [math.log(multiple + 1) / multiple for multiple in free]
        return int(self.rng.choice(free, p=np.divide(weights, sum(weights))))

    def _shrink(self, multiples: dict[str, int]) -> None:
        """The largest becomes a smaller one, and no more often than necessary the same as another."""
        size = max(multiples, key=lambda name: multiples[name])
        now = multiples[size]
        some = [n for n in (1, *_PRIMES) if now // 3 <= n < now]
        others = {multiple for name, multiple in multiples.items() if name != size}
        multiples[size] = int(self.rng.choice([n for n in some if n not in others] or some))

    def _workload(self, name: str, divisors: Mapping[str, int], multiples: Mapping[str, int]) -> Workload:
        changed = {size: divisor * multiples[size] for size, divisor in divisors.items()}
        return Workload(name, {**self.smallest.sizes, **changed}, heldout=True)

    def _nbytes(self, workload: Workload) -> int:
        """Where a shape cannot have these sizes the run says so; smaller ones would not help."""
        try:
            return nbytes_of(self.kernel, workload)
        except WarpsmithError:
            return 0


def _of_varying(drawing: _Drawing, varying: set[str]) -> Iterator[Workload]:
    """Last of all with what the declared sizes have in common, each by itself: groups of 128 need it, and rows do not."""
    names = [name for name in drawing.smallest.sizes if name in varying]
    divisors = [dict.fromkeys(names, divisor) for divisor in _DIVISORS]
    for each in divisors:
        yield drawing.shape(f"odd-{max(each.values())}", each)
    declared = drawing.kernel.workloads
    common = {name: math.gcd(*(workload.sizes[name] for workload in declared)) for name in names}
    own = {name: min(_power_of_two(size), _LARGEST_DIVISOR) for name, size in common.items()}
    offered = drawing.shape("odd-common", own)
    if own not in divisors and offered.sizes not in [workload.sizes for workload in declared]:
        yield offered


def _of_one(drawing: _Drawing) -> Iterator[Workload]:
    """Where nothing tells sizes from meaning: those that the kernel is told, by an argument or by its grid.

    Without a reference nobody can say whether the original's results on them are any: they stay multiples of what the declared
    ones are multiples of. Multiples of much must not take more memory than was declared, nor a reference's time.
    """
    kernel, smallest = drawing.kernel, drawing.smallest
    told = [e.value for e in kernel.arguments if isinstance(e, Scalar)] + list(kernel.launch.grid)
    names = [name for name in smallest.sizes if any(name in expression.names for expression in told)]
    own = {name: _power_of_two(smallest.sizes[name]) for name in names}
    divisors: list[dict[str, int]] = [] if kernel.reference.file is None else [dict.fromkeys(names, d) for d in _DIVISORS]
    divisors += [{name: min(own[name], most) for name in names} for most in (_DIVISORS[-1], _LARGEST_DIVISOR)]
    declared_bytes = nbytes_of(kernel, smallest)
    for place, each in enumerate(divisors):
        is_coarse = max(each.values(), default=1) > _DIVISORS[-1]
        limit_bytes = min(drawing.limit_bytes, declared_bytes) if is_coarse else drawing.limit_bytes
        offered = replace(drawing, limit_bytes=limit_bytes).shape(f"odd-{place + 1}", each)
        is_new = each not in divisors[:place] and offered.sizes != smallest.sizes
        if is_new and not (is_coarse and nbytes_of(kernel, offered) > declared_bytes):
            yield offered


def _power_of_two(size: int) -> int:
    return size & -size
