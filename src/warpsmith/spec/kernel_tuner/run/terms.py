"""Applies Python's operators to terms, as far as kernel.toml can express them."""

from __future__ import annotations

from warpsmith.spec.host.terms import Apply, SizeTerm, has_floats, operation, product, rounded_up

_MAX_SHIFT = 62  # bits of what kernel.toml takes, and by how many it shifts
_MAX_FACTORS = 3  # of a power that is written out as a product
_SIGNS = {"+": "+", "-": "-", "*": "*", "//": "/", "%": "%", "<<": "<<", ">>": ">>", "&": "&"}


def term_of_operation(sign: str, left: SizeTerm, right: SizeTerm, *, is_negative: bool = False) -> SizeTerm | None:
    """None if kernel.toml cannot express it. `is_negative`: the left number is, so Python's `//` rounds down."""
    if has_floats(left) or has_floats(right):
        return None
    match sign:
        case "//" if is_negative:
            return product(-1, rounded_up(product(-1, left), right))  # `-(-n // b)` is Python's way to round up
        case "/":
            return Apply("float", (Apply("over", (left, right)),))
        case "**" if isinstance(right, int) and 1 <= right <= _MAX_FACTORS:
            return product(*[left] * right)
        case "<<" | ">>" if not isinstance(right, int) or right > _MAX_SHIFT:
            return None
        case _:
            return operation(_SIGNS[sign], left, right) if sign in _SIGNS else None
