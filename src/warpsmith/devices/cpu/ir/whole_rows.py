"""Adds an unmasked copy of code that usually all threads of a row execute.

The runtime executes code under a divergent branch with masks: for every vector of threads, in every trip of a loop. Masked
stores and gathers are many times slower than plain ones; some machines do them in microcode. Yet nearly always all threads
agree (`row_regions`), which shows in the bounds of what they compare (`bounds`):

    head:  br (i < n), %body, %end               head.whole:  br (i.high < n), %body.whole, %head.rest
    body:  …; br %head                    →      body.whole:  …; br %head.whole
    end:   …                                     head.rest:   br (i < n), %body, %end
                                                 head, body:  as before, for what is left

    head:  br (i < n), %work, %end               head:        br (i.high < n), %work.whole, %head.rest
    work:  …; br %end                     →      work.whole:  …; br %end
    end:   …                                     head.rest:   br (i < n), %work, %end
                                                 work:        as before

`i.high` is uniform in a row, and `i.high < n` implies `i < n`: each thread does the same work in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from warpsmith.devices.cpu.ir import ranges
from warpsmith.devices.cpu.ir.bounds import Bounds
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.ranges import Code
from warpsmith.devices.cpu.ir.row_regions import Region, Regions
from warpsmith.devices.cpu.ir.uniformity import Uniformity

_VALUE = re.compile(rf"%{NAME}")
_INCOMING = re.compile(rf"\[ ([^,\]]+), %({NAME}) \]")
_MARK = "%warpsmith.rest"
_MOST_COPIED = 2000  # instructions in all: beyond, compiling takes longer than masks do
_ROUNDS = 3  # regions in regions: each round finds those whose outer region no longer divides the threads


def copy_whole_rows(function: Function, others: frozenset[str]) -> bool:
    """Changes the fully inlined function; whether it did. `others` are the functions it may call."""
    left = _MOST_COPIED
    set_aside: set[str] = set()
    for number in range(_ROUNDS):
        uniformity = Uniformity(function, others, let_leave=False)
        if not uniformity.divergent_branches - set_aside:
            return number > 0
        bounds = Bounds(uniformity, f"whole{number}")
        regions = Regions(uniformity, bounds, set_aside).outermost(left)
        if not regions:
            return number > 0
        left -= sum(len(function.blocks[label].instructions) for region in regions for label in region.blocks)
        inner = {label for region in regions for label in region.blocks if label != region.branch}
        set_aside |= _Copying(function, bounds, f"whole{number}").apply(regions)
        if not inner & uniformity.divergent_branches:
            break
    return True


class _Copying:
    def __init__(self, function: Function, bounds: Bounds, tag: str) -> None:
        self._function = function
        self._bounds = bounds
        self._tag = tag

    def apply(self, regions: list[Region]) -> set[str]:
        """Returns the blocks for the remainder of the copies."""
        tests = {region.branch: self._test(region) for region in regions}  # first, for it asks for the bounds
        in_loops = {label for region in regions if region.is_loop for label in region.blocks}
        for label, block in self._function.blocks.items():
            if label not in in_loops:
                block.instructions = list(self._with_bounds(block.instructions))
        if any(not region.is_loop for region in regions):
            self._prepend([f"{_MARK}.{self._tag} = alloca i32"])
        self._prepend(self._bounds.prologue())
        for region in regions:
            (self._copy_loop if region.is_loop else self._copy_guarded)(region, *tests[region.branch])
        rests = {self._rest(region) for region in regions}
        return rests.union(*(region.blocks for region in regions))

    def _prepend(self, lines: list[str]) -> None:
        self._function.blocks[self._function.entry].instructions[:0] = _parsed(lines)

    def _rest(self, region: Region) -> str:
        return f"{region.branch}.{self._tag}.rest"

    def _test(self, region: Region) -> tuple[str, list[str]]:
        """A value for whether all threads of the row continue, and its code."""
        comparison = region.comparison
        code = Code(f"{comparison.instruction.result}.{self._tag}")
        left, right = (self._bounds.of(comparison.kind, operand) for operand in (comparison.left, comparison.right))
        return ranges.always(code, comparison.predicate, left, right) or "false", code.lines

    def _copy_loop(self, region: Region, test: str, code: list[str]) -> None:
        blocks = self._function.blocks
        head, rest = region.branch, self._rest(region)
        copies = {label: list(self._with_bounds(blocks[label].instructions)) for label in blocks if label in region.blocks}
        copies[head][-1:] = _parsed([*code, f"br i1 {test}, label %{region.work}, label %{rest}"])
        new = self._new_names(copies)
        made = {new[f"%{label}"][1:]: [_renamed(i, new) for i in copied] for label, copied in copies.items()}
        condition = str(region.comparison.instruction.result)
        decision = _renamed(blocks[head].terminator, {condition: new[condition]})
        made[rest] = [*_parsed(self._bounds.forgetting(region.blocks)), decision]
        for label, block in blocks.items():
            if label not in region.blocks:
                block.instructions[-1] = _renamed(block.terminator, {f"%{head}": new[f"%{head}"]})
            sources = {f"%{head}": f"%{rest}"} if label in region.blocks else new | {f"%{head}": f"%{rest}"}
            _add_ways_in(block, sources, new)
        self._insert(head, made, before=True)

    def _copy_guarded(self, region: Region, test: str, code: list[str]) -> None:
        blocks = self._function.blocks
        branch, rest = region.branch, self._rest(region)
        copies = {label: list(blocks[label].instructions) for label in blocks if label in region.blocks}
        new = self._new_names(copies)
        made = {new[f"%{label}"][1:]: [_renamed(i, new) for i in copied] for label, copied in copies.items()}
        made[rest] = [blocks[branch].terminator]
        decision = f"br i1 {test}, label {new[f'%{region.work}']}, label %{rest}"
        blocks[branch].instructions[-1:] = _parsed([*code, decision])
        for label, block in blocks.items():
            _move_ways_in(block, branch, rest)
            if label not in region.blocks:
                _add_ways_in(block, new, new)
            elif any(target not in region.blocks for target in block.successors) or block.terminator.opcode == "ret":
                # Two copies with the same tail would be merged again, with a mask. This one may be the slower one.
                block.instructions[-1:-1] = _parsed([f"store volatile i32 0, ptr {_MARK}.{self._tag}"])
        self._insert(branch, made, before=False)

    def _insert(self, place: str, made: dict[str, list[Instruction]], *, before: bool) -> None:
        """Next to their original block: blocks should follow their dominators."""
        blocks: dict[str, Block] = {}
        for label, block in self._function.blocks.items():
            if label == place and not before:
                blocks[label] = block
            if label == place:
                blocks |= {name: Block(name, instructions) for name, instructions in made.items()}
            blocks[label] = block
        self._function.blocks = blocks

    def _new_names(self, copies: dict[str, list[Instruction]]) -> dict[str, str]:
        values = [i.result for copied in copies.values() for i in copied if i.result is not None]
        return {name: f"{name}.{self._tag}" for name in (*values, *(f"%{label}" for label in copies))}

    def _with_bounds(self, instructions: Iterable[Instruction]) -> Iterator[Instruction]:
        for instruction in instructions:
            yield instruction
            yield from _parsed(self._bounds.added.get(id(instruction), []))


def _add_ways_in(block: Block, sources: dict[str, str], values: dict[str, str]) -> None:
    """Phis get the copies of their source blocks as further sources."""
    for index, instruction in enumerate(block.instructions):
        if instruction.opcode != "phi":
            break
        incoming = [(value, f"%{source}") for value, source in _INCOMING.findall(instruction.text)]
        more = [f"[ {values.get(value, value)}, {sources[source]} ]" for value, source in incoming if source in sources]
        if more:
            last = instruction.text.rindex("]") + 1
            text = f"{instruction.text[:last]}, {', '.join(more)}{instruction.text[last:]}"
            block.instructions[index] = Instruction.parse(text)


def _move_ways_in(block: Block, old: str, new: str) -> None:
    for index, instruction in enumerate(block.instructions):
        if instruction.opcode != "phi":
            break
        block.instructions[index] = Instruction.parse(instruction.text.replace(f", %{old} ]", f", %{new} ]"))


def _renamed(instruction: Instruction, new: dict[str, str]) -> Instruction:
    return Instruction.parse(_VALUE.sub(lambda match: new.get(match[0], match[0]), instruction.text))


def _parsed(lines: list[str]) -> list[Instruction]:
    return [Instruction.parse(f"  {line}") for line in lines]
