"""How the threads of a kernel work together, and where it asks who they are: barriers, shared memory, exchanges, launch names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.assembly import Assembly, kind_of
from warpsmith.source.dataflow import is_pure_call
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import of_kind, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BARRIER = re.compile(r"__syncthreads\w*|(?:work_group_)?barrier|__builtin_amdgcn_s_barrier")
_EXCHANGE = re.compile(
    r"__shfl\w*|__ballot\w*|__any\w*|__all\w*|__activemask|__match_\w+|__reduce_\w+_sync|__syncwarp|sub_group_\w+|__builtin_amdgcn_\w+"
    r"|work_group_(?!barrier)\w+|__mma\w*|__wmma\w*|__vote\w*|__lane_id"
)
# Also without their namespace: a file may be `using` it.
_LIBRARY = re.compile(
    r"\b(?:cooperative_groups|cg|cub|hipcub|rocprim|wmma|cuda::barrier|cuda::pipeline)\s*::|\b(?:asm|__asm(?:__)?)\b"
    r"|\b(?:this_(?:thread_block|grid|multi_grid|cluster)|tiled_partition|thread_block(?:_tile)?|coalesced_threads)\b"
    r"|\b(?:Block|Warp)(?:Reduce|Scan|Load|Store|Exchange|MergeSort|RadixSort|Histogram|Shuffle|Discontinuity)\s*<"
)
# A group that is the block, its barrier, and sums over it: they tell nobody who he is. Asking a group for a rank does.
_WHOLE_BLOCK = re.compile(
    r"(?:\b(?:cooperative_groups|cg)\s*::\s*)?\b(?:thread_block\b|this_thread_block\b|sync\s*\(\s*\w+\s*\))"
    r"|(?:\b(?:hip)?cub\s*::\s*)?\b(?:BlockReduce|Sum|Max|Min)\b"
)
# Groups inside a block and what they do together: nothing of it knows which block that is, unless it asks.
_INSIDE_BLOCK = re.compile(
    r"(?:\b(?:cooperative_groups|cg)\s*::\s*)?\b(?:thread_block(?:_tile)?|this_thread_block|(?:tiled|binary|labeled)_partition"
    r"|coalesced_threads|reduce|(?:in|ex)clusive_scan|plus|less|greater|bit_(?:and|or|xor)|sync(?=\s*\())\b"
    r"|(?:\b(?:hip)?cub\s*::\s*)?\b(?:(?:Block|Warp)[A-Z]\w*|Sum|Max|Min|Arg(?:Max|Min)|BLOCK_[A-Z_]+)\b"
)
_PLACE = re.compile(r"\.\s*(?:group_index|block_index|block_rank|grid_rank|dim_blocks|num_blocks)\s*\(")
_RANK = re.compile(r"\.\s*(?:thread_rank|thread_index|group_index|meta_group_rank|dim_threads|group_dim|num_threads|size)\s*\(")
_WAITING = re.compile(r"\b(?:__threadfence|mem_fence|atomic_work_item_fence|volatile)\b")
THREAD = frozenset({"threadIdx", "get_local_id", "get_global_id"})
_BUILTINS = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")
_OPENCL = {"threadIdx": "get_local_id", "blockIdx": "get_group_id", "blockDim": "get_local_size", "gridDim": "get_num_groups"}


@dataclass(frozen=True, slots=True)
class Teamwork:
    """What the kernel and the functions it reaches do together. `library` is the first use of something not looked into.

    `strange` is the first such use that is more than reading and writing memory; `telling` the first that may tell threads apart,
    rather than let them wait for each other; `abroad` the first that may reach beyond the block, or tell blocks apart.
    """

    barriers: tuple[Node, ...] = field(repr=False)
    exchanges: tuple[Node, ...] = field(repr=False)
    lanes: tuple[Node, ...] = field(repr=False)  # where assembly asks for the thread's place in its warp
    shared: tuple[Node, ...] = field(repr=False)
    library: str | None
    strange: str | None
    telling: str | None
    abroad: str | None
    waits: str | None  # the first sign that blocks may wait for each other's writes
    unread: str | None  # the first function of a header that is not read, where nothing else is not looked into

    @property
    def meets(self) -> bool:
        """Whether threads of a block may have to be somewhere together."""
        return bool(self.barriers or self.exchanges or self.strange)

    @property
    def by_warps(self) -> bool:
        """Whether threads are lanes of warps to the kernel: it is the same in every block that is made of whole ones."""
        return bool(self.exchanges or self.lanes)

    @property
    def none(self) -> bool:
        return not (self.barriers or self.by_warps or self.shared or self.library)

    def described(self) -> str:
        """For a reason: what stands in the way, the most telling first."""
        if self.library:
            return f"uses {self.library.strip()}, whose threads cooperate in ways that are not analysed"
        if self.exchanges:
            return f"exchanges values inside a warp ({text_of(field_of(self.exchanges[0], 'function'))})"
        if self.lanes:
            return "reads the lane index (%laneid)"
        if self.shared:
            return "uses shared memory"
        return "has barriers"


def teamwork(source: KernelSource) -> Teamwork:
    bodies = source.reached()
    calls = [c for body in bodies for c in of_kind(body, "call_expression")]
    named = [(c, text_of(field_of(c, "function")).partition("<")[0].strip()) for c in calls]
    barriers = tuple(c for c, name in named if _BARRIER.fullmatch(name))
    shared = (
        *(parameter.node for parameter in source.local_parameters),
        *(d for body in bodies for d in of_kind(body, "declaration") if is_shared(d, source)),
    )
    exchanges = tuple(c for c, name in named if _EXCHANGE.fullmatch(name))
    # Which places of shared memory are for lanes, and which threads come to a barrier or exchange, is told by `threadIdx` only.
    own = {Assembly.OWN} if shared or barriers or exchanges else {Assembly.OWN, Assembly.LANE}
    lanes = (a for body in bodies for a in of_kind(body, "gnu_asm_expression") if kind_of(a) is Assembly.LANE)
    texts = [_without_assembly(body, source, own) for body in bodies]
    others = [_without_assembly(body, source, {*own, Assembly.MEMORY}) for body in bodies]
    elsewhere = _defined_elsewhere(source, named)
    known = next((m[0] for t in texts if (m := _LIBRARY.search(t))), None)
    library = known or elsewhere
    strange = next((m[0] for t in others if (m := _LIBRARY.search(t))), None) or elsewhere
    telling = (_first_beside(_WHOLE_BLOCK, others, (_LIBRARY, _RANK)) if strange else None) or elsewhere
    abroad = (_first_beside(_INSIDE_BLOCK, others, (_LIBRARY, _PLACE)) if strange else None) or elsewhere
    waits = next((m[0] for t in others if (m := _WAITING.search(t))), None)
    return Teamwork(
        barriers=barriers,
        exchanges=exchanges,
        lanes=tuple(lanes),
        shared=shared,
        library=library,
        strange=strange,
        telling=telling,
        abroad=abroad,
        waits=waits,
        unread=elsewhere if known is None else None,
    )


def _without_assembly(body: Node, source: KernelSource, kinds: Collection[Assembly]) -> str:
    """An instruction that a thread calculates with is no more to others than an operator."""
    text = source.text_of(body)
    for assembly in of_kind(body, "gnu_asm_expression"):
        if kind_of(assembly) in kinds:
            text = text.replace(source.text_of(assembly), "")
    return text


def _first_beside(known: re.Pattern[str], texts: Sequence[str], wanted: Sequence[re.Pattern[str]]) -> str | None:
    """The first of the wanted that is there besides what is known."""
    others = (known.sub("", text) for text in texts)
    return next((m[0] for text in others for pattern in wanted if (m := pattern.search(text))), None)


def _defined_elsewhere(source: KernelSource, calls: Sequence[tuple[Node, str]]) -> str | None:
    """The first function that is called and may come from one of the author's own headers, which are not read."""
    if not any(text_of(field_of(n, "path")).startswith('"') for n in of_kind(source.tree.root, "preproc_include")):
        return None
    for call, name in calls:
        known = name.startswith(("__", "atomic", "atom_")) or _BARRIER.fullmatch(name) or _EXCHANGE.fullmatch(name)
        method = field_of(call, "function").type == "field_expression"
        if not (known or method or name in source.device_functions or is_pure_call(call, source)):
            return name
    return None


