"""How a workload's sizes follow from the shapes of its tensors, as Python text: an extent of `2 * d` tells `d`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Literal, Name, Node, children
from warpsmith.export.expressions import spelled
from warpsmith.export.pytorch.text import OfSizes
from warpsmith.spec.kernel import Buffer


@dataclass(frozen=True, slots=True)
class Derived:
    """`text` computes it from `shapes` and from the sizes before it, `s`."""

    size: str
    text: str


def derived_sizes(buffers: Sequence[Buffer], sizes: Iterable[str]) -> tuple[list[Derived], list[str]]:
    """In an order in which each can be computed from the ones before; and the sizes that no shape tells.

    What was computed has to be held against all shapes: a shape that no sizes give is computed from as well.
    """
    # The plainest first: `d` itself rather than half of `2 * d`.
    known = [(extent, f'shapes["{b.name}"][{axis}]') for b in buffers for axis, extent in enumerate(b.shape)]
    known.sort(key=lambda pair: _weight(pair[0].tree))
    unknown, found = dict.fromkeys(sizes), []
    while unknown:
        step = next((d for extent, text in known if (d := _solved(extent, text, unknown)) is not None), None)
        if step is None:
            break
        found.append(step)
        del unknown[step.size]
    return found, list(unknown)


def _weight(node: Node) -> int:
    return 1 + sum(map(_weight, children(node)))


def _names(node: Node) -> list[str]:
    return [node.name] if isinstance(node, Name) else [name for child in children(node) for name in _names(child)]


def _solved(extent: Expression, text: str, unknown: Iterable[str]) -> Derived | None:
    """Where just one name of the extent is unknown, stands there once, and can be computed back to."""
    wanted = [name for name in _names(extent.tree) if name in unknown]
    if len(wanted) != 1:
        return None
    node = extent.tree
    while not isinstance(node, Name):
        if not isinstance(node, Binary) or node.operator not in {"*", "+", "-"}:
            return None  # a quotient of whole numbers has several dividends
        on_left = wanted[0] in _names(node.left)
        inner, other = (node.left, node.right) if on_left else (node.right, node.left)
        rest = spelled(extent.part(other), OfSizes())
        match node.operator:
            case "*":
                text = f"({text} // {rest if isinstance(other, Literal) else f'max({rest}, 1)'})"
            case "+":
                text = f"({text} - {rest})"
            case _:
                text = f"({text} + {rest})" if on_left else f"({rest} - {text})"
        node = inner
    return Derived(wanted[0], text)
