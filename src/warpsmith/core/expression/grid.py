"""Evaluates an expression over a grid of assignments: each name has values along its own axes.

A part of the expression is computed only over the axes of the names in it; NumPy's broadcasting does the rest. Only for 64-bit
integers, and only if every part has a result everywhere; otherwise the answer is None, and `vector` or `scalar` decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import TypeAlias

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.expression import integers
from warpsmith.core.expression.integers import INT64, Shortcut
from warpsmith.core.expression.nodes import (
    Binary,
    Call,
    Compare,
    Conditional,
    Literal,
    Logic,
    Membership,
    Name,
    Node,
    Unary,
)
from warpsmith.core.expression.operations import BINARY, COMPARE, FUNCTIONS, UNARY, OperationError

Operand: TypeAlias = int | Array
Axes: TypeAlias = Mapping[str, Array | Value]


# Dtypes, because comparing one with a type is slow: a grid is often so small that this shows.
_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)


class _NoResult(Exception):  # noqa: N818 - it ends the attempt, nothing is wrong
    """Some part is not a 64-bit integer, or has no result for some assignment."""


def evaluate_grid(tree: Node, axes: Axes) -> Operand | None:
    """The expression's values, over the axes of the names it uses, or one value when it uses none. Truth values stay such."""
    try:
        return _evaluate(tree, axes)
    except (_NoResult, OperationError, OverflowError):
        return None


def _evaluate(node: Node, axes: Axes) -> Operand:  # noqa: PLR0911, PLR0912, C901 - one case for each kind of node
    match node:
        case Name(name=name):
            if name not in axes:
                raise _NoResult
            return _integer(axes[name])
        case Literal(value=value):
            return _integer(value)
        case Binary(operator=sign, left=left, right=right):
            return _apply(BINARY[sign], integers.BINARY.get(sign), _evaluate(left, axes), _evaluate(right, axes))
        case Compare(first=first, links=((sign, second),)):
            return _compared(sign, _evaluate(first, axes), _evaluate(second, axes))
        case Compare(first=first, links=links):
            operands = [_evaluate(operand, axes) for operand in (first, *(right for _, right in links))]
            return reduce(and_, (_compared(sign, *pair) for (sign, _), pair in zip(links, pairwise(operands), strict=True)))
        case Logic(operator=word, operands=parts):
            # All operands have results everywhere, so it does not matter which ones would not have been asked for theirs.
            return reduce(and_ if word == "and" else or_, (_truth(_evaluate(part, axes)) for part in parts))
        case Call(function=name, arguments=arguments):
            return _apply(FUNCTIONS[name][2], integers.FUNCTIONS.get(name), *(_evaluate(a, axes) for a in arguments))
        case Unary(operator="not", operand=operand):
            return True ^ _truth(_evaluate(operand, axes))
        case Unary(operator=sign, operand=operand):
            return _apply(UNARY[sign], integers.UNARY.get(sign), _evaluate(operand, axes))
        case Membership(item=item, choices=choices, negated=negated):
            wanted = _evaluate(item, axes)
            return negated ^ reduce(or_, (_compared("==", wanted, _evaluate(choice, axes)) for choice in choices))
        case Conditional(condition=condition, if_true=if_true, if_false=if_false):
            test, yes, no = (_evaluate(part, axes) for part in (condition, if_true, if_false))
            if _is_truth(yes) != _is_truth(no):
                raise _NoResult
            return np.where(_truth(test), yes, no) if isinstance(test, np.ndarray) else (yes if test else no)


def _compared(sign: str, left: Operand, right: Operand) -> Operand:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        found: Array | None = integers.COMPARE[sign](left, right)  # never without a result, and truth values need no widening
        assert found is not None
        return found
    return COMPARE[sign](left, right)


def _integer(value: Array | Value) -> Operand:
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "bi":
            return value
    elif isinstance(value, int) and INT64.min < value <= INT64.max:
        return value
    raise _NoResult


def _apply(scalar: Callable[..., Value], shortcut: Shortcut | None, *values: Operand) -> Operand:
    operands: list[Operand] = []
    several = False
    for value in values:
        if isinstance(value, np.ndarray):
            several = True
            operands.append(value if value.dtype == _INT64 else value.astype(_INT64))
        else:
            operands.append(int(value))
    if not several:
        return _integer(scalar(*values))
    found = None if shortcut is None else shortcut(*operands)
    if found is None:
        raise _NoResult
    return found


def _truth(value: Operand) -> Operand:
    if isinstance(value, np.ndarray):
        return value if value.dtype == _BOOL else value.astype(_BOOL)
    return bool(value)


def _is_truth(value: Operand) -> bool:
    return value.dtype.kind == "b" if isinstance(value, np.ndarray) else isinstance(value, bool)
