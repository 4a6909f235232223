"""Block-stride loops whose steps each get a block of their own: what is left of the loop is one step, mostly unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.preconditions import axis
from warpsmith.refactor.writing import FreeNames, cast, indented, operand, statements_of
from warpsmith.source import Edit, KernelSource, Loop, Names, Polynomial
from warpsmith.source.effects import is_invariant
from warpsmith.source.expansion import expanded
from warpsmith.source.independence import reads_nothing_written
from warpsmith.source.threads import launch_uses, spelled
from warpsmith.source.tree import LOOPS, ancestors, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_CHECKED = "// The grid has a block for each step: only the last one of a row has to check its bound."
_MOVED = (
    "// The grid has a block for each step. The last one of a row moves back to end with it: what two blocks share is computed",
    "// twice, to the same values, and no thread has to check its bound.",
)
_SIGNED = {"int", "long", "long long", "int32_t", "int64_t"}


@dataclass(frozen=True, slots=True)
class OneStepEach:
    """The kernel's text, the number of steps as an expression of kernel.toml, and what must hold."""

    text: str
    blocks: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class _Called:
    """What the kernel calls the number of steps, the block's own one, the number of threads, and the first one's element."""

    count: str
    part: str
    width: str
    first: str


def shared_header(source: KernelSource, loop: Loop, part: str, parts: str) -> list[Edit]:
    """The loop does every `parts`-th step, from `part` on."""
    assert loop.step is not None
    step = operand(source.text_of(loop.step))
    return [
        Edit(loop.start.start_byte, loop.start.start_byte, f"{part} * {step} + "),
        Edit(loop.step.start_byte, loop.step.end_byte, f"{step} * {parts}"),
    ]


def one_step_each(subject: Subject, names: Names, loops: Sequence[Loop], count: str) -> OneStepEach | None:
    """Loops over the first range become single steps, others are shared as ever. None where their number cannot be written.

    `count` is what the kernel calls the number of steps, where it asks for its row already.
    """
    source = subject.source
    first = next((loop for loop in loops if _starts_with_thread(loop, names)), None)
    if first is None or first.step is None or first.type not in _SIGNED:
        return None
    same = [loop for loop in loops if _range(loop) == _range(first)]
    bound, step = names.expression(first.bound), _step_expression(subject, names, first)
    place = _before_blocks(source, names)
    length = expanded(first.bound, place, names)
    steady = all(is_invariant(first.bound, loop.body, names) and not _skips(loop) and _in_block(loop) for loop in same)
    if bound is None or step is None or length is None or not steady or not _is_known(first.step, place, names):
        return None
    free = FreeNames(source.text)
    called = _Called(count, free.take("part"), free.take("width"), free.take("first"))
    stride = operand(source.text_of(first.step))
    blanks, kind = source.tree.indentation(place), first.type
    rounded = cast(source.language, kind, f"({length} + {stride} - 1) / {stride}")
    declared = (
        f"{blanks}const {kind} {count} = max({cast(source.language, kind, '1') if kind != 'int' else '1'}, {rounded});\n"
        f"{blanks}const {kind} {called.part} = {spelled('blockIdx.x', source.language)} % {count};\n"
    )
    where = source.tree.line_start(place)
    edits = [Edit(where, where, declared)]
    repeatable = reads_nothing_written(names)
    for loop in loops:
        if loop not in same:
            edits += _shared(subject, names, loop, called)
        else:
            edits.append(_moved(source, loop, called) if repeatable else _checked(source, loop, called))
    reason = "a block that moves back to end with the row must not begin before it"
    rules = (Rule(f"{step} <= {bound}", reason),) if repeatable else ()
    return OneStepEach(source.edited(*edits), f"max(ceildiv({bound}, {step}), 1)", rules)


def _starts_with_thread(loop: Loop, names: Names) -> bool:
    return loop.ends_below and Polynomial.of(loop.start, names) == Polynomial.atom(f"threadIdx.{loop.axis}")


def _range(loop: Loop) -> tuple[str, ...]:
    return tuple(" ".join(text_of(part).split()) for part in (loop.start, loop.bound, loop.step) if part is not None)


def _step_expression(subject: Subject, names: Names, loop: Loop) -> str | None:
    assert loop.step is not None
    if Polynomial.of(loop.step, names) == Polynomial.atom(f"blockDim.{loop.axis}"):
        return axis(subject.variant.block, loop.axis)
    return names.expression(loop.step)


def _before_blocks(source: KernelSource, names: Names) -> Node:
    """The first statement of the kernel that asks for its block, or its first one."""
    uses = launch_uses(source.body, names).get("blockIdx.x", [])
    statements = [c for c in source.body.named_children if c.type != "comment"]
    return next((s for s in statements if any(is_within(u, s) for u in uses)), statements[0])


