"""Integer terms that host code computes over its variables, and their kernel.toml text.

The functions below build every term; they normalise the order of sums and products and fold constants. So `(n + b - 1) / b` is
recognised as `ceildiv(n, b)` in every spelling, and again after `b` has become a number (`replaced`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MAX_SHIFT = 62  # what fits the host's widest integer


@dataclass(frozen=True, slots=True)
class Root:
    """A variable that is not followed further: one with a literal value, or one known only at run time."""

    name: str
    place: int  # of its declaration, in bytes: two functions' `n` differ


@dataclass(frozen=True, slots=True)
class Apply:
    """`+` and `*` have any number of operands; `if` has condition, then, else; `float` makes a division floating-point."""

    operator: str
    operands: tuple[SizeTerm, ...]


SizeTerm: TypeAlias = int | Root | Apply


def total(*terms: SizeTerm) -> SizeTerm:
    """The sum."""
    weights: dict[SizeTerm, int] = {}
    for term in terms:
        for part in term.operands if is_a(term, "+") else (term,):
            weight, core = weighted(part)
            weights[core] = weights.get(core, 0) + weight
    _round_up(weights)
    constant = weights.pop(1, 0)
    parts = [product(weight, core) for core, weight in weights.items() if weight]
    if constant or not parts:
        parts.append(constant)
    return parts[0] if len(parts) == 1 else Apply("+", tuple(parts))


def product(*terms: SizeTerm) -> SizeTerm:
    coefficient, factors = 1, list[SizeTerm]()
    for term in terms:
        for factor in term.operands if is_a(term, "*") else (term,):
            if isinstance(factor, int):
                coefficient *= factor
            else:
                factors.append(factor)
    if coefficient == 0 or not factors:
        return coefficient
    if coefficient != 1:
        factors.insert(0, coefficient)
    return factors[0] if len(factors) == 1 else Apply("*", tuple(factors))


def quotient(above: SizeTerm, below: SizeTerm) -> SizeTerm | None:
    """C++ division of non-negative integers; None if the result is not known to exist."""
    if below == 0 or (isinstance(above, int) and above < 0) or (isinstance(below, int) and below < 0):
        return None
    if isinstance(above, int) and isinstance(below, int):
        return above // below
    exact = exact_quotient(above, below)
    if exact is not None:
        return exact
    weight, core = weighted(below)
    weights = dict(map(_swapped, above.operands)) if is_a(above, "+") else {}
    constant = weights.get(1, 0)
    if isinstance(below, int) and constant == below - 1:
        return rounded_up(total(above, -constant), below)
    if core != 1 and constant == -1 and weights.get(core) == weight:
        return rounded_up(total(above, product(-1, below), 1), below)
    return Apply("/", (above, below))


def rounded_up(above: SizeTerm, below: SizeTerm) -> SizeTerm:
    """`ceildiv`."""
    if isinstance(above, int) and isinstance(below, int) and below > 0:
        return -(-above // below)
    return above if below == 1 else Apply("ceildiv", (above, below))


def exact_quotient(above: SizeTerm, below: SizeTerm) -> SizeTerm | None:
    """Exact division, if every part of a sum has the divisor as a factor."""
    if below == 1:
        return above
    if is_a(above, "+"):
        parts = [exact_quotient(part, below) for part in above.operands]
        return None if None in parts else total(*(part for part in parts if part is not None))
    weight, _ = weighted(above)
    if isinstance(below, int):
        if below <= 0 or weight % below:
            return None
        return product(weight // below, *_factors(above))
    divisor, rest = weighted(below)
    left = list(_factors(above))
    for factor in _factors(rest):
        if factor not in left:
            return None
        left.remove(factor)
    return product(weight // divisor, *left) if divisor > 0 and weight % divisor == 0 else None


def chosen(condition: SizeTerm, then: SizeTerm, otherwise: SizeTerm) -> SizeTerm:
    """`condition ? then : otherwise`."""
    if isinstance(condition, int):
        return then if condition else otherwise
    if not isinstance(condition, Apply) or condition.operator not in _COMPARISONS:
        condition = Apply("!=", (condition, 0))
    if is_a(condition, "==") and condition.operands[1] == 0:
        condition, then, otherwise = Apply("!=", condition.operands), otherwise, then
    if then == total(otherwise, 1):
        # One more if there is a remainder: `n / b + (n % b != 0)`, which a sum may recognise as a ceildiv.
        return total(otherwise, chosen(condition, 1, 0)) if otherwise != 0 else Apply("if", (condition, 1, 0))
    return Apply("if", (condition, then, otherwise))


def operation(operator: str, left: SizeTerm, right: SizeTerm) -> SizeTerm | None:  # noqa: C901, PLR0911 - one return for each operator
    """The result of C++'s binary operator on two integers; None for an operator that kernel.toml lacks."""
    match operator:
        case "+":
            return total(left, right)
        case "-":
            return total(left, product(-1, right))
        case "*":
            return product(left, right)
        case "/":
            return quotient(left, right)
        case ">" if right == 0:
            return compared("!=", left, 0)  # sizes are not negative
        case _ if operator in _COMPARISONS:
            return compared(operator, left, right)
        case "<<" if isinstance(right, int) and 0 <= right <= _MAX_SHIFT:
            return product(left, 1 << right)
        case ">>" if isinstance(right, int) and 0 <= right <= _MAX_SHIFT:
            return quotient(left, 1 << right)
        case "%" if isinstance(left, int) and isinstance(right, int):
            return left % right if left >= 0 and right > 0 else None
        case "&" if isinstance(left, int) and isinstance(right, int):
            return left & right
        case "%" | "&" | "<<" | ">>":
            return Apply(operator, (left, right))
        case _:
            return None


