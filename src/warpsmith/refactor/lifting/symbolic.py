"""A kernel with some of its constants replaced by parameters' names: what it then says of itself is what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.names import taken_names
from warpsmith.source import Edit, KernelSource, Names, parse_kernel
from warpsmith.source.constants import Constant, ConstantKind
from warpsmith.spec.entry import split_entry
from warpsmith.spec.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Symbolic:
    """`constants` are by parameter: all accesses share one, and so do equal literals. `defaults` has the earlier ones too."""

    variant: Variant
    names: Names
    constants: dict[str, tuple[Constant, ...]]
    defaults: dict[str, int]

    @property
    def source(self) -> KernelSource:
        return self.names.source

    def cases(self, kernel: Kernel) -> list[dict[str, int]]:
        """The author's values, on every workload."""
        return [{**workload.sizes, **self.defaults} for workload in kernel.workloads]


def symbolic(subject: Subject, constants: Sequence[Constant]) -> Symbolic:
    """The subject with these constants named; its launch is left as it was."""
    source, variant = subject.source, subject.variant
    words = taken_names(subject.kernel, f"{source.text} {variant.entry}") | {t.name for t in variant.tunables}
    chosen: dict[str, tuple[Constant, ...]] = {}
    edits: list[Edit] = []
    name, arguments = split_entry(variant.entry)
    for constant in constants:
        fellows = [p for p, (first, *_) in chosen.items() if _are_one(first, constant)]
        parameter = fellows[0] if fellows else _parameter_name(constant, words | chosen.keys())
        chosen[parameter] = (*chosen.get(parameter, ()), constant)
        if constant.kind is ConstantKind.TEMPLATE:
            arguments[constant.start] = parameter
        elif constant.kind is ConstantKind.OUTSIDE:
            continue  # the text names it already
        elif constant.kind is ConstantKind.MACRO:
            edits.append(_without_line(source, constant))
        else:
            edits.append(Edit(constant.start, constant.end, parameter))
    entry = f"{name}<{', '.join(arguments)}>" if arguments else name
    changed = replace(variant, text=source.edited(*edits), entry=entry)
    defaults = {t.name: t.default for t in variant.tunables} | {p: c[0].value for p, c in chosen.items()}
    parsed = parse_kernel(changed.text, subject.kernel.language, entry)
    parsed.tree.left_out = tuple(_left_out(source, edits))
    return Symbolic(changed, Names(parsed, defaults.keys(), subject.kernel), chosen, defaults)


def _left_out(source: KernelSource, edits: Sequence[Edit]) -> Iterator[int]:
    """Where lines are gone: reasons name the lines that the author has."""
    moved = 0
    for edit in sorted(edits, key=lambda e: e.start):
        gone = source.tree.data[edit.start : edit.end]
        yield from [edit.start + moved] * gone.count(b"\n")
        moved += len(edit.text.encode()) - len(gone)


def _are_one(first: Constant, other: Constant) -> bool:
    """All accesses of a kernel are equally wide; a number that the kernel says again and again is one number."""
    shared = first.kind in {ConstantKind.ACCESS, ConstantKind.LITERAL}
    return shared and first.kind is other.kind and (first.kind is ConstantKind.ACCESS or first.value == other.value)


def _parameter_name(constant: Constant, taken: frozenset[str]) -> str:
    """`kTileM` → TILE_M. A macro that is nothing but a number becomes the parameter itself."""
    if constant.kind in {ConstantKind.MACRO, ConstantKind.OUTSIDE}:
        return constant.name
    if constant.kind is ConstantKind.ACCESS:
        name = "VEC_BYTES"
    else:
        plain = re.sub(r"^k(?=[A-Z])", "", constant.name)
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
        name = re.sub(r"_+", "_", spaced).strip("_").upper()
    while name in taken:
        name += "_"
    return name


def _without_line(source: KernelSource, macro: Constant) -> Edit:
    """The header of the finished template defines the parameter, so the source's own definition goes, with the line's end."""
    data = source.tree.data
    end = macro.end if data[macro.start : macro.end].endswith(b"\n") else data.find(b"\n", macro.end) + 1
    return Edit(macro.start, end or len(data), "")
