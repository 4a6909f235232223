"""The data of a run that is sent to a remote device: workloads with their inputs and expected outputs, once.

The oracle speaks where the run is: expected outputs travel. Only what a timed launch on fresh inputs should have given may be
asked of the reference there, so its folder's Python files come along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Geometry
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.verify.pool import InputPool, Recipe
from warpsmith.verify.prepared import PreparedWorkload

_FILES_AT_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class PackedWorkload:
    """`shapes` are those of the inputs that the pool has; `inputs` are the others."""

    workload: Workload
    geometry: Geometry
    seed: int
    expected: Mapping[str, Array] | None
    inputs: Mapping[str, Array]
    shapes: Mapping[str, tuple[np.dtype[np.generic], tuple[int, ...]]]
    pool: Array
    recipes: Mapping[str, Recipe]


@dataclass(frozen=True, slots=True)
class Parcel:
    """`files` are those of the reference's folder, by their path in it."""

    kernel: Kernel
    workloads: tuple[PackedWorkload, ...]
    files: Mapping[str, bytes]


def pack(workloads: Sequence[PreparedWorkload]) -> Parcel:
    kernel = workloads[0].kernel
    return Parcel(kernel, tuple(_packed(workload) for workload in workloads), _files_of(kernel))


def unpack(parcel: Parcel, folder: Path, rng: np.random.Generator) -> list[PreparedWorkload]:
    """For whoever closes them. `folder` is for the files, and `rng` of the draws."""
    kernel = parcel.kernel
    if kernel.reference.file is not None:
        for name, content in parcel.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        kernel = replace(kernel, reference=replace(kernel.reference, file=folder / kernel.reference.file.name))
    return [_unpacked(kernel, packed, rng.spawn(1)[0]) for packed in parcel.workloads]


def _packed(prepared: PreparedWorkload) -> PackedWorkload:
    in_pool = prepared.pool.recipes
    return PackedWorkload(
        workload=prepared.workload,
        geometry=prepared.geometry,
        seed=prepared.seed,
        expected=prepared.expected,
        inputs={name: array for name, array in prepared.inputs.items() if name not in in_pool},
        shapes={name: (prepared.inputs[name].dtype, prepared.inputs[name].shape) for name in in_pool},
        pool=prepared.pool.content,
        recipes=dict(in_pool),
    )


def _unpacked(kernel: Kernel, packed: PackedWorkload, rng: np.random.Generator) -> PreparedWorkload:
    inputs = {**packed.inputs, **{name: np.empty(shape, dtype) for name, (dtype, shape) in packed.shapes.items()}}
    pool = InputPool.copied(packed.pool, packed.recipes, rng)
    return PreparedWorkload(
        kernel, packed.workload, inputs, packed.expected, geometry=packed.geometry, pool=pool, seed=packed.seed
    )


def _files_of(kernel: Kernel) -> dict[str, bytes]:
    """A reference may import its neighbours."""
    if kernel.reference.file is None:
        return {}
    home = kernel.reference.file.parent
    there = [p for p in home.rglob("*.py") if not any(part.startswith(".") for part in p.relative_to(home).parts)]
    if sum(path.stat().st_size for path in there) > _FILES_AT_MOST_BYTES:
        message = f"the folder of the reference has more than {_FILES_AT_MOST_BYTES >> 20} MiB of Python files"
        raise InputError(message, location=Location(kernel.reference.file), hint="give the kernel a folder of its own")
    return {str(path.relative_to(home)): path.read_bytes() for path in there}
