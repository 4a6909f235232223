"""Pointers that a kernel is given, and what it says of them."""

from __future__ import annotations

import re

from warpsmith.refactor.base import Subject
from warpsmith.source.kernel import KernelParameter, KernelSource
from warpsmith.spec.kernel import Buffer

_CONSTANT = re.compile(r"\b(?:__constant|constant)\b")


def overlapping(subject: Subject) -> list[KernelParameter]:
    """Those with a buffer of their own that the kernel does not say so of: for all that it knows, they may overlap."""
    buffers = zip(subject.source.parameters, subject.kernel.arguments, strict=False)
    return [p for p, a in buffers if isinstance(a, Buffer) and _lacks_restrict(p, subject.source)]


def _lacks_restrict(parameter: KernelParameter, source: KernelSource) -> bool:
    """A plain pointer, not an array or a reference, without the word; constant memory is written by nobody."""
    declared = source.declaration_of(parameter)
    said = source.is_restrict(parameter) or _CONSTANT.search(declared)
    return parameter.depth == 1 and not said and "[" not in declared and "&" not in declared
