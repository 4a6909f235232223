"""`barriers`: without the barriers that order nothing.

Exposes BARRIERS: 1 all of them; 0 without those that follow another one, or the kernel's start, or come before its end, with
nothing in between that threads could see of each other (`source.redundant_barriers`). Other passes leave such ones behind, too:
a row that no longer waits in shared memory needs nobody to wait for it.
Precondition: shown for each barrier on its own form of the kernel; what is done between is pure, reads only input buffers and
writes only the thread's own variables. Constraints: none.

A macro takes the place of the barrier, so at the default no token changes.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import Unmet, answered, names_of, require, require_readable
from warpsmith.refactor.substitution import insertion_point
from warpsmith.source import Edit
from warpsmith.source.redundant_barriers import is_barrier, spare_barriers
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import of_kind


class Barriers:
    name = "barriers"
    summary = "removal of redundant barriers"
    stage = Stage.DECORATE
    priority = -6  # before directives come into the kernel's body
    concerns = frozenset({Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant = subject.source, subject.variant
    together = teamwork(source)
    require(any(is_barrier(n) for n in of_kind(source.body, "expression_statement")), "the kernel's body has no barrier")
    require(together.library is None, f"the kernel {together.described()}")
    require(together.waits is None, f"{together.waits}: threads may wait for values that other threads write")
    spare = spare_barriers(names_of(subject), subject.kernel)
    require(spare, "every barrier separates accesses that may conflict")
    at = insertion_point(source)
    if isinstance(at, Declined):
        raise Unmet(at.reason)
    name, macro = fresh_name(subject, "BARRIERS"), fresh_name(subject, "SPARE_BARRIER")
    texts = {" ".join(source.text_of(statement).removesuffix(";").split()) for statement in spare}
    require(len(texts) == 1, "the redundant barriers are not all of one kind", spare[0])
    nothing = "(void)0" if source.language is Language.OPENCL else "static_cast<void>(0)"
    gap = "\n" if at and not source.text.encode()[:at].endswith(b"\n") else ""
    head = f"{gap}#if {name}\n#define {macro}() {texts.pop()}\n#else\n#define {macro}() {nothing}\n#endif\n"
    edits = [Edit(statement.start_byte, statement.end_byte, f"{macro}();") for statement in spare]
    tunable = Tunable(name, (1, 0), 1, "0: without redundant barriers", source.line_of(spare[0]))
    text = source.edited(Edit(at, at, head), *edits)
    return Rewrite(replace(variant, text=text, tunables=(*variant.tunables, tunable)))
