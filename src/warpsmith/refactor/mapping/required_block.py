"""Forms with another block than the original's, where the source itself requires one (`reqd_work_group_size`): it says theirs.

A launch has what the attribute says, or the original would not run; so the attribute follows from the launch, and a form's from
the form's. What no compiler could know (a block that depends on a workload's size) cannot be said.
"""

from __future__ import annotations

import re
from dataclasses import replace

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.extents import names_of, tidy
from warpsmith.refactor.preconditions import REQUIRED_BLOCK, axis, require
from warpsmith.source.tree import Edit
from warpsmith.source.work_group_attribute import required_sizes

_IN_C = re.compile(r"(?:(?!\w\s*\()[\w\s+*/%()-])+")


def following(subject: Subject, made: Variant) -> Variant:
    """The form that a pass made of the subject's, with its attribute; Unmet where the block cannot be written into it."""
    if required_sizes(subject.source) is None:
        return made
    form = Subject(subject.kernel, subject.limits, made)
    sizes = required_sizes(form.source)
    require(sizes, REQUIRED_BLOCK)
    unknown = {*subject.limits.names(), *(size for workload in subject.kernel.workloads for size in workload.sizes)}
    edits = []
    for name, size in zip("xyz", sizes or (), strict=True):
        extent = axis(made.block, name)
        if extent == axis(subject.variant.block, name):
            continue
        text = tidy(extent).replace("//", "/")
        require(_IN_C.fullmatch(text) and unknown.isdisjoint(names_of(extent)), REQUIRED_BLOCK)
        edits.append(Edit(size.start, size.end, text))
    return replace(made, text=form.source.edited(*edits))
