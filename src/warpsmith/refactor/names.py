"""Names for parameters: a parameter is a macro, so its name must mean nothing else in the source or in kernel.toml."""

from __future__ import annotations

from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Subject
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.kernel import Kernel
from warpsmith.template.directives import with_includes


def fresh_name(subject: Subject, wanted: str) -> str:
    """The wanted name, with as many underscores behind it as it takes to be nobody else's."""
    own = {tunable.name for tunable in subject.variant.tunables}
    taken = taken_names(subject.kernel, subject.variant.text) | own | subject.parameters
    name = wanted
    while name in taken:
        name += "_"
    return name


def taken_names(kernel: Kernel, text: str) -> frozenset[str]:
    """What the source, the local files it includes and kernel.toml already call something."""
    sizes = frozenset().union(*(workload.sizes for workload in kernel.workloads))
    texts = with_includes(kernel.source, text, kernel.include_dirs)
    return frozenset().union(sizes, kernel.defines, Limits.known_names(), *map(used_identifiers, texts))
