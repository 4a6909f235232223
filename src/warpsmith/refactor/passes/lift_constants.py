"""Numbers that fix how a kernel executes become parameters: sizes of blocks, tiles, a thread's part and an access.

Looks at macros (the host's -D too: `defines` in kernel.toml), constants and template arguments that are whole numbers, and at the
bytes of `16 / sizeof(T)`. Only the token that says the value changes, so the default has the original's tokens.

Precondition, for each constant: nothing shows that it is part of what is computed (`lifting.is_tunable`), and something shows
what it is for: the launch has a number that it explains, a loop steps by it over tiles of that size, or it is the width of an
access. The launch follows (`lifting.linking`). Constants that depend on each other are lifted together or not at all.

Constants whose names speak of a choice (`UNROLL`, `BLOCK_K`) and which nothing ties are conjectured: `conjectured_constants`.

Parameters are named after the constants (`kTileM` → TILE_M). Constraints: what divides evenly as the author had it goes on to do
so, shared arrays fit and hold all that is read of them, and a thread's arrays stay in registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable, assumption
from warpsmith.refactor.extents import names_of, value_at
from warpsmith.refactor.lifting import rules
from warpsmith.refactor.lifting.accesses import Division, divisions_of, follow, leftover
from warpsmith.refactor.lifting.conjectured_constants import with_conjectures
from warpsmith.refactor.lifting.dynamic import dynamic_bytes
from warpsmith.refactor.lifting.first_threads import first_threads
from warpsmith.refactor.lifting.is_tunable import depths, fixed_vector, semantic, widths
from warpsmith.refactor.lifting.linking import AXES, Links, Untied, link
from warpsmith.refactor.lifting.literals import literal_families
from warpsmith.refactor.lifting.reach import capacities, covers, halos
from warpsmith.refactor.lifting.redistribution import Distribution, dependent_elements
from warpsmith.refactor.lifting.required import REASON, misnamed
from warpsmith.refactor.lifting.several_each import whole_takes
from warpsmith.refactor.lifting.symbolic import Symbolic, symbolic
from warpsmith.refactor.lifting.thread_groups import whole_groups
from warpsmith.refactor.lifting.threads import unexplained_threads
from warpsmith.refactor.lifting.values import tunable
from warpsmith.refactor.preconditions import unreadable
from warpsmith.source.constants import constants_of
from warpsmith.source.geometry import geometry_of

_UNTIED = "it is not linked to the launch, a tile's depth or an access width"


class LiftConstants:
    name = "lift_constants"
    summary = "block, tile, unroll and vector sizes fixed in the source become parameters"
    stage = Stage.LIFT
    priority = -20  # first of all: what the source says of the block is for nobody else to decide
    concerns = frozenset({Concern.PARALLELISM, Concern.LOCALITY, Concern.COALESCING, Concern.TRAFFIC})

    def apply(self, subject: Subject) -> Answer:
        source, variant = subject.source, subject.variant
        if (unclear := unreadable(source)) is not None:
            return unclear
        candidates = constants_of(source, variant.entry, subject.kernel.defines)
        candidates += literal_families(subject, {c.value for c in candidates})
        left: dict[str, str] = {}
        while candidates:
            lifted = symbolic(subject, candidates)
            links, refused = _tied(subject, lifted)
            if not refused:
                return _guessed(subject, _rewrite(subject, lifted, links), left)
            for parameter, reason in refused.items():
                left.setdefault(lifted.constants[parameter][0].name, reason)
            gone = {c for parameter in refused for c in lifted.constants[parameter]}
            candidates = [c for c in candidates if c not in gone]
        if not left:
            return Declined("no macro, constant or template argument is a whole number that the kernel uses")
        answer = Declined("; ".join(f"{name}: {reason}" for name, reason in left.items()))
        return _guessed(subject, answer, left)


def _guessed(subject: Subject, answer: Answer, left: Mapping[str, str]) -> Answer:
    """With some of the constants that were left because nothing ties them, by conjecture."""
    begun = Subject(subject.kernel, subject.limits, answer.variant) if isinstance(answer, Rewrite) else subject
    variant = with_conjectures(begun, {name: reason for name, reason in left.items() if isinstance(reason, Untied)})
    return answer if variant is None else Rewrite(variant)


def _tied(subject: Subject, lifted: Symbolic) -> tuple[Links, dict[str, str]]:
    """The launch in terms of the parameters, and why some of them cannot be lifted."""
    variant, parameters = subject.variant, frozenset(lifted.constants)
    refused = semantic(lifted)
    if refused:
        return Links([], []), refused  # what the others mean is seen better without them
    geometry = geometry_of(lifted.names, lifted.defaults)
    links = link(geometry, variant.grid, variant.block, lifted.defaults, parameters)
    divisions = divisions_of(lifted.names)
    links.grid[:] = [follow(text, divisions, lifted.defaults) for text in links.grid]
    links.block[:] = [follow(text, divisions, lifted.defaults) for text in links.block]
    refused = dict(links.refused)
    refused |= dict.fromkeys(sorted(misnamed(lifted, links.block)), REASON)
    shared = dynamic_bytes(lifted, links.block, variant.shared)
    links.shared = shared if isinstance(shared, str) else variant.shared
    if not isinstance(shared, str):
        reason = f"cannot express the {variant.shared} bytes of dynamic shared memory in it"
        refused |= dict.fromkeys(sorted(shared), reason)
    links.widths, staged = widths(lifted, divisions), depths(lifted)
    for parameter in lifted.constants:
        if links.widths.get(parameter) or (parameter in links.widths and parameter not in links.linked):
            refused |= _width_problem(parameter, lifted, links, divisions)
        elif parameter not in links.linked and parameter not in staged:
            refused.setdefault(parameter, Untied(_UNTIED))
    return links, refused


def _sizes(lifted: Symbolic, links: Links) -> frozenset[str]:
    """What the block's extents are made of."""
    return frozenset(lifted.constants) & frozenset().union(*map(names_of, links.block))