def compared(operator: str, left: SizeTerm, right: SizeTerm) -> SizeTerm:
    if isinstance(left, int) and isinstance(right, int):
        results = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right}
        return int(results.get(operator, left >= right))
    return Apply(operator, (left, right))


def extreme(which: str, *terms: SizeTerm) -> SizeTerm:
    """`min` or `max`."""
    numbers = [term for term in terms if isinstance(term, int)]
    if len(numbers) == len(terms):
        return min(numbers) if which == "min" else max(numbers)
    return Apply(which, terms)


def replaced(term: SizeTerm, values: Mapping[Root, SizeTerm]) -> SizeTerm | None:  # noqa: PLR0911 - one return for each operator
    """Roots replaced by values, folded again; None if that has no result."""
    if isinstance(term, Root):
        return values.get(term, term)
    if isinstance(term, int):
        return term
    operands = [replaced(operand, values) for operand in term.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands):
        return None
    match term.operator:
        case "+":
            return total(*known)
        case "*":
            return product(*known)
        case "if":
            return chosen(*known)
        case "ceildiv":
            return rounded_up(*known)
        case "min" | "max":
            return extreme(term.operator, *known)
        case operator:
            return operation(operator, *known)


def roots(term: SizeTerm) -> Iterator[Root]:
    """In source order."""
    if isinstance(term, Root):
        yield term
    elif isinstance(term, Apply):
        for operand in term.operands:
            yield from roots(operand)


def length(term: SizeTerm) -> int:
    return 1 + sum(map(length, term.operands)) if isinstance(term, Apply) else 1


def has_floats(term: SizeTerm) -> bool:
    return isinstance(term, Apply) and (term.operator == "float" or any(map(has_floats, term.operands)))


def factors_of(term: SizeTerm) -> list[SizeTerm]:
    """Variables before the number: `3 * n * m` is `n`, `m` and 3."""
    weight, core = weighted(term)
    return [*_factors(term), *([weight] if weight != 1 or core == 1 else [])]


def is_a(term: SizeTerm, operator: str) -> TypeGuard[Apply]:
    return isinstance(term, Apply) and term.operator == operator


def weighted(term: SizeTerm) -> tuple[int, SizeTerm]:
    """The coefficient and the rest of a term."""
    if isinstance(term, int):
        return term, 1
    if is_a(term, "*") and isinstance(term.operands[0], int):
        return term.operands[0], product(*term.operands[1:])
    return 1, term


def _swapped(part: SizeTerm) -> tuple[SizeTerm, int]:
    weight, core = weighted(part)
    return core, weight


def _factors(term: SizeTerm) -> list[SizeTerm]:
    """Factors except the number."""
    _, core = weighted(term)
    if core == 1:
        return []
    return list(core.operands) if is_a(core, "*") else [core]


def _round_up(weights: dict[SizeTerm, int]) -> None:
    """`(n - 1) / b + 1` and `n / b + (n % b != 0)` are `ceildiv(n, b)`."""
    for core in [core for core in weights if is_a(core, "/") and weights[core] == 1]:
        assert is_a(core, "/")
        above, below = core.operands
        part: SizeTerm
        extra: SizeTerm
        left_over = Apply("if", (Apply("!=", (Apply("%", (above, below)), 0)), 1, 0))
        if weights.get(left_over) == 1:
            part, extra = rounded_up(above, below), left_over
        elif weights.get(1, 0) >= 1 and is_a(above, "+") and above.operands[-1] == -1:
            part, extra = rounded_up(total(above, 1), below), 1
        else:
            continue
        weights[extra] -= 1
        weights[core] -= 1
        weights[part] = weights.get(part, 0) + 1