def is_shared(declaration: Node, source: KernelSource) -> bool:
    if source.language is not Language.OPENCL:
        return any(text_of(c) == "__shared__" for c in declaration.children)
    tree = source.tree
    text = tree.qualifiers_before(declaration).decode() + tree.text_of(declaration)
    first = re.sub(r"\[[^\]]*\]", "[]", text.partition("=")[0])  # `[2 * N]` is no pointer
    return re.search(r"\b(?:__local|local)\b(?![^;]*\*)", first) is not None


def launch_uses(within: Node, names: Names) -> dict[str, list[Node]]:
    """Where each built-in name of the launch is used, in CUDA's spelling; `blockIdx.*` for a use as a whole."""
    found: dict[str, list[Node]] = {}
    for node in walk(within):
        if node.type in {"field_expression", "call_expression"} and (name := names.builtin(node)) is not None:
            found.setdefault(name, []).append(node)
        elif node.type == "identifier" and text_of(node) in _OPENCL and names.source.language is not Language.OPENCL:
            parent = node.parent
            if parent is None or names.builtin(parent) is None:
                found.setdefault(f"{text_of(node)}.*", []).append(node)
        elif node.type == "call_expression" and names.source.language is Language.OPENCL:
            called = text_of(field_of(node, "function"))
            axis = "".join(re.findall(r"\d", text_of(field_of(node, "arguments"))))
            if called in {"get_global_id", "get_global_size", "get_global_linear_id", "get_local_linear_id"} or (
                called in _OPENCL.values() and axis not in {"0", "1", "2"}
            ):
                found.setdefault(f"{called}.{'xyz'[int(axis)] if axis in {'0', '1', '2'} else '*'}", []).append(node)
    return found


def all_launch_uses(source: KernelSource, names: Names) -> dict[str, list[Node]]:
    """The same over the kernel and all functions of the file that it reaches."""
    found: dict[str, list[Node]] = {}
    for body in source.reached():
        for name, nodes in launch_uses(body, names).items():
            found.setdefault(name, []).extend(nodes)
    return found


def spelled(text: str, language: Language) -> str:
    """Built-in names in the language's own spelling."""
    if language is not Language.OPENCL:
        return text
    return _BUILTINS.sub(lambda m: f"{_OPENCL[m[1]]}({'xyz'.index(m[2])})", text)
