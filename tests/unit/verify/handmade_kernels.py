"""Kernels as kernel.toml would give them, built by hand."""

from pathlib import Path

from warpsmith.core.dtype import DType
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.spec.kernel import Argument, Buffer, Init, Kernel, Launch, Reference, Role, Scalar, Traffic, Workload


def buffer(name: str, dtype: str, *shape: int | str, role: str = "in", null: bool = False, **init) -> Buffer:
    return Buffer(name, DType(dtype), tuple(Expression.parse(s) for s in shape), Role(role), Init(**init), null)


def scalar(name: str, dtype: str, value: float | str) -> Scalar:
    return Scalar(name, DType(dtype), Expression.parse(value))


def kernel(
    *arguments: Argument,
    sizes: dict[str, int] | None = None,
    reference: Reference | None = None,
    folder: Path = Path(),
    constants=(),
) -> Kernel:
    return Kernel(
        name="k",
        path=folder / "kernel.toml",
        source=folder / "k.cu",
        language=Language.CUDA,
        entry="k",
        arguments=arguments,
        constants=tuple(constants),
        launch=Launch((Expression.parse(1),), (Expression.parse(1),), Expression.parse(0)),
        workloads=(Workload("w", sizes or {}),),
        reference=reference or Reference(),
        traffic=Traffic(),
    )
