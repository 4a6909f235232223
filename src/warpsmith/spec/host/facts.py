"""Facts of a file's host code about a kernel, as kernel.toml expressions: the interface of this package.

Host variables that determine a scalar argument or a buffer's length become workload sizes. Other variables with a known value
become numbers: threads per block, and whatever the kernel's own code fixes too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from warpsmith.spec.declarations import Declarations, KernelDeclaration, expression_nodes
from warpsmith.spec.host.expressions import HostFrame
from warpsmith.spec.host.follow import Follower
from warpsmith.spec.host.index import Index
from warpsmith.spec.host.launches import launches_of
from warpsmith.spec.host.readings import HostReading, read
from warpsmith.spec.host.terms import Apply, Root, SizeTerm, factors_of, replaced, roots
from warpsmith.spec.host.terms import exact_quotient as exactly
from warpsmith.spec.host.wording import written

_LAUNCH = re.compile("<<<|Launch")
UNKNOWN_BLOCK = 256  # threads, where the host's own number is read at run time
_UNKNOWN_SIZES = {1: 1024, 2: 1024, 3: 128}  # by how many of them are multiplied in one buffer: some megabytes
_MANY_SIZES = 32
_SMALL = 64  # a size below is hardly one that a kernel is run on at will


@dataclass(frozen=True, slots=True)
class HostMemory:
    size_bytes: SizeTerm
    line: int


@dataclass(frozen=True, slots=True)
class Size:
    """`other` is a value for a held-out workload: any will do, because the host rounds up or has one block for each."""

    value: int
    is_known: bool
    line: int
    changed_line: int | None
    other: int


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Expressions are kernel.toml text; what could not be followed is None or absent.

    `others` are lines of launches with another geometry or instance. `guessed` are host variables in the block with a guessed
    number; `changed` those in the geometry that are assigned again, with the line of the next assignment.
    """

    line: int
    text: str
    others: tuple[int, ...]
    guessed: tuple[str, ...]
    changed: Mapping[str, int]
    template: Mapping[str, str]
    grid: tuple[str, ...] | None
    block: tuple[str, ...] | None
    shared: str | None
    values: Mapping[str, str]
    passed: Mapping[str, str]  # scalars as the launch has them, in C++
    sizes: Mapping[str, Size]
    memory: Mapping[str, HostMemory]
    _names: Mapping[Root, str]

    def shape(self, argument: str, element_bytes: int) -> tuple[str, ...] | None:
        """Shape of a buffer, in elements of so many bytes; None if unknown or not a whole number of elements."""
        memory = self.memory.get(argument)
        count = exactly(memory.size_bytes, element_bytes) if memory is not None else None
        return tuple(written(factor, self._names) for factor in factors_of(count)) if count is not None else None


def host_facts(declarations: Declarations, kernel: KernelDeclaration) -> HostFacts | None:
    """None if the file does not launch the kernel."""
    if not _LAUNCH.search(declarations.text):
        return None  # most files of kernels are headers: nothing to follow
    index = Index(declarations)
    follower = Follower(index)
    readings = [read(follower, launch, kernel) for launch in launches_of(index, kernel)]
    return _Facts(follower, kernel, readings).facts() if readings else None


def constant_value(declarations: Declarations, text: str) -> int | None:
    """The value of an expression over the file's own macros and constants."""
    nodes = expression_nodes(text)
    follower = Follower(Index(declarations))
    term = follower.whole(nodes[0], HostFrame(declarations.root.end_byte - 1)) if len(nodes) == 1 else None
    return follower.value_of(term) if term is not None else None


