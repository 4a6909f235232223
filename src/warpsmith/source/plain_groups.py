"""Cooperative groups that are the grid, the block or a tile of a warp, said in the launch's own names.

    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    if (warp.thread_rank() == 0) …                →    if ((threadIdx.x % 32u) == 0) …
    sum += warp.shfl_down(sum, 16);               →    sum += __shfl_down_sync(0xffffffffu, sum, 16);
    block.sync();                                 →    __syncthreads();

The meaning is the same, the tokens are not: a form for passes to start from. What else is asked of a group stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names

_SPACE = r"(?:(?:cg|cooperative_groups)\s*::\s*)?"
_BLOCK = rf"{_SPACE}\bthis_thread_block\s*\(\s*\)"
_GRID = rf"{_SPACE}\bthis_grid\s*\(\s*\)"
_KIND = rf"(?:auto|{_SPACE}(?:thread_block|grid_group|thread_block_tile\s*<[^;<>]*>))"
_DECLARED = re.compile(
    rf"^[ \t]*(?:const\s+)?{_KIND}\s*&?\s+(?P<name>\w+)\s*(?P<begun>=|\(|\{{)"
    rf"\s*(?P<value>{_SPACE}(?:this_|tiled_)[^;]*?)\s*;[ \t]*\n?",
    re.MULTILINE,
)
_TILED = re.compile(rf"{_SPACE}tiled_partition\s*<\s*(?P<lanes>\w+)\s*>\s*\(\s*(?P<of>.*?)\s*\)")
_NARROW = re.compile(r"\b(?:u?int32_t|int|unsigned(?:\s+int)?|uint)\s+\w+\s*=\s*$")
_EXCHANGES = frozenset({"shfl", "shfl_down", "shfl_up", "shfl_xor"})
_VOTES = frozenset({"any", "all", "ballot"})
WARP = 32


@dataclass(frozen=True, slots=True)
class _Group:
    """`lanes` of a tile; 0 for the block, and None for the grid."""

    lanes: int | None


@dataclass(frozen=True, slots=True)
class _Launch:
    """How many axes the launch has."""

    grid: int
    block: int

    def rank(self) -> str:
        return _rank("threadIdx", "blockDim", self.block)

    def threads(self) -> str:
        return _product("blockDim", self.block)


def with_plain_groups(source: KernelSource, grid_axes: int, block_axes: int) -> str:
    """The whole file's text; as it was where the kernel itself has no such group."""
    text, body = source.text, source.text_of(source.body)
    if "cooperative_groups" not in text or text.count(body) != 1:
        return text
    return text.replace(body, _Groups(Names(source), _Launch(grid_axes, block_axes)).written(body))


class Tiles:
    """The tiles of warps that a kernel divides its block into."""

    def __init__(self, source: KernelSource) -> None:
        self._groups = _Groups(Names(source), _Launch(1, 1))
        self._known = self._groups.declared(source.text_of(source.body))

    def lanes(self, group: str) -> int | None:
        """Of what a variable or an expression stands for; None for anything that is no tile."""
        found = self._groups.group(group, self._known)
        return found.lanes or None if found is not None else None


