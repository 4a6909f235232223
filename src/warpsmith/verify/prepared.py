"""A workload prepared for launches: inputs, expected outputs, the arena, and verdicts. Never in the worker."""

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
from warpsmith.verify.arena import Arena, MemoryRegion, poison
from warpsmith.verify.compare import compare, count_differing, has_nan
from warpsmith.verify.inputs import make_material, nbytes_of, shape_of
from warpsmith.verify.oracle import expected_outputs, normalised, outputs_of
from warpsmith.verify.pool import InputPool

_COPIES = 2  # the values that launches begin with, and those that they work on
_GIB = 2**30
_FAR, _SHARE_OF_LARGEST, _MANY = 100, 0.02, 16  # times the tolerance, of the largest element, one element in so many


class PreparedWorkload:
    """`expected` is None until an oracle provides it: immediately with a reference, else when the original's outputs are
    adopted.
    """

    def __init__(
        self,
        kernel: Kernel,
        workload: Workload,
        inputs: Mapping[str, Array],
        expected: Mapping[str, Array] | None,
        *,
        geometry: Geometry,
        pool: InputPool | None = None,
        seed: int = 0,
    ) -> None:
        """Without a pool every launch has the same inputs."""
        self.kernel = kernel
        self.workload = workload
        self.inputs = dict(inputs)
        self.expected = dict(expected) if expected is not None else None
        given = {b.name: inputs[b.name] for b in kernel.buffers if b.role is not Role.OUT and not b.null}
        self.pool = pool or InputPool.unvaried(given)
        for name in given:  # one copy is enough
            self.inputs[name] = self.pool.first(name).view(inputs[name].dtype).reshape(inputs[name].shape)
        self.geometry = geometry
        regions = [MemoryRegion(b.name, b.dtype, shape_of(b, kernel, workload), b.role) for b in kernel.buffers if not b.null]
        self.arena = Arena(regions, self.pool)
        self._slots: dict[int, dict[str, Array]] = {}
        self.seed = seed
        """Of the inputs."""
        self.memory_damaged = False
        """Whether the last verdict found out-of-bounds writes: the worker's own memory is then suspect too."""

    @classmethod
    def prepare(cls, kernel: Kernel, workload: Workload, seed: int, geometry: Geometry) -> PreparedWorkload:
        """Seeded inputs, and the reference's outputs if there is one. `geometry` is the original's, for references that ask for
        it.
        """
        _require_memory(kernel, workload)
        inputs, materials = make_material(kernel, workload, seed)
        pool = InputPool.of(materials, np.random.default_rng([seed, *workload.name.encode()]))
        expected = expected_outputs(kernel, workload, inputs, geometry)
        return cls(kernel, workload, inputs, expected, geometry=geometry, pool=pool, seed=seed)

    def twin(self) -> PreparedWorkload:
        """A copy in its own memory, for a second device."""
        pool = self.pool.shared()
        return PreparedWorkload(
            self.kernel, self.workload, self.inputs, self.expected, geometry=self.geometry, pool=pool, seed=self.seed
        )

    def changeable(self) -> PreparedWorkload:
        """The same inputs in separate memory, without an oracle: launches see what is written to them."""
        given = {name: self.inputs[name] for name in self.pool.recipes}
        pool = InputPool.unvaried(given, sealed=False)
        return PreparedWorkload(self.kernel, self.workload, self.inputs, None, geometry=self.geometry, pool=pool)

    @property
    def name(self) -> str:
        return self.workload.name

    @property
    def constants(self) -> dict[str, bytes]:
        """The bytes of the `__constant__` symbols."""
        return {buffer.name: self.inputs[buffer.name].tobytes() for buffer in self.kernel.constants}

    def close(self) -> None:
        self.arena.close()
        self.pool.close()

    def inputs_of(self, draw: int) -> dict[str, Array]:
        """As `inputs`, for launches with another draw."""
        drawn = dict(self.inputs)
        for name in self.pool.recipes:
            drawn[name] = np.empty_like(self.inputs[name])
            self.pool.fill(name, draw, drawn[name].reshape(-1).view(np.uint8))
        return drawn

    def expected_of(self, draw: int) -> dict[str, Array] | None:
        """The reference's outputs for that draw; None without a reference."""
        return expected_outputs(self.kernel, self.workload, self.inputs_of(draw), self.geometry)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def verdict_after_launch(self) -> Verdict:
        """The verdict on the last launch. Memory damage comes first: it explains wrong values better than the values do."""
        if self.expected is None:
            raise ValueError(f"workload {self.name!r} has no expected outputs yet: adopt those of the original first")
        damage = self.arena.inspect()
        self.memory_damaged = bool(damage)
        checks = [
            ArgumentCheck(self.name, found.argument, passed=False, max_error=math.inf, where=found.where, problem=found.problem)
            for found in damage
        ]
        return Verdict((*checks, *self.compared({b.name: self.arena.array(b.name) for b in self._outputs}, self.expected)))

    def compared(self, got: Mapping[str, Array], expected: Mapping[str, Array]) -> list[ArgumentCheck]:
        """Each output with its expected values."""
        checks = []
        for buffer in self._outputs:
            rtol, atol = self.tolerance(buffer)
            # An original that is its own oracle may leave parts of an output unwritten; a reference defines every element.
            poisoned = buffer.role is Role.OUT and self.kernel.reference.file is not None
            wanted = expected[buffer.name]
            checks.append(compare(buffer.name, self.name, got[buffer.name], wanted, rtol, atol, poisoned=poisoned))
        return checks

    def is_far_off(self, got: Mapping[str, Array], expected: Mapping[str, Array]) -> bool:
        """Whether much of an output is wrong beyond rounding: no input pushes so many results out of tolerance at once."""
        for buffer in self._outputs:
            wanted = expected[buffer.name]
            if not buffer.dtype.is_float or not wanted.size:
                continue
            rtol, atol = self.tolerance(buffer)
            largest = float(np.abs(wanted).max(initial=0.0, where=np.isfinite(wanted)))
            atol = max(_FAR * atol, _SHARE_OF_LARGEST * largest)
            if count_differing(got[buffer.name], wanted, _FAR * rtol, atol) > wanted.size // _MANY:
                return True
        return False

    @property
    def _outputs(self) -> tuple[Buffer, ...]:
        return outputs_of(self.kernel)

    def tolerance(self, buffer: Buffer) -> tuple[float, float]:
        """(rtol, atol): from kernel.toml, else the type's default."""
        rtol, atol = buffer.dtype.tolerance
        reference = self.kernel.reference
        rtol = reference.rtol if reference.rtol is not None else rtol
        atol = reference.atol if reference.atol is not None else atol
        if self.workload.is_sparse and self.expected is not None:  # large terms that cancel leave a large error
            sizes = np.abs(self.expected[buffer.name])
            atol = max(atol, rtol * float(sizes.max(initial=0.0, where=np.isfinite(sizes))))
        return rtol, atol

    def must_change(self, buffer: Buffer) -> int:
        """Number of elements of an output that every launch must change."""
        expected = (self.expected or {}).get(buffer.name)
        if expected is None:
            return 0
        before = self.inputs.get(buffer.name)
        poisoned = buffer.role is Role.OUT and self.kernel.reference.file is not None
        if buffer.role is Role.OUT or before is None:
            before = np.zeros(expected.shape, buffer.dtype.numpy)
            poison(np.ravel(before).view(np.uint8), buffer.dtype)
        return count_differing(before, expected, *self.tolerance(buffer), poisoned=poisoned)

    def passed_by_zeros(self) -> list[str]:
        """Outputs whose values are so small that all zeros would pass: their verdicts say nothing."""
        found = []
        for buffer in self._outputs:
            expected = (self.expected or {}).get(buffer.name)
            if expected is not None and buffer.dtype.is_float and expected.any():
                zeros = np.zeros(expected.shape, buffer.dtype.numpy)
                if compare(buffer.name, self.name, zeros, expected, *self.tolerance(buffer)).passed:
                    found.append(buffer.name)
        return found

    def outputs_with_nan(self) -> list[str]:
        """Outputs for which the oracle has NaN; parts that an original leaves unwritten do not count."""
        return [buffer.name for buffer in self._outputs if has_nan(self.arena.array(buffer.name))]

    def outputs(self, slot: int | None = None) -> dict[str, Array]:
        """Copies of the last launch's outputs; with a slot, in the memory of this slot's previous copies."""
        if slot is None:
            return {buffer.name: self.arena.array(buffer.name).copy() for buffer in self._outputs}
        if slot not in self._slots:
            self._slots[slot] = {b.name: np.empty_like(self.arena.array(b.name)) for b in self._outputs}
        for name, kept in self._slots[slot].items():
            np.copyto(kept, self.arena.array(name))
        return self._slots[slot]

    def adopt_outputs_as_expected(self) -> None:
        """Make the original the oracle if there is no reference: call after its launch, once its outputs are known to repeat."""
        self.expected = self.as_expected(self.outputs())

    def as_expected(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of a launch in the form of an oracle's answer."""
        return {b.name: normalised(outputs[b.name], b.dtype, outputs[b.name].shape) for b in self._outputs}


def _require_memory(kernel: Kernel, workload: Workload) -> None:
    """Check for enough memory before allocating: the system may kill the process or overcommit."""
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
    """Sorted by memory: the order for work that may not finish on all of them."""
    return sorted(workloads, key=lambda workload: workload.arena.nbytes)
