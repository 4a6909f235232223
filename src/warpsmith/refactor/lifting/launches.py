"""Numbers in a launch that are its author's choice."""

from __future__ import annotations

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Call, Literal


def number_in(extent: Expression) -> Literal | None:
    """The number itself, or the one that caps what a workload's sizes ask for: 1024 of `min(d / 4, 1024)`."""
    match extent.tree:
        case Literal(value=int()) as literal:
            return literal
        case Call(function="min", arguments=arguments):
            literals = [a for a in arguments if isinstance(a, Literal) and isinstance(a.value, int)]
            return literals[0] if len(literals) == 1 else None
        case _:
            return None
