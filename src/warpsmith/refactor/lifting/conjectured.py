"""A block of another size by conjecture: the numbers that look like its number of threads change together, wherever they stand.

What a kernel does with its threads is not read. So nothing is proved, and who takes the answer has to try it: `Tunable.assumes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Declined, Rewrite, Rule, Subject, Tunable
from warpsmith.refactor.extents import spelled, tidy, value_at, with_part
from warpsmith.refactor.lifting.blocks import follow_bounds
from warpsmith.refactor.lifting.launches import number_in
from warpsmith.refactor.lifting.linking import divisors
from warpsmith.refactor.lifting.rules import WHOLE_WARPS
from warpsmith.refactor.lifting.symbolic import symbolic
from warpsmith.refactor.lifting.values import block_sizes, powers_of_two
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import names_of
from warpsmith.source import Edit, Names
from warpsmith.source.constants import Constant, ConstantKind, constants_of
from warpsmith.source.threads import all_launch_uses, teamwork
from warpsmith.source.tree import of_kind, text_of
from warpsmith.source.work_group_attribute import required_sizes

_AXIS_VALUES = {"x": (8, 256), "y": (1, 32), "z": (1, 8)}
_FEWEST = 8  # nobody writes a smaller number for the threads of a block
_LEAST = 64  # smaller numbers without a name stand for too many things
_HALVES = re.compile(r"/=\s*2$|>>=\s*1$|/\s*2$|>>\s*1$")
_THREADS = re.compile(r"thread|block|cta|tpb|(?:^|_)(?:nt|bs|wg|ntx|bdim)(?:_|$)|work_?group", re.IGNORECASE)


def conjectured_block(subject: Subject, number: int, axis: str, unproved: str) -> Rewrite | Declined:
    """One axis of the block, with a number that the launch chose. `unproved` is what keeps it from being proved."""
    variant, limits = subject.variant, subject.limits
    block = [tidy(extent) for extent in variant.block]
    literal = number_in(Expression.parse(block[number]))
    if literal is None or not isinstance(literal.value, int):
        return Declined(f"{block[number]} is not a literal number in the launch")
    threads, by_warps = literal.value, teamwork(subject.source).by_warps
    if threads == 1:
        return Declined("the block has one thread")
    if required_sizes(subject.source) is not None:
        return Declined("the source fixes the work-group size (reqd_work_group_size)")
    if by_warps and axis == "x" and threads <= limits.warp_size:
        return Declined(f"its {threads} threads along {axis} form one warp that exchanges values")
    named = _named(subject, threads, axis)
    if named and named[0].kind is ConstantKind.LITERAL and threads < _LEAST:
        return Declined(f"line {named[0].line} uses {threads}, which is too common a number to be matched with the block's size")
    made, name = subject, fresh_name(subject, "BLOCK" if len(block) == 1 else f"BLOCK_{axis.upper()}")
    if named:
        lifted = symbolic(subject, named)
        name = next(iter(lifted.constants))
        made = Subject(subject.kernel, limits, lifted.variant)
    names = Names(made.source, {t.name for t in variant.tunables} | {name}, subject.kernel)
    rules = [Rule(f"{name} % warp_size == 0", WHOLE_WARPS)] if by_warps and axis == "x" else []
    edits = [*_halves(made, name, threads)]
    if len(block) == 1:
        bounds = [*follow_bounds(names, block[0], name, threads)]
        rules += [bound for bound in bounds if isinstance(bound, Rule)]
        edits += [bound for bound in bounds if isinstance(bound, Edit)]
    made = Subject(subject.kernel, limits, replace(made.variant, text=made.source.edited(*edits)))
    values = block_sizes(threads, limits) if len(block) == 1 else sorted({threads, *powers_of_two(*_AXIS_VALUES[axis])})
    block[number] = with_part(Expression.parse(block[number]), literal, name)
    along = f" along {axis}" if len(block) > 1 else ""
    tunable = Tunable(
        name,
        tuple(values),
        threads,
        f"threads in a block{along}",
        assumes=f"results do not depend on the number of threads in a block{along}, although {unproved}",
    )
    return Rewrite(
        replace(
            made.variant,
            grid=_followed(variant.grid, number, name, threads),
            block=tuple(block),
            shared=_room(variant.shared, name, threads),
            tunables=(*variant.tunables, tunable),
            rules=(*variant.rules, *rules),
        )
    )


def _named(subject: Subject, threads: int, axis: str) -> list[Constant]:
    """The constant that says how many threads there are, or all places that say the number without a name.

    A kernel that asks for its block's extent needs no constant for it: one of the same value, but another name, is another thing.
    """
    source, variant = subject.source, subject.variant
    same = [c for c in constants_of(source, variant.entry, subject.kernel.defines) if c.value == threads]
    asks = f"blockDim.{axis}" in all_launch_uses(source, names_of(subject))
    called = [c for c in same if _THREADS.search(c.name)] or (same if threads >= _LEAST and not asks else [])
    if called:
        return called[:1]
    if threads < _FEWEST:
        return []
    places = (n for body in source.reached() for n in of_kind(body, "number_literal") if text_of(n) == str(threads))
    kind = ConstantKind.LITERAL
    return [Constant("BLOCK", threads, kind, n.start_byte, n.end_byte, source.line_of(n)) for n in places]


def _halves(subject: Subject, name: str, threads: int) -> Iterator[Edit]:
    """`for (int s = 128; s > 0; s /= 2)` in a block of 256: a tree that begins with one half of the threads."""
    half = fresh_name(subject, f"HALF_{name}")
    found = [
        Edit(number.start_byte, number.end_byte, half)
        for body in subject.source.reached()
        for loop in of_kind(body, "for_statement")
        if (update := loop.child_by_field_name("update")) is not None and _HALVES.search(text_of(update))
        for number in of_kind(loop.child_by_field_name("initializer") or update, "number_literal")
        if text_of(number) == str(threads // 2)
    ]
    if found:  # the author's own token where the block is the author's
        lines = (f"#if {name} == {threads}", f"#define {half} {threads // 2}", "#else", f"#define {half} ({name} / 2)", "#endif")
        yield Edit(0, 0, "".join(f"{line}\n" for line in lines))
        yield from found


def _followed(grid: tuple[str, ...], number: int, name: str, threads: int) -> tuple[str, ...]:
    """`ceildiv(n, 1024)` with blocks of 256: each thread takes four. The axis of the same name, else the only one there is."""
    found: dict[int, str] = {}
    for place, text in enumerate(grid):
        expression = Expression.parse(tidy(text))
        for part, _ in divisors(expression.tree):
            size = value_at(spelled(part), {})
            if size is not None and size % threads == 0:
                found[place] = with_part(expression, part, f"{name} * {size // threads}")
    here = number if number in found or len(found) != 1 else next(iter(found))
    return tuple(found.get(at, text) if at == here else text for at, text in enumerate(grid))


def _room(shared: str, name: str, threads: int) -> str:
    """Dynamic shared memory with as many bytes for each thread, and never less than there was."""
    bytes_given = value_at(tidy(shared), {})
    if not bytes_given or bytes_given % threads:
        return shared
    return f"max({bytes_given}, {bytes_given // threads} * {name})"
