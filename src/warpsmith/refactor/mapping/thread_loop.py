"""A kernel's body as the body of loops over threads: what several threads of the original block did, one does.

Used by `passes.thread_steps`. The block of the original, its size and its place stay what they were to the body; only who does
the work of a thread is another. So nothing has to be known of the grid, of guards or of who writes what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.preconditions import Unmet, require
from warpsmith.refactor.rows.block_loop import changed_parameters
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Names
from warpsmith.source.dataflow import exits, is_fixed, is_in_inner_loop
from warpsmith.source.statements import Piece, at_margin, indent_unit, line_at, pieces_of
from warpsmith.source.threads import all_launch_uses, launch_uses, spelled, teamwork
from warpsmith.source.tree import of_kind, text_of

_OF_BLOCK = ("threadIdx", "blockDim", "get_global_id", "get_global_size")


@dataclass(frozen=True, slots=True)
class ThreadLoop:
    """The whole file, the line that the loops begin at, and what was not looked into, a sentence."""

    text: str
    line: int
    assumes: str


def thread_loop(subject: Subject, names: Names, each: Mapping[str, str]) -> ThreadLoop:
    """`each` says how many threads of an axis are one.

    Raises Unmet where threads work together, or are told apart in functions that the kernel calls.
    """
    source = subject.source
    together = teamwork(source)
    meets = together.barriers or together.by_warps or together.shared or (together.library and not together.unread)
    require(not meets, f"the kernel {together.described()}")
    assumes = f"{together.unread}, whose source is not available, does not distinguish threads" if together.unread else ""
    require(together.waits is None, f"{together.waits}: threads may wait for values that other threads write")
    require(next(of_kind(source.body, "goto_statement"), None) is None, "the kernel has a goto")
    _require_own_names(subject, names, each)
    pieces = pieces_of(source.body, source.tree)
    first = next((n for n, p in enumerate(pieces) if not _is_common(p, pieces[n + 1 :], subject, names)), None)
    if first is None:
        raise Unmet("the kernel does not use a thread index")
    work, free = pieces[first:], FreeNames(source.text)
    own = {axis: free.take(f"thread_{axis}") for axis in each}
    edits = [edit for piece in work for edit in _edits(piece, subject, names, each, own)]
    leaving = [(e, piece) for piece in work for e in exits(piece.node)]
    is_apart = any(is_in_inner_loop(statement, piece.node) for statement, piece in leaving)
    require(not is_apart or source.language is not Language.OPENCL, "an inner loop returns", leaving[0][0] if leaving else None)
    if not is_apart:
        edits += [Edit(statement.start_byte, statement.end_byte, "continue;") for statement, _ in leaving]
    copies = []
    for parameter in changed_parameters(work, subject, names):
        copy = free.take(f"{parameter.name}_here")
        copies.append(f"{source.full_type(parameter)} {copy} = {parameter.name};")
        uses = (n for p in work for n in of_kind(p.node, "identifier") if text_of(n) == parameter.name)
        edits += [Edit(n.start_byte, n.end_byte, copy) for n in uses]
    text = _text(subject, work, edits, copies, each, own, free, is_apart=is_apart)
    return ThreadLoop(text, source.line_of(work[0].node), assumes)


def _text(
    subject: Subject,
    work: list[Piece],
    edits: list[Edit],
    copies: list[str],
    each: Mapping[str, str],
    own: Mapping[str, str],
    free: FreeNames,
    *,
    is_apart: bool,
) -> str:
    source = subject.source
    language, tree = source.language, source.tree
    unit = indent_unit(source.function, source.body, tree)
    outer = sorted(each, reverse=True)  # x innermost: its neighbours are neighbours in memory
    steps = {axis: free.take(f"step_{axis}") for axis in outer}
    lines = ["// A thread does what several did: along x a block's width apart, along other axes neighbours."]
    for depth, axis in enumerate(outer):
        header = f"for (unsigned int {steps[axis]} = 0; {steps[axis]} < {each[axis]}; ++{steps[axis]}) {{"
        lines.append(unit * depth + header)
    margin = unit * len(outer)
    for axis in outer:
        at = f"threadIdx.x + {steps[axis]} * blockDim.x" if axis == "x" else f"threadIdx.{axis} * {each[axis]} + {steps[axis]}"
        lines.append(f"{margin}const unsigned int {own[axis]} = {spelled(at, language)};")
    lines += [margin + line for line in copies]
    if is_apart:  # a function of its own, which can be left from anywhere
        lines.append(f"{margin}[&] {{")
    lines += [line_at(line, margin) for piece in work for line in at_margin(piece, tree, edits)]
    if is_apart:
        lines.append(f"{margin}}}();")
    lines += [f"{unit * depth}}}" for depth in reversed(range(len(outer)))]
    indent = tree.indentation(work[0].node)
    before, after = tree.data[: work[0].start].decode(), tree.data[work[-1].end :].decode()
    return f"{before}\n" + "\n".join(line_at(line, indent) for line in lines) + after


def _require_own_names(subject: Subject, names: Names, each: Mapping[str, str]) -> None:
    """The kernel itself asks for the axes in question, one at a time."""
    source = subject.source
    own = launch_uses(source.body, names)
    for name, nodes in all_launch_uses(source, names).items():
        asked, _, axis = name.partition(".")
        if asked not in _OF_BLOCK and "linear_id" not in asked:
            continue
        require(axis != "*", f"{text_of(nodes[0])} is used as a whole", nodes[0])
        if axis in each and len(nodes) > len(own.get(name, ())):
            raise Unmet(f"a called function uses {name}")


def _is_common(piece: Piece, after: list[Piece], subject: Subject, names: Names) -> bool:
    """Whether a statement can be done once for all threads: it fixes names, whatever the thread."""
    asked = launch_uses(piece.node, names)
    return not any(name.startswith(_OF_BLOCK) for name in asked) and is_fixed(piece.node, [p.node for p in after], subject.source)


def _edits(piece: Piece, subject: Subject, names: Names, each: Mapping[str, str], own: Mapping[str, str]) -> Iterator[Edit]:
    language = subject.source.language
    for name, nodes in launch_uses(piece.node, names).items():
        asked, _, axis = name.partition(".")
        if axis not in each:
            continue
        size = f"(blockDim.{axis} * {each[axis]})"
        said = {
            "threadIdx": own[axis],
            "blockDim": size,
            "get_global_id": f"(blockIdx.{axis} * {size} + {own[axis]})",
            "get_global_size": f"(gridDim.{axis} * {size})",
        }.get(asked)
        if said is not None:
            yield from (Edit(n.start_byte, n.end_byte, spelled(said, language)) for n in nodes)
