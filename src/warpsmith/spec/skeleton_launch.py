"""The `[launch]` of a skeleton: from the file's host code if it has any, else guessed from the kernel's indices."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.spec.cpp_types import cpp_type
from warpsmith.spec.declarations import Declarations, KernelDeclaration
from warpsmith.spec.host.facts import HostFacts

_HIP_NAME = re.compile(r"\bhip(Thread|Block)Idx_([xyz])\b")
_DYNAMIC_SHARED = re.compile(r"\bextern\s+(?:__align__\s*\([^)]*\)\s*)?__shared__|\bHIP_DYNAMIC_SHARED\b")
_NOT_FOLLOWED = "   # FILL IN: this could not be followed"


def launch_lines(
    declarations: Declarations, kernel: KernelDeclaration, sizes: list[str], facts: HostFacts | None, file: str
) -> list[str]:
    guess = _Guess(declarations, kernel)
    own_block = list(facts.block) if facts is not None and facts.block is not None else None
    numbers = [int(text) for text in own_block or () if text.isdigit()]
    block = numbers if own_block is not None and len(numbers) == len(own_block) else guess.block()
    grid_line = (
        f"grid  = [{_listed(facts.grid)}]" if facts is not None and facts.grid is not None else guess.grid_line(sizes, block)
    )
    block_line = f"block = [{_listed(own_block if own_block is not None else map(str, block))}]"
    if facts is None:
        if declarations.language is Language.OPENCL:
            grid_line += "   # work-groups, not work-items"
        lines = ["[launch]   # FILL IN: expressions over the workloads' sizes", grid_line, block_line]
    else:
        lines = _told(facts, grid_line, block_line, file)
    return [*lines, *_shared_lines(declarations, kernel, block, facts)]


def _told(facts: HostFacts, grid_line: str, block_line: str, file: str) -> list[str]:
    lines = [f"[launch]   # {file}:{facts.line}: {facts.text}"]
    if facts.others:
        where = ", ".join(f"{file}:{line}" for line in facts.others)
        lines.append(f"# FILL IN: this is the first of several launches; others differ: {where}")
    lines += [f"# FILL IN: {name} changes at {file}:{line}; this is its first number" for name, line in facts.changed.items()]
    if facts.grid is None:
        grid_line += _NOT_FOLLOWED
    if facts.block is None:
        block_line += _NOT_FOLLOWED
    elif facts.guessed:
        block_line += f"   # FILL IN: {', '.join(facts.guessed)} is known only when the program runs"
    return [*lines, grid_line, block_line]


def _listed(texts: Iterable[str]) -> str:
    """Numbers bare, expressions in quotes."""
    return ", ".join(text if text.isdigit() else f'"{text}"' for text in texts)


class _Guess:
    def __init__(self, declarations: Declarations, kernel: KernelDeclaration) -> None:
        self._declarations = declarations
        self._kernel = kernel
        self._body = _HIP_NAME.sub(lambda m: f"{m[1].lower()}Idx.{m[2]}", kernel.body_text)
        self._axes = self._used(r"threadIdx\.{axis}|get_(?:local|global)_id\({number}\)", 1)

    def _used(self, pattern: str, least: int) -> int:
        """Number of axes that the body uses."""
        found = (n + 1 for n, axis in enumerate("xyz") if re.search(pattern.format(axis=axis, number=n), self._body))
        return max([least, *found])

    def block(self) -> list[int]:
        usual = {1: [self._kernel.launch_bounds or 256], 2: [16, 16], 3: [8, 8, 4]}
        return _required(self._declarations, self._kernel)[: self._axes] or usual[self._axes]

    def grid_line(self, sizes: list[str], block: list[int]) -> str:
        """One thread per element if the block's index is scaled by the block size; else one block per row."""
        scaled = re.search(r"blockIdx\.x\s*\*|\*\s*blockIdx\.x|get_global_id", self._body)
        found = []
        for axis in range(self._used(r"blockIdx\.{axis}|get_group_id\({number}\)", self._axes)):
            size = sizes[min(axis, len(sizes) - 1)]
            covers = axis < len(block) and (scaled or self._axes > 1)
            found.append(f"ceildiv({size}, {block[axis]})" if covers else size)
        return f"grid  = [{_listed(found)}]"


def _shared_lines(declarations: Declarations, kernel: KernelDeclaration, block: list[int], facts: HostFacts | None) -> list[str]:
    local = [p for p in kernel.parameters if p.is_local]
    if local:
        names, share = ", ".join(p.name for p in local), ", each an equal share" if len(local) > 1 else ""
        known = [cpp_type(p.type, declarations.language, declarations.aliases()) for p in local]
        widest = max(t.elements(declarations.language) * t.dtype.itemsize if t else 4 for t in known)
        needed = widest * math.prod(block) * len(local)
        return [f"shared = {needed}   # FILL IN: bytes of the __local {names}{share}; not an argument"]
    if facts is not None and facts.shared not in {None, "0"}:
        return [f"shared = {_listed([facts.shared])}"]
    others = [k.body_text for k in declarations.kernels if k.body_text and k.body_text != kernel.body_text]
    if _DYNAMIC_SHARED.search(functools.reduce(lambda text, other: text.replace(other, ""), others, declarations.text)):
        return [f"shared = {4 * math.prod(block)}   # FILL IN: bytes of dynamic shared memory"]
    return []


def _required(declarations: Declarations, kernel: KernelDeclaration) -> list[int]:
    """The block size of `reqd_work_group_size`, if its arguments are numbers or names with a known number."""
    numbers = {name: int(target) for name, target in declarations.aliases().items() if target and target.isdigit()}
    found = []
    for text in (kernel.required_block or "").split(","):
        try:
            found.append(int(Expression.parse(text.strip()).evaluate(numbers)))
        except InputError:
            return []
    return found
