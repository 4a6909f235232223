"""A workload's arguments for analyses that follow a launch without running it: sizes and scalars now, contents on demand."""

from __future__ import annotations

import math
from functools import cache

from warpsmith.analysis.profile import Arguments
from warpsmith.core.arrays import Array
from warpsmith.core.counted import LaunchArgument
from warpsmith.core.errors import UnsupportedFeature
from warpsmith.spec.kernel import Argument, Kernel, Role, Scalar, Workload
from warpsmith.verify.inputs import make_inputs, scalar_bytes, scalar_value, shape_of

_SEED = 0


def launch_arguments(kernel: Kernel, workload: Workload) -> Arguments:
    @cache
    def inputs() -> dict[str, Array]:
        return make_inputs(kernel, workload, _SEED)

    def contents(name: str) -> bytes:
        buffer = next(b for b in kernel.buffers if b.name == name)
        if buffer.role is Role.OUT:
            raise UnsupportedFeature(f"an address or a branch depends on {name}, which has no contents before the launch")
        return inputs()[name].tobytes()

    constants = {constant.name: inputs()[constant.name].tobytes() for constant in kernel.constants}
    return Arguments(tuple(_given(kernel, workload, a) for a in kernel.arguments), constants, contents)


def _given(kernel: Kernel, workload: Workload, argument: Argument) -> LaunchArgument:
    if isinstance(argument, Scalar):
        return LaunchArgument(argument.name, scalar=scalar_bytes(argument, scalar_value(argument, kernel, workload)).hex())
    if argument.null:
        return LaunchArgument(argument.name)
    return LaunchArgument(argument.name, nbytes=math.prod(shape_of(argument, kernel, workload)) * argument.dtype.itemsize)
