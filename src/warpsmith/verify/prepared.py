"""A workload made ready: inputs, expected outputs and the arena, and the verdict on a launch. Never in the worker."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import numpy as np

from warpsmith.compile.binding import Binder
from warpsmith.core.arrays import Array
from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Geometry
from warpsmith.core.outcome import ArgumentCheck, Verdict
from warpsmith.spec.kernel import Buffer, Kernel, Role, Workload
from warpsmith.verify.arena import Arena, Region
from warpsmith.verify.compare import compare, has_nan
from warpsmith.verify.inputs import make_inputs, nbytes_of, shape_of
from warpsmith.verify.oracle import expected_outputs, normalised, outputs_of

_COPIES = 2  # the values that launches begin with, and those that they work on
_GIB = 2**30


class PreparedWorkload:
    """`expected` is None until the oracle has spoken: at once with a reference, else when the original's outputs are adopted."""

    def __init__(
        self, kernel: Kernel, workload: Workload, inputs: Mapping[str, Array], expected: Mapping[str, Array] | None
    ) -> None:
        self.kernel = kernel
        self.workload = workload
        self.inputs = dict(inputs)
        self.expected = dict(expected) if expected is not None else None
        regions = [Region(b.name, b.dtype, shape_of(b, kernel, workload), b.role) for b in kernel.buffers if not b.null]
        self.arena = Arena(regions, inputs)
        self.memory_damaged = False
        """Whether the last verdict found writes where none may be: then the worker's own memory is in doubt too."""

    @classmethod
    def prepare(cls, kernel: Kernel, workload: Workload, seed: int, geometry: Geometry) -> PreparedWorkload:
        """Seeded inputs, and the reference's outputs when there is one. `geometry` is the original's, for references that ask."""
        _require_memory(kernel, workload)
        inputs = make_inputs(kernel, workload, seed)
        return cls(kernel, workload, inputs, expected_outputs(kernel, workload, inputs, geometry))

    def twin(self) -> PreparedWorkload:
        """The same in memory of its own, for a device that works beside the first."""
        return PreparedWorkload(self.kernel, self.workload, self.inputs, self.expected)

    @property
    def name(self) -> str:
        return self.workload.name

    @property
    def constants(self) -> dict[str, bytes]:
        """The bytes of the `__constant__` symbols."""
        return {buffer.name: self.inputs[buffer.name].tobytes() for buffer in self.kernel.constants}

    def close(self) -> None:
        self.arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def verdict_after_launch(self) -> Verdict:
        """Memory damage first: it explains wrong values better than they do themselves."""
        if self.expected is None:
            raise ValueError(f"workload {self.name!r} has no expected outputs yet: adopt those of the original first")
        damage = self.arena.inspect()
        self.memory_damaged = bool(damage)
        checks = [
            ArgumentCheck(self.name, found.argument, passed=False, max_error=math.inf, where=found.where, problem=found.problem)
            for found in damage
        ]
        for buffer in outputs_of(self.kernel):
            rtol, atol = self.tolerance(buffer)
            got, expected = self.arena.array(buffer.name), self.expected[buffer.name]
            # An original that is its own oracle may leave parts of an output alone; a reference says what belongs everywhere.
            poisoned = buffer.role is Role.OUT and self.kernel.reference.file is not None
            checks.append(compare(buffer.name, self.name, got, expected, rtol, atol, poisoned=poisoned))
        return Verdict(tuple(checks))

    def tolerance(self, buffer: Buffer) -> tuple[float, float]:
        """(rtol, atol): what kernel.toml says, else what the type allows."""
        rtol, atol = buffer.dtype.tolerance
        reference = self.kernel.reference
        return reference.rtol if reference.rtol is not None else rtol, reference.atol if reference.atol is not None else atol

    def passed_by_zeros(self) -> list[str]:
        """Outputs whose values are so small that nothing but zeros is within the tolerance: their verdicts say nothing."""
        found = []
        for buffer in outputs_of(self.kernel):
            expected = (self.expected or {}).get(buffer.name)
            if expected is not None and buffer.dtype.is_float and expected.any():
                zeros = np.zeros(expected.shape, buffer.dtype.numpy)
                if compare(buffer.name, self.name, zeros, expected, *self.tolerance(buffer)).passed:
                    found.append(buffer.name)
        return found

    def outputs_with_nan(self) -> list[str]:
        """Outputs of which the oracle says NaN; parts that an original leaves alone do not count."""
        return [buffer.name for buffer in outputs_of(self.kernel) if has_nan(self.arena.array(buffer.name))]

    def outputs(self) -> dict[str, Array]:
        """Copies of what the last launch left."""
        return {buffer.name: self.arena.array(buffer.name).copy() for buffer in outputs_of(self.kernel)}

    def adopt_outputs_as_expected(self) -> None:
        """Without a reference the original is the oracle: call after its launch, once its outputs are known to repeat."""
        arrays = {buffer: self.arena.array(buffer.name).copy() for buffer in outputs_of(self.kernel)}
        self.expected = {buffer.name: normalised(array, buffer.dtype, array.shape) for buffer, array in arrays.items()}


def _require_memory(kernel: Kernel, workload: Workload) -> None:
    """Said before the system is asked for it: that may end the process, or promise what it does not have."""
    needed = _COPIES * nbytes_of(kernel, workload)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise InputError(
            f"workload {workload.name!r} needs {needed / _GIB:,.1f} GiB of memory, and this machine has {there / _GIB:,.1f}",
            location=Location(kernel.path),
            hint="give it smaller sizes in [workloads]",
        )


def prepare_all(binder: Binder, workloads: Iterable[Workload], seed: int, stack: ExitStack) -> dict[str, PreparedWorkload]:
    """Workloads of the binder's kernel by name, closed with the stack."""
    kernel = binder.kernel
    default = kernel.default_configuration
    return {
        w.name: stack.enter_context(PreparedWorkload.prepare(kernel, w, seed, binder.geometry(default, w))) for w in workloads
    }


def smallest_first(workloads: Iterable[PreparedWorkload]) -> list[PreparedWorkload]:
    """By their memory: the order for what there may not be time to do on all of them."""
    return sorted(workloads, key=lambda workload: workload.arena.nbytes)
