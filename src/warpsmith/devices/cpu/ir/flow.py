"""Control-flow graph of a function: reachability, dominators, post-dominators, loops.

Edges into blocks that are only `unreachable` are left out (optimiser hints, never taken), and others on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from warpsmith.devices.cpu.ir.function import Function


class Flow:
    def __init__(self, function: Function, without: frozenset[tuple[str, str]] = frozenset()) -> None:
        dead_ends = {label for label, block in function.blocks.items() if block.terminator.opcode == "unreachable"}
        self.entry = function.entry
        self._left_at = {label for label, _ in without}
        self.successors: dict[str, tuple[str, ...]] = {
            label: tuple(t for t in block.successors if t not in dead_ends and (label, t) not in without)
            for label, block in function.blocks.items()
        }
        self.predecessors: dict[str, list[str]] = {label: [] for label in function.blocks}
        for label, targets in self.successors.items():
            for target in targets:
                self.predecessors[target].append(label)

    def leading_to(self, ends: Iterable[str]) -> set[str]:
        """Blocks that reach one of `ends`, including these."""
        return _reached(ends, self.predecessors)

    def reachable(self, start: Iterable[str], stop: str | None = None) -> set[str]:
        """Blocks on paths from `start` (included), not going through `stop`."""
        return _reached(start, self.successors, stop)

    def immediate_postdominators(self) -> dict[str, str | None]:
        """For each reachable block the nearest other block on every path to the exit; None is the exit itself."""
        order = self._postorder()
        # A loop without an exit ends, for this query, where the exit was.
        endless = self._left_at - {label for label in self._left_at if not all(map(self.successors.get, self.reachable([label])))}
        sets = _closure(order, {label: () if label in endless else targets for label, targets in self.successors.items()})
        rank = {label: index for index, label in enumerate(order)}
        nearest: dict[str, str | None] = {}
        for label in order:
            if len(self.successors[label]) == 1:
                nearest[label] = self.successors[label][0]
                continue
            strict = sets[label] & ~(1 << rank[label])
            candidates = [other for other in order if strict >> rank[other] & 1]
            # The nearest post-dominator of a block is post-dominated by all its others.
            nearest[label] = max(candidates, key=lambda other: sets[other].bit_count(), default=None)
        return nearest

    def dominators(self) -> dict[str, set[str]]:
        """For each reachable block the blocks (itself included) on every path from the entry."""
        sets = self._dominators()
        return {label: {other for index, other in enumerate(sets) if bits >> index & 1} for label, bits in sets.items()}

    def loops(self) -> dict[str, frozenset[str]]:
        """The blocks of each loop, by its head."""
        dominators = self._dominators()
        rank = {label: index for index, label in enumerate(dominators)}
        loops: dict[str, set[str]] = {}
        for label, before in dominators.items():
            for head in self.successors[label]:
                if before >> rank[head] & 1:
                    blocks = loops.setdefault(head, {head})
                    pending = [label]
                    while pending:
                        if (block := pending.pop()) not in blocks:
                            blocks.add(block)
                            pending += [other for other in self.predecessors[block] if other in dominators]
        return {head: frozenset(blocks) for head, blocks in loops.items()}

    def _dominators(self) -> dict[str, int]:
        """As bits by position among the blocks in reverse postorder."""
        order = self._postorder()[::-1]
        known = set(order)
        before = {label: tuple(p for p in self.predecessors[label] if p in known) for label in order}
        before[self.entry] = ()
        return _closure(order, before)

    def _postorder(self) -> list[str]:
        seen = {self.entry}
        order: list[str] = []
        stack = [(self.entry, 0)]
        while stack:
            label, index = stack.pop()
            targets = self.successors[label]
            if index < len(targets):
                stack.append((label, index + 1))
                if targets[index] not in seen:
                    seen.add(targets[index])
                    stack.append((targets[index], 0))
            else:
                order.append(label)
        return order


def _reached(start: Iterable[str], following: Mapping[str, Sequence[str]], stop: str | None = None) -> set[str]:
    seen: set[str] = set()
    pending = [label for label in start if label != stop]
    while pending:
        label = pending.pop()
        if label not in seen:
            seen.add(label)
            pending += [other for other in following[label] if other != stop]
    return seen


def _closure(order: list[str], following: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """The largest sets S with S(b) = {b} ∪ ⋂ S(f) over the following blocks, as bits by position in `order`."""
    rank = {label: index for index, label in enumerate(order)}
    everything = (1 << len(order)) - 1
    sets = dict.fromkeys(order, everything)
    changed = True
    while changed:
        changed = False
        for label in order:
            common = everything if following[label] else 0
            for other in following[label]:
                common &= sets[other]
            new = common | 1 << rank[label]
            if new != sets[label]:
                sets[label] = new
                changed = True
    return sets
