"""`read_only`: what the compiler is told about pointers: that they do not overlap, and what is only read.

Exposes: `__restrict__` on pointer parameters that lack it, and `const` on those that the kernel only reads, so that loads may be
reordered and go through the read-only cache.
Precondition: a pointer parameter lacks it and kernel.toml gives it a buffer of its own; the kernel neither changes the pointer
parameter itself nor hands it to a function that could not take it.
Parameters: READ_ONLY. Constraints: none; callers must not pass overlapping buffers, which the harness never does.

An empty macro stands where the word goes, so at the default no token changes.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.pointers import overlapping
from warpsmith.refactor.preconditions import unreadable
from warpsmith.refactor.substitution import before_kernel
from warpsmith.source import Edit
from warpsmith.source.tree import of_kind


class ReadOnly:
    name = "read_only"
    summary = "__restrict__ on pointers that do not overlap, so that loads may be reordered and cached"
    stage = Stage.DECORATE
    concerns = frozenset({Concern.TRAFFIC})
    priority = 40  # late: what it writes into the head of the kernel is hard to read

    def apply(self, subject: Subject) -> Answer:
        source, variant = subject.source, subject.variant
        if (unclear := unreadable(source)) is not None:
            return unclear
        lacking = overlapping(subject)
        if not lacking:
            return Declined("every pointer already has __restrict__")
        name, macro = fresh_name(subject, "READ_ONLY"), fresh_name(subject, "NO_OVERLAP")
        word = "restrict" if source.language is Language.OPENCL else "__restrict__"
        edits = []
        for parameter in lacking:
            identifier = list(of_kind(parameter.node, "identifier"))[-1]
            edits.append(Edit(identifier.start_byte, identifier.start_byte, f"{macro} "))
        at = before_kernel(source)
        defined = f"#if {name}\n#define {macro} {word}\n#else\n#define {macro}\n#endif\n"
        meaning = f"1: {', '.join(p.name for p in lacking)} do not overlap other buffers, and callers keep to that"
        tunable = Tunable(name, (0, 1), 0, meaning, source.line_of(source.function))
        text = source.edited(Edit(at, at, defined), *edits)
        return Rewrite(replace(variant, text=text, tunables=(*variant.tunables, tunable)))
