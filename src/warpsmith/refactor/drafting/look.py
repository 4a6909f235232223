"""What a pass makes of one form of a draft, and whether that keeps what passes promise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Declined, Pass, Stage, Subject, Variant
from warpsmith.refactor.drafting.carrying import carried_over
from warpsmith.refactor.drafting.checks import Faulty, check_choice, check_variant
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.extents import tidy
from warpsmith.source import parse_kernel
from warpsmith.source.canonical_loops import with_plain_loops
from warpsmith.source.fill_loop_fission import with_own_fillings
from warpsmith.source.forwarded_kernels import with_forwarded_body
from warpsmith.source.inlined_exchanges import with_inlined_exchanges
from warpsmith.source.inlined_helpers import with_inlined_helpers
from warpsmith.source.launch_names import with_launch_names
from warpsmith.source.own_variables import with_own_variables
from warpsmith.source.plain_assembly import with_plain_assembly
from warpsmith.source.plain_groups import with_plain_groups
from warpsmith.source.plain_reductions import with_plain_reductions
from warpsmith.source.quotients import with_quotients
from warpsmith.source.settled_branches import with_settled_branches
from warpsmith.source.unit_strides import with_unit_strides
from warpsmith.source.wrappers import with_wrappers_written_out


def look(draft: Draft, transform: Pass, variant: Variant) -> Answer:
    answer = _attempt(draft, transform, variant)
    if isinstance(answer, Declined):
        answer = _second_look(draft, transform, variant, answer)
    if isinstance(answer, Declined):
        return answer
    others = frozenset(draft.origins)
    try:
        check_variant(draft.kernel, variant, answer.variant, (), others)
        if answer.choice is not None:
            check_choice(draft.kernel, variant, answer.choice, others)
    except Faulty as fault:
        return Declined(f"the pass failed: {fault}")
    return answer


def _attempt(draft: Draft, transform: Pass, variant: Variant) -> Answer:
    subject = Subject(draft.kernel, draft.limits, variant, draft.foreign.union(draft.origins))
    try:
        _ = subject.source
    except InputError as error:
        return Declined(error.message)
    try:
        return transform.apply(subject)
    except Exception as error:  # noqa: BLE001 - passes are plug-ins: one that fails is one that did not apply
        return Declined(f"the pass failed: {type(error).__name__}: {error}")


def _second_look(draft: Draft, transform: Pass, variant: Variant, first: Declined) -> Answer:
    """What the pass makes of a plainer form: the body of the only function called, branches of other instances gone, helpers with
    lambdas, assembly and functions in which lanes meet written out, reductions of libraries by shuffles, groups of threads and
    shifts said in plain arithmetic, counters declared in their loops, the launch's names for its numbers, groups of elements
    counted, a loop for each tile filled.

    Alternatives only, for the default stays; or names for its numbers, where these stand in the default too.
    """
    # A pass that changes the launch is shown what the kernel says itself, for that has to follow.
    block = () if transform.stage is Stage.LIFT else tuple(map(tidy, variant.block))
    known = frozenset(tunable.name for tunable in variant.tunables)
    text = _plain(variant.text, draft.kernel.language, variant.entry, _axes(variant.grid), _axes(variant.block), block, known)
    if transform.stage is Stage.DECORATE or text == variant.text:
        return first
    plain = replace(variant, text=text)
    answer = _attempt(draft, transform, plain)
    if isinstance(answer, Declined):
        return replace(answer, line=first.line)  # of a line that the reader has
    if transform.stage is Stage.LIFT:
        named = carried_over(text, answer.variant.text, variant.text)
        return first if named is None else replace(answer, variant=replace(answer.variant, text=named))
    return replace(answer, variant=variant) if answer.choice is not None and answer.variant == plain else first


def _axes(extents: Sequence[str]) -> int:
    return max((place for place, extent in enumerate(extents, 1) if extent != "1"), default=1)


@lru_cache(maxsize=64)  # every pass that declines asks
def _plain(
    text: str, language: Language, entry: str, grid_axes: int, block_axes: int, block: Sequence[str], parameters: Collection[str]
) -> str:
    groups = partial(with_plain_groups, grid_axes=grid_axes, block_axes=block_axes)
    launch = partial(with_launch_names, block=block, parameters=parameters)
    reductions = partial(with_plain_reductions, block_axes=block_axes)
    assembly = partial(with_plain_assembly, block_axes=block_axes, block=block)
    followed = (with_forwarded_body, with_settled_branches, with_inlined_helpers)
    together = (assembly, with_wrappers_written_out, with_inlined_exchanges, reductions, groups)
    counted = (with_quotients, with_plain_loops, with_own_variables, launch, with_unit_strides, with_own_fillings)
    try:
        source = parse_kernel(text, language, entry)
        for written in (step(source) for step in (*followed, *together, *counted)):
            source = source if written == source.text else parse_kernel(written, language, entry)
    except InputError:
        return text
    return source.text
