"""How the addresses of two accesses lie to each other, lane by lane: the arithmetic in their texts (`addresses`), as polynomials
(`core.algebra`): atoms are names, variables, and operations that are taken as they stand.

s[t] and s[t + 128]: 128 lanes apart        s[k * (2 * t + 1)] and s[k * (2 * t + 2)]: never the same
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

from warpsmith.core.algebra import Monomial, Polynomial
from warpsmith.devices.cpu.ir.points_to import operands

_OPERATION = re.compile(r"(\w+) (?:(?:nsw|nuw|exact|disjoint|nneg) )*i\d+ (.*)")
_CAST = re.compile(r"(?:trunc|zext|sext) (?:(?:nsw|nuw|nneg) )*i\d+ (.*) to i\d+")
_MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Distance:
    """`lanes`: the writing lane minus the reading lane of the same place, equal for all; None: they never meet."""

    lanes: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """The text of an address, and the number of bytes from there."""

    address: str
    width: int


def distance(written: Place, read: Place, threads: Collection[str]) -> Distance | None:
    """None if unknown. `threads` are names that count the lanes of a warp; all other names have the same value in both."""
    writes, reads = _polynomial(written.address), _polynomial(read.address)
    if writes is None or reads is None:
        return None
    own, offset_own = _by_lane(writes, threads)
    other, offset_other = _by_lane(reads, threads)
    if own is None or other is None:
        return None
    offset = offset_own - offset_other
    factors = {*own.terms, *other.terms, *offset.terms}
    if len(factors) != 1:
        return None
    factor = factors.pop()
    steps, other_steps, shift = (each.terms.get(factor, 0) for each in (own, other, offset))
    if steps == other_steps and steps and shift % steps == 0 and max(written.width, read.width) <= abs(steps):
        return Distance(-shift // steps)
    # Distance between the starts of the places, modulo the lane stride.
    raster = math.gcd(steps, other_steps)
    behind = shift % raster if raster else shift
    ahead = raster - behind if raster else -shift
    apart = (behind >= read.width and ahead >= written.width) if raster else (behind >= read.width or ahead >= written.width)
    return Distance(None) if apart else None


def _by_lane(address: Polynomial, threads: Collection[str]) -> tuple[Polynomial | None, Polynomial]:
    """Stride of the address per lane, and the rest; None if it is not affine."""
    steps, rest = dict[Monomial, int](), dict[Monomial, int]()
    for product, count in address.terms.items():
        lanes = [name for name in product if any(thread in name for thread in threads)]
        if not lanes:
            rest[product] = count
        elif len(lanes) == 1 and lanes[0] in threads:
            alone = tuple(name for name in product if name != lanes[0])
            steps[alone] = steps.get(alone, 0) + count
        else:
            return None, Polynomial(rest)
    return Polynomial({product: count for product, count in steps.items() if count}), Polynomial(rest)


def _polynomial(text: str) -> Polynomial | None:
    """None if it becomes too long."""
    text = text.strip()
    if re.fullmatch(r"-?\d+", text):
        return Polynomial.constant(int(text))
    if text.startswith("{") and text.endswith("}"):
        return _sum_of(text[1:-1])
    if text.startswith("(") and text.endswith(")"):
        body = text[1:-1]
        if match := _CAST.fullmatch(body):
            return _polynomial(match[1])
        if (match := _OPERATION.fullmatch(body)) and len(parts := operands(match[2])) == 2:
            return _operation(match[1], parts[0], parts[1], text)
    return Polynomial.atom(text)


def _sum_of(body: str) -> Polynomial | None:
    """`base + constant + index * bytes + …`"""
    total = Polynomial.constant(0)
    for term in _split(body, " + "):
        index, _, step = term.rpartition(" * ") if re.search(r" \* \d+$", term) else (term, "", "1")
        part = _polynomial(index)
        if part is None:
            return None
        total += part * Polynomial.constant(int(step))
    return total


def _operation(name: str, left: str, right: str, text: str) -> Polynomial | None:
    if name == "shl" and right.isdigit():
        name, right = "mul", str(1 << int(right))
    if name not in {"add", "sub", "mul"}:
        return Polynomial.atom(text)
    first, second = _polynomial(left), _polynomial(right)
    if first is None or second is None or len(first.terms) * len(second.terms) > _MOST_TERMS:
        return None
    return first + second if name == "add" else first - second if name == "sub" else first * second


def _split(text: str, separator: str) -> list[str]:
    """Splits outside brackets."""
    parts: list[str] = []
    depth = start = 0
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and text.startswith(separator, index):
            parts.append(text[start:index])
            start = index + len(separator)
    return [*parts, text[start:]]