class _Groups:
    def __init__(self, names: Names, launch: _Launch) -> None:
        self._names = names
        self._launch = launch

    def declared(self, body: str) -> dict[str, _Group]:
        groups: dict[str, _Group] = {}
        for made in _DECLARED.finditer(body):
            group = self.group(made["value"] if made["begun"] == "=" else made["value"][:-1], groups)
            if group is not None and len(re.findall(rf"[\w>]\s*[&*]?\s+{made['name']}\s*[=({{]", body)) == 1:
                groups[made["name"]] = group
        return groups

    def written(self, body: str) -> str:
        groups = self.declared(body)
        said = "|".join([_BLOCK, _GRID, *(rf"\b{name}" for name in groups)])
        asked = re.compile(rf"(?P<group>{said})\s*\.\s*(?P<method>\w+)\s*\(|{_SPACE}\bsync(?=\s*\(\s*(?P<synced>{said})\s*\))\s*")
        position = len(body)
        while (found := _last(asked, body, position)) is not None:  # it is not within the arguments of another
            position = found.start()
            group = self.group(found["group"] or found["synced"], groups)
            opening = found.end() if found["method"] is None else found.end() - 1
            end = opening + (until_closed(body[opening:], ROUND) or 0)
            given = body[opening + 1 : end - 1].strip()
            is_narrow = _NARROW.search(body[:position]) is not None and body[end:].lstrip().startswith(";")
            written = None if group is None else self._call(group, found["method"] or "sync", given, is_narrow=is_narrow)
            if written is not None:
                body = f"{body[:position]}{written}{body[end:]}"
        return self._without_unused(body, groups)

    def group(self, value: str, groups: dict[str, _Group]) -> _Group | None:
        value = value.strip()
        if value in groups:
            return groups[value]
        if re.fullmatch(_BLOCK, value):
            return _Group(0)
        if re.fullmatch(_GRID, value):
            return _Group(None)
        tiled = _TILED.fullmatch(value)
        whole = self.group(tiled["of"], groups) if tiled is not None else None
        lanes = self._number(tiled["lanes"]) if tiled is not None else None
        is_tile = lanes is not None and 2 <= lanes <= WARP and lanes & (lanes - 1) == 0
        return _Group(lanes) if whole == _Group(0) and is_tile else None

    def _number(self, text: str) -> int | None:
        text = self._names.source.bindings.get(text, text)
        macro = self._names.source.scopes.macros.get(text)
        return int(text) if text.isdigit() else self._names.value(macro) if macro is not None else None

    def _call(self, group: _Group, method: str, given: str, *, is_narrow: bool) -> str | None:
        if group.lanes is None:
            return self._of_grid(method, is_narrow=is_narrow)
        return self._of_tile(group.lanes, method, given) if group.lanes else self._of_block(method)

    def _of_grid(self, method: str, *, is_narrow: bool) -> str | None:
        launch, wide = self._launch, "" if is_narrow else "(unsigned long long)"
        rank = f"{_rank('blockIdx', 'gridDim', launch.grid, wide)} * {launch.threads()} + {launch.rank()}"
        size = f"({wide}{_product('gridDim', launch.grid)} * {launch.threads()})"
        return {"thread_rank": rank if is_narrow else f"({rank})", "size": size, "num_threads": size}.get(method)

    def _of_block(self, method: str) -> str | None:
        known = {
            "sync": "__syncthreads()",
            "thread_rank": self._launch.rank(),
            "size": self._launch.threads(),
            "num_threads": self._launch.threads(),
            "thread_index": "threadIdx",
            "group_index": "blockIdx",
            "group_dim": "blockDim",
            "dim_threads": "blockDim",
        }
        return known.get(method)

    def _of_tile(self, lanes: int, method: str, given: str) -> str | None:
        rank = self._launch.rank()
        mask = mask_of(lanes, self._launch.block)
        width = "" if lanes == WARP else f", {lanes}"
        if method in _EXCHANGES:
            return f"__{method}_sync({mask}, {given}{width})"
        if method in _VOTES and lanes == WARP:
            return f"__{method}_sync({mask}, {given})"
        known = {
            "sync": f"__syncwarp({'' if lanes == WARP else mask})",
            "thread_rank": f"({rank} % {lanes}u)",
            "meta_group_rank": f"({rank} / {lanes}u)",
            "size": f"{lanes}u",
            "num_threads": f"{lanes}u",
            "meta_group_size": f"(({self._launch.threads()} + {lanes - 1}u) / {lanes}u)",
        }
        return known.get(method)

    @staticmethod
    def _without_unused(body: str, groups: dict[str, _Group]) -> str:
        """Groups were declared before others were made of them."""
        for name in reversed(groups):
            made = next(each for each in _DECLARED.finditer(body) if each["name"] == name)
            if len(re.findall(rf"\b{name}\b", body)) == 1:
                body = body[: made.start()] + body[made.end() :]
        return body


def mask_of(lanes: int, block_axes: int) -> str:
    """The lanes of the thread's own tile, for an exchange."""
    rank = _rank("threadIdx", "blockDim", block_axes)
    return "0xffffffffu" if lanes == WARP else f"({(1 << lanes) - 1:#x}u << ({rank} % {WARP}u / {lanes}u * {lanes}u))"


def _last(pattern: re.Pattern[str], text: str, end: int) -> re.Match[str] | None:
    return max(pattern.finditer(text, 0, end), key=lambda found: found.start(), default=None)


def _rank(index: str, extent: str, axes: int, first: str = "") -> str:
    """Of one index among all, the first axis fastest."""
    text = f"{first}{index}.{'xyz'[axes - 1]}"
    for axis in reversed("xyz"[: axes - 1]):
        text = f"({text} * {extent}.{axis} + {index}.{axis})"
    return text


def _product(extent: str, axes: int) -> str:
    text = " * ".join(f"{extent}.{axis}" for axis in "xyz"[:axes])
    return text if axes == 1 else f"({text})"
