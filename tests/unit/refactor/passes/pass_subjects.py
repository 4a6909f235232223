"""Subjects for the tests of passes: bundled originals, and small kernels brought as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from warpsmith.core.dtype import DType
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language, Limits
from warpsmith.refactor.base import Declined, Pass, Rewrite, Subject, Tunable, Variant
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Argument, Buffer, Init, Kernel, Launch, Reference, Role, Scalar, Traffic, Workload
from warpsmith.spec.load import load_kernel

LIMITS = Limits(
    max_threads_per_block=1024,
    max_block_x=1024,
    max_block_y=1024,
    max_block_z=64,
    shared_bytes_per_block=49152,
    warp_size=32,
    compute_units=2,
)
CPU_LIMITS = replace(LIMITS, shared_banks=1)


def bundled(name: str, limits: Limits = LIMITS) -> Subject:
    kernel = untouched(load_kernel(name))
    launch = kernel.launch
    grid, block = (tuple(extent.text for extent in extents) for extents in (launch.grid, launch.block))
    return Subject(kernel, limits, Variant(read_source(kernel.source), kernel.entry, grid, block, launch.shared_bytes.text))


def small(
    text: str,
    *,
    grid: tuple[str, ...] = ("rows",),
    block: tuple[str, ...] = ("256",),
    language: Language = Language.CUDA,
    roles: Mapping[str, str] | None = None,
    scalars: Mapping[str, str] | None = None,
    sizes: Mapping[str, int] | None = None,
    tunables: tuple[Tunable, ...] = (),
    entry: str = "k",
) -> Subject:
    """A kernel `k`. `roles` are its buffers (f32, `rows * n` elements) in order, then `scalars` (i32) by value."""
    shape = (Expression.parse("rows"), Expression.parse("n"))
    found = {"out": "out", "x": "in"} if roles is None else roles
    arguments: list[Argument] = [Buffer(name, DType("f32"), shape, Role(role), Init()) for name, role in found.items()]
    arguments += [Scalar(name, DType("i32"), Expression.parse(value)) for name, value in (scalars or {"n": "n"}).items()]
    kernel = Kernel(
        name="k",
        path=Path("kernel.toml"),
        source=Path("k.cu"),
        language=language,
        entry=entry,
        arguments=tuple(arguments),
        constants=(),
        launch=Launch(*(tuple(map(Expression.parse, axes)) for axes in (grid, block)), Expression.parse(0)),
        workloads=(Workload("w", sizes or {"rows": 64, "n": 4000}),),
        reference=Reference(),
        traffic=Traffic(),
    )
    return Subject(kernel, LIMITS, Variant(text, entry, grid, block, tunables=tunables))


def applied(transform: Pass, subject: Subject) -> Rewrite:
    """What the pass made of it; at the defaults nothing has changed unless the pass lifts or decorates."""
    answer = transform.apply(subject)
    assert isinstance(answer, Rewrite), answer
    return answer


def declined(transform: Pass, subject: Subject) -> str:
    """Why nothing was proved; what was conjectured all the same says it, too."""
    answer = transform.apply(subject)
    if isinstance(answer, Declined):
        return answer.reason
    new = [t for t in (*answer.variant.tunables, answer.choice) if t is not None and t not in subject.variant.tunables]
    assert all(tunable.assumes for tunable in new), answer
    return "; ".join(tunable.assumes for tunable in new)


def squeezed(text: str) -> str:
    """The text with runs of blanks and line ends as one blank, to look for pieces in it."""
    return " ".join(text.split())