def _unproved(lifted: Symbolic, links: Links, mixed: Mapping[str, int]) -> dict[str, str]:
    """By parameter: what keeps the size of a block, or of its share, from being proved free. `mixed`: see `Geometry`."""
    extents = {f"blockDim_{axis}": extent for axis, extent in zip(AXES, [*links.block, "1", "1"], strict=False)}
    shares = {axis: lifted.constants.keys() & names_of(share.part) for axis, share in links.shares.items()}
    found = dependent_elements(lifted.names, lifted.constants)
    for axis in AXES:
        sizes = lifted.constants.keys() & names_of(extents[f"blockDim_{axis}"])
        counted = [blocks for blocks, apart in shares.items() if apart & sizes or (blocks == axis and apart)]
        for blocks in counted or ([""] if sizes else []):
            concerned = sizes | shares.get(blocks, set())
            reason = Distribution(lifted.names, axis, blocks, extents, concerned).unproved()
            if reason is None and blocks in mixed and not shares[blocks] & _sizes(lifted, links):
                reason = f"cannot tell which threads process a block's {links.shares[blocks].part} (line {mixed[blocks]})"
            if reason is not None:
                found = {**dict.fromkeys(sorted(concerned), reason), **found}
    return found


def _width_problem(parameter: str, lifted: Symbolic, links: Links, divisions: Sequence[Division]) -> dict[str, str]:
    """Why an access cannot have another width."""
    launch = (*links.grid, *links.block)
    reason = fixed_vector(lifted.names)
    if reason is None and not any(parameter in names_of(text) for text in launch):
        reason = unexplained_threads(lifted.names)
    elif reason is None:
        lanes = [n for d in divisions if parameter in names_of(d.under) and (n := value_at(d.under, lifted.defaults)) is not None]
        reason = next((r for text in launch if (r := leftover(text, lanes))), None)
    return {} if reason is None else {parameter: reason}


def _rewrite(subject: Subject, lifted: Symbolic, links: Links) -> Answer:
    variant, limits = lifted.variant, subject.limits
    geometry = geometry_of(lifted.names, lifted.defaults)
    waits = list(rules.waiting_loops(subject, lifted.names, links.block, lifted.defaults))
    unproved = _unproved(lifted, links, geometry.mixed)
    for reason in (waiting for waiting in waits if isinstance(waiting, str)):
        unproved = {**dict.fromkeys(sorted(_sizes(lifted, links)), reason), **unproved}
    added: list[Tunable] = [tunable(parameter, lifted, links, limits) for parameter in lifted.constants]
    added = [replace(t, assumes=assumption(t.name, unproved[t.name])) if t.name in unproved else t for t in added]
    tunables = (*variant.tunables, *added)
    found = [
        *rules.divisibility(subject, lifted, links, divisions_of(lifted.names)),
        *rules.shares(subject, lifted, links),
        *rules.block_size(subject, lifted, links.block, tunables),
        *first_threads(subject, lifted, links.block),
        *whole_groups(lifted, links.block),
        *(waiting for waiting in waits if isinstance(waiting, Rule)),
        *rules.warp_slots(lifted, links.block),
        *rules.rooms(lifted, geometry, links.block),
        *halos(subject, lifted, links.block),
        *capacities(subject, lifted, links.block),
        *covers(lifted, {axis: share.part for axis, share in links.shares.items()}, links.block),
        *whole_takes(subject, lifted),
        *rules.asserted(lifted),
        *rules.private_arrays(lifted, limits),
        *rules.shared_memory(lifted, links.shared),
    ]
    return Rewrite(
        replace(
            variant,
            grid=tuple(links.grid),
            block=tuple(links.block),
            shared=links.shared,
            tunables=tunables,
            rules=(*variant.rules, *rules.without_idle(found, tunables)),
            likely=(*variant.likely, *rules.without_idle([*rules.enough_sums(lifted, limits)], tunables)),
        )
    )
