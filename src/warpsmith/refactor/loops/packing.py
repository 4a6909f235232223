"""Writes steps that access VEC neighbouring elements at once: the type of such a pack, loads, the work lane by lane, stores.

A pack begins at a multiple of VEC steps, so it is aligned to its size where the place of step 0 is: that is what the rules say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Rule
from warpsmith.refactor.mapping.flat import FlatKernel, changeable
from warpsmith.refactor.preconditions import Unmet
from warpsmith.refactor.writing import FreeNames, before_kernel, operand
from warpsmith.source import Edit, KernelSource, Loop, Names
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import Piece, at_margin, line_at
from warpsmith.source.tree import is_within, of_kind, text_of
from warpsmith.source.vectorizable_accesses import Pack

if TYPE_CHECKING:
    from tree_sitter import Node

_ALIGNED = "an access must start at a multiple of its number of elements"


def alignment_rules(packs: Sequence[Pack], names: Names, vec: str, launch: dict[str, str]) -> list[Rule]:
    """What must hold for every pack to be aligned. `launch` has the extents of blocks and grid that are known.

    A term of an address is some known numbers times things that may be any integer: it is a multiple when the known part is.
    """
    found: dict[tuple[str, ...], str] = {}
    for pack in packs:
        for monomial, factor in pack.base.terms.items():
            known = (launch.get(atom) or _size(atom, names) for atom in monomial)
            factors = [*([str(abs(factor))] if abs(factor) != 1 else []), *(e for e in known if e is not None)]
            found.setdefault(tuple(factors), pack.array)
    rules = []
    for product, array in found.items():
        if any(other != product and not Counter(other) - Counter(product) for other in found):
            continue  # a multiple of what is a multiple
        text = product[0] if len(product) == 1 else f"({' * '.join(product) or 1})"
        rules.append(Rule(f"{text} % {vec} == 0", f"{array}: {_ALIGNED}"))
    return rules


def _size(atom: str, names: Names) -> str | None:
    """What kernel.toml gives for a scalar parameter of the kernel; a tunable is its own name."""
    if atom in names.parameters:
        return atom
    if re.fullmatch(r"[\w()/*+]*[()/*+][\w()/*+]*", atom):  # a quotient, as in `n / 2`: text of the source's own arithmetic
        parts = {word: _size(word, names) for word in re.findall(r"[A-Za-z_]\w*", atom)}
        return None if None in parts.values() else re.sub(r"[A-Za-z_]\w*", lambda found: f"{parts[found[0]]}", atom)
    uses = (n for n in of_kind(names.source.body, "identifier") if text_of(n) == atom)
    use = next((n for n in uses if names.definition(n).origin is Origin.PARAMETER), None)
    if use is None:
        return None
    if not names.definition(use).is_fixed:
        raise Unmet(f"{atom} changes, so the start of a row is unknown", use)
    return names.expression(use)


@dataclass(frozen=True, slots=True)
class PackWriter:
    """`vec` is the parameter, `unit` one level of indentation. Lines come at the margin."""

    source: KernelSource
    vec: str
    free: FreeNames
    unit: str
    type: str  # what the pack's type is called

    def declared(self, packs: Sequence[Pack]) -> Edit:
        """The types, before the kernel and the comments that belong to it."""
        return before_kernel(self.source, self._declaration(packs))

    def strided(self, loop: Loop, pieces: Sequence[Piece], packs: Sequence[Pack], first: str) -> Edit:
        """In place of a loop whose steps threads share: one over packs, and one over the steps that are left."""
        source, vec = self.source, self.vec
        assert loop.step is not None
        count, pack = self.free.take("packs"), self.free.take("pack")
        start, bound, step = (source.text_of(part) for part in (loop.start, loop.bound, loop.step))
        i, kind = loop.variable, loop.type
        inner = self._steps(packs, pieces, kind, i, first)
        pragma = [source.text_of(loop.pragma).strip()] if loop.pragma is not None else []
        lines = [
            f"// {vec} neighbouring elements by each access first, then those that do not fill one.",
            f"const {kind} {count} = {operand(bound)} / {vec};",
            *pragma,
            f"for ({kind} {pack} = {start}; {pack} < {count}; {pack} += {step}) {{",
            f"{self.unit}const {kind} {first} = {pack} * {vec};",
            *(line_at(line, self.unit) for line in inner),
            "}",
            *pragma,
            f"for ({kind} {i} = {count} * {vec} + {start}; {i} < {bound}; {i} += {step}) {{",
            *(line_at(line, self.unit) for line in self._plain(pieces)),
            "}",
        ]
        parent, blanks = loop.node.parent, source.tree.indentation(loop.node)
        if parent is None or parent.type != "compound_statement":  # governed by an `if` without braces
            lines = ["{", *(line_at(line, self.unit) for line in lines), "}"]
        begin = source.tree.line_start(loop.pragma or loop.node)
        text = "\n".join(line_at(line, blanks) for line in lines)
        return Edit(begin, loop.node.end_byte, text if begin < loop.node.start_byte else text.removeprefix(blanks))

    def flat(self, flat: FlatKernel, packs: Sequence[Pack], first: str) -> Edit:
        """In place of all from the index on: the thread's place in the grid is the number of a pack."""
        source, vec, i, kind = self.source, self.vec, flat.variable, changeable(flat.type)
        value = source.text_of(flat.declaration.node).partition("=")[2].strip().removesuffix(";")
        limit, pack, count = operand(source.text_of(flat.guard.limit)), self.free.take("pack"), self.free.take("packs")
        inner = self._steps(packs, flat.work, kind, i, first)
        unit = self.unit
        lines = [
            f"// A thread has {vec} neighbouring elements, all by one access each; the last thread may have fewer, one by one.",
            f"const {kind} {pack} = {value};",
            f"const {kind} {count} = ({limit} + {vec} - 1) / {vec};",
            f"if ({pack} >= {count}) return;",
            f"const {kind} {first} = {pack} * {vec};",
            f"if ({first} + {vec} <= {limit}) {{",
            *(line_at(line, unit) for line in inner),
            "} else {",
            f"{unit}for ({kind} {i} = {first}; {i} < {limit}; ++{i}) {{",
            *(line_at(line, unit * 2) for line in self._plain(flat.work)),
            f"{unit}}}",
            "}",
        ]
        before = source.tree.data[flat.declaration.end : flat.start].decode()
        body = "\n".join(line_at(line, flat.indent) for line in lines)
        return Edit(flat.declaration.start, flat.end, f"{before}\n{body}")

    def _steps(self, packs: Sequence[Pack], pieces: Sequence[Piece], kind: str, variable: str, first: str) -> Iterator[str]:
        """All that a pack of steps does, from its loads to its stores; `first` is the number of its first step."""
        lane = self.free.take("lane")
        called = {id(pack): self.free.take(f"{pack.array}_pack") for pack in packs}
        for pack in packs:
            constant = "" if pack.is_written else "const "
            value = f" = {self._access(pack, constant='const ')}" if pack.is_read else ""
            yield f"{constant}{self._type_of(pack.type)} {called[id(pack)]}{value};"
        edits = [
            Edit(node.start_byte, node.end_byte, f"{called[id(pack)]}.lane[{lane}]") for pack in packs for node in pack.accesses
        ]
        yield "#pragma unroll"
        yield f"for (int {lane} = 0; {lane} < {self.vec}; ++{lane}) {{"
        if _is_used(variable, pieces, packs):
            yield f"{self.unit}const {kind} {variable} = {first} + {lane};"
        for piece in pieces:
            yield from (line_at(line, self.unit) for line in at_margin(piece, self.source.tree, edits))
        yield "}"
        for pack in packs:
            if pack.is_written:
                yield f"{self._access(pack, constant='')} = {called[id(pack)]};"

    def _plain(self, pieces: Sequence[Piece]) -> Iterator[str]:
        """The steps as they were."""
        for piece in pieces:
            yield from at_margin(piece, self.source.tree)

    def _declaration(self, packs: Sequence[Pack]) -> str:
        """The types of packs: one template, or for OpenCL one of each kind."""
        comment = f"// {self.vec} neighbouring elements, moved by one access: aligned to their size together."
        if self.source.language is not Language.OPENCL:
            lines = [
                "template <typename T, int N>",
                f"struct alignas(sizeof(T) * N) {self.type} {{",
                f"{self.unit}T lane[N];",
                "};",
            ]
            return "\n".join([comment, *lines])
        kinds = {pack.type: pack.size_bytes for pack in packs}
        structs = (
            f"typedef struct __attribute__((aligned({size} * {self.vec}))) {{\n{self.unit}{kind} lane[{self.vec}];\n"
            f"}} {self._type_of(kind)};"
            for kind, size in kinds.items()
        )
        return "\n".join([comment, *structs])

    def _access(self, pack: Pack, *, constant: str) -> str:
        kind = self._type_of(pack.type)
        if self.source.language is Language.OPENCL:
            return f"*({constant}__global {kind}*)&{pack.first}"
        return f"*reinterpret_cast<{constant}{kind}*>(&{pack.first})"

    def _type_of(self, kind: str) -> str:
        if self.source.language is Language.OPENCL:
            return f"{self.type}_{re.sub(r'[^0-9A-Za-z]+', '_', kind)}"
        return f"{self.type}<{kind}, {self.vec}>"


def _is_used(variable: str, pieces: Sequence[Piece], packs: Sequence[Pack]) -> bool:
    replaced: list[Node] = [node for pack in packs for node in pack.accesses]
    uses = (n for piece in pieces for n in of_kind(piece.node, "identifier") if text_of(n) == variable)
    return any(not any(is_within(use, node) for node in replaced) for use in uses)


def known_extents(block: Sequence[str], grid: Sequence[str]) -> dict[str, str]:
    """The launch in the names that the source has for it."""
    listed = (("blockDim", block), ("gridDim", grid))
    return {f"{name}.{axis}": f"({e})" for name, extents in listed for axis, e in zip("xyz", extents, strict=False)}