class _Facts:
    def __init__(self, follower: Follower, kernel: KernelDeclaration, readings: list[HostReading]) -> None:
        self._origins = follower.origins
        self._kernel = kernel
        self._reading, *self._others = readings
        reading = self._reading
        self._in_block = _all_roots(reading.block or ())
        self._in_memory = list(dict.fromkeys(r for m in reading.memory.values() for r in _lengths(m.size_bytes)))
        self._in_scalars = _all_roots(reading.scalars.values())
        self._in_template = _all_roots(t for t in reading.template.values() if not isinstance(t, str))
        self._in_grid = _all_roots(reading.grid or ())
        mentioned = [*self._in_scalars, *_all_roots(m.size_bytes for m in reading.memory.values()), *self._in_grid]
        mentioned += [*self._in_block, *_all_roots([reading.shared]), *self._in_template]
        self._all = list(dict.fromkeys(mentioned))
        self._device_words = follower.index.device_words
        self._knows_all_memory = all(p.name in reading.memory for p in kernel.parameters if p.depth)
        self._numbers: dict[Root, SizeTerm] = {}
        self._guessed: list[str] = []
        for root in self._all:
            self._fix(root)
        self._names = self._named()

    def facts(self) -> HostFacts:
        reading = self._reading
        memory = {}
        for name, allocated in reading.memory.items():
            size_bytes = replaced(allocated.size_bytes, self._numbers)
            if size_bytes is not None:
                memory[name] = HostMemory(size_bytes, allocated.line)
        return HostFacts(
            line=reading.line,
            text=reading.text,
            others=tuple(r.line for r in self._others if r.form != reading.form),
            guessed=tuple(self._guessed),
            changed=self._changed(),
            template={name: text for name, value in reading.template.items() if (text := self._template(value)) is not None},
            grid=self._extents(reading.grid),
            block=self._extents(reading.block),
            shared=self._text(reading.shared),
            values=self._values(),
            passed=reading.passed,
            sizes=self._sizes(),
            memory=memory,
            _names=self._names,
        )

    def _fix(self, root: Root) -> None:
        """Replaces a root with its number if it is not a size."""
        origin = self._origins[root]
        is_size = root in self._in_scalars or root in self._in_memory
        is_of_block = root in self._in_block and (root not in self._in_memory or root not in self._in_scalars)
        is_fixed = (origin.is_global and root.name in self._device_words) or root in self._in_template
        # Memory whose length does not follow the grid would be overrun as soon as the size grows.
        is_fixed |= root in self._in_grid and root not in self._in_memory and self._knows_all_memory
        is_small = root not in self._in_scalars and (origin.value or 0) < _SMALL  # a pixel's channels
        if origin.value is not None and (is_fixed or not is_size or is_of_block or is_small):
            self._numbers[root] = origin.value
        elif is_of_block and not is_size:
            self._numbers[root] = UNKNOWN_BLOCK
            self._guessed.append(root.name)

    def _named(self) -> dict[Root, str]:
        """Name of the scalar that passes it, if any; of several, the one with the same name."""
        arguments = {p.name for p in self._kernel.parameters}
        names: dict[Root, str] = {}
        for root in (r for r in self._all if r not in self._numbers):
            passing = [name for name, term in self._reading.scalars.items() if term == root]
            taken = arguments | set(names.values())
            free = next(n for n in (root.name, f"host_{root.name}", f"host_{root.name}_{root.place}") if n not in taken)
            names[root] = root.name if root.name in passing else passing[0] if passing else free
        return names

    def _changed(self) -> dict[str, int]:
        geometry = [*self._in_grid, *self._in_block, *_all_roots([self._reading.shared])]
        lines = {root.name: self._origins[root].changed_line for root in geometry if root in self._numbers}
        return {name: line for name, line in lines.items() if line is not None and name not in self._guessed}

    def _text(self, term: SizeTerm | None) -> str | None:
        known = replaced(term, self._numbers) if term is not None else None
        return written(known, self._names) if known is not None else None

    def _template(self, value: SizeTerm | str) -> str | None:
        text = value if isinstance(value, str) else self._text(value)
        return text if isinstance(value, str) or (text is not None and text.isdigit()) else None

    def _extents(self, extents: tuple[SizeTerm | None, ...] | None) -> tuple[str, ...] | None:
        texts = [self._text(extent) for extent in extents or (None,)]
        return None if None in texts else tuple(text for text in texts if text is not None)

    def _values(self) -> dict[str, str]:
        """As TOML: numbers bare, expressions in quotes."""
        found = dict(self._reading.literals)
        for name, term in self._reading.scalars.items():
            text = self._text(term)
            if text is not None:
                found[name] = text if text.lstrip("-").isdigit() else f'"{text}"'
        return found

    def _sizes(self) -> dict[str, Size]:
        counts = [len(set(roots(m.size_bytes)) & set(self._names)) for m in self._reading.memory.values()]
        guess = _UNKNOWN_SIZES.get(max(counts, default=1) or 1, _MANY_SIZES)
        free = self._free()
        found = {}
        for root, name in self._names.items():
            origin = self._origins[root]
            value = guess if origin.value is None else origin.value
            # A little less, and a multiple of eight if the host's own is one: vectors of a row stay whole.
            step = 8 if value % 8 == 0 else 1
            other = (value - value // 16 - 8) // step * step if root in free and value >= _SMALL else value
            found[name] = Size(value, origin.value is not None, origin.line, origin.changed_line, other)
        return found

    def _free(self) -> set[Root]:
        """Roots that the grid rounds up or uses unchanged, and that no division truncates."""
        grid = [t for t in (replaced(e, self._numbers) for e in self._reading.grid or () if e is not None) if t is not None]
        open_roots: set[Root] = set()
        bound = set(self._in_block)
        for extent in grid:
            for factor in factors_of(extent):
                if isinstance(factor, Apply) and factor.operator == "ceildiv":
                    open_roots |= {r for r in roots(factor.operands[0]) if _is_plain(factor.operands[0])}
                if _is_plain(factor):
                    open_roots |= set(roots(factor))
                else:
                    bound |= _cut(factor)
        return open_roots - bound


def _is_plain(term: SizeTerm) -> bool:
    """Sums and products of variables."""
    return not isinstance(term, Apply) or (term.operator in "+*" and all(map(_is_plain, term.operands)))


def _cut(term: SizeTerm) -> set[Root]:
    """Roots of truncating divisions."""
    if not isinstance(term, Apply):
        return set()
    own = set(roots(term)) if term.operator in {"/", "%"} else set()
    return own.union(*map(_cut, term.operands))


def _lengths(term: SizeTerm) -> Iterator[Root]:
    """Roots that scale a memory's length; not its divisors."""
    if isinstance(term, Apply):
        parts = term.operands[:1] if term.operator in {"/", "%", "ceildiv"} else term.operands
        for part in parts:
            yield from _lengths(part)
    elif isinstance(term, Root):
        yield term


def _all_roots(terms: Iterable[SizeTerm | None]) -> list[Root]:
    return list(dict.fromkeys(root for term in terms if term is not None for root in roots(term)))
