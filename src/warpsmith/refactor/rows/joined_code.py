"""Stages of neighbouring rows as one loop: what `passes.joined_rows` writes. What the stages are, `source.row_stages` tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.rows.block_loop import BlockLoop, indexed_by
from warpsmith.refactor.rows.row_loop import rows_here
from warpsmith.refactor.writing import barrier
from warpsmith.source import Edit
from warpsmith.source.row_stages import RowStage, RowStages, RowVariable, variable_of
from warpsmith.source.statements import Piece, at_margin, indent_unit, line_at, text_between
from warpsmith.source.threads import spelled
from warpsmith.source.tree import is_within, of_kind

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class _Names:
    """What one stage calls the row's variables and its block, and what the stage before leaves for it."""

    block: str
    own: dict[RowVariable, str]
    left: dict[RowVariable, str]


@dataclass(slots=True)
class JoinedRowsWriter:
    """`blocks` is where the loop's work asks for its block; `parameter` says how many rows a block does."""

    loop: BlockLoop
    stages: RowStages
    blocks: list[Node]
    parameter: str
    _called: dict[int, _Names] = field(default_factory=dict)

    def __post_init__(self) -> None:
        free, many = self.loop.free, self.stages
        for stage in many.stages:
            own = {v: free.take(f"{v.name}_{stage.number}") for v in many.variables}
            left = {v: free.take(f"{v.name}_kept") for v in stage.kept}
            self._called[stage.number] = _Names(free.take(f"{self.loop.block}_{stage.number}"), own, left)

    def text(self, count: str | None) -> str:
        source, many = self.loop.subject.source, self.stages.stages
        language, tree = source.language, source.tree
        unit = indent_unit(source.function, source.body, tree)
        step, here = self.loop.free.take("step"), self.loop.free.take("rows_here")
        wait = barrier(language)
        inner = [
            *(line for stage in many for line in self._begin(stage, step, here)),
            *self._sweeps(step, here, unit),
            *(line for stage in reversed(many) for line in self._end(stage, step, here, unit)),
            *([f"{wait}  // before shared memory is written again"] if self.loop.shares_memory else []),
        ]
        lines = [
            *(line for piece in self.stages.common for line in at_margin(piece, tree)),
            *(spelled(line, language) for line in self._introduction(here, count)),
            *(self._left(stage, variable) for stage in many for variable in stage.kept),
            f"for (int {step} = 0; {step} < {here} + {len(many) - 1}; ++{step}) {{",
            *(line_at(line, unit) for line in inner),
            "}",
        ]
        work = self.loop.work
        indent = tree.indentation(work[0].node)
        before, after = tree.data[: work[0].start].decode(), tree.data[work[-1].end :].decode()
        return f"{before}\n" + "\n".join(line_at(line, indent) for line in lines) + after

    def _introduction(self, here: str, count: str | None) -> list[str]:
        return [
            f"// A block does what {self.parameter} blocks did. While a row is in one sweep, the row after it is in the one",
            "// before: they are joined, so that loads of one row are on their way while another is computed with.",
            *rows_here(self.loop.subject, here, self.parameter, count),
        ]

    def _left(self, stage: RowStage, variable: RowVariable) -> str:
        empty = " = 0" if self.loop.subject.source.language is Language.OPENCL else "{}"
        return f"{_type(variable, changeable=True)}{self._called[stage.number].left[variable]}{empty};"

    def _begin(self, stage: RowStage, step: str, here: str) -> Iterator[str]:
        """What the stage's row is called; where there is none, it is the nearest row of the block, and nothing comes of it."""
        called, language = self._called[stage.number], self.loop.subject.source.language
        nodes = [p.node for p in (*stage.again, stage.piece, *stage.after)]
        if any(is_within(b, n) for b in self.blocks for n in nodes):
            kind = "size_t" if language is Language.OPENCL else "unsigned int"
            row = f"max({step} - {stage.number - 1}, 0)" if stage.number > 1 else step
            number = spelled(f"blockIdx.x * {self.parameter} + min({row}, {here} - 1)", language)
            yield f"const {kind} {called.block} = {number};"
        for piece in stage.again:
            yield from (line for line in self._lines(piece, stage) if line.strip())
        for variable in stage.kept:
            yield f"{_type(variable, changeable=False)}{called.own[variable]} = {called.left[variable]};"

    def _sweeps(self, step: str, here: str, unit: str) -> list[str]:
        many = self.stages.stages
        last = len(many) - 1
        lines = [f"if ({step} >= {last} && {step} < {here}) {{", *self._joined(many, unit)]
        if last > 1:
            # Where a block begins and where it ends, most sweeps still have a neighbour.
            lines += [f"}} else if ({step} == {last - 1} && {step} < {here}) {{", *self._joined(many[:-1], unit)]
            lines += [f"}} else if ({step} == {here} && {step} >= {last}) {{", *self._joined(many[1:], unit)]
        lines.append("} else {")
        for stage in reversed(many):
            lines.append(f"{unit}if ({self._condition(stage, step, here)}) {{")
            lines += [line_at(line, unit * 2) for line in self._lines(stage.piece, stage) if line.strip()]
            lines.append(f"{unit}}}")
        return [*lines, "}"]

    def _joined(self, stages: Sequence[RowStage], unit: str) -> list[str]:
        tree, first = self.loop.subject.source.tree, stages[0].sweep
        head = text_between(tree, first.node.start_byte, first.body.start_byte).strip()
        inner = [line_at(line, unit * 2) for stage in reversed(stages) for line in self._body(stage)]
        return [f"{unit}{head} {{", *inner, f"{unit}}}"]

    def _body(self, stage: RowStage) -> list[str]:
        tree, body = self.loop.subject.source.tree, stage.sweep.body
        margin = tree.indentation(stage.sweep.node)
        text = text_between(tree, body.start_byte, body.end_byte, self._edits(body, stage))
        return [line.removeprefix(margin) for line in text.split("\n")]

    def _end(self, stage: RowStage, step: str, here: str, unit: str) -> Iterator[str]:
        """What follows the stage's sweep, and what is kept of it."""
        following = next((s for s in self.stages.stages if s.number == stage.number + 1), None)
        called = self._called[stage.number]
        lines = [line for piece in stage.after for line in self._lines(piece, stage) if line.strip()]
        if following is not None:
            left = self._called[following.number].left
            lines += [f"{left[variable]} = {called.own[variable]};" for variable in following.kept]
        if lines:
            yield f"if ({self._condition(stage, step, here)}) {{"
            yield from (line_at(line, unit) for line in lines)
            yield "}"

    def _condition(self, stage: RowStage, step: str, here: str) -> str:
        """Whether the stage has a row in this step."""
        behind, last = stage.number - 1, len(self.stages.stages)
        parts = [f"{step} >= {behind}"] if behind else []
        if stage.number < last:
            parts.append(f"{step} < {here}" + (f" + {behind}" if behind else ""))
        return " && ".join(parts)

    def _lines(self, piece: Piece, stage: RowStage) -> list[str]:
        return at_margin(piece, self.loop.subject.source.tree, self._edits(piece.node, stage))

    def _edits(self, node: Node, stage: RowStage) -> list[Edit]:
        called, names = self._called[stage.number], self.loop.names
        edits = [Edit(b.start_byte, b.end_byte, indexed_by(b, called.block)) for b in self.blocks if is_within(b, node)]
        for use in of_kind(node, "identifier"):
            variable = variable_of(use, self.stages.variables, names)
            if variable is not None:
                edits.append(Edit(use.start_byte, use.end_byte, called.own[variable]))
        return edits


def _type(variable: RowVariable, *, changeable: bool) -> str:
    """What stands before the name in its declaration; for a variable that is changed, without `const`."""
    name = next(of_kind(variable.declarator, "identifier"))
    node = variable.piece.node
    text = (node.text or b"")[: name.start_byte - node.start_byte].decode(errors="replace")
    if not changeable:
        return text
    if "*" in text:
        pointee, _, own = text.rpartition("*")
        return f"{pointee}*{own.replace('const', '').strip()} "
    return " ".join(word for word in text.split() if word != "const") + " "