def _skips(loop: Loop) -> bool:
    """Whether a step has a `continue` of its own: there is no loop left that it could go on with."""
    for node in of_kind(loop.body, "continue_statement"):
        around = next(a for a in ancestors(node) if a.type in LOOPS)
        if around == loop.node:
            return True
    return False


def _in_block(loop: Loop) -> bool:
    return loop.node.parent is not None and loop.node.parent.type == "compound_statement"


def _is_known(node: Node, place: Node, names: Names) -> bool:
    """Whether everything in the expression has its value before that place."""
    return expanded(node, place, names) == text_of(node)


def _shared(subject: Subject, names: Names, loop: Loop, called: _Called) -> list[Edit]:
    """As ever, but where the first thread starts is compared first: mostly a row has no rest, and no thread needs to look."""
    assert loop.step is not None
    source, geometry = subject.source, Geometry.of(subject, names)
    share = geometry.thread_share(loop, names)
    base = None if share is None else geometry.base(loop, share, names)
    if base is None or base == unwrapped(loop.start) or loop.type not in _SIGNED or not _in_block(loop):
        return shared_header(source, loop, called.part, called.count)
    data, blanks, step = source.tree.data, source.tree.indentation(loop.node), operand(source.text_of(loop.step))
    begin = source.tree.line_start(loop.pragma or loop.node)
    pieces = [
        data[begin : loop.start.start_byte].decode() + f"{called.part} * {step} + ",
        data[loop.start.start_byte : loop.step.start_byte].decode() + f"{step} * {called.count}",
        data[loop.step.end_byte : loop.node.end_byte].decode(),
    ]
    condition = f"{source.text_of(base)} {'<' if loop.ends_below else '<='} {source.text_of(loop.bound)}"
    lines = [f"{blanks}if ({condition}) {{  // the same for all threads", indented("".join(pieces), 2), f"{blanks}}}"]
    return [Edit(begin, loop.node.end_byte, "\n".join(lines))]


def _moved(source: KernelSource, loop: Loop, called: _Called) -> Edit:
    assert loop.step is not None
    blanks, width = source.tree.indentation(loop.node), called.width
    return _replaced(
        source,
        loop,
        [
            *(blanks + line for line in _MOVED),
            f"{blanks}{{",
            f"{blanks}  const {loop.type} {width} = {source.text_of(loop.step)};",
            f"{blanks}  const {loop.type} {called.first} = min({called.part} * {width}, {_bound(source, loop)} - {width});",
            f"{blanks}  const {loop.type} {loop.variable} = {called.first} + {_start(source, loop)};",
            statements_of(source.tree, loop.body),
            f"{blanks}}}",
        ],
    )


def _checked(source: KernelSource, loop: Loop, called: _Called) -> Edit:
    """The checked step stays a loop: compilers join two branches that do the same, check and all."""
    assert loop.step is not None
    blanks, variable, bound = source.tree.indentation(loop.node), loop.variable, source.text_of(loop.bound)
    width, first, start = called.width, called.first, _start(source, loop)
    body = indented(statements_of(source.tree, loop.body), 2)
    header = f"{loop.type} {variable} = {first} + {start}; {variable} < {bound}; {variable} += {width} * {called.count}"
    return _replaced(
        source,
        loop,
        [
            f"{blanks}{_CHECKED}",
            f"{blanks}{{",
            f"{blanks}  const {loop.type} {width} = {source.text_of(loop.step)};",
            f"{blanks}  const {loop.type} {first} = {called.part} * {width};",
            f"{blanks}  if ({first} + {width} <= {bound}) {{",
            f"{blanks}    const {loop.type} {variable} = {first} + {start};",
            body,
            f"{blanks}  }} else {{",
            f"{blanks}    for ({header}) {{",
            indented(body, 2),
            f"{blanks}    }}",
            f"{blanks}  }}",
            f"{blanks}}}",
        ],
    )


def _start(source: KernelSource, loop: Loop) -> str:
    return cast(source.language, loop.type, source.text_of(loop.start))


def _bound(source: KernelSource, loop: Loop) -> str:
    """The bound with the loop's own type, for `min`."""
    text = source.text_of(loop.bound)
    return text if text.isidentifier() else cast(source.language, loop.type, text)


def _replaced(source: KernelSource, loop: Loop, lines: list[str]) -> Edit:
    begin = loop.pragma.start_byte if loop.pragma is not None else source.tree.line_start(loop.node)
    return Edit(begin, loop.node.end_byte, "\n".join(lines))
